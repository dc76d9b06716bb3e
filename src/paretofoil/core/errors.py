"""The one error that bad input raises."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """ "'branch-pth' (did you mean branch-path?)": a name that is not known, with the nearest that is."""
    close = get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"{str(name)!r}{f' (did you mean {close[0]}?)' if close else ''}"


class InvalidInput(ValueError):
    """Input that cannot be used; the message says what was expected and what was given."""

    @classmethod
    def expected(cls, what: str, got: object) -> "InvalidInput":
        return cls(f"expected {what}, got {got}")

    @classmethod
    def missing(cls, package: str, extra: str) -> "InvalidInput":
        """Return the error for an optional dependency that is not installed."""
        return cls(f'{package} is not installed. Install it with: pip install "paretofoil[{extra}]"')
