"""Queries within limits: how every search asks the policy, and where its closest valid changes are kept."""

from collections.abc import Callable

import numpy as np

from paretofoil.core.limit import NO_LIMITS, Limits, Stop, now
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding
from paretofoil.search.parts.closest import Closest

_UNLIMITED = 1 << 62


class Budget:
    """Asks the policy as long as each question has queries and time left, and keeps the closest valid change met.

    A question's queries are cut off in the order in which they are asked: with a larger budget it asks the same
    first and more after, so that its answer cannot get worse.
    """

    def __init__(
        self,
        batch: QuestionBatch,
        limits: Limits = NO_LIMITS,
        *,
        rows: np.ndarray | None = None,
        most: int | None = None,
    ) -> None:
        self.batch = batch
        self.rows = (
            np.arange(batch.num_questions) if rows is None else rows
        )  # (Q,): its questions, numbered 0 to Q - 1 here
        self.deadline = limits.deadline(len(self.rows))
        queries = limits.fewer_queries(most)
        self.limited = queries is not None
        self.left = np.full(len(self.rows), _UNLIMITED if queries is None else queries, dtype=np.int64)  # (Q,)
        self.cut = np.zeros(len(self.rows), dtype=bool)  # (Q,): whether something was not asked for lack of queries
        self.overtime = False
        self.closest = Closest(batch, batch.kappa)

    @property
    def distance(self) -> np.ndarray:
        """The distance of each question's closest valid change, infinite if none was met: (Q,)."""
        return self.closest.distance[self.rows]

    @property
    def scaled_change(self) -> np.ndarray:
        """The closest valid change of each question: (Q, d)."""
        return self.closest.scaled_change[self.rows]

    @property
    def late(self) -> bool:
        """Whether the time is over; it is then remembered as the reason for stopping."""
        self.overtime = self.overtime or now() >= self.deadline
        return self.overtime

    def ask(self, who: np.ndarray, z: np.ndarray, phase: str, wanted: np.ndarray | None = None) -> np.ndarray:
        """Margins (N,) of changes z (N, d) of questions who (N,); -inf where one is not wanted or no query is left."""
        margins = np.full(len(who), -np.inf)
        asked = self._afford(who, wanted)
        if len(asked):
            rows = self.rows[who[asked]]
            margins[asked] = self.batch.margins(rows, z[asked], phase)
            self.closest.offer(rows, z[asked], margins[asked])
        return margins

    def ask_at(self, who: np.ndarray, commands: np.ndarray, phase: str) -> np.ndarray:
        """Margins (N,) at commands (N, d) that need not lie in the region, and so are no answers."""
        margins = np.full(len(who), -np.inf)
        asked = self._afford(who)
        if len(asked):
            margins[asked] = self.batch.margins_at(self.rows[who[asked]], commands[asked], phase)
        return margins

    def repeat(self, who: np.ndarray, phase: str) -> Callable[[np.ndarray], np.ndarray]:
        """`ask` for queries that are made of the same questions over and over; they must have the queries for it."""
        rows = self.rows[who]
        ask, count = self.batch.repeat(rows, phase), np.bincount(who, minlength=len(self.left))

        def margins(z: np.ndarray) -> np.ndarray:
            self.left -= count
            asked = ask(z)
            self.closest.offer(rows, z, asked)
            return asked

        return margins

    def _afford(self, who: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
        """Which of the queries (N,) can be made; they are taken off what is left."""
        asked = np.arange(len(who)) if wanted is None else np.flatnonzero(wanted)
        if self.late or not len(asked):
            return asked[:0]
        if self.limited:
            asked = asked[np.argsort(who[asked], kind="stable")]
            whose = who[asked]
            rank = np.arange(len(asked)) - np.searchsorted(whose, whose)
            possible = rank < self.left[whose]
            self.cut[whose[~possible]] = True
            asked = asked[possible]
            self.left -= np.bincount(who[asked], minlength=len(self.left))
        return asked

    def spend(self, phase: str, count: int) -> bool:
        """Count what a white-box search computes by itself, for each question; False if not so much is left."""
        if self.late:
            return False
        if (count > self.left).any():
            self.cut[:] = True
            return False
        self.left -= count
        self.batch.spend(self.rows, phase, count)
        return True

    def check(self, z: np.ndarray, wanted: np.ndarray) -> None:
        """Ask the policy about what a white-box search ended with (Q, d), whatever is left, where it is wanted (Q,)."""
        rows = self.rows[wanted]
        z = self.batch.project(rows, z[wanted])
        self.closest.offer(rows, z, self.batch.margins(rows, z, "check"))

    def keep_back(self, share: float) -> np.ndarray:
        """Put a share of each question's queries aside for later: (Q,), to be given back by adding it to `left`."""
        kept = (share * self.left).astype(np.int64)
        self.left -= kept
        return kept

    def findings(self) -> list[Finding]:
        """One for each of its questions."""
        return [
            Finding(change if found else None, self._stop(i))
            for i, (change, found) in enumerate(zip(self.scaled_change.copy(), np.isfinite(self.distance), strict=True))
        ]

    def _stop(self, i: int) -> Stop:
        if self.overtime:
            return Stop.OUT_OF_TIME
        return Stop.OUT_OF_QUERIES if self.cut[i] or self.left[i] <= 0 else Stop.COMPLETE
