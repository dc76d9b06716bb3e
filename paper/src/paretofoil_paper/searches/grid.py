"""The grid of the paper's feasibility audit (appendix "Landscape and Grid Construction")."""

import math
from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget

MAX_BATCH = 1 << 12
"""Largest number of grid points per call of the policy; its layers then stay in the cache."""
MAX_POINTS = 3_000_000_000
"""Largest number of grid points of a question without a limit; 200^4 points take an hour."""
FIRST_BATCH = 1 << 10
"""Number of grid points of the first call, which often finds a valid command."""


@dataclass(frozen=True)
class Grid(Search):
    """Query every combination of equally spaced values: 200^d queries if no command is valid."""

    values: int = 200
    """Number of values per objective, including the edges of the region."""
    first: bool = True
    """Stop at the first valid command; the audit only needs to know whether there is one."""
    seed: int = 0
    """Not used; the grid is deterministic."""

    questions_at_once = 2  # each may take seconds

    def __post_init__(self) -> None:
        if self.values < 2:
            raise InvalidInput.expected("at least 2 values per objective", self.values)

    @property
    def name(self) -> str:
        return "grid"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        findings = []
        for row in range(batch.num_questions):
            budget = Budget(batch, limits, rows=np.array([row]))
            self._scan(budget, batch.low[row], batch.high[row], limited=limits != NO_LIMITS)
            findings += budget.findings()
        return findings

    def _scan(self, budget: Budget, low: np.ndarray, high: np.ndarray, limited: bool) -> None:
        axes = [np.linspace(a, b, self.values if b > a else 1) for a, b in zip(low, high, strict=True)]
        shape = tuple(map(len, axes))
        total = math.prod(shape)
        if total > MAX_POINTS and not limited:
            expected = f"a grid of at most {MAX_POINTS:,} points, a limit, or the search exact, which needs no grid"
            raise InvalidInput.expected(expected, f"{total:,} points")
        stride = _stride(total)
        start, size = 0, FIRST_BATCH
        while start < total and budget.left[0] > 0 and not budget.late:
            numbers = (start * stride % total + np.arange(min(size, total - start)) * stride) % total
            start, size = start + size, min(4 * size, MAX_BATCH)
            places = np.unravel_index(numbers, shape)
            z = np.stack([axis[place] for axis, place in zip(axes, places, strict=True)], axis=1)
            budget.ask(np.zeros(len(z), dtype=np.int64), z, "grid")
            if self.first and np.isfinite(budget.distance[0]):
                return


def _stride(total: int) -> int:
    """Return a stride that visits every point once and covers the whole region from the start."""
    stride = max(int(total * 0.6180339887498949), 1)
    while math.gcd(stride, total) != 1:
        stride += 1
    return stride
