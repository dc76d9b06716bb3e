"""Boundary: a black-box search that is nearly optimal.

Scan along the axes, the front and quasi-random directions, and not at the ends only; walk along the decision
boundary from the most promising points; then look again, inside the ball that the best answer leaves.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.scan import Scan
from paretofoil.search.parts.trust_region import AskedMargins, walk

GROUP = 64
"""Questions that go through the stages together; it changes the speed alone."""


@dataclass(frozen=True)
class Boundary(Search):
    """Rounds of scanning and walking; each round looks at more points than the one before."""

    max_queries: int = 9001
    """How often the policy may be asked for each question."""
    seed: int = 0
    """Of the quasi-random points."""

    stochastic = True

    def __post_init__(self) -> None:
        if self.max_queries < 1:
            raise InvalidInput.expected("max_queries of at least 1", self.max_queries)

    @property
    def name(self) -> str:
        return "boundary"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        findings = []
        for first in range(0, batch.num_questions, GROUP):
            rows = np.arange(first, min(first + GROUP, batch.num_questions))
            findings += self._search(Budget(batch, limits, rows=rows, most=self.max_queries))
        return findings

    def _search(self, budget: Budget) -> list[Finding]:
        batch, rows = budget.batch, budget.rows
        scan = Scan(batch.dim, self.seed)
        noise = np.random.default_rng(self.seed)
        points = scan.first(batch, rows, 64)
        for round_number in range(10_000):
            margins = _ask_all(budget, points, "scan")
            if round_number == 0:
                start = margins[:, 0]
            plan = _PLANS[min(round_number, len(_PLANS) - 1)]
            who, starts, values = _promising(budget, points, margins, start, plan.walks)
            walk(AskedMargins(budget, who), starts, values[:, None], steps=plan.steps, trust=0.3)
            _refine(budget, noise, plan)
            if budget.late or not (budget.left > 0).any():
                break
            points = scan.within(batch, rows, budget.distance, plan.next_points)
        return budget.findings()


@dataclass(frozen=True)
class _Plan:
    """The size of one round; it does not depend on the budget, which only cuts the rounds off."""

    walks: int
    steps: int
    scatter: int
    next_points: int


_PLANS = (
    _Plan(3, 6, 12, 128),
    _Plan(4, 8, 16, 256),
    _Plan(6, 10, 24, 512),
    _Plan(6, 10, 32, 1024),
    _Plan(8, 10, 32, 2048),
)


def _ask_all(budget: Budget, points: np.ndarray, phase: str) -> np.ndarray:
    """Margins (Q, n) of points (Q, n, d); 0 is asked about once only."""
    num_questions, num_points, dim = points.shape
    wanted = np.abs(points).max(axis=2) > 1e-9
    wanted[:, 0] = True
    who = np.repeat(np.arange(num_questions), num_points)
    return budget.ask(who, points.reshape(-1, dim), phase, wanted.reshape(-1)).reshape(num_questions, num_points)


def _promising(
    budget: Budget, points: np.ndarray, margins: np.ndarray, start: np.ndarray, num_walks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The points from which walks may lead closest, apart from each other: questions, points, margins.

    A point that lacks some margin is judged as if that could be bought at the rate of the best answer so far.
    """
    batch, kappa = budget.batch, budget.batch.kappa[budget.rows][:, None]
    lacking = np.maximum(kappa - margins, 0.0)
    size = budget.distance[:, None]
    known = np.isfinite(size)
    rate = np.where(known, np.where(known, size, 0.0) / np.maximum(kappa - start[:, None], 1e-3), 1e6)
    asked = np.isfinite(margins)
    score = np.where(asked, batch.distances(points) + rate * np.where(asked, lacking, 0.0), np.inf)
    apart = 0.2 * np.where(np.isfinite(budget.distance), budget.distance, 1.0)
    everyone = np.arange(len(points))
    picks = []
    for _ in range(num_walks):
        best = score.argmin(axis=1)
        ok = np.isfinite(score[everyone, best])
        picks.append((everyone[ok], points[everyone, best][ok], margins[everyone, best][ok]))
        near = batch.distances(points - points[everyone, best][:, None, :]) < apart[:, None]
        score = np.where(near, np.inf, score)
    return tuple(np.concatenate(part) for part in zip(*picks, strict=True))  # type: ignore[return-value]


def _refine(budget: Budget, noise: np.random.Generator, plan: _Plan) -> None:
    """Go on from the best answer: a short walk, then points scattered around it that are all closer."""
    batch, dim = budget.batch, budget.batch.dim
    scatter = noise.normal(size=(plan.scatter, dim)) * 10.0 ** noise.uniform(-3.5, -1.0, size=(plan.scatter, 1))
    who = np.flatnonzero(np.isfinite(budget.distance) & (budget.distance > 1e-9))
    if not len(who):
        return
    walk(AskedMargins(budget, who), budget.scaled_change[who], steps=plan.steps, trust=0.03)
    size = budget.distance[who]
    near = budget.scaled_change[who][:, None, :] + size[:, None, None] * scatter  # (Q, n, d)
    near = near * np.minimum(1.0, (1 - 1e-4) * size[:, None] / np.maximum(batch.distances(near), 1e-12))[:, :, None]
    rows = budget.rows[np.repeat(who, plan.scatter)]
    budget.ask(np.repeat(who, plan.scatter), batch.project(rows, near.reshape(-1, dim)), "scatter")
