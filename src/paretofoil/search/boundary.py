"""Boundary: a search for black-box policies that is nearly optimal.

Each round queries scattered points (a scan), and walks along the decision boundary from the most promising ones. The
next round scans inside the ball of the best answer. A question is done when the walks of two rounds agree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget
from paretofoil.search.trust_region import QueriedMargins, walk

GROUP = 64
"""Questions that are searched together; only the speed depends on it."""
_AXIS_SHARES = np.array([0.05, 0.15, 0.3, 0.5, 0.75, 1.0])
_FRONT_SHARES = np.array([0.5, 1.0])
_NUM_FRONT = 24
_FIRST_POINTS = 64
"""Quasi-random points of the first scan."""
_AGREE, _AT_LEAST = 3e-4, 2
"""A question is done when a round reduces the distance by less than this share, but not before this many rounds."""


@dataclass(frozen=True)
class Boundary(Search):
    """Rounds of scans and walks, each with more points than the previous one."""

    max_queries: int = 9001
    """Maximum number of queries per question."""
    seed: int = 0
    """Seed of the quasi-random points."""

    name = "boundary"
    stochastic = True

    def __post_init__(self) -> None:
        if self.max_queries < 1:
            raise InvalidInput.expected("max_queries of at least 1", self.max_queries)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        findings = []
        for first in range(0, batch.num_questions, GROUP):
            rows = np.arange(first, min(first + GROUP, batch.num_questions))
            findings += self._search(Budget(batch, limits, rows=rows, most=self.max_queries))
        return findings

    def _search(self, budget: Budget) -> list[Finding]:
        batch, who = budget.batch, np.arange(len(budget.rows))
        scan = _Scan(batch.dim, self.seed)
        noise = np.random.default_rng(self.seed)
        points, before = scan.first(batch, budget.rows), np.full(len(who), np.inf)
        for round_number in range(10_000):
            margins = _ask_all(budget, who, points, "scan")
            if round_number == 0:
                start = margins[:, 0]
            plan = _PLANS[min(round_number, len(_PLANS) - 1)]
            walkers, starts, values = _promising(budget, who, points, margins, start[who], plan.walks)
            walk(QueriedMargins(budget, walkers), starts, values[:, None], steps=plan.steps, trust=0.3)
            if round_number >= _AT_LEAST:
                who = who[(np.isinf(before) | (budget.distance < (1 - _AGREE) * before))[who]]
            before = budget.distance
            _refine(budget, who, noise, plan)
            if budget.late or not (budget.left[who] > 0).any():
                break
            points = scan.within(batch, budget.rows[who], budget.distance[who], plan.next_points)
        return budget.findings()


def scan(batch: QuestionBatch, limits: Limits, seed: int, num_starts: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Query the points of the first round; return the best starts (N, d) of each question, and which are valid."""
    budget = Budget(batch, limits)
    points = _Scan(batch.dim, seed).first(batch, budget.rows)
    margins = _ask_all(budget, budget.rows, points, "scan")
    who, starts, values = _promising(budget, budget.rows, points, margins, margins[:, 0], num_starts)
    valid = values >= batch.kappa[who]
    return [(starts[who == row], valid[who == row]) for row in budget.rows]


@dataclass(frozen=True)
class _Plan:
    """The size of one round. The budget limits only the number of rounds."""

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


class _Scan:
    """The points to query: one Sobol sequence for all questions, mapped to their search regions."""

    def __init__(self, dim: int, seed: int) -> None:
        self.dim, self.seed = dim, seed

    @cached_property
    def _draw(self) -> Callable[[int], np.ndarray]:
        draw = sobol(self.dim + 1, self.seed)
        draw(_FIRST_POINTS)
        return draw

    def _uniform(self, num_points: int) -> np.ndarray:
        return np.clip(self._draw(num_points), 1e-9, 1.0 - 1e-9)  # (n, d + 1)

    def first(self, batch: QuestionBatch, rows: np.ndarray) -> np.ndarray:
        """Return 0, points on the axes, the nearest front points, points halfway to them, Sobol points: (Q, n, d)."""
        low, high = batch.low[rows][:, None, :], batch.high[rows][:, None, :]
        ends = np.concatenate([np.eye(self.dim) * high, np.eye(self.dim) * low], axis=1)  # (Q, 2 d, d)
        axes = (ends[:, :, None, :] * _AXIS_SHARES[:, None]).reshape(len(rows), -1, self.dim)
        fronts = np.zeros((len(rows), _NUM_FRONT, self.dim))
        for i, row in enumerate(rows):
            question = batch.questions[row]
            where = np.full(len(question.front), row)
            front = batch.project(where, batch.changes_to(where, question.front))
            front = front[np.argsort(batch.distances(front), kind="stable")[:_NUM_FRONT]]
            fronts[i, : len(front)] = front
        fronts = (fronts[:, :, None, :] * _FRONT_SHARES[:, None]).reshape(len(rows), -1, self.dim)
        everywhere = low + _first_points(self.dim, self.seed) * (high - low)
        return np.concatenate([np.zeros((len(rows), 1, self.dim)), axes, fronts, everywhere], axis=1)

    def within(self, batch: QuestionBatch, rows: np.ndarray, radius: np.ndarray, num_points: int) -> np.ndarray:
        """Return points within a radius (Q,), or in the whole region where it is infinite: (Q, n, d)."""
        from scipy.special import ndtri  # not needed for the first answer of a process

        low, high = batch.low[rows][:, None, :], batch.high[rows][:, None, :]
        uniform = self._uniform(num_points)
        everywhere = low + uniform[:, : self.dim] * (high - low)  # (Q, n, d)
        direction = ndtri(uniform[:, : self.dim])
        direction = direction / np.maximum(batch.distances(direction), 1e-12)[:, None]
        ball = direction * uniform[:, self.dim :] ** (1.0 / self.dim)  # (n, d)
        finite = np.where(np.isfinite(radius), radius, 0.0)[:, None, None]
        return np.where(np.isfinite(radius)[:, None, None], np.clip(finite * ball, low, high), everywhere)


def _ask_all(budget: Budget, who: np.ndarray, points: np.ndarray, phase: str) -> np.ndarray:
    """Return the margins (Q, n) of points (Q, n, d) of questions (Q,). Repeated points at 0 are not queried."""
    mask = np.abs(points).max(axis=2) > 1e-9
    mask[:, 0] = True
    repeated = np.repeat(who, points.shape[1])
    return budget.ask(repeated, points.reshape(-1, points.shape[2]), phase, mask.reshape(-1)).reshape(mask.shape)


def _promising(
    budget: Budget, who: np.ndarray, points: np.ndarray, margins: np.ndarray, start: np.ndarray, num_walks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the starts of walks, far apart, for questions `who` (Q,): questions, points and margins.

    The points with the lowest scores are chosen. The score is the distance, plus a penalty for each point whose margin
    is below kappa: the missing margin times the rate at which the margin grew with the distance to the best answer.
    """
    batch, kappa = budget.batch, budget.batch.kappa[budget.rows[who]][:, None]
    missing = np.maximum(kappa - margins, 0.0)
    distance = budget.distance[who, None]
    finite = np.isfinite(distance)
    rate = np.where(finite, np.where(finite, distance, 0.0) / np.maximum(kappa - start[:, None], 1e-3), 1e6)
    evaluated = np.isfinite(margins)
    score = np.where(evaluated, batch.distances(points) + rate * np.where(evaluated, missing, 0.0), np.inf)
    apart = 0.2 * np.where(finite, distance, 1.0)
    everyone = np.arange(len(points))
    picks = []
    for number in range(num_walks):
        best = score.argmin(axis=1)
        ok, start_points = np.isfinite(score[everyone, best]), points[everyone, best]
        picks.append((who[ok], start_points[ok], margins[everyone, best][ok]))
        if not ok.any() or number == num_walks - 1:
            break
        score[batch.distances(points - start_points[:, None, :]) < apart] = np.inf
    return tuple(np.concatenate(part) for part in zip(*picks, strict=True))  # type: ignore[return-value]


def _refine(budget: Budget, who: np.ndarray, noise: np.random.Generator, plan: _Plan) -> None:
    """Improve the best answers of questions (Q,) by a short walk and by random closer points around them."""
    batch, dim = budget.batch, budget.batch.dim
    scatter = noise.normal(size=(plan.scatter, dim)) * 10.0 ** noise.uniform(-3.5, -1.0, size=(plan.scatter, 1))
    who = who[np.isfinite(budget.distance[who]) & (budget.distance[who] > 1e-9)]
    if not len(who):
        return
    walk(QueriedMargins(budget, who), budget.scaled_change[who], steps=plan.steps, trust=0.03)
    distance = budget.distance[who]
    near = budget.scaled_change[who][:, None, :] + distance[:, None, None] * scatter  # (Q, n, d)
    near = near * np.minimum(1.0, (1 - 1e-4) * distance[:, None] / np.maximum(batch.distances(near), 1e-12))[:, :, None]
    rows = budget.rows[np.repeat(who, plan.scatter)]
    budget.ask(np.repeat(who, plan.scatter), batch.project(rows, near.reshape(-1, dim)), "scatter")


_BITS = 30
_FIRST = (
    (3, (1,)),
    (7, (1, 3)),
    (11, (1, 3, 1)),
    (13, (1, 1, 1)),
    (19, (1, 1, 3, 3)),
    (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)),
    (41, (1, 1, 5, 5, 5)),
    (47, (1, 1, 7, 11, 19)),
    (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)),
)
"""The primitive polynomial and the first direction numbers of each dimension after the first."""


def sobol(dim: int, seed: int) -> Callable[[int], np.ndarray]:
    """Return a function that draws the next n points of a scrambled Sobol sequence in the unit cube: (n, dim).

    The points are those of `scipy.stats.qmc.Sobol`, which takes half a second to import: direction numbers of Joe and
    Kuo (2008), a linear matrix scramble and a digital shift.
    """
    if dim > 1 + len(_FIRST):  # rare, so that half a second does not matter
        from scipy.stats import qmc

        draw: Callable[[int], np.ndarray] = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(seed)).random
        return draw
    return _Sequence(*_scrambled(dim, seed)).draw


class _Sequence:
    """A Sobol sequence with a digital shift (dim,) and direction numbers (dim, bits)."""

    def __init__(self, shift: np.ndarray, directions: np.ndarray) -> None:
        self.shift, self.directions, self.drawn = shift, directions, 0

    def draw(self, num_points: int) -> np.ndarray:
        number = np.arange(self.drawn, self.drawn + num_points)
        gray = number ^ (number >> 1)
        points = np.repeat(self.shift[None], num_points, axis=0)
        for bit in range(int(number[-1]).bit_length()):
            points ^= np.where(gray[:, None] >> bit & 1, self.directions[:, bit], 0)
        self.drawn += num_points
        scaled: np.ndarray = points / 2.0**_BITS
        return scaled


@cache
def _first_points(dim: int, seed: int) -> np.ndarray:
    """Return the quasi-random points (n, dim) of the first scan."""
    return np.clip(sobol(dim + 1, seed)(_FIRST_POINTS), 1e-9, 1.0 - 1e-9)[:, :dim]


@cache
def _scrambled(dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the digital shift (dim,) and the scrambled direction numbers (dim, bits)."""
    powers = 1 << np.arange(_BITS)
    [generator] = np.random.default_rng(seed).spawn(1)  # as SciPy does
    shift = generator.integers(2, size=(dim, _BITS), dtype=np.uint32) @ powers
    lower = np.tril(generator.integers(2, size=(dim, _BITS, _BITS), dtype=np.uint32), -1) + np.eye(_BITS)
    numbers = np.array([_direction_numbers(d) for d in range(dim)])  # (dim, bits)
    digits = numbers[:, None, :] >> np.arange(_BITS)[::-1, None] & 1  # (dim, digit, bits), the highest digit first
    scrambled = np.matmul(lower, digits).astype(np.int64) % 2
    return shift, (scrambled * powers[::-1, None]).sum(axis=1)


def _direction_numbers(dimension: int) -> list[int]:
    """Return the direction numbers of one dimension by the recurrence of its polynomial (Bratley and Fox, 1988)."""
    if dimension == 0:
        numbers = [1] * _BITS
    else:
        polynomial, first = _FIRST[dimension - 1]
        degree, numbers = len(first), list(first)
        for j in range(degree, _BITS):
            value = numbers[j - degree]
            for k in range(1, degree + 1):
                if polynomial >> (degree - k) & 1:
                    value ^= numbers[j - k] << k
            numbers.append(value)
    return [number << (_BITS - 1 - j) for j, number in enumerate(numbers)]
