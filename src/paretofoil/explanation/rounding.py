"""Short numbers that still flip the action."""

import itertools

import numpy as np

from paretofoil.core.question import QuestionBatch

DIGITS = range(1, 7)
"""Tried resolutions: a 10th of each objective's range, a 100th, ..."""
STRETCH = 1.1
"""A rounded change may be this much larger than the exact one: short, but still the same answer."""


def round_command(batch: QuestionBatch, row: int, command: np.ndarray) -> np.ndarray:
    """The command in the shortest numbers under which the foil is still the greedy action.

    Each changed objective is rounded down or up; objectives that did not change keep their number. The
    candidates of all resolutions are one batch of queries. If none flips, the command itself is returned.
    """
    question = batch.questions[row]
    changed = np.flatnonzero(command != question.command)
    candidates = []
    for digits in DIGITS:
        decimals = digits - np.floor(np.log10(question.space.scale)).astype(int)
        unit = 10.0 ** -decimals.astype(float)
        down = np.floor(command / unit)
        near = np.round(command / unit) == down
        choices = [(down[i], down[i] + 1) if near[i] else (down[i] + 1, down[i]) for i in changed]
        for choice in itertools.product(*choices):  # the nearest first
            candidate = command.copy()
            candidate[changed] = [
                round(float(n * unit[i]), max(int(decimals[i]), 0)) for n, i in zip(choice, changed, strict=True)
            ]
            candidates.append(candidate)
    stacked = np.stack(candidates)
    rows = np.full(len(stacked), row)
    inside = ((stacked >= question.low) & (stacked <= question.high)).all(axis=1)
    change, rounded = command - question.command, stacked - question.command
    same_way = (rounded * change >= 0).all(axis=1)  # what is told must not turn a wish around
    space = question.space
    reach = STRETCH * space.distance(command, question.command, question.norm)
    near_enough = space.distance(stacked, question.command, question.norm) <= reach
    flips = inside & same_way & near_enough & (batch.margins_at(rows, stacked, "round") > 0)
    return stacked[np.argmax(flips)] if flips.any() else command
