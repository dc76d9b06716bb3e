"""Tables on the terminal."""

from collections.abc import Sequence

from rich.table import Table


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    """A table in the house style; the columns in `right` hold numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for i, name in enumerate(columns):
        made.add_column(name, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
