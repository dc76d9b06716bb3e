"""Proven ranges: boxes of commands around an answer, every one of which is proven to make the foil win."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import as_vector
from paretofoil.core.document import record, sized
from paretofoil.core.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class ProvenRange:
    """Every command from low to high makes the foil win by kappa; of preferences, all of them that sum to 1."""

    low: np.ndarray
    high: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", as_vector(self.low, "the lower side of the proven range"))
        object.__setattr__(self, "high", as_vector(self.high, "the upper side of the proven range", self.low.size))
        if (self.low > self.high).any():
            got = f"{self.low.tolist()} and {self.high.tolist()}"
            raise InvalidInput.expected("a proven range with low <= high", got)

    def holds(self, commands: np.ndarray) -> np.ndarray:
        """Which of the commands (N, d) lie inside."""
        return np.logical_and(commands >= self.low, commands <= self.high).all(axis=-1)  # type: ignore[return-value]

    def to_dict(self) -> dict[str, Any]:
        return {"low": self.low.tolist(), "high": self.high.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ProvenRange":
        return cls(**_READ(values))


_READ = record({"low": sized(None), "high": sized(None)}, what="proven range")
