"""Odd values for every option and argument of every verb: a result or a sentence, never a traceback."""

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from paretofoil.cli import VERBS, app, main

ODD = ["", " ", "0", "-1", "0.5", "nan", "inf", "-inf", "1e999", "99999999999999999999", "x", "1,2,3", "a=1,b=2", ":"]
ODD += ["\x1b[31mred", "é\u2028", "\udcff", "y" * 5000, ".", "nowhere/file", "/proc/none", "file/inside", "[x", "="]
EXPLAIN = ["reward-line", "--command", "0.5,0.5", "--search", "nearest-front"]
STUDY = ["reward-line", "--search", "nearest-front", "--commands", "1", "--steps", "1", "--workers", "1"]
BRIEF = ["--steps", "300", "--set", "polish_rounds=0", "--set", "hidden=8", "--set", "warmup=5", "--name", "new"]
LINES = {
    "explain": [*EXPLAIN, "--foil", "left"],
    "episode": [*EXPLAIN, "--steps", "0"],
    "influence": ["reward-line", "--command", "0.5,0.5", "--at", "0", "--samples", "10", "--seconds", "0.1"],
    "never": ["reward-line", "left", "--seconds", "0.01"],
    "atlas": ["reward-line", "--seconds", "0.1", "--samples", "10"],
    "compare": ["reward-line", "reward-line", "--seconds", "0.1", "--samples", "10"],
    "report": ["reward-line", "--seconds", "0.1"],
    "agents": ["reward-line"],
    "searches": [],
    "train": ["reward-line", *BRIEF, "--quiet"],
    "import": ["model.pt", "--env", "reward-line"],
    "envs": ["reward-line"],
    "figure front": ["reward-line"],
    "study run": [*STUDY, "--quiet"],
    "study resume": ["study.sqlite", "--workers", "1", "--quiet"],
    "study status": ["study.sqlite"],
    "study export": ["study.sqlite"],
    "serve": [],
    "user-study check": ["study.json"],
    "user-study export": ["replies.sqlite"],
}
"""A line of each verb that is quick to run."""


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its name."""
    if not hasattr(group, "commands"):
        yield name, group
        return
    for word, command in group.commands.items():
        yield from commands(command, f"{name} {word}".strip())


def lines() -> Iterator[list[str]]:
    """Yield command lines with one odd value each."""
    for name, command in commands(typer.main.get_command(app)):
        if name.split()[0] not in VERBS:
            continue  # of another package
        words, line, place = name.split(), LINES.get(name, []), 0
        for parameter in command.params:
            if parameter.param_type_name == "option":
                odd_values = [[]] if parameter.is_flag else [[odd] for odd in ODD]
                yield from ([*words, *line, parameter.opts[0], *value] for value in odd_values)
            else:
                yield from ([*words, *line[:place], odd, *line[place + 1 :]] for odd in ODD)
                place += 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which long work is cut short."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARETOFOIL_AGENTS", str(tmp_path / "agents"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("paretofoil.cli.serve._run", lambda *_: None)
    monkeypatch.setattr("paretofoil.pcn.train.Trainer.finished", property(lambda trainer: trainer.iteration > 0))
    (tmp_path / "file").write_text("in the way")
    return tmp_path


@pytest.mark.parametrize("every", [61, pytest.param(1, marks=pytest.mark.long)])
def test_no_command_line_ends_in_a_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], every: int
) -> None:
    bad, run = [], 0
    for arguments in list(lines())[::every]:
        run += 1
        monkeypatch.setattr(sys, "argv", ["paretofoil", *arguments])
        capsys.readouterr()
        try:
            main()
            told = "no exit"
        except SystemExit as ended:
            out, err = capsys.readouterr()
            told = "" if ended.code in (0, 1, 2, None) else f"exit code {ended.code}"
            told += "a control character" if "\x1b" in out + err else ""
            told += "a traceback" if "Traceback" in out + err else ""
        except BaseException as error:
            told = f"{type(error).__name__}: {error} in {traceback.extract_tb(error.__traceback__)[-1]}"
        if told:
            bad.append((arguments, told))
    assert bad == []
    assert run > 2000 / every
