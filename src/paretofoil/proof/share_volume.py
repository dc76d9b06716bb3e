"""How much of a box a half-space holds: the exact volume, less what rounding could have added to it.

The share of the unit cube in which w . x < c is sum over corners v of (-1)^|v| max(c - w . v, 0)^d / (d! w_1 ... w_d)
(Barrow and Smith 1979). Terms of both signs cancel where a weight is small, so that small weights are taken at their
worst instead, and what rounding can do to the others is taken off.
"""

import math

import numpy as np

_ROUNDING = 2.0**-53
_FLAT = 1e-7
"""Weights below the (d - 1)th root of this, relative to the largest, are taken at their worst."""
_MOST_WEIGHTS = 8
"""Of those that are not: the sum has 2 to the power of their number terms."""


def share_below(slopes: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """At least which share of each box low, high (B, d) has slopes . z + offsets < 0: (B, K), never too much.

    slopes (B, K, d), offsets (B, K). A box without width in some coordinate is measured in the others.
    """
    rise = slopes * (high - low)[:, None, :]
    lowest = offsets + np.matmul(slopes, low[:, :, None])[:, :, 0] + np.minimum(rise, 0.0).sum(axis=2)
    size = np.abs(offsets) + np.matmul(np.abs(slopes), np.maximum(np.abs(low), np.abs(high))[:, :, None])[:, :, 0]
    weights = np.abs(rise)
    room = -lowest - 16 * (low.shape[1] + 2) * _ROUNDING * size  # how far below 0 the lowest corner is
    share = (room > weights.sum(axis=2) * (1 + 1e-12)).astype(np.float64)
    partly = (room > 0) & (share == 0)
    share[partly] = _share_of_cube(weights[partly], room[partly])
    return share


def _share_of_cube(weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """At least which share of the unit cube has weights (N, d) . x < room (N,), all of them positive."""
    weights = -np.sort(-weights, axis=1)
    largest = np.maximum(weights[:, :1], 1e-300)
    weights, room = weights / largest, room / largest[:, 0]
    flat = weights < _FLAT ** (1.0 / max(weights.shape[1] - 1, 1))
    flat[:, _MOST_WEIGHTS:] = True
    room = room - np.where(flat, weights, 0.0).sum(axis=1)
    share, kept = np.zeros(len(room)), (~flat).sum(axis=1)
    for count in np.unique(kept):
        some = (kept == count) & (room > 0)
        share[some] = _by_corners(weights[some, :count], room[some])
    return share


def _by_corners(weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The same for weights (N, k) that are all of some size; the smaller of the two sides is computed."""
    count, total = weights.shape[1], weights.sum(axis=1)
    mirrored = room > total / 2
    side = np.clip(np.where(mirrored, total - room, room), 0.0, None)
    corners = (np.arange(2**count)[:, None] >> np.arange(count)) & 1  # (2^k, k)
    signs = 1.0 - 2.0 * (corners.sum(axis=1) % 2)
    heights = np.maximum(side[:, None] - weights @ corners.T, 0.0)
    unit = math.factorial(count) * weights.prod(axis=1)
    share = (heights**count) @ signs / unit
    error = 64 * count * 2**count * _ROUNDING * total * np.maximum(side, _ROUNDING) ** (count - 1) / unit
    return np.clip(np.where(mirrored, 1.0 - share, share) - error - 4 * _ROUNDING, 0.0, 1.0)
