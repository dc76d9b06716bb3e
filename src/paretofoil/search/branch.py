"""Branch and bound over boxes of commands: no valid command is closer than ..., or there is none."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paretofoil.command import Norm, length
from paretofoil.search.bound import MarginNetwork, upper_bounds
from paretofoil.search.halfspace import cut, nearest

Improve = Callable[[np.ndarray], float]
"""Shown promising points (N, d), tells the distance of the closest valid change known, infinite if none is."""


@dataclass(frozen=True, eq=False)
class Claim:
    """What a proof is about: where in the box low, high (d,) are all margins at least `level`, nearest to 0?"""

    network: MarginNetwork
    low: np.ndarray
    high: np.ndarray
    level: float
    norm: Norm


@dataclass(frozen=True)
class Limits:
    """When to stop: at the gap, or before it."""

    gap: float
    max_boxes: int
    deadline: float = np.inf
    """On the clock of time.perf_counter."""
    batch: int = 512
    """Boxes that are split at once."""


@dataclass(frozen=True)
class Proof:
    """No point with all margins at least the level is closer than `lower`."""

    lower: float
    boxes: int
    closed: bool
    """False if a limit came first; `lower` holds nevertheless."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes that may still hold something closer: their corners, lower bounds, and where to split them."""

    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    bound: np.ndarray  # (B,)
    axis: np.ndarray  # (B,)
    point: np.ndarray  # (B, d): where the linear bounds would place the nearest valid point

    def __getitem__(self, index: np.ndarray) -> "Boxes":
        return Boxes(self.low[index], self.high[index], self.bound[index], self.axis[index], self.point[index])

    def __add__(self, other: "Boxes") -> "Boxes":
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        return Boxes(*(np.concatenate(pair) for pair in pairs))

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        rows = np.arange(len(self.bound))
        middle = (self.low[rows, self.axis] + self.high[rows, self.axis]) / 2
        high_of_left, low_of_right = self.high.copy(), self.low.copy()
        high_of_left[rows, self.axis] = low_of_right[rows, self.axis] = middle
        return np.concatenate([self.low, low_of_right]), np.concatenate([high_of_left, self.high])


def branch_and_bound(claim: Claim, limits: Limits, improve: Improve, best: float = np.inf) -> Proof:
    """Best first: split the boxes with the least lower bounds until none can hold anything closer than best - gap."""
    boxes_seen, take = 1, 1
    pool = bound_boxes(claim, claim.low[None], claim.high[None], best - limits.gap)
    while True:
        if len(pool.bound):
            best = min(best, improve(pool.point[np.argsort(pool.bound)[:64]]) if take == 1 else best)
        pool = pool[pool.bound < best - limits.gap]
        if not len(pool.bound):
            return Proof(best - limits.gap if np.isfinite(best) else np.inf, boxes_seen, True)
        if boxes_seen >= limits.max_boxes or time.perf_counter() >= limits.deadline:
            return Proof(float(pool.bound.min()), boxes_seen, False)
        take = min(2 * take, limits.batch, len(pool.bound))
        order = np.argpartition(pool.bound, take - 1)
        low, high = pool[order[:take]].halves()
        children = bound_boxes(claim, low, high, best - limits.gap)
        boxes_seen += len(low)
        if len(children.bound):
            best = min(best, improve(children.point))
        pool = pool[order[take:]] + children


MODE = dict(focus=1, rounds=2, ball=0, both=1, axis="slope")

def bound_boxes(claim: Claim, low: np.ndarray, high: np.ndarray, radius: float, rounds: int = 2) -> Boxes:
    """Reject, shrink and bound boxes low, high (B, d); only what can hold a point within the radius is left."""
    from paretofoil.search.bound import Relaxation
    none = np.zeros((len(low), 0))
    low, high = cut(none[:, :, None], none, low, high, radius, claim.norm)
    alive = (low <= high).all(axis=1)
    low, high = low[alive], high[alive]
    for r in range(MODE["rounds"]):
        relax = Relaxation(claim.network, low, high)
        lines = relax.lines()
        if MODE["focus"] and len(low):
            levels = claim.level - lines.offsets
            for f in range(MODE["focus"]):
                bound, point = nearest(lines.slopes, levels, low, high, claim.norm)
                more = relax.lines(point)
                from paretofoil.search.bound import HalfSpaces
                lines = HalfSpaces(np.concatenate([lines.slopes, more.slopes],1), np.concatenate([lines.offsets, more.offsets],1)) if MODE["both"] else more
                levels = claim.level - lines.offsets
        alive = (lines.highest(low, high) >= claim.level).all(axis=1)
        low, high, slopes = low[alive], high[alive], lines.slopes[alive]
        levels = claim.level - lines.offsets[alive]
        before = (high - low).max(axis=1, initial=0.0)
        low, high = cut(slopes, levels, low, high, radius, claim.norm)
        alive = (low <= high).all(axis=1)
        low, high, slopes, levels = low[alive], high[alive], slopes[alive], levels[alive]
        if (high - low).max(initial=0.0) > 0.7 * before.max(initial=0.0):
            break
    bound, point = nearest(slopes, levels, low, high, claim.norm)
    if MODE["axis"] == "slope": weight = np.abs(slopes).max(axis=1, initial=0.0) + 1e-12
    elif MODE["axis"] == "mean": weight = np.abs(slopes).mean(axis=1) + 1e-12
    elif MODE["axis"] == "col": weight = np.linalg.norm(claim.network.weights[0], axis=0)
    elif MODE["axis"] == "width": weight = 1
    elif MODE["axis"] == "geo": weight = np.sqrt((np.abs(slopes).max(axis=1, initial=0.0) + 1e-12)*np.linalg.norm(claim.network.weights[0], axis=0))
    elif MODE["axis"] == "err": 
        relax = Relaxation(claim.network, low, high)
        L0 = relax.relaxed[0]; W0 = claim.network.weights[0]
        l0,u0 = relax.intervals[0]; l1,u1 = relax.intervals[1]
        half = (L0.offset_high-L0.offset_low)/np.maximum(u0-l0,1e-9)
        relu = np.where((l1<0)&(u1>0), -l1*u1/np.maximum(u1-l1,1e-9)**2, 0)
        lam = np.abs(claim.network.weights[2]).max(0)
        P = np.abs((W0.T*L0.slope_low[:,None,:]) @ claim.network.weights[1].T)
        on = (u1>0)*lam
        weight = (half*(on@np.abs(claim.network.weights[1])*MODE.get("c",.3)))@np.abs(W0) + np.matmul(P,(relu*lam)[:,:,None])[:,:,0]
    axis = np.argmax((high - low) * weight, axis=1)
    boxes = Boxes(low, high, bound, axis, point)
    return boxes[bound < radius]
