"""Progress: one kind of bar for all that takes time, and a log for those who look later."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Protocol

import typer

if TYPE_CHECKING:
    from paretofoil.study import StudyProgress

PATIENCE = 1.0
"""Seconds before a bar is shown: what is quicker needs none."""


class Bar(Protocol):
    """Moves one bar."""

    def __call__(self, done: int, total: int | None = None, told: str = "") -> None: ...


@contextmanager
def bars(quiet: bool = False) -> Iterator[Callable[[str], Bar]]:
    """A function that makes a bar by name: a count, words, the time that went by and the time that is left.

    They are drawn on standard output, or on standard error if only that is a terminal, and vanish at the end.
    """
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    from paretofoil.cli.console import console, notes

    words, times = (
        TextColumn("{task.fields[told]}", markup=False),
        (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()),
    )
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), words, *times)
    screen = console if console.is_terminal else notes
    hidden = quiet or not screen.is_terminal
    # What others print goes where they meant it to go, which may be a file: nothing is redirected to the screen.
    display = Display(
        *columns, console=screen, disable=hidden, transient=True, redirect_stdout=False, redirect_stderr=False
    )

    def start(name: str) -> Bar:
        task, begun = display.add_task(escape(name), start=False, total=None, told=""), False

        def show(done: int, total: int | None = None, told: str = "") -> None:
            nonlocal begun
            if begun:
                display.update(task, completed=done, total=total, told=told)
            else:  # what was done before the start does not count as speed
                display.reset(task, completed=done, total=total, told=told)
            begun = True

        return show

    timer = Timer(PATIENCE, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield start
    finally:
        timer.cancel()
        timer.join()
        display.stop()


@contextmanager
def progress_of(
    quiet: bool, log: Path | None = None
) -> Iterator[Callable[[str], "Callable[[StudyProgress], None] | None"]]:
    """A function that makes one bar for each study, by name."""
    with _logging_into(log), bars(quiet) as start:

        def watch(name: str) -> "Callable[[StudyProgress], None]":
            show = start(name)

            def line(now: "StudyProgress") -> None:
                told = f"{now.rate:.1f}/s, {now.found / now.asked:.0%} found" if now.asked else ""
                show(now.done, now.total, told)

            return line

        yield watch


@contextmanager
def stopped_in_peace(advice: str) -> Iterator[None]:
    """Ctrl-C ends a study in peace: every finished chunk is in its file."""
    from paretofoil.cli.console import say

    try:
        yield
    except KeyboardInterrupt:
        say(f"Stopped. {advice}")
        raise typer.Exit(130) from None


@contextmanager
def _logging_into(path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("paretofoil")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
