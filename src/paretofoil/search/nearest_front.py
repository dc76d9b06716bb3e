"""The baseline that only looks at the front: its closest point, as a remaining command, that flips the action."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.parts.budget import Budget


@dataclass(frozen=True)
class NearestFront(Search):
    """Deterministic and cheap: one query for each front point inside the region."""

    seed: int = 0
    """Not used; every search has one."""

    @property
    def name(self) -> str:
        return "nearest-front"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        budget = Budget(batch, limits)
        rows = np.repeat(np.arange(batch.num_questions), [len(q.front) for q in batch.questions])
        front = np.concatenate([q.front for q in batch.questions])
        z = batch.changes_to(rows, front)  # (sum of front sizes, d)
        budget.ask(rows, z, "front", batch.holds(rows, z))
        return budget.findings()
