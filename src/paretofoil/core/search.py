"""The contract of every search: what it is asked with, what it gives, and what it says about itself.

A search is a frozen dataclass whose fields are its settings. It is asked about questions on one policy, together, and
gives one finding for each. It asks the policy through the batch only, keeps to the limits, and trusts nobody to check
it: the outer call (`explanation/ask.py`) asks the policy again about whatever it claims.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from paretofoil.core.answer import Certificate
from paretofoil.core.limit import NO_LIMITS, Limits, Stop
from paretofoil.core.question import QuestionBatch

Access = Literal["queries", "gradients", "white-box"]
"""What a search needs of a policy: queries, derivatives, or bounds. The last two need a white-box policy."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What a search claims about one question."""

    scaled_change: np.ndarray | None
    """The scaled change z of the closest valid command it met, or None."""
    stop: Stop = Stop.COMPLETE
    """Why it stopped."""
    certificate: Certificate | None = None
    """What was proven about the question, if the search proves anything."""


class Search(ABC):
    """A method that looks for the smallest change of the command under which the foil wins by kappa."""

    seed: int
    """The seed of all its randomness: the same seed gives the same finding. A deterministic search has one too."""
    stochastic: ClassVar[bool] = False
    """Whether another seed may give another finding."""
    access: ClassVar[Access] = "queries"
    """What it needs of the policy."""
    proves: ClassVar[bool] = False
    """Whether its findings carry certificates."""
    questions_at_once: ClassVar[int] = 64
    """How many questions a study sends together: many where they share their calls, few where each takes long."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As it is written on the command line and in tables."""

    @abstractmethod
    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        """One finding for each question of the batch, in its order.

        A finding depends on its question alone, not on its neighbours in the batch. The change lies inside the
        question's region. No question is asked about more often than the limits say; when the time is over, the
        search returns the best it has met, with the reason in `stop`. A limit of queries leaves a finding as
        repeatable as none; a limit of time does not.
        """
