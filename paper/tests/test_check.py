"""The script that recomputes the numbers of the results pages: it confirms them, and it notices a wrong one."""

import re
from functools import cache
from pathlib import Path

import pytest

from paretofoil_paper.check import PAGES, Facts, Near, Rows, check_page, cluster, matches, newcombe, parse, rate

RESULTS = Path(__file__).parents[1] / "results"


@cache
def facts_of(name: str) -> Facts:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    return PAGES[name](Rows(RESULTS))


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_no_number_of_a_page_contradicts_its_rows(name: str) -> None:
    result = check_page(name, (RESULTS / f"{name}.md").read_text(), facts_of(name))
    assert not result.wrong
    assert not result.unknown


@pytest.mark.long
def test_an_altered_number_in_a_table_is_noticed() -> None:
    page = (RESULTS / "audit.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("| Minecart"))
    altered = page.replace(line, re.sub(r"\b(\d)(\d*) \|$", lambda m: f"{int(m[1]) % 9 + 1}{m[2]} |", line))
    assert altered != page
    assert check_page("audit", altered, facts_of("audit")).wrong


def test_a_printed_number_matches_up_to_its_rounding() -> None:
    assert matches("0.54", 0.5449)
    assert not matches("0.54", 0.5451)
    assert matches("1,235", 1234.6)
    assert matches("6e-05", 6.1e-5)
    assert matches("84.8", Near(84.5, 0.4))
    assert not matches("84.8", None)


def test_rates_and_areas_have_known_intervals() -> None:
    assert [round(float(n), 1) for n in rate(7, 35)] == [20.0, 10.0, 35.9]  # type: ignore[arg-type]
    low, high = newcombe(1.0, 10, 10)
    assert high == 100.0
    assert 60 < float(low) < 75, "corrected for 15 tests"  # type: ignore[arg-type]


def test_a_bootstrap_of_equal_episodes_is_a_point_and_few_episodes_have_none() -> None:
    items = [("a", "a", episode, value) for episode in range(6) for value in (0.0, 1.0)]
    assert [one.value for one in cluster(items) if isinstance(one, Near)] == [50.0, 50.0]
    assert cluster(items[:6]) == []


def test_tables_and_text_are_read_from_a_page() -> None:
    page = (
        "# T\n\nOf 1,234 cases `7`.\n\n**Title**\n\n| a | b |\n| --- | ---: |\n| x | 1.0 [0.5,2.5] |\n\n---\n\n99 s\n"
    )
    [cell], text = parse(page)
    assert cell == ("Title", "x", "b", ("1.0", "0.5", "2.5"))
    assert "1,234" in text
    assert "7" not in text
    assert "99" not in text
