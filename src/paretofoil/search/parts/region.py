"""Where a search goes, and in which units it measures: the region of each question, or a part of it."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.question import QuestionBatch


@dataclass(frozen=True, eq=False)
class Region:
    """Boxes around 0 in scaled changes z, with units of their own: y = z / unit."""

    low: np.ndarray  # (Q, d), <= 0
    high: np.ndarray  # (Q, d), >= 0
    unit: np.ndarray  # (Q, d): 1 where it measures as the question does

    @classmethod
    def whole(cls, batch: QuestionBatch) -> "Region":
        """All of what may be searched, in the questions' own units."""
        return cls(batch.low, batch.high, np.ones_like(batch.low))

    def inside(self, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The scaled changes (N, d) that y (N, d) of the questions in rows (N,) stand for, clipped to the boxes."""
        return np.clip(y * self.unit[rows], self.low[rows], self.high[rows])

    def where(self, chosen: np.ndarray, other: "Region") -> "Region":
        """This one for the questions that are chosen (Q,), the other one for the rest."""
        pick = chosen[:, None]
        return Region(
            np.where(pick, self.low, other.low),
            np.where(pick, self.high, other.high),
            np.where(pick, self.unit, other.unit),
        )
