"""The seven properties that the paper demands of a counterfactual, measured for each search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.answer import DELIVERED
from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table, text
from paretofoil_paper.claims.sparsity import ChangedEntries
from paretofoil_paper.distances import Distances
from paretofoil_paper.issued import NEAR, AnswerRollouts, choose_actions
from paretofoil_paper.measurements import measurements, share
from paretofoil_paper.plan import Plan

SEARCHES = ("cf-zoo", "exact", "boundary", "local-zoo", "nearest-front")


@dataclass(frozen=True)
class IssuedCommand:
    """The outcome of issuing one quoted command; distances are scaled."""

    agent: str
    search: str
    front: int
    step: int
    foil: int
    takes_foil: bool
    """Whether the first action is the foil."""
    delivers: bool
    """Whether the episode's return differs from the request by at most 1 % of each objective's range."""
    off_front: float
    """Distance of the achieved return from the front."""
    requested_off_front: float
    """Distance of the requested return from the front."""


def issued_commands(plan: Plan, rows: Sequence[Row]) -> list[IssuedCommand]:
    """Return the outcome of every quoted command of every search."""

    def measure() -> Iterator[IssuedCommand]:
        for name, environment in plan.names.items():
            for search in SEARCHES:
                solved = [r for r in rows if r.found and (r.case.agent, r.search) == (name, search)]
                if solved:
                    yield from _measure(AnswerRollouts(plan.load(environment), solved, plan.seed))

    searches = {"stress": plan.budgets.stress, "exact": plan.budgets.exact}
    settings = {name: describe_search(plan.seeded(search)) for name, search in searches.items()}
    return measurements(plan, "desiderata", IssuedCommand, measure, {**settings, "delivered": DELIVERED})


def _measure(answers: AnswerRollouts) -> Iterator[IssuedCommand]:
    agent, commands, decisions = answers.agent, answers.commands, answers.decisions
    requests = answers.episode_returns
    states, valid = np.stack([decision.state for decision in decisions]), [d.valid_actions for d in decisions]
    actions = choose_actions(agent.discrete_policy, states, commands, valid)
    distances = answers.front_distances(requests).min(axis=1)
    for i, (row, end) in enumerate(zip(answers.rows, answers.ends(commands), strict=True)):
        yield IssuedCommand(
            *(row.case.agent, row.search, row.case.front, row.case.step, row.case.foil),
            takes_foil=bool(actions[i] == row.case.foil),
            delivers=answers.delivers(end, requests[i]),
            off_front=answers.off_front(end.achieved, end.error),
            requested_off_front=float(distances[i]),
        )


NAMES = (
    "validity: feasible cases solved (%)",
    "proximity: median distance / optimum",
    "actionability: the episode delivers the request (%)",
    "sparsity: at most two entries change (%)",
    "data manifold: median distance of the request from the front",
    "causality: the agent takes the foil (%)",
    "recourse: the episode ends on the front (%)",
)


def desiderata_table(rows: Sequence[Row], entries: Sequence[ChangedEntries], issued: Sequence[IssuedCommand]) -> Table:
    """Return each property of each search."""
    distances = Distances.of(rows)
    searches = [search for search in SEARCHES if search in distances.found]
    by_search: dict[str, list[Any]] = {}
    for search in searches:
        mine = [row for row in issued if row.search == search]
        by_search[search] = [
            distances.recovered(search),
            distances.ratio(search),
            share(mine, lambda row: row.delivers),
            share([one for one in entries if one.search == search], lambda one: one.few),
            float(np.median([row.requested_off_front for row in mine])) if mine else None,
            share(mine, lambda row: row.takes_foil),
            share(mine, lambda row: row.off_front <= NEAR),
        ]
    lines = tuple((name, *(text(by_search[search][i]) for search in searches)) for i, name in enumerate(NAMES))
    return Table("The seven desiderata by search", ("property", *searches), lines)
