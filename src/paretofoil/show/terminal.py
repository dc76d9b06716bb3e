"""Tables on the terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

LONGEST_NAME = 26
"""Words of at most this length are never broken; longer ones, such as paths, may be."""

GAP = 2
"""Spaces between two columns."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], widths: Sequence[int]) -> Table:
    """Return a table; the columns in `right` are aligned to the right. Cells are printed literally, brackets too."""
    width = sum(widths) + GAP * (len(widths) - 1)
    grid = Table(header_style="bold", box=None, pad_edge=False, padding=(0, GAP, 0, 0), width=width)
    for i, name in enumerate(columns):
        grid.add_column(Text(name), justify="right" if i in right else "left", overflow="fold", width=widths[i])
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def fit(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int | None) -> list[int] | None:
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
