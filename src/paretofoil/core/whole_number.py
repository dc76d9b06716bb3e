"""Whole numbers from outside: counts, positions and seeds, Python's own or NumPy's."""

from operator import index
from typing import Any

from paretofoil.core.errors import InvalidInput

MOST_SEED = 2**63 - 1
"""The largest seed that every generator takes: NumPy's, torch's and those of environments."""


def as_whole(value: Any, what: str) -> int:
    """The number itself, or an error that names it: 1.5 is not rounded."""
    try:
        return index(value)
    except TypeError:
        raise InvalidInput.expected(what, repr(value)) from None


def as_seed(seed: Any) -> int:
    number = as_whole(seed, "a seed that is a whole number")
    if not 0 <= number <= MOST_SEED:
        raise InvalidInput.expected(f"a seed of at least 0{'' if number < 0 else f' and at most {MOST_SEED}'}", seed)
    return number
