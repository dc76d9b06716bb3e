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
    return _sure_margin(batch, row, _scores(batch, row, command))


def _scores(batch: QuestionBatch, row: int, command: np.ndarray) -> np.ndarray:
    """Return what the policy answers at a command (d,), alone and in each place of small batches: (N, num_actions)."""
    sizes = (1,) if exact_rows(batch) else BATCHES
    each = [batch.scores_at(np.full(size, row), np.repeat(command[None], size, axis=0), "verify") for size in sizes]
    return np.concatenate(each)


def _sure_margin(batch: QuestionBatch, row: int, scores: np.ndarray) -> float:
    margins = batch.margins_of(np.full(len(scores), row), scores)
    if len(margins) == 1:
        return float(margins[0])
    noise = max(batch.clearance / CAUTION, float(np.ptp(margins)))
    return float(margins.min()) - (noise if noise > ROUNDING else 0.0)


def flips(batch: QuestionBatch, row: int, command: np.ndarray) -> bool:
    """Whether the foil wins there by kappa however it is asked; where kappa is 0, a draw does not count."""
    return _flips(batch, row, _scores(batch, row, command))


def _flips(batch: QuestionBatch, row: int, scores: np.ndarray) -> bool:
    margin = _sure_margin(batch, row, scores)
    return margin >= batch.questions[row].kappa and margin > 0


def confirm(batch: QuestionBatch, row: int, change: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the command of a scaled change, moved outwards until the policy confirms it, and the scores there.

    Return None if no such command is confirmed.
    """
    question, rows = batch.questions[row], np.array([row])
    for share in OUTWARDS:
        command = _settled(question, batch.commands_at(rows, (1 + share) * change[None])[0])
        scores = _scores(batch, row, command)
        if _flips(batch, row, scores):
            return command, scores[0]
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
