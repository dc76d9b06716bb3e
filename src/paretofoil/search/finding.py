"""What every search takes and gives."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from paretofoil.question import QuestionBatch

if TYPE_CHECKING:
    from paretofoil.search.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Finding:
    """What a search claims about one question; the outer call checks it again on the policy."""

    change: np.ndarray | None
    """The scaled change z of the closest valid command it met, or None."""
    certificate: "Certificate | None" = None
    """What was proven about the question, if the search proves anything."""
    stopped_early: bool = False
    """True if a time limit ended the search before its budget did."""


class Search(Protocol):
    """A method that looks for counterfactuals; its fields are its configuration."""

    @property
    def name(self) -> str:
        """As it is written on the command line and in tables."""
        ...

    def run(self, batch: QuestionBatch) -> list[Finding]:
        """One finding per question; a question's finding depends on that question alone, not on the batch."""
        ...
