"""The notebooks run from start to end and print what is stored in them."""

import re
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="needs the docs extra")
pytest.importorskip("nbclient", reason="needs the dev extra")

pytestmark = pytest.mark.long
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHANGING = re.compile(r"[\d.,]+ s\b|[\d.]+e-\d+")
"""Seconds and rounding errors, which differ between machines."""


def outputs_of(notebook: Any) -> list[str]:
    """Return the joined text output of each cell: a kernel splits it at random."""
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
def test_a_notebook_runs_and_prints_what_is_stored_in_it(file: Path, runner: Any) -> None:
    stored = nbformat.read(file, as_version=4)
    assert all(cell.outputs or not cell.source for cell in stored.cells[-2:] if cell.cell_type == "code"), (
        "run `make notebooks` first"
    )
    assert outputs_of(runner.run_notebook(file)) == outputs_of(stored)


def test_there_are_three_notebooks() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["a-study", "first-explanation", "your-own-agent"]
