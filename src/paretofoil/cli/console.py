"""Printing: text and tables on standard output, notes and errors on standard error."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from paretofoil.core.files import write_whole

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from paretofoil.study.table import Table

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST_NAME = 26
"""Words of at most this length are never broken; longer ones, such as paths, may be."""

GAP = 2
"""Spaces between two columns."""
console = Console()
notes = Console(stderr=True)


def say(*parts: str | tuple[str, str], on: Console | None = None) -> None:
    """Print text, parts of it with a style. Brackets are not markup, and lines wrap only on a terminal.

    Control characters, which could control the terminal, are printed as codes.
    """
    target = on or console
    shown = [printable(part) if isinstance(part, str) else (printable(part[0]), part[1]) for part in parts]
    target.print(Text.assemble(*shown), soft_wrap=not target.is_terminal)


def printable(text: str) -> str:
    """Return a text with codes in place of control characters and of bytes that are not valid text."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def say_written(what: str, path: Path, *, quiet: bool) -> None:
    """Print where a file was written, unless standard output is read by a program."""
    if not quiet:
        say((f"Wrote {what} to {path}.", "dim"))


def print_json(values: object) -> None:
    """Print a value as a JSON document."""
    from paretofoil.core.json import plain, write_document

    print(write_document(plain(values), indent=1))


def write_or_print(text: str, out: Path | None, what: str) -> None:
    """Write a text to a file and say so, or print it if there is no file."""
    if out is None:
        print(text, end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, text.encode())
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
    """Return a table; the columns in `right` are aligned to the right. Cells are printed literally, brackets too."""
    from rich.table import Table as RichTable

    width = sum(widths) + GAP * (len(widths) - 1)
    grid = RichTable(header_style="bold", box=None, pad_edge=False, padding=(0, GAP, 0, 0), width=width)
    for i, name in enumerate(columns):
        grid.add_column(Text(name), justify="right" if i in right else "left", overflow="fold", width=widths[i])
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _fit(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int | None) -> list[int] | None:
    """Return the widths of columns whose cells break only between words; None if even the words need more room.

    Without a limit no cell breaks.
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
