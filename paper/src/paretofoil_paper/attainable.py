"""Attainable commands: how many answers deliver what they ask for, and for how many an attainable command was found."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import DELIVERED
from paretofoil.explanation.attainable import find_attainable
from paretofoil.explanation.questions import make_questions
from paretofoil.show.palette import BLUE, GREEN, GREY
from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.issued import NEAR, AnswerRollouts, Issue, choose_actions, issue_all
from paretofoil_paper.measurements import measurements, share, share_and_interval
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CONTINUATIONS = ("front", "answer", "one step")
"""The continuations of the authors' app, in the order in which it tries them."""
CLAIMED, CLAIMED_OF = 95.8, 2_534
"""Percentage of their answers whose continuation ends on the front, as stated in the authors' app (without rows)."""


@dataclass(frozen=True)
class AttainableAnswer:
    """The attainable command that belongs to one answer; distances are scaled."""

    agent: str
    front: int
    step: int
    foil: int
    distance: float
    """Distance of the answer."""
    delivers: bool
    """Whether the answer itself is attainable."""
    attainable_distance: float | None
    """Distance of the closest attainable command that was found; None if none was found."""
    missed: float | None
    """The largest difference between request and achievement, as a share of an objective's range."""
    off_front: float | None
    """Distance of the achieved return from the front."""
    tried: int
    """Number of commands that were rolled out."""
    continuation: str | None
    """The first of `CONTINUATIONS` that ends on the front; None if none does."""

    @property
    def attainable(self) -> bool:
        return self.attainable_distance is not None

    @property
    def on_front(self) -> bool:
        return self.off_front is not None and self.off_front <= NEAR

    @property
    def continues_to_front(self) -> bool:
        return self.continuation is not None


Rows = Sequence[AttainableAnswer]


def measure_attainable(answers: AnswerRollouts) -> Iterator[AttainableAnswer]:
    """Measure the answers in their order."""
    if not answers.rows:
        return
    agent, continuations = answers.agent, _continuations(answers)
    triples = zip(answers.rows, answers.decisions, answers.commands, strict=True)
    for i, (row, decision, command) in enumerate(triples):
        [question] = make_questions(agent, decision, [row.case.foil])
        attainable = find_attainable(agent, decision, question, command)
        outcome = attainable.consequence
        yield AttainableAnswer(
            *(row.case.agent, row.case.front, row.case.step, row.case.foil),
            distance=float(agent.space.distance(command, decision.command)),
            delivers=attainable.command is not None and bool(np.array_equal(attainable.command, command)),
            attainable_distance=attainable.distance,
            missed=attainable.deviation,
            off_front=None if outcome is None else answers.off_front(outcome.achieved, outcome.error),
            tried=attainable.num_rollouts,
            continuation=next((name for name in CONTINUATIONS if continuations[name][i]), None),
        )


def _continuations(answers: AnswerRollouts) -> dict[str, Sequence[bool]]:
    """Return, for each continuation, whether it ends each answer's episode on the front."""
    nearest = answers.agent.front[answers.front_distances(answers.episode_returns).argmin(axis=1)]
    ends = {"answer": answers.ends(answers.commands), "one step": answers.ends(answers.commands, nearest)}
    on_front = {
        name: [answers.off_front(end.achieved, end.error) <= NEAR for end in of_name] for name, of_name in ends.items()
    }
    return {"front": _front_commands_end_on_front(answers), **on_front}


def _front_commands_end_on_front(answers: AnswerRollouts) -> list[bool]:
    """Return whether a command of the front, minus the collected return, takes the foil and ends on the front."""
    agent, numbers, issues = answers.agent, [], []
    for i, (row, decision) in enumerate(zip(answers.rows, answers.decisions, strict=True)):
        commands = agent.front - decision.collected
        states = np.repeat(decision.state[None], len(commands), axis=0)
        actions = choose_actions(agent.discrete_policy, states, commands, [decision.valid_actions] * len(commands))
        taking_foil = commands[actions == row.case.foil]
        numbers += [i] * len(taking_foil)
        issues += [Issue(answers.episodes[row.case.front], row.case.step, command) for command in taking_foil]
    on_front = [False] * len(answers.rows)
    for i, end in zip(numbers, issue_all(agent, issues, seed=answers.seed), strict=True):
        on_front[i] |= answers.off_front(end.achieved, end.error) <= NEAR
    return on_front


@dataclass(frozen=True)
class UnroundedAnswer:
    """The rollout of one answer before it is rounded to short numbers."""

    agent: str
    front: int
    step: int
    foil: int
    distance: float
    """Scaled distance of the closest command."""
    delivers: bool
    """Whether its episode delivers what it asks for."""


def unrounded_answers(plan: Plan, answers: Sequence[Row]) -> list[UnroundedAnswer]:
    """Return whether the closest command of each answer, not rounded, delivers what it asks for."""

    def measure() -> Iterator[UnroundedAnswer]:
        for name, environment in plan.names.items():
            rollouts = AnswerRollouts(plan.load(environment), [r for r in answers if r.case.agent == name], plan.seed)
            if not rollouts.rows:
                continue
            space, closest = rollouts.agent.space, [row.full_answer().closest for row in rollouts.rows]
            commands = np.array([point.command for point in closest if point is not None])
            for row, decision, command, end in zip(
                rollouts.rows, rollouts.decisions, commands, rollouts.ends(commands), strict=True
            ):
                case, distance = row.case, float(space.distance(command, decision.command))
                delivers = rollouts.delivers(end, command + decision.collected)
                yield UnroundedAnswer(case.agent, case.front, case.step, case.foil, distance, delivers)

    settings = {"exact": describe_search(plan.seeded(plan.budgets.exact)), "delivered": DELIVERED}
    return measurements(plan, "attainable-unrounded", UnroundedAnswer, measure, settings)


def attainable_answers(plan: Plan, answers: Sequence[Row]) -> list[AttainableAnswer]:
    """Return the attainable command of each answer."""

    def measure() -> Iterator[AttainableAnswer]:
        for name, environment in plan.names.items():
            of_agent = [row for row in answers if row.case.agent == name]
            yield from measure_attainable(AnswerRollouts(plan.load(environment), of_agent, plan.seed))

    settings = {"exact": describe_search(plan.seeded(plan.budgets.exact)), "delivered": DELIVERED}
    return measurements(plan, "attainable", AttainableAnswer, measure, settings)


def _groups(plan: Plan, rows: Rows) -> dict[str, list[AttainableAnswer]]:
    """Return the rows of each environment that has some, and all rows."""
    groups = {ENVIRONMENTS[name]: [r for r in rows if plan.names[r.agent] == name] for name in plan.agents}
    return {name: group for name, group in {**groups, "All": list(rows)}.items() if group}


def attainable_table(plan: Plan, rows: Rows, unrounded: Sequence[UnroundedAnswer]) -> Table:
    lines = []
    for name, group in _groups(plan, rows).items():
        exact = [row for row in unrounded if name == "All" or ENVIRONMENTS[plan.names[row.agent]] == name]
        distances = [row.attainable_distance for row in group if row.attainable_distance is not None]
        lines.append(
            (
                *(name, len(group), share(group, lambda row: row.delivers), share(exact, lambda row: row.delivers)),
                *share_and_interval(group, lambda row: row.attainable),
                share(group, lambda row: row.on_front),
                *(_median([row.distance for row in group]), _median([row.distance for row in exact])),
                *(_median(distances), _median([row.tried for row in group])),
            )
        )
    columns = (
        *("environment", "answers", "quoted answer delivers [95 % CI]", "unrounded answer delivers [95 % CI]"),
        *("attainable command found [95 % CI]", "cluster [95 % CI]", "ends on the front [95 % CI]"),
        *("distance: quoted", "distance: unrounded", "distance: attainable", "rollouts"),
    )
    note = (
        "Quoted: the answer in short numbers. Unrounded: the closest command. Distances and numbers of rollouts are "
        "medians; those of attainable commands are over the answers for which one was found."
    )
    return Table("Attainable commands", columns, tuple(lines), note, rules=(len(lines) - 1,))


def continuation_table(plan: Plan, rows: Rows) -> Table:
    lines: list[tuple[Any, ...]] = []
    for name, group in _groups(plan, rows).items():
        counts = (sum(row.continuation == continuation for row in group) for continuation in CONTINUATIONS)
        lines.append((name, len(group), *counts, *share_and_interval(group, lambda row: row.continues_to_front)))
    columns = (
        *("environment", "answers", "a command of the front", "the answer", "one step of it, then the front"),
        *("ends on the front [95 % CI]", "cluster [95 % CI]"),
    )
    note = (
        "The continuations in the order of the authors' code: a command of the front, minus the collected return, that "
        "takes the foil; the answer; the answer for one step, then the nearest point of the front. Each answer counts "
        "for the first continuation that ends on the front."
    )
    return Table("Continuations as in the authors' app", columns, tuple(lines), note, rules=(len(lines) - 1,))


def _median(numbers: Sequence[float]) -> float | None:
    return float(np.median(numbers)) if numbers else None


def attainable_figure(plan: Plan, rows: Rows) -> "Figure":
    groups = {name: group for name, group in _groups(plan, rows).items() if name != "All"}
    kinds: tuple[tuple[str, str, Callable[[AttainableAnswer], bool]], ...] = (
        ("attainable command found", BLUE, lambda row: row.attainable),
        ("quoted answer delivers", GREY, lambda row: row.delivers),
        ("ends on the front by the rule of the authors' app", GREEN, lambda row: row.continues_to_front),
    )
    series = [
        Series(label, colour, {name: share(group, holds) for name, group in groups.items()})
        for label, colour, holds in kinds
    ]
    return figure_rates(list(groups), series, "answers (% of those of the exact search")
