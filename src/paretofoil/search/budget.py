"""Counted queries within a budget, for searches that ask about many questions at once."""

import time

import numpy as np

from paretofoil.question import QuestionBatch
from paretofoil.search.incumbent import Incumbents


class Budget:
    """Asks the policy as long as each question has queries left, and keeps the closest valid change met.

    A question's queries are cut off in the order in which they are asked: with a larger budget it asks the same
    first and more after, so that its answer cannot get worse.
    """

    def __init__(self, batch: QuestionBatch, rows: np.ndarray, max_queries: int, deadline: float = np.inf) -> None:
        self.batch, self.rows = batch, rows  # rows (Q,): the questions, which are numbered 0 to Q - 1 here
        self.left = np.full(len(rows), max_queries, dtype=np.int64)  # (Q,)
        self.deadline = deadline
        self.incumbents = Incumbents(batch)

    @property
    def size(self) -> np.ndarray:
        """The distance of each question's closest valid change, infinite if none was met: (Q,)."""
        return self.incumbents.distance[self.rows]

    @property
    def change(self) -> np.ndarray:
        """The closest valid change of each question: (Q, d)."""
        return self.incumbents.change[self.rows]

    @property
    def late(self) -> bool:
        return time.perf_counter() >= self.deadline

    def ask(self, who: np.ndarray, z: np.ndarray, phase: str, wanted: np.ndarray | None = None) -> np.ndarray:
        """Margins (N,) of changes z (N, d) of questions who (N,); -inf where one is not wanted or no query is left."""
        margins = np.full(len(who), -np.inf)
        asked = np.arange(len(who)) if wanted is None else np.flatnonzero(wanted)
        order = asked[np.argsort(who[asked], kind="stable")]
        sorted_who = who[order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_who, sorted_who)
        order = order[rank < self.left[sorted_who]]
        if len(order) and not self.late:
            self.left -= np.bincount(who[order], minlength=len(self.left))
            margins[order] = self.batch.margins(self.rows[who[order]], z[order], phase)
            self.incumbents.offer(self.rows[who[order]], z[order], margins[order])
        return margins
