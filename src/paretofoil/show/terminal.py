"""Tables on the terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

LONGEST_NAME = 24
"""Words of up to so many characters are never broken; longer ones, such as paths, may be."""

GAP = 2
"""Blanks between two columns."""


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    widths: Sequence[int] | None = None,
) -> Table:
    """A table in the house style; the columns in `right` hold numbers. Cells are shown as they are, brackets too."""
    width = None if widths is None else sum(widths) + GAP * (len(widths) - 1)
    made = Table(title=Text(title, "bold") if title else None, title_justify="left", header_style="bold", box=None)
    made.pad_edge, made.padding, made.width = False, (0, GAP, 0, 0), width
    for i, name in enumerate(columns):
        side = "right" if i in right else "left"
        made.add_column(Text(name), justify=side, overflow="fold", width=None if widths is None else widths[i])  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def fit(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int | None) -> list[int] | None:
    """The widths of columns whose cells fold between words only; None if even the words need more room.

    Without a limit of room no cell folds at all.
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
