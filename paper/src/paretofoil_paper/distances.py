"""How far the answers of a study are from the closest ones, which are proven."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from paretofoil.core.answer import Status
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion


@dataclass(frozen=True)
class Distances:
    """The answers of a study by search and case, with what is known of the cases."""

    found: Mapping[str, Mapping[Case, float]]
    """By each search, under the label that it has in the study."""
    feasible: frozenset[Case]
    """Found by any search, the proofs' included."""
    optimum: Mapping[Case, float]
    """Proven."""

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Distances":
        found: dict[str, dict[Case, float]] = {}
        optimum = {}
        for row in rows:
            given = found.setdefault(row.search, {})
            if row.closest_distance is not None:
                given[row.case] = row.closest_distance
                if row.status is Status.PROVEN_CLOSEST:
                    optimum[row.case] = row.closest_distance
        return cls(found, frozenset(case for given in found.values() for case in given), optimum)

    def recovered(self, search: str) -> Proportion:
        """Of the cases that are known to be feasible."""
        return Proportion(len(self.found[search]), len(self.feasible))

    def ratios(self, search: str) -> list[float]:
        """The distances over the proven optimum, of what the search found."""
        return [found / self.optimum[case] for case, found in self.found[search].items() if self.optimum.get(case)]

    def ratio(self, search: str) -> float | None:
        """Their mean."""
        ratios = self.ratios(search)
        return float(np.mean(ratios)) if ratios else None
