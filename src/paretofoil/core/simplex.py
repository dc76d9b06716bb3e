"""Preferences: weights of at least 0 that sum to 1, and coordinates along the plane that they lie in."""

import numpy as np

from paretofoil.core.errors import InvalidInput

SUM_SLACK = 1e-6
"""How far from 1 the sum of given weights may be, which float32 numbers need; they are then divided by it."""
_SUMS = 1e-12
"""How far from 1 the sum of weights may be that count as inside."""


def as_preferences(weights: np.ndarray, what: str) -> np.ndarray:
    """Weights (..., d) that sum to 1 as float64 numbers can, or an error that names them."""
    total = weights.sum(axis=-1, keepdims=True)
    if (np.abs(total - 1.0) > SUM_SLACK).any() or (weights < -SUM_SLACK).any():
        raise InvalidInput.expected(f"{what} to be weights of at least 0 that sum to 1", weights.tolist())
    kept = np.maximum(weights, 0.0)
    made: np.ndarray = np.where(np.abs(total - 1.0) > _SUMS, kept / kept.sum(axis=-1, keepdims=True), kept)
    return made


def project(weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The nearest weights (N, d) within low, high (N, d) that sum to 1.

    They are clip(weights - t), for the one t at which they sum to 1: the sum falls with t, along straight lines
    between the places where a weight meets its limit.
    """
    clipped = np.clip(weights, low, high)
    rows = np.flatnonzero((clipped != weights).any(axis=1) | (np.abs(weights.sum(axis=1) - 1.0) > _SUMS))
    if not len(rows):
        return clipped
    weights, low, high = weights[rows], low[rows], high[rows]
    corners = np.sort(np.concatenate([weights - low, weights - high], axis=1), axis=1)  # (n, 2 d) of t
    sums = np.clip(weights[:, None, :] - corners[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    after = np.clip((sums > 1.0).sum(axis=1), 1, corners.shape[1] - 1)  # the first corner with a sum of at most 1
    each = np.arange(len(rows))
    start, end = corners[each, after - 1], corners[each, after]
    above, drop = sums[each, after - 1] - 1.0, sums[each, after - 1] - sums[each, after]
    share = np.divide(above, drop, out=np.zeros_like(drop), where=drop > 0)
    moved = weights - (start + np.clip(share, 0.0, 1.0) * (end - start))[:, None]
    clipped[rows] = np.clip(moved, low, high)
    return clipped


def directions(free: np.ndarray) -> np.ndarray:
    """(d, d), orthonormal columns: first those along which the free weights (d,) trade with each other.

    Then the one that changes their sum, and the locked weights themselves: along these nothing moves.
    """
    count, order = int(free.sum()), np.flatnonzero(free)
    made = np.zeros((len(free), len(free)))
    for k in range(1, count):  # Helmert's: the first k against the next
        made[order[:k], k - 1] = 1.0 / np.sqrt(k * (k + 1.0))
        made[order[k], k - 1] = -k / np.sqrt(k * (k + 1.0))
    if count:
        made[order, count - 1] = 1.0 / np.sqrt(count)
    made[np.flatnonzero(~free), np.arange(count, len(free))] = 1.0
    return made


def reach(basis: np.ndarray, command: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far along each column of the basis one can go from the command (d,), down and up, and stay in the region."""
    count = int((high > low).sum()) - 1
    ends = np.zeros((2, len(command)))
    for k in range(max(count, 0)):
        for side, sign in enumerate((-1.0, 1.0)):
            ends[side, k] = basis[:, k] @ (_farthest(sign * basis[:, k], low, high) - command)
    return np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)


def least(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The least of values . w (N,) over weights within low, high (d,) that sum to 1: what is left goes to the least."""
    order = np.argsort(values, axis=1, kind="stable")
    room = (high - low)[order]
    given = np.clip(1.0 - low.sum() - (np.cumsum(room, axis=1) - room), 0.0, room)
    total: np.ndarray = values @ low + (np.take_along_axis(values, order, axis=1) * given).sum(axis=1)
    return total


def _farthest(direction: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The weights of the region that are farthest along a direction: what is left to give goes to the steepest."""
    weights, left = low.copy(), 1.0 - low.sum()
    for i in np.argsort(-direction, kind="stable"):
        weights[i] += min(left, high[i] - low[i])
        left -= weights[i] - low[i]
    return weights
