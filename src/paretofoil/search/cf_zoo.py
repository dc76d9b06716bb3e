"""CF-ZOO, the search of the paper, for black-box policies.

1. The front point with the largest margin determines whether each objective increases or decreases (`infer_signs`).
2. Random rays in these directions are evaluated at their ends; successful ones are bisected (`search_rays`).
3. ZOO-ADAM, coordinate descent on finite differences, starts from the closest point of a ray (`refine`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget

Directions = Literal["mirror", "reject"]
Seed = int | tuple[int, int]
"""A seed, or a seed and the number of a stream."""
SAME = 1e-9
"""Scaled differences up to this are rounding errors."""
MAX_ENDPOINTS = 1 << 20
"""Maximum number of rays in memory; questions beyond it take turns."""
ZOO_STREAM = 1
"""Coordinates are drawn from (seed, ZOO_STREAM), directions from the seed, so that neither shifts the other."""
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""The constants of ADAM."""


@dataclass(frozen=True)
class ZooConfig:
    """Settings of the ZOO-ADAM phase."""

    max_queries: int = 9_001
    """Maximum number of queries: one at the start and three per iteration."""
    c: float = 1.0
    """Weight of the hinge term relative to the squared distance."""
    eta: float = 0.01
    """Learning rate of ADAM, in scaled coordinates."""
    h: float = 1e-3
    """Finite-difference step, in scaled coordinates."""
    clipped: bool = False
    """Measure clipped changes, and clip each iterate. The authors' code does both, the paper's text neither."""

    @property
    def iterations(self) -> int:
        return max(self.max_queries - 1, 0) // 3


@dataclass(frozen=True)
class CFZoo(Search):
    """CF-ZOO with the hyperparameters of the paper's stress test (Table "CF-ZOO hyperparameters")."""

    directions: int = 9_001
    """Number of random rays: one query each, and 16 more for each successful ray."""
    max_queries: int = 9_001
    """Maximum number of queries of the ZOO phase: one at the start and three per iteration."""
    bisections: int = 16
    """Bisection steps along each successful ray."""
    c: float = ZooConfig.c
    """Weight of the hinge term relative to the squared distance."""
    eta: float = ZooConfig.eta
    """Learning rate of ADAM, in scaled coordinates."""
    h: float = ZooConfig.h
    """Finite-difference step, in scaled coordinates."""
    seed: int = 0
    """Seed of the random directions and coordinates."""
    sampling: Directions = "mirror"
    """How directions are restricted to the prior: mirrored into it, or drawn again ("reject", as in the paper)."""

    presets: ClassVar[dict[str, int]] = {"stress": 9_001, "comparison": 21_000, "thorough": 100_000}
    """The paper's budgets: number of rays, and maximum number of queries of the ZOO phase."""
    name = "cf-zoo"
    stochastic = True

    def __post_init__(self) -> None:
        for field in ("directions", "max_queries", "bisections"):
            if getattr(self, field) < 0:
                raise InvalidInput.expected(f"{field} of at least 0", getattr(self, field))

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "CFZoo":
        """Return the search with one of the paper's budgets."""
        if name not in cls.presets:
            raise InvalidInput.expected(f"a preset among {', '.join(cls.presets)}", repr(name))
        return cls(directions=cls.presets[name], max_queries=cls.presets[name], seed=seed)

    @property
    def zoo(self) -> ZooConfig:
        return ZooConfig(self.max_queries, self.c, self.eta, self.h)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        """Return one finding per question; ZOO-ADAM gets at least half of a limit of queries."""
        budget = Budget(batch, limits)
        reserved = budget.reserve(0.5)
        start = search_rays(
            budget, directions=self.directions, steps=self.bisections, seed=self.seed, how=self.sampling
        )
        budget.left += reserved
        refine(budget, start, self.zoo, (self.seed, ZOO_STREAM))
        return budget.findings()


@dataclass(frozen=True, eq=False)
class Region:
    """The search regions of Q questions: boxes of scaled changes z around 0, and the units of y = z / unit."""

    low: np.ndarray  # (Q, d), <= 0
    high: np.ndarray  # (Q, d), >= 0
    unit: np.ndarray  # (Q, d)

    @classmethod
    def whole(cls, batch: QuestionBatch) -> "Region":
        """Return the regions of the questions, in scaled units."""
        return cls(batch.low, batch.high, np.ones_like(batch.low))

    def inside(self, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Convert y (N, d) to scaled changes (N, d), clipped to the regions of the questions in rows (N,)."""
        return np.clip(y * self.unit[rows], self.low[rows], self.high[rows])


# Rays (paper, "Boundary-Seeded Directional Search")


def search_rays(budget: Budget, *, directions: int, steps: int, seed: int, how: Directions) -> np.ndarray:
    """Return the closest valid point of the rays of each question (Q, d); 0 where no ray succeeded."""
    batch, signs, region = budget.batch, infer_signs(budget), Region.whole(budget.batch)
    reserved = budget.reserve(0.5)  # for the bisections
    closest = np.zeros((batch.num_questions, batch.dim))
    at_once = max(1, MAX_ENDPOINTS // max(directions, 1))
    for first in range(0, batch.num_questions, at_once):
        chunk = np.arange(first, min(first + at_once, batch.num_questions))
        us = [unit_directions(seed, directions, signs[q], batch.high[q] > batch.low[q], how) for q in chunk]
        ends = [longest_step(u, batch.low[q], batch.high[q]) for u, q in zip(us, chunk, strict=True)]
        rows, u, alpha = np.repeat(chunk, directions), np.concatenate(us), np.concatenate(ends)
        margins = budget.ask(rows, region.inside(rows, alpha[:, None] * u), "endpoints")
        succeeded = (margins >= batch.kappa[rows]) & (alpha > 0)
        budget.left[chunk] += reserved[chunk]
        rows, u, alpha = bisect(budget, region, rows[succeeded], u[succeeded], alpha[succeeded], steps)
        distance = alpha * batch.distances(u)
        shortest = np.full(batch.num_questions, np.inf)
        np.minimum.at(shortest, rows, distance)
        winners = np.flatnonzero(distance == shortest[rows])[::-1]  # of equal ones the first is written last
        closest[rows[winners]] = alpha[winners, None] * u[winners]
    return closest


def infer_signs(budget: Budget) -> np.ndarray:
    """Return the directional prior (Q, d): +1 (only increase), -1 (only decrease) or 0 (both).

    It points from the command to the front point with the largest margin. An objective without room in that direction
    is not restricted, because no ray could follow it.
    """
    batch = budget.batch
    signs = np.zeros((batch.num_questions, batch.dim))
    counts = [len(q.front) for q in batch.questions]
    rows = np.repeat(np.arange(batch.num_questions), counts)
    if not rows.size:
        return signs
    front = np.concatenate([q.front for q in batch.questions])
    margins = budget.ask_at(rows, front, "front")
    z = batch.changes_to(rows, front)
    inside = batch.holds(rows, z)
    budget.closest.offer(rows[inside], z[inside], margins[inside])
    for row, own in enumerate(np.split(np.arange(len(rows)), np.cumsum(counts)[:-1])):
        if len(own):
            best = own[[margins[own].argmax()]]
            toward = batch.project(rows[best], z[best])[0]
            signs[row] = np.where(np.abs(toward) > SAME, np.sign(toward), 0.0)
    return signs


def unit_directions(seed: int, count: int, signs: np.ndarray, free: np.ndarray, how: Directions) -> np.ndarray:
    """Return Gaussian directions within the prior as unit vectors (count, d), which are 0 in locked objectives.

    Mirroring wrong signs gives the same distribution as rejection, without its cost.
    """
    rng = np.random.default_rng(seed)
    signs = np.where(free, signs, 0.0)
    restricted = signs != 0
    if how == "mirror" or not restricted.any():
        v = rng.standard_normal((count, len(signs)))
        v = np.where(restricted, np.abs(v) * signs, v)
    else:
        accepted: list[np.ndarray] = []
        while sum(map(len, accepted)) < count:
            v = rng.standard_normal((count, len(signs)))
            accepted.append(v[(v * signs >= 0).all(axis=1)])
        v = np.concatenate(accepted)[:count]
    v = v * free
    norms = np.linalg.norm(v, axis=1, keepdims=True)
    return np.divide(v, norms, out=np.zeros_like(v), where=norms > 0)


def longest_step(u: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest alpha (N,) for which alpha u (N, d) stays within low, high (d,)."""
    room = np.where(u > 0, high, low)
    steps = np.divide(room, u, out=np.full_like(u, np.inf), where=u != 0)
    alpha = steps.min(axis=1)
    return np.where(np.isfinite(alpha), alpha, 0.0)


def bisect(
    budget: Budget,
    region: Region,
    rows: np.ndarray,
    u: np.ndarray,
    high: np.ndarray,
    steps: int,
    *,
    phase: str = "bisection",
    prune: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bisect rays u (N, d) of the questions in rows (N,) between 0 and high (N,). All rays are valid at `high`.

    With `prune`, a ray whose invalid end is farther than the valid end of another ray of the question is dropped. This
    saves queries and changes no result. Returns the remaining rays: rows, directions and valid ends.
    """
    batch, low = budget.batch, np.zeros_like(high)
    unit = batch.distances(u)  # the distance of a step of 1; 1 for the l2 norm
    shortest = np.full(batch.num_questions, np.inf)
    for _ in range(steps):
        if budget.late or not len(rows):
            break
        if prune:
            np.minimum.at(shortest, rows, high * unit)
            alive = low * unit < shortest[rows]
            rows, u, low, high, unit = rows[alive], u[alive], low[alive], high[alive], unit[alive]
        middle = (low + high) / 2
        margins = budget.ask(rows, region.inside(rows, middle[:, None] * u), phase)
        valid = margins >= batch.kappa[rows]
        high, low = np.where(valid, middle, high), np.where(valid, low, middle)
    return rows, u, high


# ZOO-ADAM (paper, appendix "ZOO-ADAM Coordinate Optimizer")


def refine(budget: Budget, start: np.ndarray, config: ZooConfig, seed: Seed, region: Region | None = None) -> None:
    """Descend from start (Q, d) for all questions together, until their queries are used up."""
    region = Region.whole(budget.batch) if region is None else region
    iterations = np.minimum(np.maximum(budget.left - 1, 0) // 3, config.iterations)
    budget.cut |= iterations < config.iterations
    for count in np.unique(iterations):
        who = np.flatnonzero(iterations == count)
        _descend(budget, region, who, start[who], config, coordinates(seed, budget.batch.dim, int(count)))


def coordinates(seed: Seed, dim: int, iterations: int) -> np.ndarray:
    """Return the random coordinate of each iteration; a longer run begins like a shorter one."""
    return np.random.default_rng(seed).integers(dim, size=iterations)


def bias_corrections(updates: int) -> tuple[float, float]:
    """Return ADAM's 1 - beta^t of both moments after t updates."""
    return 1 - BETA1**updates, 1 - BETA2**updates


def _adam_steps(coordinate: np.ndarray) -> Iterator[tuple[int, float, float]]:
    """Yield the coordinate of each iteration and its bias corrections, which count its own updates."""
    updates: dict[int, int] = {}
    for i in coordinate.tolist():
        updates[i] = updates.get(i, 0) + 1
        yield i, *bias_corrections(updates[i])


def _descend(
    budget: Budget, region: Region, who: np.ndarray, start: np.ndarray, config: ZooConfig, coordinate: np.ndarray
) -> None:
    """Descend in the units of the region; the budget keeps the closest valid point.

    An iteration calls the policy once: the updated point is queried together with the two points of the next iteration.
    """
    batch, rows = budget.batch, budget.rows[who]
    y = start / region.unit[rows]
    mean, variance = np.zeros_like(y), np.zeros_like(y)
    size, triple = len(who), np.concatenate([who, who, who])
    unit, low, high = (np.concatenate([side[rows]] * 3) for side in (region.unit, region.low, region.high))
    kappa = np.tile(batch.kappa[rows], 2)
    steps = config.h * np.array([0.0, 1.0, -1.0])[:, None, None] * np.eye(batch.dim)[:, None, None]  # (d, 3, 1, d)
    margins_at = budget.repeat(triple, "zoo")
    for i, correct1, correct2 in _adam_steps(coordinate):
        if budget.late:
            return
        points = (y + steps[i]).reshape(3 * size, batch.dim)  # the updated point, y + h e_i, y - h e_i
        z = np.minimum(np.maximum(points * unit, low), high)
        margins = margins_at(z)
        measured = z[size:] / unit[size:] if config.clipped else points[size:]
        losses = batch.distances(measured) ** 2 + config.c * np.maximum(kappa - margins[size:], 0.0)
        gradient = (losses[:size] - losses[size:]) / (2 * config.h)
        mean[:, i] = m = BETA1 * mean[:, i] + (1 - BETA1) * gradient
        variance[:, i] = v = BETA2 * variance[:, i] + (1 - BETA2) * gradient**2
        y[:, i] -= config.eta * (m / correct1) / (np.sqrt(v / correct2) + EPSILON)
        if config.clipped:
            y = np.clip(y, low[:size] / unit[:size], high[:size] / unit[:size])
    budget.ask(who, region.inside(rows, y), "zoo")
