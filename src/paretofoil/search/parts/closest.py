"""The closest valid change that a search has met so far, for each question of a batch."""

import numpy as np

from paretofoil.core.question import QuestionBatch


class Closest:
    """Mutable by nature: searches offer what they evaluate, and the closest valid change stays."""

    def __init__(self, batch: QuestionBatch, level: np.ndarray, unit: np.ndarray | None = None) -> None:
        self.batch = batch
        self.level = level  # (Q,): the margin from which on a change is valid
        self.unit = unit  # (Q, d): what a change is measured in; None for the questions' own units
        self.distance = np.full(batch.num_questions, np.inf)  # (Q,)
        self.scaled_change = np.zeros(
            (batch.num_questions, batch.dim)
        )  # (Q, d); meaningful where the distance is finite

    @property
    def found(self) -> np.ndarray:
        return np.isfinite(self.distance)

    def offer(self, rows: np.ndarray, changes: np.ndarray, margins: np.ndarray) -> None:
        """Take those of the changes (N, d), evaluated for questions rows (N,), that are valid and closer."""
        valid = margins >= self.level[rows]
        if not valid.any():
            return
        if not valid.all():
            rows, changes = rows[valid], changes[valid]
        changes = self.batch.project(rows, changes)  # what was evaluated, where a change left its region
        distances = self.batch.distances(changes if self.unit is None else changes / self.unit[rows])
        better = np.flatnonzero(distances < self.distance[rows])
        if not better.size:
            return
        better = better[np.argsort(distances[better], kind="stable")]
        better = better[np.unique(rows[better], return_index=True)[1]]  # the closest of each question
        self.distance[rows[better]] = distances[better]
        self.scaled_change[rows[better]] = changes[better]
