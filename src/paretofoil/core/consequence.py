"""Consequences: what an agent achieves from a decision on, under one command."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.document import MAX_INTEGER, Reader, finite, integer, record, sized, within
from paretofoil.core.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Consequence:
    """What a command leads to when it is issued in that very state; means over the repeats."""

    achieved: np.ndarray
    """The return of the whole episode: what had been collected before, and what came after."""
    error: np.ndarray
    """The standard error of each mean; 0 in deterministic environments."""
    steps: float
    """How many further steps the episode took."""
    finished: float
    """The share of repeats that ended by themselves, not by the step limit."""
    repeats: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "achieved": self.achieved.tolist(),
            "error": self.error.tolist(),
            "steps": self.steps,
            "finished": self.finished,
            "repeats": self.repeats,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Consequence":
        read = record(_READERS, what="consequence")(values)
        if read["error"].size != read["achieved"].size:
            raise InvalidInput.expected(f"{read['achieved'].size} standard errors", read["error"].size)
        return cls(**read)


_READERS: dict[str, Reader] = {
    **dict.fromkeys(("achieved", "error"), sized(None)),
    **dict.fromkeys(("steps", "finished"), finite),
    "repeats": within(integer, 1, MAX_INTEGER),
}
