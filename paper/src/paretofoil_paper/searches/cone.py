"""The sign cone of the authors' code: the front determines which half of each objective's range is searched.

The paper's text restricts the directions; the code cuts the search region and measures in units of the cut region.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.question import Question, QuestionBatch
from paretofoil.search.budget import Budget
from paretofoil.search.cf_zoo import Region

TINY = 1e-6
"""Smaller differences, distances to an edge and widths count as 0, in units of the command."""
DECIMALS = 6
"""Points and directions that agree to this many decimals are the same."""


@dataclass(frozen=True, eq=False)
class Cone:
    """The front candidates of one question and the signs that they imply."""

    front: np.ndarray  # (F, d): scaled changes to the candidates, the largest foil margin first
    margins: np.ndarray  # (F,)
    signs: np.ndarray  # (d,): +1 (only increase), -1 (only decrease) or 0


def ask_cones(budget: Budget, *, cut: bool = True) -> list[Cone]:
    """Query every front candidate; with `cut`, the one with the largest margin determines the signs."""
    batch = budget.batch
    candidates = [candidates_of(question) for question in batch.questions]
    rows = np.repeat(np.arange(batch.num_questions), [len(front) for front in candidates])
    margins = budget.ask_at(rows, np.concatenate(candidates), "front")
    cones = []
    for row, question in enumerate(batch.questions):
        asked = margins[rows == row]
        order = np.argsort(-asked, kind="stable")
        front, asked = batch.changes_to(np.full(len(order), row), candidates[row][order]), asked[order]
        sizes = np.abs(front) * question.space.scale
        others = (sizes > TINY).any(axis=1) & np.isfinite(asked)  # not the command itself; not out of budget
        anchored = cut and others.any()
        signs = np.where(sizes > TINY, np.sign(front), 0.0)[others][0] if anchored else np.zeros(batch.dim)
        cones.append(Cone(front, asked, signs))
    return cones


def candidates_of(question: Question) -> np.ndarray:
    """Return the front commands (F, d), clipped to the region and without duplicates."""
    return _each_once(question.space.project(question.front, question.low, question.high))


def cut_regions(batch: QuestionBatch, signs: np.ndarray) -> Region:
    """Return the regions, cut at the command where there is a sign (Q, d); the remaining width is the unit."""
    low, high = np.where(signs > 0, 0.0, batch.low), np.where(signs < 0, 0.0, batch.high)
    width = (high - low) * batch.scale
    return Region(low, high, np.where(width < TINY, 1.0, width) / batch.scale)


def fold(v: np.ndarray, signs: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return directions v (N, d) inside the cone: wrong signs are mirrored, components without room are set to 0.

    `room` (2, d) is whether the region extends below and above the command.
    """
    v = np.where(signs != 0, np.abs(v) * signs, v)
    return np.where(np.where(v > 0, room[1], room[0]), v, 0.0)


def directions(v: np.ndarray) -> np.ndarray:
    """Return vectors (N, d) scaled to length 1, without duplicates."""
    lengths = np.linalg.norm(v, axis=1)
    return _each_once(v[lengths > 0] / lengths[lengths > 0, None])


def _each_once(points: np.ndarray) -> np.ndarray:
    """Return points (N, d) without duplicates; a dictionary of bytes is several times as fast as np.unique."""
    rounded = np.round(points, DECIMALS) + 0.0  # + 0.0: no -0.0
    keys = rounded.view(np.dtype((np.void, rounded.itemsize * rounded.shape[1]))).ravel().tolist()
    first = {keys[i]: i for i in range(len(keys) - 1, -1, -1)}
    return points[sorted(first.values())]


def regions_where(chosen: np.ndarray, region: Region, other: Region) -> Region:
    """Return a region for the chosen questions (Q,), and another one for the rest."""
    sides = ((region.low, other.low), (region.high, other.high), (region.unit, other.unit))
    return Region(*(np.where(chosen[:, None], *side) for side in sides))
