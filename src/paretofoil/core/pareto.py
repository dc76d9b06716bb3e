"""Pareto dominance, hypervolume and crowding of sets of returns; larger is better in every objective.

pymoo and pygmo have these functions, but also large dependencies. NumPy suffices for sets of a few hundred points.
"""

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief

PAIRWISE = 256
"""Up to this many points, it is faster to compare all pairs at once."""


def _as_points(points: object) -> np.ndarray:
    """Return points (n, d) as float64; an empty list gives no points."""
    array = np.array(points, dtype=np.float64)
    if array.size == 0:
        return array.reshape(0, array.shape[-1] if array.ndim == 2 else 0)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InvalidInput.expected("points of finite numbers, shape (n, d)", brief(array.tolist()))
    return array


def nondominated(points: object) -> np.ndarray:
    """Return the sorted indices of the nondominated points. If several points are equal, only the first one counts."""
    return _best(_as_points(points))


def _best(points: np.ndarray) -> np.ndarray:
    """Return the indices of the nondominated points (n, d)."""
    if len(points) <= PAIRWISE:
        at_least = (points[None, :, :] >= points[:, None, :]).all(axis=2)  # [i, j]: j is nowhere worse than i
        earlier = np.tri(len(points), k=-1, dtype=bool)
        return np.flatnonzero(~(at_least & (~at_least.T | earlier)).any(axis=1))
    # A point is dominated only by points before it in the lexicographic order, largest first.
    left = np.lexsort(-points.T[::-1])
    kept: list[int] = []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(int(best))
        left = left[(points[left] > points[best]).any(axis=1)]
    return np.sort(np.array(kept))


def hypervolume(points: object, reference: object) -> float:
    """Return the volume that the points dominate above the reference point (WFG: While, Bradstreet, Barone 2012).

    A point counts only if it exceeds the reference in every objective.
    """
    array, origin = _as_points(points), np.asarray(reference, dtype=np.float64)
    if len(array) == 0:
        return 0.0
    if origin.shape != (array.shape[1],):
        raise InvalidInput.expected(f"a reference point of {array.shape[1]} numbers", f"shape {origin.shape}")
    gains = array - origin
    gains = gains[(gains > 0).all(axis=1)]
    return _volume(gains[_best(gains)])


def _volume(gains: np.ndarray) -> float:
    """Return the volume of the union of boxes [0, gain], for gains (n, d) that do not dominate each other."""
    count, size = gains.shape
    if count == 0:
        return 0.0
    if count == 1:
        return float(gains.prod())
    if size == 1:
        return float(gains.max())
    if count == 2:
        return float(gains.prod(axis=1).sum() - np.minimum(gains[0], gains[1]).prod())
    order = gains[np.argsort(gains[:, -1], kind="stable")]  # increasing in the last objective
    if size == 2:
        return float((order[::-1, 1] * np.diff(order[::-1, 0], prepend=0.0)).sum())
    # Each box adds the volume that the boxes after it do not cover. Those are at least as large in the last
    # objective, so that the volume in common has one objective less, times this box's value of the last.
    total = 0.0
    for i, box in enumerate(order):
        common = np.minimum(order[i + 1 :, :-1], box[:-1])
        total += float(box[-1]) * (float(box[:-1].prod()) - _volume(common[_best(common)]))
    return total


def crowding_distance(points: object) -> np.ndarray:
    """Return the crowding distance (n,) of each point (Deb et al. 2002); it is infinite at the ends of an objective."""
    array = _as_points(points)
    distance = np.zeros(len(array))
    if len(array) < 3:
        return distance + np.inf
    for values in array.T:
        order = np.argsort(values, kind="stable")
        width = values[order[-1]] - values[order[0]]
        distance[order[[0, -1]]] = np.inf
        if width > 0:
            distance[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / width
    return distance
