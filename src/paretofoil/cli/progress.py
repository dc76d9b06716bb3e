"""Progress of studies: bars with counts, rate, time left and success so far, and a log for those who look later."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from paretofoil.study import Progress


@contextmanager
def progress_of(quiet: bool, log: Path | None = None) -> Iterator[Callable[[str], "Callable[[Progress], None] | None"]]:
    """A function that makes one bar for each study, by name."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    from paretofoil.cli.console import console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with _logging_into(log), Display(*columns, console=console, disable=quiet, transient=True) as display:

        def start(name: str) -> "Callable[[Progress], None]":
            task = display.add_task(name, total=None, told="")

            def show(line: "Progress") -> None:
                display.update(task, total=line.total, completed=line.done, told=str(line))

            return show

        yield start


@contextmanager
def stopped_in_peace(advice: str) -> Iterator[None]:
    """Ctrl-C ends a study in peace: every finished chunk is in its file."""
    from paretofoil.cli.console import console

    try:
        yield
    except KeyboardInterrupt:
        console.print(f"Stopped. {advice}", highlight=False)
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
