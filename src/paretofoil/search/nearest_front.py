"""Nearest front: a baseline that considers the points of the front only."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget


@dataclass(frozen=True)
class NearestFront(Search):
    """Query every front point inside the search region, once; return the nearest valid one."""

    seed: int = 0
    """Not used: the search is deterministic."""

    name = "nearest-front"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        budget = Budget(batch, limits)
        rows = np.repeat(np.arange(batch.num_questions), [len(q.front) for q in batch.questions])
        front = np.concatenate([q.front for q in batch.questions])
        z = batch.changes_to(rows, front)  # (sum of front sizes, d)
        budget.ask(rows, z, "front", batch.holds(rows, z))
        return budget.findings()
