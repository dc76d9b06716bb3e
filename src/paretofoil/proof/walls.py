"""The sides of a region of preferences, which no box has: each is a half-space of scaled changes, and exact."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.question import Question
from paretofoil.proof.bound import HalfSpaces

_ROUNDING = 1e-12
"""More than rounding can do to where a wall stands: weights are at most 1."""


@dataclass(frozen=True, eq=False)
class Walls:
    """A change z is inside where slopes . z + offsets is at least 0."""

    slopes: np.ndarray  # (K, d)
    offsets: np.ndarray  # (K,)

    def room(self, z: np.ndarray) -> np.ndarray:
        """How far inside of each wall changes z (N, d) are: (N, K)."""
        return z @ self.slopes.T + self.offsets

    def beside(self, lines: HalfSpaces, level: float) -> HalfSpaces:
        """Lines above margins, and the walls as rivals against which the level is reached inside."""
        shape = (len(lines.slopes), *self.slopes.shape)
        return HalfSpaces(
            np.concatenate([lines.slopes, np.broadcast_to(self.slopes, shape)], axis=1),
            np.concatenate([lines.offsets, np.broadcast_to(self.offsets + level, shape[:2])], axis=1),
        )


def walls_of(question: Question, around: np.ndarray | float = 0.0) -> Walls | None:
    """The walls of a question's region, each moved outwards by what is to be allowed for (d,); None for a box."""
    if not question.space.simplex:
        return None
    low, high, command, basis = question.low, question.high, question.command, question.basis
    free = high > low
    capped = free & (high < 1.0 - (low.sum() - low) - _ROUNDING)  # others follow from the lower sides and the sum
    outwards = np.broadcast_to(around, command.shape) + (_ROUNDING if np.any(around) else 0.0)
    return Walls(
        np.concatenate([basis[free], -basis[capped]]),
        np.concatenate([(command - low + outwards)[free], (high - command + outwards)[capped]]),
    )
