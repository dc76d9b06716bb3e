"""Boxes of commands that are split: into what, how many at once, and which no more."""

import numpy as np

AT_ONCE = 512
"""Boxes that are split at once, at most."""
_WORK = 1 << 30
"""Products of a batch of boxes, so that wide networks take fewer boxes at once and look at the clock in time."""
_SMALLEST = 1e-8
"""Boxes smaller than this are left undecided: float32, in which policies see commands, cannot tell halves apart."""


def halves(low: np.ndarray, high: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The halves (2 B, d) of boxes low, high (B, d) along an axis each (B,): first all lower ones, then all upper."""
    rows = np.arange(len(low))
    high_of_lower, low_of_upper = high.copy(), low.copy()
    high_of_lower[rows, axis] = low_of_upper[rows, axis] = (low[rows, axis] + high[rows, axis]) / 2
    return np.concatenate([low, low_of_upper]), np.concatenate([high_of_lower, high])


def at_once(work: int, most: int = AT_ONCE) -> int:
    """How many boxes to split at once, where bounding one takes so many products."""
    return min(most, max(1, _WORK // work))


def too_small(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(B,) bool: which of boxes low, high (B, d) are not to be split any more."""
    small: np.ndarray = (high - low).max(axis=1, initial=0.0) < _SMALLEST
    return small
