"""The budget of a search: it queries the policy within limits, and keeps the closest valid change per question."""

from collections.abc import Callable

import numpy as np

from paretofoil.core.options import NO_LIMITS, Limits, Stop, now
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding

_UNLIMITED = 1 << 62


class Closest:
    """The closest valid change of each question of a batch so far."""

    def __init__(self, batch: QuestionBatch, level: np.ndarray, unit: np.ndarray | None = None) -> None:
        self.batch = batch
        self.level = level  # (Q,): the smallest margin of a valid change
        self.unit = unit  # (Q, d): the unit of the distance; None for scaled units
        self.distance = np.full(batch.num_questions, np.inf)  # (Q,)
        self.scaled_change = np.zeros((batch.num_questions, batch.dim))  # (Q, d); 0 where the distance is infinite

    @property
    def found(self) -> np.ndarray:
        return np.isfinite(self.distance)

    def offer(self, rows: np.ndarray, changes: np.ndarray, margins: np.ndarray) -> None:
        """Keep changes (N, d) that are valid and closer than before. `rows` (N,) are the numbers of the questions."""
        valid = margins >= self.level[rows]
        if not valid.any():
            return
        if not valid.all():
            rows, changes = rows[valid], changes[valid]
        changes = self.batch.project(rows, changes)  # the policy was queried at the projection
        distances = self.batch.distances(changes if self.unit is None else changes / self.unit[rows])
        better = np.flatnonzero(distances < self.distance[rows])
        if not better.size:
            return
        better = better[np.argsort(distances[better], kind="stable")]
        better = better[np.unique(rows[better], return_index=True)[1]]  # the closest of each question
        self.distance[rows[better]] = distances[better]
        self.scaled_change[rows[better]] = changes[better]


class Budget:
    """The queries and the time that are left for each question, and the closest valid changes so far.

    A question that exceeds its limit loses its last queries, not its first. A search with a larger budget therefore
    starts with the same queries, and its answer cannot be worse.
    """

    def __init__(
        self,
        batch: QuestionBatch,
        limits: Limits = NO_LIMITS,
        *,
        rows: np.ndarray | None = None,
        most: int | None = None,
    ) -> None:
        """Select questions of a batch by their numbers `rows` (Q,), with at most `most` queries each."""
        self.batch = batch
        self.rows = np.arange(batch.num_questions) if rows is None else rows
        self.deadline = limits.deadline(len(self.rows))
        queries = limits.fewer_queries(most)
        self.limited = queries is not None
        self.left = np.full(len(self.rows), _UNLIMITED if queries is None else queries, dtype=np.int64)  # (Q,)
        self.cut = np.zeros(len(self.rows), dtype=bool)  # (Q,): whether a query was refused
        self.overtime = False
        self.closest = Closest(batch, batch.kappa)

    @property
    def distance(self) -> np.ndarray:
        """The distance of the closest valid change of each question (Q,); infinite if there is none."""
        return self.closest.distance[self.rows]

    @property
    def scaled_change(self) -> np.ndarray:
        """The closest valid change of each question (Q, d)."""
        return self.closest.scaled_change[self.rows]

    @property
    def late(self) -> bool:
        """Whether the time limit was reached; if so, the findings record it."""
        self.overtime = self.overtime or now() >= self.deadline
        return self.overtime

    def ask(self, who: np.ndarray, z: np.ndarray, phase: str, mask: np.ndarray | None = None) -> np.ndarray:
        """Return the margins (N,) of changes z (N, d). `who` (N,) are the numbers of the questions.

        Margins are -inf where the mask (N,) is False, and where no query is left.
        """
        margins = np.full(len(who), -np.inf)
        affordable = self._afford(who, mask)
        if len(affordable):
            rows = self.rows[who[affordable]]
            margins[affordable] = self.batch.margins(rows, z[affordable], phase)
            self.closest.offer(rows, z[affordable], margins[affordable])
        return margins

    def ask_at(self, who: np.ndarray, commands: np.ndarray, phase: str) -> np.ndarray:
        """Return the margins (N,) at commands (N, d), which may be outside the search region and cannot be answers."""
        margins = np.full(len(who), -np.inf)
        affordable = self._afford(who)
        if len(affordable):
            margins[affordable] = self.batch.margins_at(self.rows[who[affordable]], commands[affordable], phase)
        return margins

    def repeat(self, who: np.ndarray, phase: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return a faster `ask` about these questions, for many calls; it does not check that queries are left."""
        rows, count = self.rows[who], np.bincount(who, minlength=len(self.left))

        def margins(z: np.ndarray) -> np.ndarray:
            self.left -= count
            values = self.batch.margins(rows, z, phase)
            self.closest.offer(rows, z, values)
            return values

        return margins

    def _afford(self, who: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Return the indices of the queries (N,) that are allowed, and subtract these from the budget."""
        indices = np.arange(len(who)) if mask is None else np.flatnonzero(mask)
        if self.late or not len(indices):
            return indices[:0]
        if self.limited:
            indices = indices[np.argsort(who[indices], kind="stable")]
            whose = who[indices]
            rank = np.arange(len(indices)) - np.searchsorted(whose, whose)
            possible = rank < self.left[whose]
            self.cut[whose[~possible]] = True
            indices = indices[possible]
            self.left -= np.bincount(who[indices], minlength=len(self.left))
        return indices

    def reserve(self, share: float) -> np.ndarray:
        """Set aside a share of each question's queries, and return its size (Q,); add this to `left` to release it."""
        reserved = (share * self.left).astype(np.int64)
        self.left -= reserved
        return reserved

    def findings(self) -> list[Finding]:
        """Return one finding for each question."""
        return [
            Finding(change if valid else None, self._stop(i))
            for i, (change, valid) in enumerate(zip(self.scaled_change.copy(), np.isfinite(self.distance), strict=True))
        ]

    def _stop(self, i: int) -> Stop:
        if self.overtime:
            return Stop.OUT_OF_TIME
        return Stop.OUT_OF_QUERIES if self.cut[i] or self.left[i] <= 0 else Stop.COMPLETE
