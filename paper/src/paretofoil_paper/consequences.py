"""The consequences of issuing counterfactual commands: outcomes of rollouts, noise, and agents of another seed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.explanation.attainable import REPEATS
from paretofoil.show.palette import BLUE, GREEN, GREY, ORANGE
from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.issued import DRAWS, NEAR, NOISE, NOISE_FIELDS, AnswerRollouts, IssuedAnswer
from paretofoil_paper.measurements import mean_interval, measurements, share
from paretofoil_paper.other_seed import QUICK, OtherSeedAnswer, ask_other_seed
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import REACHABLE_PROTOCOL
from paretofoil_paper.report import Picture, Report
from paretofoil_paper.stress import stress_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEARCHES = ("cf-zoo", "exact")
CAPTION = "Episodes that end on the front: our agents, in the reachable search region"
Rows = Sequence[IssuedAnswer]


def reproduce_consequences(plan: Plan) -> Report:
    """Issue every answer of the stress test by CF-ZOO and by the exact search in its state."""
    answers = [row for row in stress_rows(plan) + proof_rows(plan) if row.search in SEARCHES]
    rows = issued_answers(plan, answers)
    other_seed = other_seed_answers(plan, [row for row in answers if row.search == "exact"])
    report = Report("Consequences of a counterfactual command")
    report.say(_findings(rows), REACHABLE_PROTOCOL, _method())
    report.add(_outcomes(plan, rows), Picture.of(_figure(plan, rows), "consequences", CAPTION))
    report.add(_robustness(plan, rows))
    if other_seed:
        report.say(_describe_other_seed(plan, other_seed)).add(_other_seed_table(plan, other_seed))
    return report


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


def _findings(rows: Rows) -> str:
    sentences = []
    for search, group in ((name, [row for row in rows if row.search == name]) for name in SEARCHES):
        if not group:
            continue
        issued, one_step = share(group, _reaches_front), share(group, _one_step_reaches_front)
        original = share(group, _original_reaches_front)
        sentences.append(
            f"Of {len(group):,} answers of `{search}`, {share(group, _takes_foil).successes:,} make the agent take the "
            f"foil. {100 * issued.rate:.1f} % of the episodes then end on the front (cluster "
            f"{mean_interval(group, _reaches_front)}), compared with {100 * original.rate:.1f} % under the original "
            f"command, and {100 * one_step.rate:.1f} % if the answer is issued for one step only and then the nearest "
            "point of the front. In the same order, the step limit ends "
            f"{100 * _mean(group, 'truncated'):.1f} %, {100 * _mean(group, 'original_truncated'):.1f} % and "
            f"{100 * _mean(group, 'one_step_truncated'):.1f} % of the episodes."
        )
    return " ".join(sentences)


def _method() -> str:
    return (
        "Each answer of the stress test is issued, as quoted, in the state of its decision, and the agent acts "
        f"greedily to the end of the episode. An episode ends on the front if its return is within {NEAR:.0%} (scaled) "
        f"of a point of the agent's front. In stochastic environments returns are means of {REPEATS} runs, three "
        "standard errors are allowed, and the step limit counts if it ends most runs. We compare with the original "
        "command, and with the quoted command issued for one step, followed by the nearest point of the front. The "
        "authors' app tries the latter, because a command on the decision boundary can make an agent move back and "
        "forth until the step limit. Branch-Path always ends by its step limit."
    )


def _takes_foil(row: IssuedAnswer) -> bool:
    return row.takes_foil


def _reaches_front(row: IssuedAnswer) -> bool:
    return row.reaches_front


def _original_reaches_front(row: IssuedAnswer) -> bool:
    return row.original_reaches_front


def _one_step_reaches_front(row: IssuedAnswer) -> bool:
    return row.one_step_reaches_front


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


def _outcomes(plan: Plan, rows: Rows) -> Table:
    def cells(group: list[IssuedAnswer]) -> tuple[Any, ...]:
        return (
            *(share(group, _takes_foil), share(group, _reaches_front), mean_interval(group, _reaches_front)),
            *(share(group, _original_reaches_front), share(group, _one_step_reaches_front)),
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


def _robustness(plan: Plan, rows: Rows) -> Table:
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


def _figure(plan: Plan, rows: Rows) -> "Figure":
    groups = {ENVIRONMENTS[name]: name for name in plan.agents}

    def rates(search: str, holds: Callable[[IssuedAnswer], bool]) -> dict[str, Any]:
        return {group: share(_select(plan, rows, name, search), holds) for group, name in groups.items()}

    series = [
        Series("exact", BLUE, rates("exact", _reaches_front)),
        Series("CF-ZOO", GREEN, rates("cf-zoo", _reaches_front)),
        Series("exact, for one step", ORANGE, rates("exact", _one_step_reaches_front)),
        Series("original command", GREY, rates("exact", _original_reaches_front)),
    ]
    return figure_rates(list(groups), series, "episodes that end on the front (% of answers")


def _describe_other_seed(plan: Plan, rows: Sequence[OtherSeedAnswer]) -> str:
    names = [ENVIRONMENTS[name] for name in QUICK if name in plan.agents]
    where = f"{len(names)} environments" if len(names) != 1 else "one environment"
    open_rows = [row for row in rows if row.feasible and not row.already_foil]
    both, transfers = share(open_rows, lambda row: row.other_feasible), share(open_rows, _transfers)
    return (
        f"**Another seed.** In {where} where training takes seconds ({', '.join(names)}), every question of the stress "
        f"test was also asked of an agent of seed {plan.agent_seeds[0]}, in the same state and under the same command, "
        f"with the exact search. In {len(open_rows):,} questions our agent has an answer, and the other agent does not "
        f"take the foil under the original command. Of these, {100 * both.rate:.1f} % have an answer for the other "
        f"agent, too. In {100 * transfers.rate:.1f} % the quoted command of our agent makes the other agent take the "
        "foil."
    )


def _transfers(row: OtherSeedAnswer) -> bool:
    return bool(row.transfers)


def _other_seed_table(plan: Plan, rows: Sequence[OtherSeedAnswer]) -> Table:
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
            *(share(feasible, _transfers), mean_interval(feasible, _transfers)),
        )
        lines.append((ENVIRONMENTS[name], len(group), *rates, *spread))
    columns = (
        *("environment", "questions", "other takes the foil anyway [95 % CI]", "feasible: other, too [95 % CI]"),
        *("infeasible: other feasible [95 % CI]", "the same command flips both [95 % CI]", "cluster [95 % CI]"),
        *("distance other / first: median", "10 %", "90 %"),
    )
    return Table("The same questions to an agent of another seed", columns, tuple(lines))
