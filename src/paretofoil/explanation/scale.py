"""Whether a policy's numbers are what they should be: margins of probabilities would mean something else."""

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import tells_values
from paretofoil.core.question import QuestionBatch

ASKED = 32
"""Random commands that a policy is asked about, if what it says of those in question looks like probabilities."""
NORMALISED = 1e-4
"""How far from 1 probabilities may sum up."""


def refuse_probabilities(batch: QuestionBatch, scores: np.ndarray) -> None:
    """Refuse a policy that gives probabilities; scores (Q, num_actions) are what it says under the commands themselves.

    A row of logits may look the same by accident, or be a hand-written 0 or 1; all of many do not.
    """
    if tells_values(batch.questions[0].policy) or not _probabilities(scores):
        return
    rows, generator = np.arange(ASKED) % batch.num_questions, np.random.default_rng(0)
    commands = batch.commands_at(rows, generator.uniform(batch.low[rows], batch.high[rows]))
    if _probabilities(batch.scores_at(rows, commands, "noise")):
        got = "probabilities (rows within 0 and 1 that sum to 1), of which np.log makes them"
        raise InvalidInput.expected("log-probabilities or logits", got)


def _probabilities(scores: np.ndarray) -> bool:
    between = (scores > 0) & (scores < 1)
    return bool(between.any() and (scores >= 0).all() and np.allclose(scores.sum(axis=1), 1.0, rtol=0, atol=NORMALISED))
