"""Cases: the questions of a study, with identifiers from which any process can make them again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from paretofoil.agents.agent import Agent, rollouts
from paretofoil.core.amounts import Actor
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import Count
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Box, Options
from paretofoil.core.policy import Policy, query
from paretofoil.core.question import Question
from paretofoil.explanation.outcome import explain_outcome, is_met, outcome
from paretofoil.explanation.questions import foils_of, make_questions
from paretofoil.search.exact import Exact

COMMANDS_AT_ONCE = 128
"""Number of front commands that are rolled out together; their episodes are in memory."""


@dataclass(frozen=True, order=True)
class Case:
    """One question of a study: why not this foil, at this step of this agent's episode?"""

    agent: str
    front: Count
    """Index of the front command issued at the start of the episode."""
    step: Count
    foil: Count
    """An action, or a direction of continuous actions as in `direction_names`."""


@dataclass(frozen=True)
class CaseRule:
    """Which cases a study asks; None means no restriction.

    The stress test (`STRESS`) asks about every front command, every step of its greedy rollout and every valid foil.
    The paper's white-box comparison (`COMPARISON`) is a subset.
    """

    commands: int | None = None
    """Maximum number of front commands, evenly spread over the front, first and last included."""
    steps: int | None = None
    """Maximum number of steps of an episode, from its start."""
    foils: int | None = None
    """Maximum number of foils per decision, most probable first. For continuous actions, the first directions."""
    box: Box = DEFAULTS.box
    """Search region: commands that can still be fulfilled, or the paper's whole box."""
    outcomes: tuple[str, ...] = ()
    """Outcomes of the episode as foils instead of actions: "treasure >= 50". `Case.foil` is the index of an outcome."""

    def __post_init__(self) -> None:
        for text in self.outcomes:
            outcome(text)  # checks it
        for name in ("commands", "steps", "foils"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput.expected(f"{name} of at least 1, or None for all", value)
        Options(box=self.box)  # checks it

    def pick_foils(self, policy: Policy | Actor, decision: Decision, foils: Sequence[int]) -> Sequence[int]:
        """Return the foils to ask about, in the order of the actions. Of equally probable foils, the first are chosen.

        The policy is queried for each decision separately, because rounding in a batch could change the order.
        """
        if self.foils is None or len(foils) <= self.foils:
            return foils
        if isinstance(policy, Actor):
            return foils[: self.foils]
        scores = query(policy, decision.state[None], decision.command[None])[0]
        return sorted(sorted(foils, key=lambda action: -scores[action])[: self.foils])


def evenly(size: int, count: int) -> list[int]:
    """Return at most `count` of the numbers 0 ... size - 1, evenly spread, first and last included."""
    return np.unique(np.linspace(0, size - 1, min(count, size)).round().astype(int)).tolist() if size else []


STRESS = CaseRule()
COMPARISON = CaseRule(commands=12, steps=10, foils=2)
"""The white-box subset of the authors' code: at most 12 front commands at round(linspace(0, n - 1, 12)), steps 0 to
9, and the two most probable foils."""


def enumerate_cases(agent: Agent, rule: CaseRule = STRESS, seed: int = 0) -> Iterator[tuple[Case, Decision]]:
    """Yield every case of an agent with its decision, in a fixed order."""
    indices = evenly(len(agent.front), len(agent.front) if rule.commands is None else rule.commands)
    for first in range(0, len(indices), COMMANDS_AT_ONCE):
        part = indices[first : first + COMMANDS_AT_ONCE]
        for index, episode in zip(part, rollouts(agent, agent.front[part], seed=seed), strict=True):
            for decision in episode.decisions[: rule.steps]:
                for foil in _foils(agent, rule, decision):
                    yield Case(agent.name, index, decision.step, foil), decision


def _foils(agent: Agent, rule: CaseRule, decision: Decision) -> Sequence[int]:
    """Return the foils of a decision: actions, or the outcomes that its episode does not meet."""
    if not rule.outcomes:
        return rule.pick_foils(agent.policy, decision, foils_of(agent, decision))
    return [i for i, text in enumerate(rule.outcomes) if not is_met(agent, decision, outcome(text))]


@dataclass(frozen=True, eq=False)
class OutcomeQuestion:
    """A question of a study whose foil is an outcome."""

    agent: Agent
    decision: Decision
    outcome: str
    box: Box

    def answer(self, search: Exact) -> Answer:
        """Return the answer, which depends on the search's limit of boxes but not on time."""
        options = Options(box=self.box)
        foil = outcome(self.outcome)
        return explain_outcome(self.agent, self.decision, foil, "exact", NO_LIMITS, options, search.max_boxes)


def make_case_question(
    agent: Agent, case: Case, decision: Decision, kappa: float | None = None, box: Box = DEFAULTS.box
) -> Question:
    """Return the question of one case of `enumerate_cases`."""
    [(_, question)] = make_case_questions(agent, [(case, decision)], kappa, box)
    return question


def make_case_questions(
    agent: Agent, cases: Iterable[tuple[Case, Decision]], kappa: float | None = None, box: Box = DEFAULTS.box
) -> Iterator[tuple[Case, Question]]:
    """Yield cases, in the order of `enumerate_cases`, with their questions."""
    options = Options(kappa=kappa, box=box)
    for _, group in groupby(cases, key=lambda pair: (pair[0].front, pair[0].step)):
        same_decision, (decision, *_) = zip(*group, strict=True)
        foils = [case.foil for case in same_decision]
        questions = make_questions(agent, decision, foils, options)
        yield from zip(same_decision, questions, strict=True)
