"""Distances of a study's answers relative to the proven closest ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from paretofoil.core.answer import Status
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion


@dataclass(frozen=True)
class Distances:
    """The distances of a study's answers by search and case, and what is known about the cases."""

    found: Mapping[str, Mapping[Case, float]]
    """For each search, by its label in the study: the distance of each case that it solved."""
    feasible: frozenset[Case]
    """The cases that at least one search solved."""
    optimum: Mapping[Case, float]
    """The proven closest distance of a case."""

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Distances":
        found: dict[str, dict[Case, float]] = {}
        optimum = {}
        for row in rows:
            solved = found.setdefault(row.search, {})
            if row.closest_distance is not None:
                solved[row.case] = row.closest_distance
                if row.status is Status.PROVEN_CLOSEST:
                    optimum[row.case] = row.closest_distance
        return cls(found, frozenset(case for solved in found.values() for case in solved), optimum)

    def recovered(self, search: str) -> Proportion:
        """Return the share of the known feasible cases that a search solved."""
        return Proportion(len(self.found[search]), len(self.feasible))

    def ratios(self, search: str) -> list[float]:
        """Return distance / proven closest distance for the cases that a search solved."""
        distances = self.found[search].items()
        return [distance / self.optimum[case] for case, distance in distances if self.optimum.get(case)]

    def ratio(self, search: str) -> float | None:
        """Return the median of `ratios`, or None if there are none."""
        ratios = self.ratios(search)
        return float(np.median(ratios)) if ratios else None
