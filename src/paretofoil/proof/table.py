"""Exact answers about tables of values: the foil's region is a union of polytopes, one for each of its vectors.

Where one vector of the foil is worth more than every vector of every rival, the foil wins; so that the nearest such
preferences are those of the nearest polytope, and each is a least-distance problem (Lawson and Hanson 1974, ch. 23):
a small non-negative least-squares problem, whose multipliers prove the distance.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from paretofoil.core.policy import ValueTable
from paretofoil.core.question import Question
from paretofoil.proof.walls import walls_of

DIAMETER = 1.5
"""No two preferences are farther apart: a polytope that is, is empty."""
_ROUNDING = 2.0**-44
"""More than rounding can do to a number of a half-space, relatively."""


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """The point of a polytope that is nearest to 0."""

    lower: float
    """No point of it is closer; infinite if it is empty."""
    point: np.ndarray | None
    """Where it is, if it could be told."""


@dataclass(frozen=True, eq=False)
class Polytope:
    """The changes z with slopes . z >= levels; each number of a half-space is right up to its error."""

    slopes: np.ndarray  # (K, d)
    levels: np.ndarray  # (K,)
    errors: np.ndarray  # (K,)

    @cached_property
    def simple_bound(self) -> float:
        """No point is closer than one of its half-spaces is."""
        sizes = np.linalg.norm(self.slopes, axis=1) + np.sqrt(self.slopes.shape[1]) * self.errors
        away = np.divide(self.levels - self.errors, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        empty = (sizes == 0) & (self.levels > self.errors)
        return np.inf if empty.any() else max(0.0, float(away.max(initial=0.0)))

    def nearest(self) -> NearestPoint:
        target = np.zeros(self.slopes.shape[1] + 1)
        target[-1] = 1.0
        try:
            multipliers, _ = nnls(np.vstack([self.slopes.T, self.levels]), target)
        except RuntimeError:  # it did not converge, which proves nothing
            return NearestPoint(0.0, None)
        lower = self._proven(multipliers)
        rest = 1.0 - float(multipliers @ self.levels)
        if lower > DIAMETER or rest <= 0.0:
            return NearestPoint(np.inf if lower > DIAMETER else lower, None)
        return NearestPoint(lower, multipliers @ self.slopes / rest)

    def _proven(self, multipliers: np.ndarray) -> float:
        """Any multipliers m >= 0 prove a distance: m . levels <= (m . slopes) . z <= |m . slopes| |z|."""
        error = float(multipliers @ self.errors)
        most = float(np.linalg.norm(multipliers @ self.slopes)) + np.sqrt(self.slopes.shape[1]) * error
        return max(0.0, float((multipliers @ self.levels - error) / most)) if most > 0 else 0.0


def polytopes(table: ValueTable, question: Question, level: float) -> list[Polytope]:
    """For each vector of the foil, the changes with which it is worth more than all rivals, by the level.

    Those that may come closest to 0 are first.
    """
    others = table.vectors[question.rivals].reshape(-1, question.space.dim)
    made = [_polytope(vector, others, question, level) for vector in table.vectors[question.foil]]
    return sorted(made, key=lambda polytope: polytope.simple_bound)


def _polytope(vector: np.ndarray, others: np.ndarray, question: Question, level: float) -> Polytope:
    walls = walls_of(question, 1e-12)
    assert walls is not None
    low, high = question.room
    moving = high > low  # nothing moves along the others
    better = vector - others
    slopes = np.concatenate([better @ question.basis, walls.slopes])[:, moving]
    levels = np.concatenate([level - better @ question.command, -walls.offsets])
    sizes = np.concatenate(
        [np.abs(vector).sum() + np.abs(others).sum(axis=1) + abs(level), np.ones(len(walls.offsets))]
    )
    unit = np.maximum(sizes, 1e-300)  # so that large values do not outweigh the walls
    return Polytope(slopes / unit[:, None], levels / unit, np.full(len(unit), _ROUNDING * question.space.dim))
