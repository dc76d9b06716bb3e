"""Lines that decide which commands are quoted, each with a case that fails without it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.options import NO_LIMITS, Limits, Options
from paretofoil.core.policy import CallablePolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.explanation.ask import ask


@dataclass(frozen=True)
class Told(Search):
    """Finds what a function of the question says."""

    find: Callable[[Question], Any]
    name: str = "told"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        return [Finding(np.array(self.find(question))) for question in batch.questions]


def question(margin: Callable[[np.ndarray], np.ndarray], **changes: Any) -> Question:
    """Action 1 beats action 0 by a function of the commands (N, 2); the command is the middle of the unit box."""
    policy = CallablePolicy(lambda states, z: np.stack([np.zeros(len(z)), margin(z)], axis=1))
    space = CommandSpace([0.0, 0.0], [1.0, 1.0])
    return Question(policy, np.zeros(1), np.array([0.5, 0.5]), 1, (0, 1), space, **changes)


def test_short_numbers_stay_above_the_lower_side_of_the_region() -> None:
    asked = question(lambda z: 0.3 - z[:, 0], low=np.array([0.2104, 0.0]))
    [answer] = ask([asked], Told(lambda _: (-0.2895, 0.0)))
    assert answer.command is not None
    assert answer.command.tolist() == [0.22, 0.5]  # 0.2 and 0.21 are shorter or closer, and outside


def test_an_answer_that_hardly_changes_one_more_objective_is_no_other_answer() -> None:
    """Far with a hundredth of the second number, which is needed there, or near without it."""

    def margin(z: np.ndarray) -> np.ndarray:
        far = (z[:, 0] > 0.8) & (np.abs(z[:, 1] - 0.51) < 0.005)
        near = (np.abs(z[:, 0] - 0.65) < 0.05) & (z[:, 1] == 0.5)
        return np.where(far | near, 1.0, -1.0)

    def find(asked: Question) -> tuple[float, float]:
        first, second = asked.high > asked.low
        return (0.4, 0.01) if first and second else (0.15 * first, 0.0)

    [answer] = ask([question(margin)], Told(find), Options(k=3))
    assert answer.command is not None
    assert answer.command.tolist() == [0.9, 0.51]
    assert answer.alternatives == ()
