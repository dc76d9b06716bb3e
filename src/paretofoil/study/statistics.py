"""Success rates with intervals, and summaries of rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.study.store import Row


@dataclass(frozen=True)
class Proportion:
    """A success rate with its 95 % Wilson score interval."""

    PARTS: ClassVar = ("successes", "cases", "rate", "low", "high")
    successes: int
    cases: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.cases:
            raise InvalidInput.expected(
                "successes between 0 and the number of cases", f"{self.successes} of {self.cases}"
            )

    @property
    def rate(self) -> float:
        return self.successes / self.cases if self.cases else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        if not self.cases:
            return float("nan"), float("nan")
        from scipy.stats import binomtest

        wilson = binomtest(self.successes, self.cases).proportion_ci(method="wilson")
        return float(wilson.low), float(wilson.high)

    def parts(self) -> tuple[float, ...]:
        return (self.successes, self.cases, self.rate, *self.interval)

    def __str__(self) -> str:
        """Return the rate and its interval in percent, as the paper prints them: 71.4 [54.9,83.7]."""
        if not self.cases:
            return "–"
        low, high = self.interval
        return f"{100 * self.rate:.1f} [{100 * low:.1f},{100 * high:.1f}]"


@dataclass(frozen=True)
class Summary:
    """Summary of the rows of one search."""

    success: Proportion
    closest_distance: float | None
    """Mean scaled distance of the closest commands, over the successes."""
    seconds: float | None
    """Mean wall time of a case."""
    median_seconds: float | None
    std_seconds: float | None
    queries: float | None
    """Mean number of queries of a case."""


def summarise(rows: Iterable[Row]) -> Summary:
    cells = [(row.closest_distance, row.seconds, row.queries) for row in rows]  # not the answers, which are long
    distances = [distance for distance, _, _ in cells if distance is not None]
    seconds = np.array([seconds for _, seconds, _ in cells])
    return Summary(
        success=Proportion(len(distances), len(cells)),
        closest_distance=float(np.mean(distances)) if distances else None,
        seconds=float(seconds.mean()) if cells else None,
        median_seconds=float(np.median(seconds)) if cells else None,
        std_seconds=float(seconds.std()) if cells else None,
        queries=float(np.mean([queries for _, _, queries in cells])) if cells else None,
    )
