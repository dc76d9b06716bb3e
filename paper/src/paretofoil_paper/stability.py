"""How stable an answer is: over agents of other seeds, and from one step to the next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.issued import AnswerRollouts, choose_actions
from paretofoil_paper.measurements import measurements, share, share_and_interval
from paretofoil_paper.other_seed import QUICK
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.seed_agents import seed_agent


@dataclass(frozen=True)
class TransferredAnswer:
    """One answer, issued to agents of other seeds in the same state."""

    agent: str
    front: int
    step: int
    foil: int
    open: int
    """Agents that do not take the foil under the original command."""
    flipped: int
    """Of these, the agents that take the foil under the quoted command."""


def transferred_answers(plan: Plan, rows: Sequence[Row]) -> list[TransferredAnswer]:
    """Return how many agents of the seeds of the plan each answer flips, where training takes seconds."""

    def measure() -> Iterator[TransferredAnswer]:
        for environment in (name for name in QUICK if name in plan.agents):
            others = [load_agent(seed_agent(plan, environment, seed)) for seed in plan.agent_seeds]
            of_environment = [row for row in rows if plan.environment_of(row) == environment]
            answers = AnswerRollouts(plan.load(environment), of_environment, plan.seed)
            states = np.stack([decision.state for decision in answers.decisions])
            valid = [decision.valid_actions for decision in answers.decisions]
            originals = np.stack([decision.command for decision in answers.decisions])
            foils = np.array([row.case.foil for row in of_environment])
            before, after = (
                np.stack([choose_actions(other.discrete_policy, states, commands, valid) == foils for other in others])
                for commands in (originals, answers.commands)
            )  # (agents, answers)
            for row, closed, flips in zip(of_environment, before.T, after.T, strict=True):
                case = row.case
                counts = (int((~closed).sum()), int((flips & ~closed).sum()))
                yield TransferredAnswer(case.agent, case.front, case.step, case.foil, *counts)

    exact = describe_search(plan.seeded(plan.budgets.exact))
    settings = {"seeds": list(plan.agent_seeds), "training": dict(plan.training), "exact": exact}
    return measurements(plan, "stability-seeds", TransferredAnswer, measure, settings)


def transfer_table(plan: Plan, rows: Sequence[TransferredAnswer]) -> Table:
    """Return how many of the other agents an answer flips."""
    lines: list[tuple[Any, ...]] = []
    for name in (name for name in QUICK if name in plan.agents):
        group = [row for row in rows if plan.names[row.agent] == name and row.open]
        if group:
            rate = sum(row.flipped for row in group) / sum(row.open for row in group)
            every = share_and_interval(group, lambda row: row.flipped == row.open)
            none = share(group, lambda row: not row.flipped)
            lines.append((ENVIRONMENTS[name], len(group), 100 * rate, *every, none))
    columns = (
        *("environment", "answers", "flipped agents (%)", "flips every agent [95 % CI]", "cluster [95 % CI]"),
        "flips none [95 % CI]",
    )
    note = (
        f"Agents of the seeds {', '.join(map(str, plan.agent_seeds))}, in the same state, under the quoted command of "
        "our agent. An agent is flipped if it takes the foil. Agents that take the foil under the original command are "
        "left out."
    )
    return Table("One answer, issued to five retrained agents", columns, tuple(lines), note)


@dataclass(frozen=True)
class Move:
    """The answers to one foil at two successive steps of an episode; changes are scaled."""

    agent: str
    front: int
    both: bool
    """Whether both steps have an answer."""
    ratio: float | None = None
    """Distance at t + 1 / distance at t."""
    turn: float | None = None
    """Length of the difference of the two changes / distance at t."""


def moves(plan: Plan, rows: Sequence[Row]) -> list[Move]:
    """Return how the answers of the exact search move from t to t + 1, for foils with an answer at t."""
    by_case = {(row.case.agent, row.case.front, row.case.step, row.case.foil): row for row in rows}
    scales = {name: plan.load(environment).space.scale for name, environment in plan.names.items()}
    result = []
    for (agent, front, step, foil), row in by_case.items():
        after = by_case.get((agent, front, step + 1, foil))
        if not row.found or after is None:
            continue
        if not after.found:
            result.append(Move(agent, front, both=False))
            continue
        first, second = (_change(one, scales[agent]) for one in (row, after))
        size = float(np.linalg.norm(first))
        if size:
            turn = float(np.linalg.norm(second - first)) / size
            result.append(Move(agent, front, True, float(np.linalg.norm(second)) / size, turn))
    return result


def _change(row: Row, scale: np.ndarray) -> np.ndarray:
    answer = row.full_answer()
    assert answer.closest is not None
    change: np.ndarray = (answer.closest.command - answer.question.command) / scale
    return change


def moves_table(plan: Plan, rows: Sequence[Move]) -> Table:
    """Return how much answers change from one step to the next, by environment."""
    lines: list[tuple[Any, ...]] = []
    for name in [*plan.agents, "all"]:
        group = [row for row in rows if name in ("all", plan.names[row.agent])]
        if not group:
            continue
        ratios = [row.ratio for row in group if row.ratio is not None]
        turns = [row.turn for row in group if row.turn is not None]
        spread = map(float, np.quantile(ratios, (0.5, 0.1, 0.9))) if ratios else (None,) * 3
        still = share_and_interval(group, lambda row: row.both)
        turn = float(np.median(turns)) if turns else None
        lines.append((ENVIRONMENTS.get(name, "All"), len(group), *still, *spread, turn))
    columns = (
        *("environment", "pairs of steps", "answer at t + 1, too [95 % CI]", "cluster [95 % CI]"),
        *("distance ratio: median", "10 %", "90 %", "difference of the changes: median"),
    )
    note = (
        "A pair has two successive steps of one episode, the same foil, and an answer at the first step t. Distance "
        "ratio: the distance at t + 1 divided by that at t. The difference of the two changes is divided by the "
        "distance at t: 0 if the change stays the same, 2 if it is reversed."
    )
    return Table("The answer from one step to the next", columns, tuple(lines), note, rules=(len(lines) - 1,))
