"""The command line, run in the process of the tests."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from paretofoil.cli import main


@dataclass(frozen=True)
class Told:
    """What was printed, and the exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Told]:
    """Type arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARETOFOIL_AGENTS", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def typed(*arguments: str, code: int = 0) -> Told:
        monkeypatch.setattr(sys, "argv", ["paretofoil", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        told = Told(int(ended.value.code or 0), *capsys.readouterr())
        assert told.code == code, told
        return told

    return typed


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make standard output a terminal of that width, without colours."""

    def resize(width: int) -> None:
        screen = Console(width=width, height=50, force_terminal=True, color_system=None)
        monkeypatch.setattr("paretofoil.cli.console.console", screen)

    return resize
