"""Tables of values: the preferences under which the foil wins are a union of polytopes, one per vector of the foil.

In a polytope, one vector of the foil has a larger value than every vector of every rival. Its nearest point solves a
least-distance problem (Lawson and Hanson 1974, ch. 23). This is a small non-negative least-squares problem, whose
multipliers prove the distance.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretofoil.core.policy import ValueTable
from paretofoil.core.question import Question
from paretofoil.proof.bounds import region_facets

DIAMETER = 1.5
"""No two preferences are farther apart: a polytope at a larger distance is empty."""
_ROUNDING = 2.0**-44
"""Upper bound of the relative rounding error of a number of a half-space."""


@dataclass(frozen=True, eq=False)
class Polytope:
    """The changes z with slopes @ z >= levels. All numbers of a half-space have errors of at most `errors`."""

    slopes: np.ndarray  # (K, d)
    levels: np.ndarray  # (K,)
    errors: np.ndarray  # (K,)

    @cached_property
    def simple_bound(self) -> float:
        """The distance of the farthest half-space."""
        sizes = np.linalg.norm(self.slopes, axis=1) + np.sqrt(self.slopes.shape[1]) * self.errors
        away = np.divide(self.levels - self.errors, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        empty = (sizes == 0) & (self.levels > self.errors)
        return np.inf if empty.any() else max(0.0, float(away.max(initial=0.0)))

    def nearest(self) -> tuple[float, np.ndarray | None]:
        """Return a lower bound of the distance from 0 (infinite if empty), and the nearest point (d,) or None."""
        from scipy.optimize import nnls  # takes 0.3 seconds to import, and only tables need it

        target = np.zeros(self.slopes.shape[1] + 1)
        target[-1] = 1.0
        try:
            multipliers, _ = nnls(np.vstack([self.slopes.T, self.levels]), target)
        except RuntimeError:  # not converged
            return 0.0, None
        lower = self._proven(multipliers)
        rest = 1.0 - float(multipliers @ self.levels)
        if lower > DIAMETER or rest <= 0.0:
            return np.inf if lower > DIAMETER else lower, None
        return lower, multipliers @ self.slopes / rest

    def _proven(self, multipliers: np.ndarray) -> float:
        """Return the distance proven by multipliers m >= 0: m . levels <= (m . slopes) . z <= |m . slopes| |z|."""
        error = float(multipliers @ self.errors)
        most = float(np.linalg.norm(multipliers @ self.slopes)) + np.sqrt(self.slopes.shape[1]) * error
        return max(0.0, float((multipliers @ self.levels - error) / most)) if most > 0 else 0.0


def polytopes(table: ValueTable, question: Question, level: float) -> list[Polytope]:
    """Return a polytope for each vector of the foil: the changes under which it beats all rivals by the level.

    The polytopes are sorted by `simple_bound`.
    """
    others = table.vectors[question.rivals].reshape(-1, question.space.dim)
    unsorted = [_polytope(vector, others, question, level) for vector in table.vectors[question.foil]]
    return sorted(unsorted, key=lambda polytope: polytope.simple_bound)


def _polytope(vector: np.ndarray, others: np.ndarray, question: Question, level: float) -> Polytope:
    facets = region_facets(question, 1e-12)
    assert facets is not None
    low, high = question.room
    moving = high > low  # the change is 0 along the others
    better = vector - others
    slopes = np.concatenate([better @ question.basis, facets.slopes])[:, moving]
    levels = np.concatenate([level - better @ question.command, -facets.offsets])
    sizes = np.concatenate(
        [np.abs(vector).sum() + np.abs(others).sum(axis=1) + abs(level), np.ones(len(facets.offsets))]
    )
    unit = np.maximum(sizes, 1e-300)  # otherwise large values would outweigh the facets
    return Polytope(slopes / unit[:, None], levels / unit, np.full(len(unit), _ROUNDING * question.space.dim))
