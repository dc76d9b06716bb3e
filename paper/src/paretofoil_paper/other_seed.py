"""The same questions to an agent of another training seed: whether there is an answer, and at what distance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.agents import Agent, load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.explanation.questions import make_questions
from paretofoil.study import Row
from paretofoil_paper.issued import AnswerRollouts, choose_actions
from paretofoil_paper.plan import Plan
from paretofoil_paper.seed_agents import seed_agent

QUICK = ("branch-path", "deep-sea-treasure", "reward-line")
"""Environments in which training takes seconds."""


@dataclass(frozen=True)
class OtherSeedAnswer:
    """One question, answered by the exact search for an agent and for another one; distances in the same units."""

    agent: str
    other: str
    front: int
    step: int
    foil: int
    distance: float | None
    """Distance of the closest command of the first agent; None if there is none."""
    already_foil: bool
    """Whether the other agent takes the foil under the original command."""
    other_distance: float | None
    """Distance of the closest command of the other agent; None if there is none or none is needed."""
    transfers: bool | None
    """Whether the quoted command of the first agent makes the other agent take the foil, too."""

    @property
    def feasible(self) -> bool:
        return self.distance is not None

    @property
    def other_feasible(self) -> bool:
        return self.other_distance is not None


def ask_other_seed(plan: Plan, rows: Sequence[Row]) -> Iterator[OtherSeedAnswer]:
    """Ask every question of the rows again, in the environments in which training takes seconds."""
    for environment in QUICK:
        if environment in plan.agents:
            other = load_agent(seed_agent(plan, environment, plan.agent_seeds[0]))
            of_environment = [row for row in rows if plan.environment_of(row) == environment]
            answers = AnswerRollouts(plan.load(environment), of_environment, plan.seed)
            yield from _ask_other(answers, other, plan.seeded(plan.budgets.exact))


def _ask_other(answers: AnswerRollouts, other: Agent, search: Search) -> Iterator[OtherSeedAnswer]:
    decisions, rows = answers.decisions, answers.rows
    originals = [decision.command for decision in decisions]
    quoted = [
        original if row.closest_distance is None else row.full_answer().command
        for original, row in zip(originals, rows, strict=True)
    ]
    before, after = (_actions(other, decisions, commands) for commands in (originals, quoted))
    open_rows = [i for i, row in enumerate(rows) if before[i] != row.case.foil]
    questions = [_question(answers.agent, other, decisions[i], rows[i].case.foil) for i in open_rows]
    other_answers = dict(zip(open_rows, _ask(questions, search), strict=True))
    for i, row in enumerate(rows):
        other_closest = other_answers[i].closest if i in other_answers else None
        yield OtherSeedAnswer(
            *(row.case.agent, other.name, row.case.front, row.case.step, row.case.foil),
            distance=row.closest_distance,
            already_foil=i not in other_answers,
            other_distance=None if other_closest is None else other_closest.distance,
            transfers=None if row.closest_distance is None else bool(after[i] == row.case.foil),
        )


def _actions(agent: Agent, decisions: Sequence[Decision], commands: Sequence[np.ndarray | None]) -> np.ndarray:
    states, valid = np.stack([d.state for d in decisions]), [d.valid_actions for d in decisions]
    return choose_actions(agent.discrete_policy, states, np.array(commands, dtype=np.float64), valid)


def _question(agent: Agent, other: Agent, decision: Decision, foil: int) -> Question:
    """Return the question to the other agent in the command space of the first, so that distances have one unit."""
    return make_questions(other, decision, [foil], space=agent.space)[0]


def _ask(questions: Sequence[Question], search: Search) -> list[Answer]:
    count = search.questions_at_once
    batches = [questions[start : start + count] for start in range(0, len(questions), count)]
    return [answer for batch in batches for answer in ask(batch, search)]
