"""Numbers that summarise rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.study.store import Row


@dataclass(frozen=True)
class Proportion:
    """A success rate with its 95 % Wilson score interval."""

    successes: int
    cases: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.cases:
            raise InvalidInput.expected("between 0 and all cases as successes", f"{self.successes} of {self.cases}")

    @property
    def rate(self) -> float:
        return self.successes / self.cases if self.cases else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        if not self.cases:
            return float("nan"), float("nan")
        from scipy.stats import binomtest

        found = binomtest(self.successes, self.cases).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        """As the paper prints it: 71.4 [54.9,83.7]."""
        if not self.cases:
            return "–"
        low, high = self.interval
        return f"{100 * self.rate:.1f} [{100 * low:.1f},{100 * high:.1f}]"


@dataclass(frozen=True)
class Summary:
    """Rows of one search taken together."""

    success: Proportion
    distance: float | None
    """The mean scaled distance over the successes."""
    seconds: float | None
    """The mean wall time of a case."""
    median_seconds: float | None
    std_seconds: float | None
    queries: float | None
    """The mean number of queries of a case."""


def summarise(rows: Iterable[Row]) -> Summary:
    taken = list(rows)
    distances = [row.distance for row in taken if row.distance is not None]
    seconds = np.array([row.seconds for row in taken])
    return Summary(
        success=Proportion(len(distances), len(taken)),
        distance=float(np.mean(distances)) if distances else None,
        seconds=float(seconds.mean()) if taken else None,
        median_seconds=float(np.median(seconds)) if taken else None,
        std_seconds=float(seconds.std()) if taken else None,
        queries=float(np.mean([row.queries for row in taken])) if taken else None,
    )
