"""What verbs share: reading lists of numbers, printing tables."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from paretofoil.errors import InvalidInput

console = Console()


def numbers(text: str, what: str) -> list[float]:
    """ "8,-8" -> [8.0, -8.0]."""
    try:
        return [float(part) for part in text.replace(" ", "").strip("()[]").split(",")]
    except ValueError:
        raise InvalidInput.expected(f"{what} as numbers with commas between them, such as 8,-8", repr(text)) from None


def numbers_or_none(text: str | None, what: str) -> list[float] | None:
    return None if text is None else numbers(text, what)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    """A table in the house style; the columns in `right` hold numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for i, name in enumerate(columns):
        made.add_column(name, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
