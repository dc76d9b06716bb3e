"""Branch and bound over boxes of commands: no valid command is closer than ..., or there is none."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paretofoil.core.command import Norm
from paretofoil.core.limit import Stop, now
from paretofoil.proof.bound import HalfSpaces, upper_bounds
from paretofoil.proof.box import AT_ONCE, at_once, halves, too_small
from paretofoil.proof.halfspace import cut, nearest
from paretofoil.proof.joint import JointNetwork
from paretofoil.proof.margin import MarginNetwork
from paretofoil.proof.product import ProductNetwork
from paretofoil.proof.walls import Walls

_WORTHWHILE = 0.7
"""Boxes that shrank below this share of their width are bounded once more before they are split."""

Improve = Callable[[np.ndarray], float]
"""Shown promising points (N, d), tells the distance of the closest valid change known, infinite if none is."""


@dataclass(frozen=True, eq=False)
class Claim:
    """What a proof is about: where in the box low, high (d,) are all margins at least `level`, nearest to 0?"""

    network: MarginNetwork | ProductNetwork
    low: np.ndarray
    high: np.ndarray
    level: float
    norm: Norm
    walls: Walls | None = None
    """What of the box belongs to the region, where that is not all: they count as rivals."""

    def lines(self, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
        """Lines above the margins over boxes low, high (B, d)."""
        if isinstance(self.network, ProductNetwork):
            lines = self.network.upper_bounds(low, high, self.level)
        else:
            lines = upper_bounds(self.network, low, high, self.level)
        return lines if self.walls is None else self.walls.beside(lines, self.level)

    def margins(self, z: np.ndarray) -> np.ndarray:
        """(N, d) -> (N, rivals and walls)."""
        margins = self.network.margins(z)
        return margins if self.walls is None else np.concatenate([margins, self.walls.room(z) + self.level], axis=1)

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N, d) -> margins (N, rivals and walls) and their derivatives (N, rivals and walls, d)."""
        margins, slopes = self.network.margins_and_slopes(z)
        if self.walls is None:
            return margins, slopes
        walls = np.broadcast_to(self.walls.slopes, (len(z), *self.walls.slopes.shape))
        return np.concatenate([margins, self.walls.room(z) + self.level], axis=1), np.concatenate(
            [slopes, walls], axis=1
        )


@dataclass(frozen=True, eq=False)
class JointClaim(Claim):
    """The same about a box of states and commands."""

    network: JointNetwork  # type: ignore[assignment]

    def lines(self, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
        return self.network.upper_bounds(low, high, self.level)


@dataclass(frozen=True)
class Effort:
    """When to stop: at the gap, or before it."""

    gap: float
    """How much closer than the best known point another one may be at most."""
    max_boxes: int
    deadline: float = np.inf
    """On the clock of `now`."""
    share: float = np.inf
    """The same as a share of the best known point's size; the smaller of both counts."""
    batch: int = AT_ONCE
    """Boxes that are split at once, at most."""
    allowance: float = 0.0
    """What will be taken off the lower bound: the gap must be so much smaller, as long as half of it is left."""

    def goal(self, best: float) -> float:
        """No box that can hold nothing closer than this need be looked at."""
        gap = min(self.gap, self.share * best)
        return best - max(gap - self.allowance, gap / 2) if np.isfinite(best) else np.inf


@dataclass(frozen=True)
class Proof:
    """No point with all margins at least the level is closer than `lower`."""

    lower: float
    boxes: int
    stop: Stop
    """PROVEN if the gap was reached, or what came first; `lower` holds in any case."""

    @property
    def closed(self) -> bool:
        return self.stop is Stop.PROVEN


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes that may still hold something closer: their corners, lower bounds, and where to split them."""

    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    bound: np.ndarray  # (B,)
    axis: np.ndarray  # (B,)
    point: np.ndarray  # (B, d): where the linear bounds would place the nearest valid point

    def __getitem__(self, index: np.ndarray | slice) -> "Boxes":
        return Boxes(self.low[index], self.high[index], self.bound[index], self.axis[index], self.point[index])

    def __add__(self, other: "Boxes") -> "Boxes":
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        return Boxes(*(np.concatenate(pair) for pair in pairs))

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        return halves(self.low, self.high, self.axis)


def branch_and_bound(
    claim: Claim,
    effort: Effort,
    improve: Improve = lambda points: np.inf,
    best: float = np.inf,
    hopeless: Callable[[], bool] = lambda: False,
) -> Proof:
    """Best first: split the boxes with the least lower bounds until none can hold anything closer than best - gap.

    It is hopeless if a closer point is known that cannot be taken for lack of queries: no proof closes then.
    """
    low, high = claim.low[None], claim.high[None]
    pool = Boxes(low, high, np.zeros(1), np.zeros(1, dtype=np.int64), low)[:0]
    seen, take, most = 0, 1, at_once(claim.network.work, effort.batch)
    undecided = np.inf  # the least bound of the boxes that are too small to split
    while True:
        children = bound_boxes(claim, low, high, effort.goal(best))
        seen += len(low)
        if len(children.bound):
            best = min(best, improve(np.concatenate([children.point, (children.low + children.high) / 2])))
        small = too_small(children.low, children.high)
        undecided = min(undecided, children.bound[small].min(initial=np.inf))
        pool = pool + children[~small]
        pool = pool[pool.bound < effort.goal(best)]
        if not len(pool.bound):
            reached = effort.goal(best)
            stop = Stop.PROVEN if undecided >= reached else Stop.COMPLETE
            return Proof(max(0.0, float(min(reached, undecided))), seen, stop)
        starved = hopeless()
        if starved or seen >= effort.max_boxes or now() >= effort.deadline:
            limit = Stop.OUT_OF_BOXES if seen >= effort.max_boxes else Stop.OUT_OF_TIME
            stop = Stop.OUT_OF_QUERIES if starved else limit
            return Proof(max(0.0, float(min(pool.bound.min(), undecided))), seen, stop)
        take = min(2 * take, most)
        order = np.argpartition(pool.bound, take - 1) if take < len(pool.bound) else np.arange(len(pool.bound))
        low, high = pool[order[:take]].halves()
        pool = pool[order[take:]]


def bound_boxes(claim: Claim, low: np.ndarray, high: np.ndarray, radius: float, *, contract: bool = True) -> Boxes:
    """Reject, shrink and bound boxes low, high (B, d); only what can hold a point within the radius is left."""
    slopes, levels = np.zeros((len(low), 0, low.shape[1])), np.zeros((len(low), 0))
    if contract:
        low, high = cut(slopes, levels, low, high, radius, claim.norm)
    alive = (low <= high).all(axis=1)
    low, high = low[alive], high[alive]
    for _ in range(2 if contract else 1):
        lines = claim.lines(low, high)
        slopes, levels = lines.slopes, claim.level - lines.offsets
        alive = (lines.highest(low, high) >= claim.level).all(axis=1)
        width = (high - low).max(initial=0.0)
        if contract:
            low, high = cut(slopes, levels, low, high, radius, claim.norm)
            alive &= (low <= high).all(axis=1)
        low, high, slopes, levels = low[alive], high[alive], slopes[alive], levels[alive]
        if (high - low).max(initial=0.0) > _WORTHWHILE * width:
            break
    bound, point = nearest(slopes, levels, low, high, claim.norm)
    axis = np.argmax((high - low) * claim.network.stretch, axis=1)
    return Boxes(low, high, bound, axis, point)[bound < radius]
