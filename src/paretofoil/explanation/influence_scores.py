"""The four scores of influence that the paper's authors use, beside which ours are put.

The policy's probabilities at the command are compared with their mean over a fan of probes, which are commands along
fixed directions from 0. They are heuristics: a score of 0 does not say that no command matters.
"""

import itertools

import numpy as np

from paretofoil.core.influence import Scores
from paretofoil.core.policy import tells_values
from paretofoil.core.question import Question, QuestionBatch

_STEPS = 50
"""Probes along each direction: at 0.02, 0.04 ... 1 times the range."""
MOST_CORNERED = 10
"""Objectives whose corners are probed: there are two to the power of this many."""
_DECIMALS = 5
"""Probes that agree in so many are one."""
_ADDED = 1e-8
"""To each probability before they are divided by their sum, so that logarithms are finite."""


def fan(question: Question) -> np.ndarray:
    """(N, d): the probes: along each axis, to each corner of signs, and along the command; clipped, each once.

    Of many objectives the corners are left out: there are too many.
    Preferences have the region's point nearest to each probe.
    """
    command, low, high = question.command, question.low, question.high
    axes = np.eye(command.size)
    signs = itertools.product((-1.0, 1.0), repeat=command.size) if command.size <= MOST_CORNERED else ()
    corners = np.array(list(signs)).reshape(-1, command.size)
    directions = np.concatenate([axes, -axes, corners, command[None]])
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = directions[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    steps = np.arange(1, _STEPS + 1) / _STEPS
    probes = (steps[:, None, None] * directions * (high - low)).reshape(-1, command.size)
    inside = np.unique(np.round(question.space.project(probes, low, high), _DECIMALS), axis=0)
    return question.space.project(inside, low, high)  # which rounding may have left


def influence_scores(batch: QuestionBatch) -> Scores:
    """Of the batch's first question, whose region is the box of the fan."""
    question, probes = batch.questions[0], fan(batch.questions[0])
    commands = np.concatenate([question.command[None], probes])
    scores = batch.scores_at(np.zeros(len(commands), dtype=int), commands, "scores")
    scores = scores[:, list(question.valid_actions)].astype(np.float64)
    best = scores.argmax(axis=1)
    if tells_values(question.policy):  # what is worth most is chosen for sure
        chances = np.eye(scores.shape[1])[best]
    else:
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
    own, mean = (p / p.sum() for p in (chances[0] + _ADDED, chances[1:].mean(axis=0) + _ADDED))
    middle = (own + mean) / 2
    return Scores(
        kl=_divergence(own, mean),
        tv=float(np.abs(own - mean).sum() / 2),
        js=(_divergence(own, middle) + _divergence(mean, middle)) / 2,
        flip=float((best[1:] != best[0]).mean()),
        probes=len(probes),
    )


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    return max(0.0, float((p * np.log(p / q)).sum()))
