"""What verbs share to speak: words and tables as they are, on any width of window, piped or not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from paretofoil.study.table import Table

console = Console()
notes = Console(stderr=True)
"""Notes and errors: standard error, so that what is piped holds answers alone."""


def say(*parts: str | tuple[str, str], on: Console | None = None) -> None:
    """Print words, some of them with a style. Brackets are brackets; only a terminal wraps lines."""
    where = on or console
    where.print(Text.assemble(*parts), soft_wrap=not where.is_terminal)


def note(*parts: str | tuple[str, str]) -> None:
    say(*parts, on=notes)


def room() -> int | None:
    """The width of the window, or None where there is none to fit into."""
    return console.width if console.is_terminal else None


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """A table. Names are not broken: where the window is too narrow for that, each row becomes a paragraph."""
    from paretofoil.show.terminal import fit, table

    if title:
        say((title, "bold"))
    widths = fit(columns, rows, room())
    if widths is not None:
        console.print(table("", columns, rows, right, widths), crop=False)
        return
    for first, *others in rows:
        told = [f"{name} {cell}".strip() for name, cell in zip(columns[1:], others, strict=True) if cell]
        say((first, "bold"), ": ", "; ".join(told))


def print_table(made: "Table") -> None:
    """A table of results with its note."""
    from paretofoil.study.table import text

    cells = [[text(cell) for cell in row] for row in made.rows]
    print_rows(made.title, made.columns, cells, right=[i for i, right in enumerate(made.numeric()) if right])
    if made.note:
        say((made.note, "dim"))
    say()
