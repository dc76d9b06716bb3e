"""Bars are for what takes time, and disturb nothing that is printed."""

import io
import time

import pytest
from rich.console import Console

from paretofoil.cli import progress
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


def test_a_bar_tells_its_name_its_count_and_words(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.bars() as start:
        start("[a]")(3, 7, "[b]")
        assert appear(screen, "3/7")
        assert "[a]" in screen.getvalue()
        assert "[b]" in screen.getvalue()


def test_what_is_quick_shows_no_bar(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    with progress.bars() as start:
        start("a")(7, 7)
    assert screen.getvalue() == ""


def test_a_quiet_bar_is_not_seen(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.bars(quiet=True) as start:
        start("a")(7, 7)
        time.sleep(0.05)
    assert screen.getvalue() == ""


def test_what_is_printed_beside_a_bar_goes_where_it_was_meant_to_go(screen, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.bars() as start:
        start("a")(1, 2)
        assert appear(screen, "1/2")
        print("{}")
    assert capsys.readouterr().out == "{}\n"
    assert "{}" not in screen.getvalue()


def test_a_study_tells_its_rate_and_what_it_found(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.study_bars(quiet=False) as tell:
        watch = tell("stress")
        assert watch is not None
        watch(StudyProgress(done=30, total=40, found=5, asked=10, seconds=2.0))
        assert appear(screen, "5.0/s, 50% found")
        assert "30/40" in screen.getvalue()
