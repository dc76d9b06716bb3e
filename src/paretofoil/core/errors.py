"""The error for invalid input, and checks of whole numbers and seeds."""

from collections.abc import Iterable
from difflib import get_close_matches
from operator import index
from typing import Any


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return an unknown name and the nearest known one: "'branch-pth' (did you mean branch-path?)"."""
    close = get_close_matches(str(name), list(names), n=1, cutoff=0.6)
    return f"{str(name)!r}{f' (did you mean {close[0]}?)' if close else ''}"


class InvalidInput(ValueError):
    """Invalid input. The message names the expected and the given value."""

    @classmethod
    def expected(cls, what: str, got: object) -> "InvalidInput":
        """Return the error "expected ..., got ..."."""
        return cls(f"expected {what}, got {got}")

    @classmethod
    def missing(cls, package: str, extra: str) -> "InvalidInput":
        """Return the error for an optional dependency that is not installed."""
        return cls(f'{package} is not installed. Install it with: pip install "paretofoil[{extra}]"')


MAX_SEED = 2**63 - 1
"""The largest seed that NumPy, torch and environments all accept."""


def as_whole(value: Any, what: str) -> int:
    """Return a whole number, or raise InvalidInput; 1.5 is not rounded."""
    try:
        return index(value)
    except TypeError:
        raise InvalidInput.expected(what, repr(value)) from None


def as_seed(seed: Any) -> int:
    """Return a seed, or raise InvalidInput."""
    number = as_whole(seed, "a seed that is a whole number")
    if not 0 <= number <= MAX_SEED:
        raise InvalidInput.expected(f"a seed of at least 0{'' if number < 0 else f' and at most {MAX_SEED}'}", seed)
    return number
