"""The notebooks run from their first cell to their last, and show what is kept in them."""

import re
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="needs the docs extra")
pytest.importorskip("nbclient", reason="needs the dev extra")
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHANGING = re.compile(r"[\d.,]+ s\b|[\d.]+e-\d+")
"""Seconds, and what rounding leaves: other on every machine."""


def shown(notebook: Any) -> list[str]:
    """What each cell shows, in words: into how many pieces a kernel cuts what is printed is up to the clock."""
    return [CHANGING.sub("...", "".join(map(words_of, cell.get("outputs", ())))) for cell in notebook.cells]


def words_of(output: Any) -> str:
    form = output.get("data", {})
    return str(output.get("text", "") + form.get("text/html", form.get("text/plain", "")))


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "website")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    return pytest.importorskip("run_notebooks", reason="needs the dev extra")


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_notebook_runs_and_shows_what_is_kept_in_it(file: Path, runner: Any) -> None:
    kept = nbformat.read(file, as_version=4)
    assert all(cell.outputs or not cell.source for cell in kept.cells[-2:] if cell.cell_type == "code"), "not yet run"
    assert shown(runner.run_notebook(file)) == shown(kept)


def test_there_are_three() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["a-study", "first-explanation", "your-own-agent"]
