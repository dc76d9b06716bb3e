"""The command `paretofoil reproduce`, which this package adds to the command line."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import paretofoil as pf
from paretofoil.agents.store import shipped_folder
from paretofoil.cli import app, main
from paretofoil_paper import PAGES
from paretofoil_paper.cli import _agents


def test_the_help_of_reproduce_names_all_pages_in_their_order() -> None:
    words = CliRunner().invoke(app, ["reproduce", "--help"]).output.replace("│", " ").split()
    names = [word.strip(",.") for word in words if word.strip(",.") in PAGES]
    first = names.index("comparison")
    assert names[first : first + len(PAGES)] == list(PAGES)


def test_reproduce_takes_shipped_agents_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARETOFOIL_AGENTS", raising=False)
    pf.save_agent(pf.load_agent("branch-path"), tmp_path / "agents" / "branch-path")
    assert _agents([], "branch-path,collect-two") == {
        "branch-path": str(shipped_folder() / "branch-path"),
        "collect-two": "collect-two",
    }
    local = {"branch-path": "agents/branch-path"}
    assert _agents(["branch-path=branch-path"], "branch-path") == local
    assert _agents(["branch-path=agents/branch-path"], "branch-path") == local


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "expected a page among"),
        (["stress", "--only", "mars"], "--only with environments among"),
        (["stress", "--agent", "branch-path"], "--agent ENVIRONMENT=AGENT"),
        (["agents", "--agent-seeds", "10,x"], "--agent-seeds as different whole numbers"),
        (["agents", "--agent-seeds", "10,10"], "--agent-seeds as different whole numbers"),
        (
            ["stress", "--recorded", "--out", "nowhere"],
            "nowhere/rows/stress-as-run.parquet, got no such file; to write",
        ),
    ],
)
def test_invalid_input_is_an_error_of_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["paretofoil", "reproduce", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
