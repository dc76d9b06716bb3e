"""Progress bars of studies: counts, rate, time left, success so far."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paretofoil.study import Progress


@contextmanager
def progress_of(quiet: bool) -> Iterator[Callable[[str], "Callable[[Progress], None] | None"]]:
    """A function that makes one bar for each study, by name."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    from paretofoil.cli.words import console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Display(*columns, console=console, disable=quiet, transient=True) as display:

        def start(name: str) -> "Callable[[Progress], None]":
            task = display.add_task(name, total=None, told="")

            def show(line: "Progress") -> None:
                display.update(task, total=line.total, completed=line.done, told=describe(line))

            return show

        yield start


def describe(line: "Progress") -> str:
    """ "35.2/s, 78 % found, 0:42 left"."""
    if not line.asked:
        return ""
    minutes, seconds = divmod(round(line.left), 60)
    return f"{line.rate:.1f}/s, {line.found / line.asked:.0%} found, {minutes}:{seconds:02d} left"
