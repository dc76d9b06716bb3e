"""Short numbers that still flip the action."""

import itertools

import numpy as np

from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.confirm import UNCHANGED, flips

DIGITS = range(1, 10)
"""Tried resolutions: a 10th of each objective's range, a 100th, ..."""
CANDIDATES = 8
"""Commands that are asked about at each resolution: every way to round three objectives."""
STRETCH = 1.1
"""A rounded change may be this much larger than the exact one: short, but still the same answer."""


def round_command(batch: QuestionBatch, row: int, command: np.ndarray) -> np.ndarray:
    """The command in the shortest numbers under which the foil still wins by kappa, confirmed on the policy.

    Each changed objective is rounded down or up; objectives that did not change keep their number. One resolution
    after the other is asked about. If none holds, the command itself is returned.
    """
    kappa = batch.questions[row].kappa
    for digits in DIGITS:
        candidates = _candidates(batch.questions[row], command, digits)
        if not len(candidates):
            continue
        margins = batch.margins_at(np.full(len(candidates), row), candidates, "round")
        for candidate in candidates[margins >= kappa]:
            if flips(batch, row, candidate):
                return candidate
    return command


def _candidates(question: Question, command: np.ndarray, digits: int) -> np.ndarray:
    """The command rounded in every way at one resolution, the nearest first: (N, d), only what may be told."""
    changed = np.flatnonzero(command != question.command)
    decimals = digits - np.floor(np.log10(question.space.scale)).astype(int)
    unit = 10.0 ** -decimals.astype(float)
    down = np.floor(command / unit)
    near = np.round(command / unit) == down
    choices = [(down[i], down[i] + 1) if near[i] else (down[i] + 1, down[i]) for i in changed]
    rounded = np.repeat(command[None], 2 ** len(changed), axis=0)
    for candidate, choice in zip(rounded, itertools.product(*choices), strict=True):
        candidate[changed] = [
            round(float(n * unit[i]), max(int(decimals[i]), 0)) for n, i in zip(choice, changed, strict=True)
        ]
    space, norm = question.space, question.norm
    # A number that was rounded back to what it had been has not changed, whatever its last bit says.
    back = np.abs(rounded - question.command) <= UNCHANGED * space.scale
    rounded = np.where(back, question.command, rounded)
    inside = ((rounded >= question.low) & (rounded <= question.high)).all(axis=1)
    # What is told must not turn a wish around, and must stay nearly as small as what was found.
    same_way = ((rounded - question.command) * (command - question.command) >= 0).all(axis=1)
    reach = STRETCH * space.distance(command, question.command, norm)
    rounded = rounded[inside & same_way & (space.distance(rounded, question.command, norm) <= reach)]
    if len(rounded) > CANDIDATES:
        rounded = rounded[np.argsort(space.distance(rounded, command, norm), kind="stable")[:CANDIDATES]]
    return rounded
