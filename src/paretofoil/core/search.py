"""The contract of searches.

A search is a frozen dataclass whose fields are its settings. It takes a batch of questions about one policy and returns
one finding per question. It queries the policy through the batch only, and observes the limits. Its findings are
checked on the policy again by the caller (`explanation/ask.py`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from paretofoil.core.answer import Certificate
from paretofoil.core.options import NO_LIMITS, Limits, Stop
from paretofoil.core.question import QuestionBatch

Access = Literal["queries", "gradients", "white-box"]
"""What a search uses of a policy: queries, gradients, or bounds. The last two need a white-box policy."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The result of a search for one question."""

    scaled_change: np.ndarray | None
    """Scaled change z to the closest valid command, or None."""
    stop: Stop = Stop.COMPLETE
    """Why the search stopped."""
    certificate: Certificate | None = None
    """Certificate of what was proven, if the search proves its findings."""


class Search(ABC):
    """A method to find the smallest change of the command for which the foil wins by kappa."""

    seed: int
    """Seed of all random numbers; deterministic searches ignore it."""
    stochastic: ClassVar[bool] = False
    """Whether findings depend on the seed."""
    access: ClassVar[Access] = "queries"
    """What the search uses of the policy."""
    proves: ClassVar[bool] = False
    """Whether findings have certificates."""
    questions_at_once: ClassVar[int] = 64
    """Number of questions that a study asks in one batch: many if they share policy calls, few if each is slow."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the search on the command line and in tables."""

    @abstractmethod
    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        """Return one finding per question, in the order of the batch.

        A finding depends on its question only, not on the rest of the batch. Its change lies inside the search region.
        At a limit, the search returns its best finding, with the reason in `stop`. Findings are reproducible under a
        limit of queries, but not under a limit of time.
        """
