"""A command is confirmed if the foil wins there by kappa however the policy is asked about it."""

import numpy as np

from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.noise import BATCHES, CAUTION, exact_rows

OUTWARDS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""By which shares of its size a change is enlarged, one after the other, until the policy confirms it."""


def sure_margin(batch: QuestionBatch, row: int, command: np.ndarray) -> float:
    """A margin that a command (d,) has however the policy is asked.

    It is the smallest one, alone and in each place of small batches, less the policy's noise: what its probes showed,
    or what shows here, if that is more.
    """
    if exact_rows(batch):
        return float(batch.margins_at(np.array([row]), command[None], "verify")[0])
    asked = [batch.margins_at(np.full(size, row), np.repeat(command[None], size, axis=0), "verify") for size in BATCHES]
    margins = np.concatenate(asked)
    noise = max(batch.clearance / CAUTION, float(np.ptp(margins)))
    return float(margins.min()) - (noise if noise > ROUNDING else 0.0)


def flips(batch: QuestionBatch, row: int, command: np.ndarray) -> bool:
    """Whether the foil wins there by kappa however it is asked; where kappa is 0, a draw does not count."""
    margin = sure_margin(batch, row, command)
    return margin >= batch.questions[row].kappa and margin > 0


def confirm(batch: QuestionBatch, row: int, change: np.ndarray) -> np.ndarray | None:
    """The command of a scaled change, walked outwards until the policy confirms it; None if it never does."""
    question, rows = batch.questions[row], np.array([row])
    for share in OUTWARDS:
        command = _settled(question, batch.commands_at(rows, (1 + share) * change[None])[0])
        if flips(batch, row, command):
            return command
    return None


def _settled(question: Question, command: np.ndarray) -> np.ndarray:
    """The command inside the region, where what has hardly changed has not changed at all."""
    still = np.abs(command - question.command) <= UNCHANGED * question.space.scale
    low, high = np.where(still, question.command, question.low), np.where(still, question.command, question.high)
    return question.space.project(command[None], low, high)[0]


ROUNDING = 1e-12
"""Noise up to this is that of float64 numbers: it must not turn down a short number that lies right on the edge."""
UNCHANGED = 1e-9
"""A scaled change up to this counts as no change: the objective keeps its number."""
