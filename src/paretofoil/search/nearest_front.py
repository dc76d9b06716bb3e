"""The baseline that only looks at the front: its closest point, as a remaining command, that flips the action."""

from dataclasses import dataclass

import numpy as np

from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents


@dataclass(frozen=True)
class NearestFront:
    """Deterministic and cheap: one query for each front point inside the region."""

    seed: int = 0
    """Not used; every search has one."""

    @property
    def name(self) -> str:
        return "nearest-front"

    def run(self, batch: QuestionBatch) -> list[Finding]:
        best = Incumbents(batch)
        rows = np.repeat(np.arange(batch.size), [len(q.front) for q in batch.questions])
        front = np.concatenate([q.front for q in batch.questions])
        z = (front - batch.commands[rows]) / batch.scale[rows]  # (sum of front sizes, d)
        inside = ((z >= batch.low[rows]) & (z <= batch.high[rows])).all(axis=1)
        rows, z = rows[inside], z[inside]
        if rows.size:
            best.offer(rows, z, batch.margins(rows, z, "front"))
        return best.findings()
