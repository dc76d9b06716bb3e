"""Scrambled Sobol points, the same as those of `scipy.stats.qmc.Sobol`, which takes half a second to import.

Direction numbers of Joe and Kuo (2008), a linear matrix scramble and a digital shift.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

_BITS = 30
_FIRST = (
    (3, (1,)),
    (7, (1, 3)),
    (11, (1, 3, 1)),
    (13, (1, 1, 1)),
    (19, (1, 1, 3, 3)),
    (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)),
    (41, (1, 1, 5, 5, 5)),
    (47, (1, 1, 7, 11, 19)),
    (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)),
)
"""The primitive polynomial and the first direction numbers of each dimension after the first."""


def sobol(dim: int, seed: int) -> Callable[[int], np.ndarray]:
    """Return a function that draws the next n points of a sequence in the unit cube: (n, dim)."""
    if dim > 1 + len(_FIRST):  # rare, so that half a second does not matter
        from scipy.stats import qmc

        draw: Callable[[int], np.ndarray] = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(seed)).random
        return draw
    return _Sequence(*_scrambled(dim, seed)).draw


class _Sequence:
    """A sequence by its digital shift (dim,) and its direction numbers (dim, bits)."""

    def __init__(self, shift: np.ndarray, directions: np.ndarray) -> None:
        self.shift, self.directions, self.drawn = shift, directions, 0

    def draw(self, num_points: int) -> np.ndarray:
        number = np.arange(self.drawn, self.drawn + num_points)
        gray = number ^ (number >> 1)
        points = np.repeat(self.shift[None], num_points, axis=0)
        for bit in range(int(number[-1]).bit_length()):
            points ^= np.where(gray[:, None] >> bit & 1, self.directions[:, bit], 0)
        self.drawn += num_points
        scaled: np.ndarray = points / 2.0**_BITS
        return scaled


@cache
def _scrambled(dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the digital shift (dim,) and the scrambled direction numbers (dim, bits)."""
    powers = 1 << np.arange(_BITS)
    [generator] = np.random.default_rng(seed).spawn(1)  # as SciPy does
    shift = generator.integers(2, size=(dim, _BITS), dtype=np.uint32) @ powers
    lower = np.tril(generator.integers(2, size=(dim, _BITS, _BITS), dtype=np.uint32), -1) + np.eye(_BITS)
    numbers = np.array([_direction_numbers(d) for d in range(dim)])  # (dim, bits)
    digits = numbers[:, None, :] >> np.arange(_BITS)[::-1, None] & 1  # (dim, digit, bits), the highest digit first
    scrambled = np.matmul(lower, digits).astype(np.int64) % 2
    return shift, (scrambled * powers[::-1, None]).sum(axis=1)


def _direction_numbers(dimension: int) -> list[int]:
    """Return the direction numbers of one dimension by the recurrence of its polynomial (Bratley and Fox, 1988)."""
    if dimension == 0:
        numbers = [1] * _BITS
    else:
        polynomial, first = _FIRST[dimension - 1]
        degree, numbers = len(first), list(first)
        for j in range(degree, _BITS):
            value = numbers[j - degree]
            for k in range(1, degree + 1):
                if polynomial >> (degree - k) & 1:
                    value ^= numbers[j - k] << k
            numbers.append(value)
    return [number << (_BITS - 1 - j) for j, number in enumerate(numbers)]
