"""Pareto dominance, hypervolume and crowding of sets of returns; larger is better in every objective.

Written here rather than taken from pymoo or pygmo: those bring compilers, solvers and plotting with them, and
a few dozen lines of NumPy are exact and fast enough for the sets that occur (up to a few hundred points).
"""

import numpy as np

from paretofoil.core.errors import InvalidInput

PAIRWISE = 256
"""Up to so many points, comparing all pairs at once is faster than looking at one point after the other."""


def as_points(points: object) -> np.ndarray:
    """(n, d) float64, checked; an empty list gives no points."""
    array = np.array(points, dtype=np.float64)
    if array.size == 0:
        return array.reshape(0, array.shape[-1] if array.ndim == 2 else 0)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InvalidInput.expected("points of finite numbers, shape (n, d)", f"shape {array.shape}")
    return array


def nondominated(points: object) -> np.ndarray:
    """The indices, in order, of the points that no other dominates; of equal points the first is kept."""
    return _best(as_points(points))


def _best(points: np.ndarray) -> np.ndarray:
    """As `nondominated`, without the checks: (n, d) -> indices."""
    if len(points) <= PAIRWISE:
        at_least = (points[None, :, :] >= points[:, None, :]).all(axis=2)  # [i, j]: j is nowhere worse than i
        earlier = np.tri(len(points), k=-1, dtype=bool)
        return np.flatnonzero(~(at_least & (~at_least.T | earlier)).any(axis=1))
    # A point is dominated only by one that comes before it in the dictionary order, largest first.
    left = np.lexsort(-points.T[::-1])
    kept: list[int] = []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(int(best))
        left = left[(points[left] > points[best]).any(axis=1)]
    return np.sort(np.array(kept))


def hypervolume(points: object, reference: object) -> float:
    """The exact volume that the points dominate above the reference point (WFG: While, Bradstreet, Barone 2012).

    Points that do not exceed the reference in every objective add nothing.
    """
    array, origin = as_points(points), np.asarray(reference, dtype=np.float64)
    if len(array) == 0:
        return 0.0
    if origin.shape != (array.shape[1],):
        raise InvalidInput.expected(f"a reference point of {array.shape[1]} numbers", f"shape {origin.shape}")
    gains = array - origin
    gains = gains[(gains > 0).all(axis=1)]
    return _volume(gains[_best(gains)])


def _volume(gains: np.ndarray) -> float:
    """The volume of the union of boxes [0, gain] of mutually nondominated gains (n, d)."""
    count, size = gains.shape
    if count == 0:
        return 0.0
    if count == 1:
        return float(gains.prod())
    if size == 1:
        return float(gains.max())
    if count == 2:
        return float(gains.prod(axis=1).sum() - np.minimum(gains[0], gains[1]).prod())
    order = gains[np.argsort(gains[:, -1], kind="stable")]  # rising in the last objective
    if size == 2:
        return float((order[::-1, 1] * np.diff(order[::-1, 0], prepend=0.0)).sum())
    # Each box in turn adds what the boxes after it do not cover. Those are at least as high in the last
    # objective, so all common parts have this box's height, and one objective can be left out below.
    total = 0.0
    for i, box in enumerate(order):
        common = np.minimum(order[i + 1 :, :-1], box[:-1])
        total += float(box[-1]) * (float(box[:-1].prod()) - _volume(common[_best(common)]))
    return total


def crowding_distance(points: object) -> np.ndarray:
    """(n,) how lonely each point is among the others (Deb et al. 2002): the ends of an objective are infinitely so."""
    array = as_points(points)
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
