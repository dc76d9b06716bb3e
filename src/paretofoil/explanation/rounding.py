"""Short numbers that still flip the action."""

import itertools

import numpy as np

from paretofoil.core.command import length
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.confirm import UNCHANGED, flips

DIGITS = range(1, 10)
"""Tried resolutions: a 10th of each objective's range, a 100th, ..."""
CANDIDATES = 8
"""Commands that are asked about at each resolution: every way to round three objectives."""
BOTH_WAYS = 10
"""Objectives that are rounded down and up: there are two to the power of this many ways."""
NOISE = 1e-12
"""Sums of short numbers differ from short numbers by less."""
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
    space, norm = question.space, question.norm
    changed = np.flatnonzero(command != question.command)
    if space.simplex:
        rounded = _with_rest(command, changed, digits)
    else:
        rounded = _rounded(command, changed, digits - np.floor(np.log10(space.scale)).astype(int))
    # A number that was rounded back to what it had been has not changed, whatever its last bit says.
    back = np.abs(rounded - question.command) <= UNCHANGED * space.scale
    rounded = np.where(back, question.command, rounded)
    inside = ((rounded >= question.low) & (rounded <= question.high)).all(axis=1)
    if space.simplex:
        inside &= np.abs(rounded.sum(axis=1) - 1.0) < NOISE
    # What is told must not turn a wish around, and must stay nearly as small as what was found.
    same_way = ((rounded - question.command) * (command - question.command) >= 0).all(axis=1)
    reach = STRETCH * space.distance(command, question.command, norm)
    rounded = rounded[inside & same_way & (space.distance(rounded, question.command, norm) <= reach)]
    if len(rounded) > CANDIDATES:
        rounded = rounded[np.argsort(space.distance(rounded, command, norm), kind="stable")[:CANDIDATES]]
    return rounded


def _rounded(command: np.ndarray, rounding: np.ndarray, decimals: np.ndarray) -> np.ndarray:
    """The command with each of some objectives rounded down or up to its decimals (d,), in every way: (N, d).

    Of many objectives only those that lie most between two numbers are rounded both ways.
    """
    unit = 10.0 ** -decimals.astype(float)
    down = np.floor(command / unit)
    near = np.round(command / unit) == down
    choices = [(down[i], down[i] + 1) if near[i] else (down[i] + 1, down[i]) for i in rounding]
    clear = np.abs(command / unit - down - 0.5)[rounding]
    for place in np.argsort(clear, kind="stable")[BOTH_WAYS:]:
        choices[place] = choices[place][:1]
    ways = list(itertools.product(*choices))
    rounded = np.repeat(command[None], len(ways), axis=0)
    for candidate, choice in zip(rounded, ways, strict=True):
        candidate[rounding] = [
            round(float(n * unit[i]), max(int(decimals[i]), 0)) for n, i in zip(choice, rounding, strict=True)
        ]
    return rounded


def _with_rest(command: np.ndarray, changed: np.ndarray, decimals: int) -> np.ndarray:
    """Preferences that still sum to 1: all but one that change are rounded, and that one is what the others leave.

    It is as short as they are, unless one that keeps its number has a long one.
    """
    ways = []
    for rest in changed:
        others = changed[changed != rest]
        rounded = _rounded(command, others, np.full(len(command), decimals))
        rounded[:, rest] = 1.0 - np.delete(rounded, rest, axis=1).sum(axis=1)
        short = np.round(rounded[:, rest], decimals)
        noise = np.abs(short - rounded[:, rest]) < NOISE
        rounded[:, rest] = np.where(noise, short, rounded[:, rest])
        ways.append(rounded)
    every = np.unique(np.concatenate(ways), axis=0) if ways else command[None][:0]
    return every[np.argsort(length(every - command), kind="stable")]
