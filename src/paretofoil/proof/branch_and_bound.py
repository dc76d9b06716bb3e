"""Branch and bound over boxes: the nearest point at which all margins reach a level, or a proof that there is none."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from paretofoil.core.command import Norm
from paretofoil.core.options import Stop, now
from paretofoil.proof import compiled
from paretofoil.proof.bounds import CAP_DIM, Cap, Facets, HalfSpaces
from paretofoil.proof.halfspace import cut, nearest
from paretofoil.proof.networks import MarginNetwork, OddsNetwork

AT_ONCE = 512
"""Maximum number of boxes that are split together."""
_WORK = 1 << 30
"""Maximum number of multiplications for boxes that are split together, so that wide networks keep to time limits."""
_FEW = 16
"""Fewer boxes than this are split again before being bounded."""
_MANY = 64
"""Fewer boxes than this are bounded as a whole, because bounding them in caps would take longer."""
_SMALLEST = 1e-8
"""Smaller boxes are not split, because float32 policies hardly tell their commands apart."""
_SNAP = 1e-12
"""Upper bound of the rounding error of the coordinate of a whole number, relative to the largest coordinate or 1."""
_WORTHWHILE = 0.7
"""Boxes that contract below this share of their width are bounded once more before they are split."""

Improve = Callable[[np.ndarray], float]
"""Takes promising points (N, d) and returns the distance of the incumbent, infinite if there is none."""


@dataclass(frozen=True, eq=False)
class Claim:
    """Some point of the box low, high (d,) has margins of at least `level` over all rivals."""

    network: MarginNetwork | OddsNetwork
    low: np.ndarray
    high: np.ndarray
    level: float
    norm: Norm
    facets: Facets | None = None
    """The facets of the region, if it is not the whole box. They count as rivals."""
    grid: np.ndarray | None = None
    """The distance (d,) between the values of each coordinate, 0 among them, that are whole numbers; 0 for real
    coordinates. None if all coordinates are real."""
    around: np.ndarray | float = 0.0
    """How far (d,) from a whole number a point may be, because of rounding."""

    def shrink(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return boxes low, high (B, d), shrunk to the whole numbers in them."""
        if self.grid is None:
            return low, high
        farthest = np.maximum(np.abs(self.low), np.abs(self.high))
        step, around = np.where(self.grid > 0, self.grid, 1.0), self.around + _SNAP * np.maximum(farthest, 1.0)
        first = np.ceil((low - around) / step) * step - around
        last = np.floor((high + around) / step) * step + around
        whole = self.grid > 0
        return np.where(whole, np.maximum(low, first), low), np.where(whole, np.minimum(high, last), high)

    @cached_property
    def chain(self) -> "tuple[np.ndarray, np.ndarray, np.ndarray] | None":
        """The network in the form of the compiled functions; None if they do not cover the claim."""
        plain = self.norm == "l2" and self.facets is None and self.grid is None
        return compiled.chain_of(self.network) if plain else None

    @property
    def uses_caps(self) -> bool:
        """Whether bounds are restricted to caps."""
        return self.norm == "l2" and len(self.low) >= CAP_DIM

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, cap: Cap | None = None) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, d), or over their parts in caps."""
        bounds = self.network.upper_bounds(low, high, self.level, cap)
        return bounds if self.facets is None else self.facets.append_to(bounds, self.level)

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals and facets) at points z (N, d)."""
        margins = self.network.margins(z)
        return margins if self.facets is None else np.concatenate([margins, self.facets.values(z) + self.level], axis=1)

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins (N, rivals and facets) at points z (N, d), and their derivatives (N, ..., d)."""
        margins, slopes = self.network.margins_and_slopes(z)
        if self.facets is None:
            return margins, slopes
        facets = np.broadcast_to(self.facets.slopes, (len(z), *self.facets.slopes.shape))
        margins = np.concatenate([margins, self.facets.values(z) + self.level], axis=1)
        return margins, np.concatenate([slopes, facets], axis=1)


@dataclass(frozen=True)
class Effort:
    """The gap to reach, and the limits."""

    gap: float
    """Largest distance by which a point may be closer than the incumbent."""
    max_boxes: int
    deadline: float = np.inf
    """A value of `now()`."""
    share: float = np.inf
    """The gap as a share of the incumbent's distance; the smaller of the two gaps applies."""
    batch: int = AT_ONCE
    """Maximum number of boxes that are split together."""
    allowance: float = 0.0
    """The caller subtracts this from the lower bound. The gap is therefore reduced by it, but at most by half."""

    def goal(self, best: float) -> float:
        """Return the lower bound to reach for an incumbent at distance `best`."""
        gap = min(self.gap, self.share * best)
        return best - max(gap - self.allowance, gap / 2) if np.isfinite(best) else np.inf


@dataclass(frozen=True)
class Proof:
    """No point at which all margins reach the level is closer than `lower`."""

    lower: float
    boxes: int
    stop: Stop
    """PROVEN if the gap is reached, otherwise the limit. `lower` holds in either case."""

    @property
    def closed(self) -> bool:
        return self.stop is Stop.PROVEN


class Columns:
    """A dataclass whose fields are arrays with a common first axis."""

    @property
    def columns(self) -> list[np.ndarray]:
        return [getattr(self, name) for name in self.__match_args__]  # type: ignore[attr-defined]

    def __getitem__(self, index: np.ndarray | slice) -> Self:
        return type(self)(*(column[index] for column in self.columns))

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(np.concatenate, zip(self.columns, other.columns, strict=True)))

    def __len__(self) -> int:
        return len(getattr(self, self.__match_args__[0]))  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Boxes(Columns):
    """Open boxes, which may hold a closer point."""

    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    bound: np.ndarray  # (B,): the lower bound of the distance
    axis: np.ndarray  # (B,): the axis to split
    point: np.ndarray  # (B, d): the nearest point that satisfies the linear bounds
    normal: np.ndarray  # (B, d)
    height: np.ndarray  # (B,): every closer point has normal . z >= height

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        return halves(self.low, self.high, self.axis)


def branch_and_bound(
    claim: Claim,
    effort: Effort,
    improve: Improve = lambda points: np.inf,
    best: float = np.inf,
    hopeless: Callable[[], bool] = lambda: False,
) -> Proof:
    """Split the boxes with the smallest lower bounds until none can hold a point closer than best - gap.

    `improve` takes points to try, and returns the distance of the best one. `hopeless` returns whether the limit of
    queries prevents further points from being tried; the search then stops.
    """
    low, high = claim.low[None], claim.high[None]
    normal, height = np.zeros_like(low), np.zeros(1)
    pool = Boxes(low, high, np.zeros(1), np.zeros(1, dtype=np.int64), low, normal, height)[:0]
    num_boxes, take, most = 0, 1, at_once(claim.network.work, effort.batch)
    undecided = np.inf  # the least bound of the boxes that are too small to split
    while True:
        children = bound_boxes(claim, low, high, effort.goal(best), (normal, height) if len(low) >= _MANY else None)
        num_boxes += len(low)
        if len(children):
            best = min(best, improve(np.concatenate([children.point, (children.low + children.high) / 2])))
        small = too_small(children.low, children.high)
        undecided = min(undecided, children.bound[small].min(initial=np.inf))
        pool = pool + children[~small]
        pool = pool[pool.bound < effort.goal(best)]
        if not len(pool):
            reached = effort.goal(best)
            stop = Stop.PROVEN if undecided >= reached else Stop.COMPLETE
            return Proof(max(0.0, float(min(reached, undecided))), num_boxes, stop)
        starved = hopeless()
        if starved or num_boxes >= effort.max_boxes or now() >= effort.deadline:
            limit = Stop.OUT_OF_BOXES if num_boxes >= effort.max_boxes else Stop.OUT_OF_TIME
            stop = Stop.OUT_OF_QUERIES if starved else limit
            return Proof(max(0.0, float(min(pool.bound.min(), undecided))), num_boxes, stop)
        take = min(2 * take, most)
        order = np.argpartition(pool.bound, take - 1) if take < len(pool) else np.arange(len(pool))
        taken = pool[order[:take]]
        low, high = taken.halves()
        normal, height = np.tile(taken.normal, (2, 1)), np.tile(taken.height, 2)
        few = min(_FEW, most, (effort.max_boxes - num_boxes) // 2)
        while len(low) < few:  # fewer rounds: bounding a few boxes takes no longer than one
            low, high = halves(low, high, widest(claim, low, high))
            normal, height = np.tile(normal, (2, 1)), np.tile(height, 2)
        pool = pool[order[take:]]


Planes = tuple[np.ndarray, np.ndarray]
"""Normals (B, d) and heights (B,): every closer point of a box has normal . z >= height."""


def bound_boxes(
    claim: Claim,
    low: np.ndarray,
    high: np.ndarray,
    radius: float,
    planes: Planes | None = None,
    *,
    contract: bool = True,
) -> Boxes:
    """Bound and contract boxes low, high (B, d), and return those that may hold a point within the radius.

    With planes, bounds may be restricted to caps (`claim.uses_caps`).
    """
    normal, height = planes or (np.zeros_like(low), np.zeros(len(low)))
    if claim.chain is not None and contract:
        low, high, point = low.copy(), high.copy(), np.empty_like(low)
        bound = compiled.kernels.bound_boxes(claim.chain, low, high, claim.level, radius, point, normal, height)
        return Boxes(low, high, bound, widest(claim, low, high), point, normal, height)[bound < radius]
    slopes, levels = np.zeros((len(low), 0, low.shape[1])), np.zeros((len(low), 0))
    if contract:
        low, high = cut(slopes, levels, low, high, radius, claim.norm)
    low, high = claim.shrink(low, high)
    cap = Cap(radius, normal, np.minimum(height, radius))
    alive = (low <= high).all(axis=1)
    low, high, cap = low[alive], high[alive], cap[alive]
    for _ in range(2 if contract else 1):
        bounds = claim.upper_bounds(low, high, cap if contract and planes and claim.uses_caps else None)
        slopes, levels = bounds.slopes, claim.level - bounds.offsets
        if slopes.shape[1]:
            cap = Cap.beyond(radius, slopes, levels)
        alive = (bounds.highest(low, high) >= claim.level).all(axis=1)
        width = (high - low).max(initial=0.0)
        if contract:
            low, high = claim.shrink(*cut(slopes, levels, low, high, radius, claim.norm))
            alive &= (low <= high).all(axis=1)
        low, high, slopes, levels, cap = low[alive], high[alive], slopes[alive], levels[alive], cap[alive]
        if (high - low).max(initial=0.0) > _WORTHWHILE * width:
            break
    bound, point = nearest(slopes, levels, low, high, claim.norm)
    axis = widest(claim, low, high)
    return Boxes(low, high, bound, axis, point, cap.normal, cap.height)[bound < radius]


def widest(claim: Claim, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the axis (B,) along which each box low, high (B, d) moves the network most, to split it there."""
    return np.argmax((high - low) * claim.network.stretch, axis=1)


def halves(low: np.ndarray, high: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the halves (2 B, d) of boxes low, high (B, d) along axes (B,): all lower ones, then all upper ones."""
    rows = np.arange(len(low))
    high_of_lower, low_of_upper = high.copy(), low.copy()
    high_of_lower[rows, axis] = low_of_upper[rows, axis] = (low[rows, axis] + high[rows, axis]) / 2
    return np.concatenate([low, low_of_upper]), np.concatenate([high_of_lower, high])


def at_once(work: int, most: int = AT_ONCE) -> int:
    """Return how many boxes to split together, if bounding one takes `work` multiplications."""
    return min(most, max(1, _WORK // work))


def too_small(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which of the boxes low, high (B, d) are too small to split: (B,) bool."""
    small: np.ndarray = (high - low).max(axis=1, initial=0.0) < _SMALLEST
    return small
