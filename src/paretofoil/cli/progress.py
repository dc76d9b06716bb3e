"""Progress bars and log files."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from paretofoil.study import StudyProgress

PATIENCE = 1.0
"""Seconds before bars are shown."""


Bar = Callable[..., None]
"""Moves one bar: (done, total, text)."""


@contextmanager
def bars(quiet: bool = False) -> Iterator[Callable[[str], Bar]]:
    """Yield a function that makes a named progress bar with a count, a text, and the elapsed and remaining time.

    Bars are drawn on standard output, or on standard error if only that is a terminal, and removed at the end.
    """
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    from paretofoil.cli.console import console, notes

    text = TextColumn("{task.fields[text]}", markup=False)
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), text, *times)
    screen = console if console.is_terminal else notes
    hidden = quiet or not screen.is_terminal
    # Nothing is redirected to the screen: standard output may be a file.
    display = Display(
        *columns, console=screen, disable=hidden, transient=True, redirect_stdout=False, redirect_stderr=False
    )

    def start(name: str) -> Bar:
        task, begun = display.add_task(escape(name), start=False, total=None, text=""), False

        def show(done: int, total: int | None = None, text: str = "") -> None:
            nonlocal begun
            change = display.update if begun else display.reset  # the estimate ignores what was done before
            change(task, completed=done, total=total, text=text)
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
def study_bars(
    quiet: bool, log: Path | None = None, advice: str = ""
) -> Iterator[Callable[[str], "Callable[[StudyProgress], None]"]]:
    """Yield a function that makes a named progress bar for a study; `log` is the file of its log.

    Ctrl-C prints how to continue, and exits with code 130.
    """
    from paretofoil.cli.console import say

    def watch(name: str) -> "Callable[[StudyProgress], None]":
        bar = start(name)

        def show(progress: "StudyProgress") -> None:
            text = f"{progress.rate:.1f}/s, {progress.found / progress.asked:.0%} found" if progress.asked else ""
            bar(progress.done, progress.total, text)

        return show

    try:
        with _logging_into(log), bars(quiet) as start:
            yield watch
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
