"""What verbs share: the console, and reading lists of numbers."""

from rich.console import Console

from paretofoil.errors import InvalidInput

console = Console()


def numbers(text: str, what: str) -> list[float]:
    """ "8,-8" -> [8.0, -8.0]."""
    try:
        return [float(part) for part in text.replace(" ", "").strip("()[]").split(",")]
    except ValueError:
        raise InvalidInput.expected(f"{what} as numbers with commas between them, such as 8,-8", repr(text)) from None
