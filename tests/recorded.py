"""A linear policy that records its queries, in a space of width 1: scaled distances are differences of commands."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from policies import LinearPolicy

from paretofoil.core.command import CommandSpace
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search

FIRST_NUMBER = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2))
"""The margin of action 1 over action 0 is the first number of the command."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A linear policy that records the commands of its queries."""

    policy: LinearPolicy
    calls: list[np.ndarray] = field(default_factory=list)

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        self.calls.append(commands)
        return self.policy.log_probs(states, commands)

    def fold(self, state: np.ndarray) -> Program:
        return Program.of_layers((self.policy.weight,), (self.policy.bias,))

    @property
    def commands(self) -> np.ndarray:
        return np.concatenate(self.calls)


def recorded_question(policy: LinearPolicy = FIRST_NUMBER, command: Any = (-0.5, 0.0), **changes: Any) -> Question:
    """The foil is action 1; the valid commands are those whose first number is at least kappa."""
    space = CommandSpace([-0.5, -0.5], [0.5, 0.5])
    return Question(Recorded(policy), np.zeros(1), np.array(command), 1, (0, 1), space, **changes)


def queries_of(search: Search, question: Question, limits: Limits = NO_LIMITS) -> np.ndarray:
    """The commands that a search queries, in their order: (N, d)."""
    policy = Recorded(question.policy.policy)  # type: ignore[attr-defined]
    search.run(QuestionBatch([replace(question, policy=policy)]), limits)
    return policy.commands
