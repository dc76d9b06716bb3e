"""Cases: the questions of an experiment, named so that any process can ask them again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import get_args

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy
from paretofoil.core.question import Question
from paretofoil.explanation.pose import Box, paper_box, pose, pose_each


@dataclass(frozen=True, order=True)
class Case:
    """One question of a study: this agent, under this command of its front, at this step, why not this foil?"""

    agent: str
    front: int
    """The number of the front command that was issued at the start."""
    step: int
    foil: int


@dataclass(frozen=True)
class CaseRule:
    """Which of all cases are asked; a field that is None restricts nothing.

    The stress test asks every front command x every moment of its greedy rollout x every valid foil. The
    paper's white-box comparison is "restricted to fewer front commands, early timesteps and fewer foils":
    `COMPARISON` is how the authors' code restricts them.
    """

    commands: int | None = None
    """At most so many commands of the front, evenly spread over it in its order (first and last included)."""
    steps: int | None = None
    """Only the first so many steps of an episode."""
    foils: int | None = None
    """At most so many foils of a decision: the valid ones that the policy thinks most probable."""
    box: Box = "reachable"
    """Which commands are searched: what can still be fulfilled, or the whole of the paper's box."""

    def __post_init__(self) -> None:
        for name in ("commands", "steps", "foils"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput.expected(f"{name} of at least 1, or none for all", value)
        if self.box not in get_args(Box):
            raise InvalidInput.expected(f"a box among {', '.join(get_args(Box))}", repr(self.box))

    def pick_commands(self, size: int) -> list[int]:
        """The numbers of the front commands that are asked about, of a front of that size."""
        return evenly(size, size if self.commands is None else self.commands)

    def pick_foils(self, policy: Policy, decision: Decision) -> list[int]:
        """In the order of the actions; of equally probable ones the first are taken.

        The policy is asked about each decision alone, so that no neighbour's rounding can turn the order.
        """
        foils = decision.others
        if self.foils is None or len(foils) <= self.foils:
            return foils
        scores = np.asarray(policy.log_probs(decision.state[None].copy(), decision.command[None].copy()))[0]
        return sorted(sorted(foils, key=lambda action: -scores[action])[: self.foils])


def evenly(size: int, count: int) -> list[int]:
    """At most so many of the numbers below `size`, evenly spread, the first and the last included."""
    return np.unique(np.linspace(0, size - 1, min(count, size)).round().astype(int)).tolist() if size else []


STRESS = CaseRule()
COMPARISON = CaseRule(commands=12, steps=10, foils=2)
"""The white-box subset of the authors' code: at most 12 front commands at round(linspace(0, n - 1, 12)), moments 0 to
9, and the two most probable foils."""


def enumerate_cases(agent: Agent, rule: CaseRule = STRESS, seed: int = 0) -> Iterator[tuple[Case, Decision]]:
    """Every case of an agent with the decision that it asks about, in a fixed order."""
    numbers = rule.pick_commands(len(agent.front))
    if not numbers:
        return
    for number, episode in zip(numbers, rollouts(agent, agent.front[numbers], seed=seed), strict=True):
        for decision in episode.decisions[: rule.steps]:
            for foil in rule.pick_foils(agent.policy, decision):
                yield Case(agent.name, number, decision.step, foil), decision


def pose_case(
    agent: Agent, case: Case, decision: Decision, kappa: float | None = None, box: Box = "reachable"
) -> Question:
    """The question of a case, about the decision that was enumerated with it."""
    whole = paper_box(agent, box)
    return pose(agent.policy, decision, case.foil, agent.space, agent.front, kappa=kappa, box=whole)


def pose_cases(
    agent: Agent, cases: Iterable[tuple[Case, Decision]], kappa: float | None = None, box: Box = "reachable"
) -> Iterator[tuple[Case, Question]]:
    """The questions of cases in the order of `enumerate_cases`; those about one decision are posed together."""
    whole = paper_box(agent, box)
    for _, together in groupby(cases, key=lambda pair: (pair[0].front, pair[0].step)):
        some, (decision, *_) = zip(*together, strict=True)
        foils = [case.foil for case in some]
        posed = pose_each(agent.policy, decision, foils, agent.space, agent.front, kappa=kappa, box=whole)
        yield from zip(some, posed, strict=True)
