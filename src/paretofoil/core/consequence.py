"""Consequences: what an agent achieves from a decision on, under one command."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import as_vector
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
        try:
            achieved = as_vector(values["achieved"], "what was achieved")
            error = as_vector(values["error"], "its standard errors", achieved.size)
            numbers = float(values["steps"]), float(values["finished"]), int(values["repeats"])
        except (KeyError, TypeError) as problem:
            raise InvalidInput.expected("a whole consequence", f"one in which {problem}") from None
        return cls(achieved, error, *numbers)
