"""What one objective does alone: the others stay what the command says, or, of preferences, in proportion."""

import math
from collections.abc import Sequence

import numpy as np

from paretofoil.core.influence import Alone, Turn
from paretofoil.core.limit import now
from paretofoil.core.policy import FoldablePolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.influence_sample import actions_at
from paretofoil.explanation.pose import restrict
from paretofoil.proof.share import ShareEffort, prove_shares

_VALUES = 512
"""Of an objective's range that are tried, evenly spaced."""
_HALVINGS = 30
"""Between the last value that was tried that keeps the action and the first that changes it."""
_UNDECIDED = 1e-3


def alone(batch: QuestionBatch, chosen: int, seconds: float) -> tuple[Alone, ...]:
    """For each objective that has a range in the region of the batch's first question."""
    question = batch.questions[0]
    free = np.flatnonzero(question.high > question.low)
    return tuple(_one(batch, chosen, int(i), seconds / max(len(free), 1)) for i in free)


def turned(question: Question, lines: Sequence[Alone]) -> np.ndarray:
    """(N, d): the commands at which one objective alone was found to change the action."""
    turns = [(line.objective, turn.value) for line in lines for turn in (line.down, line.up) if turn is not None]
    commands = [with_value(question, i, np.array([value])) for i, value in turns]
    return np.concatenate([np.zeros((0, question.space.size)), *commands])


def _one(batch: QuestionBatch, chosen: int, i: int, seconds: float) -> Alone:
    question = batch.questions[0]
    low, high, here = question.low[i], question.high[i], question.command[i]
    values = low + (np.arange(_VALUES) + 0.5) / _VALUES * (high - low)
    changed = actions_at(batch, with_value(question, i, values), "alone") != chosen
    below, above = np.append(low, values[values < here]), np.append(values[values > here], high)
    down, up = _turn(batch, chosen, i, below[::-1]), _turn(batch, chosen, i, above)
    lower, upper = _proven(batch, chosen, i, seconds)
    return Alone(i, lower, upper, float(changed.mean()), down, up)


def with_value(question: Question, i: int, values: np.ndarray) -> np.ndarray:
    """(N, d): the command with other values (N,) of one objective."""
    commands = np.repeat(question.command[None], len(values), axis=0)
    if question.space.simplex:
        others = np.delete(np.arange(question.space.size), i)
        rest = question.command[others].sum()
        shares = question.command[others] / rest if rest > 0 else np.full(len(others), 1.0 / len(others))
        commands[:, others] = (1.0 - values[:, None]) * shares
    commands[:, i] = values
    return question.space.project(commands, question.low, question.high)


def _turn(batch: QuestionBatch, chosen: int, i: int, values: np.ndarray) -> Turn | None:
    """The first change on the way along values (N,), which lead away from the command's."""
    question = batch.questions[0]
    actions = actions_at(batch, with_value(question, i, values), "alone")
    hits = np.flatnonzero(actions != chosen)
    if not len(hits):
        return None
    first = int(hits[0])
    same, other, action = values[first - 1] if first else question.command[i], values[first], int(actions[first])
    for _ in range(_HALVINGS):
        middle = (same + other) / 2
        [tried] = actions_at(batch, with_value(question, i, np.array([middle])), "alone")
        if tried == chosen:
            same = middle
        else:
            other, action = middle, int(tried)
    return _in_few_digits(batch, chosen, i, Turn(float(other), action), float(values[-1]))


def _in_few_digits(batch: QuestionBatch, chosen: int, i: int, turn: Turn, end: float) -> Turn:
    """A value a little farther, with as few digits as the policy, asked again, allows; at most as far as the end."""
    question = batch.questions[0]
    away = turn.value - question.command[i]
    first = -math.floor(math.log10(abs(away)))
    rounded = [
        (math.ceil if away > 0 else math.floor)(turn.value * 10**k) / 10**k for k in range(first + 1, first + 12)
    ]
    tried = np.array([value for value in rounded if min(turn.value, end) <= value <= max(turn.value, end)])
    actions = actions_at(batch, with_value(question, i, tried), "alone")
    found = np.flatnonzero(actions != chosen)
    return Turn(float(tried[found[0]]), int(actions[found[0]])) if len(found) else turn


def _proven(batch: QuestionBatch, chosen: int, i: int, seconds: float) -> tuple[float, float]:
    """In at least, and at most, which share of the objective's range another action is chosen."""
    question = batch.questions[0]
    if question.space.simplex or not isinstance(question.policy, FoldablePolicy):
        return 0.0, 1.0
    line = QuestionBatch([restrict(question, [k for k in range(question.space.size) if k != i], {})])
    line.keep_clear(batch.clearance)
    found = prove_shares(line, ShareEffort(_UNDECIDED, deadline=now() + seconds))
    own = question.valid_actions.index(chosen)
    return max(0.0, 1.0 - float(found.upper[own])), min(1.0, 1.0 - float(found.lower[own]))
