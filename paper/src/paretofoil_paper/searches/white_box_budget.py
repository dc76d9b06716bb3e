"""Queries within limits for white-box searches, whose evaluations of the network count as queries."""

import numpy as np

from paretofoil.search.budget import Budget


class WhiteBoxBudget(Budget):
    """A budget from which evaluations of a network are subtracted. It also checks results on the policy."""

    def spend(self, phase: str, count: int) -> bool:
        """Count evaluations of a white-box search for each question; return False if too few are left."""
        if self.late:
            return False
        if (count > self.left).any():
            self.cut[:] = True
            return False
        self.left -= count
        self.batch.spend(self.rows, phase, count)
        return True

    def check(self, z: np.ndarray, mask: np.ndarray) -> None:
        """Query the results (Q, d) of a white-box search where the mask (Q,) is True, even if no query is left."""
        rows = self.rows[mask]
        z = self.batch.project(rows, z[mask])
        self.closest.offer(rows, z, self.batch.margins(rows, z, "check"))
