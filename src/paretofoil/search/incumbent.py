"""The closest valid change that a search has met so far, for each question of a batch."""

import numpy as np

from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding


class Incumbents:
    """Mutable by nature: searches offer what they evaluate, and the closest valid change stays."""

    def __init__(self, batch: QuestionBatch) -> None:
        self.batch = batch
        self.distance = np.full(batch.size, np.inf)  # (Q,)
        self.change = np.zeros((batch.size, batch.dim))  # (Q, d); meaningful where the distance is finite

    @property
    def found(self) -> np.ndarray:
        return np.isfinite(self.distance)

    def offer(self, rows: np.ndarray, changes: np.ndarray, margins: np.ndarray) -> None:
        """Take those of the changes (N, d), evaluated for questions rows (N,), that are valid and closer."""
        valid = margins >= self.batch.kappa[rows]
        if not valid.any():
            return
        distances = self.batch.distances(changes)
        better = np.flatnonzero(valid & (distances < self.distance[rows]))
        if not better.size:
            return
        better = better[np.argsort(distances[better], kind="stable")]
        better = better[np.unique(rows[better], return_index=True)[1]]  # the closest of each question
        self.distance[rows[better]] = distances[better]
        self.change[rows[better]] = changes[better]

    def findings(self, *, stopped_early: bool = False) -> list[Finding]:
        return [
            Finding(change if found else None, stopped_early=stopped_early)
            for change, found in zip(self.change.copy(), self.found, strict=True)
        ]
