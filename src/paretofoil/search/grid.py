"""The paper's feasibility audit: a dense grid over the region (appendix "Landscape and Grid Construction")."""

import math
from dataclasses import dataclass

import numpy as np

from paretofoil.errors import InvalidInput
from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents

AT_ONCE = 1 << 12
"""The most grid points per call of the policy: its layers then stay in the cache."""
MOST = 3_000_000_000
"""The most grid points of a question: 200^4 are fewer."""
FIRST = 1 << 10
"""Grid points of the first call: where most of the region is valid, it is the last."""


@dataclass(frozen=True)
class Grid:
    """Every combination of equally spaced values: 200^d queries where nothing is found."""

    values: int = 200
    """Values per objective, the edges of the region included."""
    first: bool = True
    """Stop at the first valid command: the audit asks whether there is one, not which is closest."""
    seed: int = 0
    """Not used: the grid is deterministic; every search has one."""

    questions_at_once = 2
    """Not a field: a question may take seconds, so that studies send few at a time."""

    def __post_init__(self) -> None:
        if self.values < 2:
            raise InvalidInput.expected("at least 2 values per objective", self.values)

    @property
    def name(self) -> str:
        return "grid"

    def run(self, batch: QuestionBatch) -> list[Finding]:
        best = Incumbents(batch)
        for row in range(batch.size):
            self._scan(batch, row, best)
        return best.findings()

    def _scan(self, batch: QuestionBatch, row: int, best: Incumbents) -> None:
        low, high = batch.low[row], batch.high[row]
        axes = [np.linspace(a, b, self.values if b > a else 1) for a, b in zip(low, high, strict=True)]
        shape = tuple(map(len, axes))
        total = math.prod(shape)
        if total > MOST:
            raise InvalidInput.expected(f"a grid of at most {MOST:,} points (Exact needs none)", f"{total:,}")
        stride = _stride(total)
        start, size = 0, FIRST
        while start < total:
            numbers = (np.arange(start, min(start + size, total), dtype=np.int64) * stride) % total
            start, size = start + size, min(4 * size, AT_ONCE)
            places = np.unravel_index(numbers, shape)
            z = np.stack([axis[place] for axis, place in zip(axes, places, strict=True)], axis=1)
            rows = np.full(len(z), row)
            best.offer(rows, z, batch.margins(rows, z, "grid"))
            if self.first and best.found[row]:
                return


def _stride(total: int) -> int:
    """A step that visits every point once and spreads over the whole region from the first points on.

    Its multiples stay below 2^63 as long as total does not exceed MOST.
    """
    stride = max(int(total * 0.6180339887498949), 1)
    while np.gcd(stride, total) != 1:
        stride += 1
    return stride
