"""Printing: text and tables on standard output, notes and errors on standard error, progress bars and log files."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from paretofoil.core.files import write_atomically

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from paretofoil.study import StudyProgress
    from paretofoil.study.table import Table

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST_NAME = 26
"""Words of at most this length are never broken; longer ones, such as paths, may be."""
GAP = 2
"""Spaces between two columns."""
console = Console()
notes = Console(stderr=True)


def say(*parts: str | tuple[str, str], on: Console | None = None) -> None:
    """Print parts of text, each alone or as (text, style). Brackets are no markup, and lines wrap only on a terminal.

    Control characters are printed as codes, because they could control the terminal.
    """
    target = on or console
    shown = [printable(part) if isinstance(part, str) else (printable(part[0]), part[1]) for part in parts]
    target.print(Text.assemble(*shown), soft_wrap=not target.is_terminal)


def printable(text: str) -> str:
    """Return a text in which codes replace control characters and bytes that are not valid text."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def say_written(what: str, path: Path, *, quiet: bool) -> None:
    """Print where a file was written; with `quiet`, print nothing, because a program reads standard output."""
    if not quiet:
        say((f"Wrote {what} to {path}.", "dim"))


def write_figure(value: Any, path: Path | None, *, quiet: bool) -> None:
    """Write the figure of a value if a file is given, and print where it was written."""
    if path is not None:
        value.plot(path)
        say_written("the figure", path, quiet=quiet)


def print_json(values: object) -> None:
    from paretofoil.core.json import plain, write_document

    print(write_document(plain(values), indent=1))


def write_or_print(text: str, out: Path | None, what: str) -> None:
    """Write a text to a file and print where, or print the text if no file is given."""
    if out is None:
        print(text, end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, text.encode())
    say(f"Wrote {what} to {out}.")


def note(*parts: str | tuple[str, str]) -> None:
    """Print text on standard error."""
    say(*parts, on=notes)


def terminal_width() -> int | None:
    """Return the width of the terminal; None if standard output is not a terminal."""
    return console.width if console.is_terminal else None


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table, or one paragraph per row if the terminal is too narrow for whole words."""
    if title:
        say((title, "bold"))
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = _fit(columns, rows, terminal_width())
    if widths is not None:
        console.print(_table(columns, rows, right, widths), crop=False)
        return
    for first, *others in rows:
        parts = [f"{name} {cell}".strip() for name, cell in zip(columns[1:], others, strict=True) if cell]
        say((first, "bold"), ": ", "; ".join(parts))


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], widths: Sequence[int]
) -> "RichTable":
    """Return a table whose columns in `right` are aligned to the right. Brackets in cells are no markup."""
    from rich.table import Table as RichTable

    width = sum(widths) + GAP * (len(widths) - 1)
    grid = RichTable(header_style="bold", box=None, pad_edge=False, padding=(0, GAP, 0, 0), width=width)
    for i, name in enumerate(columns):
        grid.add_column(Text(name), justify="right" if i in right else "left", overflow="fold", width=widths[i])
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _fit(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int | None) -> list[int] | None:
    """Return the widths of columns whose cells break only between words; None if there is no room for the words.

    If `room` is None, no cell breaks.
    """
    cells = list(zip(columns, *rows, strict=True))
    full = [max(map(len, column)) for column in cells]
    if room is None:
        return full
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in cells]
    widths = [min(word, LONGEST_NAME) for word in words]
    spare = room - GAP * (len(columns) - 1) - sum(widths)
    if spare < 0:
        return None
    for _ in range(min(spare, sum(full) - sum(widths))):
        neediest = max(range(len(columns)), key=lambda i: full[i] - widths[i])
        widths[neediest] += 1
    return widths


def print_table(table: "Table") -> None:
    """Print a table of results with its note."""
    from paretofoil.study.table import text

    cells = [[text(cell) for cell in row] for row in table.rows]
    print_rows(table.title, table.columns, cells, right=[i for i, right in enumerate(table.numeric()) if right])
    if table.note:
        say((table.note, "dim"))
    say()


PATIENCE = 1.0
"""Seconds before bars are shown."""
Bar = Callable[..., None]
"""Moves a progress bar; called with (done, total, text)."""


@contextmanager
def bars(quiet: bool = False) -> Iterator[Callable[[str], Bar]]:
    """Yield a function that makes a named progress bar with a count, a text, and the elapsed and remaining time.

    Bars are drawn on standard output if it is a terminal, else on standard error. They are removed at the end.
    """
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    text = TextColumn("{task.fields[text]}", markup=False)
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), text, *times)
    screen = console if console.is_terminal else notes
    hidden = quiet or not screen.is_terminal
    # Standard output is not redirected, because it may be a file.
    display = Display(
        *columns, console=screen, disable=hidden, transient=True, redirect_stdout=False, redirect_stderr=False
    )

    def start(name: str) -> Bar:
        task, is_running = display.add_task(escape(name), start=False, total=None, text=""), False

        def show(done: int, total: int | None = None, text: str = "") -> None:
            nonlocal is_running
            change = display.update if is_running else display.reset  # the estimate ignores the time before
            change(task, completed=done, total=total, text=text)
            is_running = True

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
    """Yield a function that makes a named progress bar for a study, and write messages to the file `log`.

    On Ctrl-C, print `advice`, which says how to continue, and exit with code 130.
    """

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
