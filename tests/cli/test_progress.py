"""Progress bars."""

import io
import time

import pytest
from rich.console import Console

from paretofoil.cli import console
from paretofoil.study import StudyProgress


@pytest.fixture
def screen(monkeypatch):
    """Standard error as a terminal."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("paretofoil.cli.console.notes", screen)
    return screen.file


def appear(screen: io.StringIO, text: str) -> bool:
    """Wait until the text is on the screen."""
    end = time.monotonic() + 20
    while text not in screen.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return text in screen.getvalue()


def test_a_bar_shows_name_count_and_text(screen, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.bars() as start:
        start("[a]")(3, 7, "[b]")
        assert appear(screen, "3/7")
        assert "[a]" in screen.getvalue()
        assert "[b]" in screen.getvalue()


def test_quick_work_shows_no_bar(screen, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE", 3600.0)
    with console.bars() as start:
        start("a")(7, 7)
    assert screen.getvalue() == ""


def test_quiet_hides_bars(screen, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.bars(quiet=True) as start:
        start("a")(7, 7)
        time.sleep(0.05)
    assert screen.getvalue() == ""


def test_standard_output_is_not_redirected_by_a_bar(screen, monkeypatch, capsys):
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.bars() as start:
        start("a")(1, 2)
        assert appear(screen, "1/2")
        print("{}")
    assert capsys.readouterr().out == "{}\n"
    assert "{}" not in screen.getvalue()


def test_the_bar_of_a_study_shows_rate_and_found_share(screen, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.study_bars(quiet=False) as tell:
        watch = tell("stress")
        assert watch is not None
        watch(StudyProgress(done=30, total=40, found=5, asked=10, seconds=2.0))
        assert appear(screen, "5.0/s, 50% found")
        assert "30/40" in screen.getvalue()
