"""What verbs share: the console, tables of results, and reading lists of numbers."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from paretofoil.core.errors import InvalidInput

if TYPE_CHECKING:
    from paretofoil.study.table import Table

console = Console()


def numbers(text: str, what: str) -> list[float]:
    """ "8,-8" -> [8.0, -8.0]."""
    try:
        return [float(part) for part in text.replace(" ", "").strip("()[]").split(",")]
    except ValueError:
        raise InvalidInput.expected(f"{what} as numbers with commas between them, such as 8,-8", repr(text)) from None


def print_table(made: "Table") -> None:
    """A table with its note, as wide as it needs to be: figures are not cut off where the window is narrow."""
    from paretofoil.show.terminal import table
    from paretofoil.study.table import text

    cells = [[text(cell) for cell in row] for row in made.rows]
    shown = table(made.title, made.columns, cells, right=[i for i, right in enumerate(made.numeric()) if right])
    width = console.measure(shown, options=console.options.update(max_width=400)).maximum
    Console(width=max(width, console.width), soft_wrap=True).print(shown)
    if made.note:
        console.print(f"[dim]{escape(made.note)}[/]", highlight=False)
    console.print()
