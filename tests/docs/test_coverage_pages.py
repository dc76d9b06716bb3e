"""The pages about environments and agents that were tried: complete, and without a failure."""

import sys
from pathlib import Path

import pytest

from paretofoil import envs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "website"))
    import coverage_pages

    yield coverage_pages
    sys.modules.pop("coverage_pages")


def rows(name, table=0):
    lines = (ROOT / "docs" / name).read_text().split("\n## ")[table].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][1:]


def test_the_page_of_environments_has_every_id_of_mo_gymnasium_and_no_failure(pages):
    pytest.importorskip("mo_gymnasium")
    table = {row[0]: row[1] for row in rows("coverage-environments.md")}
    assert list(table) == pages.environments()
    assert set(table.values()) <= {"explained", "refused", "not installed", "too slow"}


def test_the_page_of_environments_lists_the_catalogue_and_every_shipped_agent(pages):
    expected = [[cell.strip() for cell in line.split("|")[1:-1]] for line in pages.catalogue_rows().splitlines()]
    assert rows("coverage-environments.md", table=1) == expected
    assert [row[0] for row in expected] == envs.names()


def test_the_page_of_agents_has_every_kind_and_no_failure(pages):
    table = {row[0]: row[3] for row in rows("coverage-agents.md")}
    assert list(table) == list(pages.AGENTS)
    assert set(table.values()) <= {"explained", "refused", "not installed"}


@pytest.mark.parametrize(
    ("code", "error", "outcome", "words"),
    [
        (2, "note: slow\nerror: expected a, got b\n", "refused", "expected a, got b"),
        (1, "Traceback (most recent call last):\n...\nKeyError: 'x'\n", "failed", "KeyError: 'x'"),
        (1, "ModuleNotFoundError: No module named 'nes_py'\n", "not installed", "No module named 'nes_py'"),
        (124, "more than 600 seconds", "too slow", "more than 600 seconds"),
    ],
)
def test_the_end_of_a_process_is_judged_by_its_error(pages, code, error, outcome, words):
    trial = pages.judge("it", code, error)
    assert trial.outcome == outcome
    assert words in trial.words


def test_an_agent_is_tried_in_a_process_of_its_own(pages, monkeypatch):
    monkeypatch.setattr(pages, "run", lambda command: (0, "explained: proven closest\n", ""))
    assert pages.try_agent("PPO") == pages.Trial("PPO", "explained", "proven closest")
