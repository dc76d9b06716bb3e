"""The consequences of issuing counterfactual commands: outcomes of rollouts, noise, and agents of another seed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.issued import DRAWS, NEAR, NOISE, NOISE_FIELDS, AnswerRollouts, IssuedAnswer
from paretofoil_paper.measurements import measurements, share, share_and_interval
from paretofoil_paper.other_seed import QUICK, OtherSeedAnswer, ask_other_seed
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan

if TYPE_CHECKING:
    pass

SEARCHES = ("cf-zoo", "exact")
Rows = Sequence[IssuedAnswer]


def issued_answers(plan: Plan, answers: Sequence[Row]) -> list[IssuedAnswer]:
    """Return the outcomes of every answer with a command."""

    def measure() -> list[IssuedAnswer]:
        solved = [row for row in answers if row.found]
        agents = {name: plan.load(environment) for name, environment in plan.names.items()}
        by_agent = {name: [row for row in solved if row.case.agent == name] for name in agents}
        return [one for name in agents for one in AnswerRollouts(agents[name], by_agent[name], plan.seed).measure()]

    settings = {"noise": NOISE, "draws": DRAWS, "stress": describe_search(plan.seeded(plan.budgets.stress))}
    return measurements(plan, "consequences", IssuedAnswer, measure, settings | _exact(plan))


def other_seed_answers(plan: Plan, answers: Sequence[Row]) -> list[OtherSeedAnswer]:
    """Return every question, asked again of an agent of another seed."""
    settings = {"other seed": plan.agent_seeds[0], "training": dict(plan.training), **_exact(plan)}
    name = "consequences-other-seed"
    return measurements(plan, name, OtherSeedAnswer, lambda: ask_other_seed(plan, answers), settings)


def _exact(plan: Plan) -> dict[str, Any]:
    return {"exact": describe_search(plan.seeded(plan.budgets.exact))}


def _select(plan: Plan, rows: Rows, environment: str, search: str) -> list[IssuedAnswer]:
    return [row for row in rows if row.search == search and environment in ("all", plan.names[row.agent])]


def _lines(
    plan: Plan, rows: Rows, cells: Callable[[list[IssuedAnswer]], tuple[Any, ...]]
) -> tuple[Any, tuple[int, ...]]:
    """Return a line for each environment and search with answers, and the first lines of the groups."""
    lines: list[tuple[Any, ...]] = []
    rules = []
    for name in [*plan.agents, "all"]:
        rules.append(len(lines))
        for search in SEARCHES:
            group = _select(plan, rows, name, search)
            if group:
                lines.append((ENVIRONMENTS.get(name, "All"), search, len(group), *cells(group)))
    return tuple(lines), tuple(rules[1:])


def outcomes_table(plan: Plan, rows: Rows) -> Table:
    def cells(group: list[IssuedAnswer]) -> tuple[Any, ...]:
        return (
            share(group, lambda row: row.takes_foil),
            *share_and_interval(group, lambda row: row.reaches_front),
            share(group, lambda row: row.original_reaches_front),
            share(group, lambda row: row.one_step_reaches_front),
            *(share(group, lambda row: row.truncated > 0.5), share(group, lambda row: row.original_truncated > 0.5)),
            share(group, lambda row: row.one_step_truncated > 0.5),
        )

    columns = (
        *("environment", "search", "answers", "takes the foil [95 % CI]", "ends on the front [95 % CI]"),
        *("cluster [95 % CI]", "original: on the front", "one step: on the front", "ended by the limit"),
        *("original: by the limit", "one step: by the limit"),
    )
    lines, rules = _lines(plan, rows, cells)
    return Table("Outcomes of counterfactual commands", columns, lines, rules=rules)


def robustness_table(plan: Plan, rows: Rows) -> Table:
    def cells(group: list[IssuedAnswer]) -> tuple[Any, ...]:
        distances = np.array([row.requested_off_front for row in group])
        on_front = share(group, lambda row: row.requested_off_front <= NEAR)
        noise = (_percent(group, name) for name in NOISE_FIELDS)
        return (*map(float, np.quantile(distances, (0.5, 0.9))), on_front, *noise)

    sizes = [f"{100 * size:g} %" for size in NOISE.values()]
    noise_columns = [f"{target} noise {size}" for target in ("command", "state") for size in sizes]
    columns = (
        *("environment", "search", "answers", "off the front: median", "90 %", "requests a point of it"),
        *noise_columns,
    )
    note = (
        "Off the front: scaled distance of the requested return of the whole episode from the nearest point of the "
        "agent's front (its archive, as in the paper; other returns of the training are not stored). Noise: share (%) "
        f"of {DRAWS} draws of Gaussian noise under which the foil is still chosen; the standard deviation is a share "
        "of each entry's range. Only Minecart has continuous states; their ranges are those of the agent's episodes."
    )
    lines, rules = _lines(plan, rows, cells)
    return Table("Distance from the front, and robustness to noise", columns, lines, note, rules=rules)


def _mean(rows: Rows, name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def _percent(rows: Rows, name: str) -> float | None:
    """Return the mean of a field in percent; None if any row lacks it."""
    if not rows or any(getattr(row, name) is None for row in rows):
        return None
    return 100 * _mean(rows, name)


def other_seed_table(plan: Plan, rows: Sequence[OtherSeedAnswer]) -> Table:
    lines = []
    for name in (environment for environment in QUICK if environment in plan.agents):
        group = [row for row in rows if plan.names[row.agent] == name]
        open_rows = [row for row in group if not row.already_foil]
        feasible, infeasible = ([row for row in open_rows if row.feasible == kind] for kind in (True, False))
        ratios = [r.other_distance / r.distance for r in feasible if r.other_distance is not None and r.distance]
        spread = map(float, np.quantile(ratios, (0.5, 0.1, 0.9))) if ratios else (None,) * 3
        rates = (
            share(group, lambda row: row.already_foil),
            *(share(kind, lambda row: row.other_feasible) for kind in (feasible, infeasible)),
            *share_and_interval(feasible, lambda row: bool(row.transfers)),
        )
        lines.append((ENVIRONMENTS[name], len(group), *rates, *spread))
    columns = (
        *("environment", "questions", "other takes the foil anyway [95 % CI]", "feasible: other, too [95 % CI]"),
        *("infeasible: other feasible [95 % CI]", "the same command flips both [95 % CI]", "cluster [95 % CI]"),
        *("distance other / first: median", "10 %", "90 %"),
    )
    return Table("The same questions to an agent of another seed", columns, tuple(lines))
