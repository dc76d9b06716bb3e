"""The same questions to an agent of another seed: is there an answer as well, and how far is it?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.agents import Agent, load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.explanation.questions import make_question
from paretofoil.study import Row
from paretofoil_paper.issued import Answered, choose
from paretofoil_paper.plan import Plan
from paretofoil_paper.seed_agents import seed_agent

QUICK = ("branch-path", "deep-sea-treasure", "reward-line")
"""Environments in which an agent is trained within seconds."""


@dataclass(frozen=True)
class AskedAgain:
    """One question, with the exact search, to the agent that it is about and to another; distances in one unit."""

    agent: str
    other: str
    front: int
    time: int
    foil: int
    here: float | None
    """The distance of the answer; None if no command makes the agent take the foil."""
    taken: bool
    """The other agent takes the foil in that state without any change of the command."""
    there: float | None
    """The distance of the other agent's answer; None if it has none, or needs none."""
    carries_over: bool | None
    """The command that is quoted to the first agent's user makes the other agent take the foil too."""


def ask_again(plan: Plan, rows: Sequence[Row]) -> Iterator[AskedAgain]:
    """Every question of these rows, in the environments that are trained within seconds."""
    for environment in QUICK:
        if environment in plan.agents:
            other = load_agent(seed_agent(plan, environment, plan.agent_seeds[0]))
            mine = [row for row in rows if plan.environment_of(row) == environment]
            answered = Answered(plan.load(environment), mine, plan.seed)
            yield from _ask_again(answered, other, plan.seeded(plan.budgets.exact))


def _ask_again(answered: Answered, other: Agent, search: Search) -> Iterator[AskedAgain]:
    decisions, rows = answered.decisions, answered.rows
    issued = [d.command if row.closest_distance is None else row.full_answer().command for d, row in _pairs(answered)]
    before, after = (_choices(other, decisions, commands) for commands in ([d.command for d in decisions], issued))
    open_ones = [i for i, row in enumerate(rows) if before[i] != row.case.foil]
    questions = [_pose(answered.agent, other, decisions[i], rows[i].case.foil) for i in open_ones]
    found = dict(zip(open_ones, _ask(questions, search), strict=True))
    for i, row in enumerate(rows):
        case, there = row.case, found[i].closest_distance if i in found else None
        carries = None if row.closest_distance is None else bool(after[i] == case.foil)
        taken = i not in found
        yield AskedAgain(
            case.agent, other.name, case.front, case.step, case.foil, row.closest_distance, taken, there, carries
        )


def _pairs(answered: Answered) -> list[tuple[Decision, Row]]:
    return list(zip(answered.decisions, answered.rows, strict=True))


def _choices(agent: Agent, decisions: Sequence[Decision], commands: Sequence[np.ndarray | None]) -> np.ndarray:
    states = np.stack([decision.state for decision in decisions])
    return choose(agent.policy, states, np.array(commands, dtype=np.float64), [d.valid_actions for d in decisions])


def _pose(agent: Agent, other: Agent, decision: Decision, foil: int) -> Question:
    """In the command space of the first agent, so that both distances are in its units."""
    return make_question(other, decision, foil, space=agent.space)


def _ask(questions: Sequence[Question], search: Search) -> list[Answer]:
    size = search.questions_at_once
    parts = [questions[start : start + size] for start in range(0, len(questions), size)]
    return [answer for part in parts for answer in ask(part, search)]
