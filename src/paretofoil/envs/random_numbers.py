"""Random numbers that depend only on (seed, step): rows of a batch never influence each other.

NumPy's generators cannot draw for many seeds in one call; hashing a counter can (SplitMix64's finaliser).
"""

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(seeds: np.ndarray, steps: np.ndarray, draws: int) -> np.ndarray:
    """(rows,), (rows,) -> (rows, draws) numbers in the open interval (0, 1)."""
    with np.errstate(over="ignore"):
        key = _mix(seeds.astype(np.uint64) * _GOLDEN + np.uint64(1))
        key = _mix(key + steps.astype(np.uint64) * _GOLDEN)
        bits = _mix(key[:, None] + (np.arange(draws, dtype=np.uint64) + np.uint64(1)) * _GOLDEN)
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
