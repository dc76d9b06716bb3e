"""What a counterfactual is worth: what follows when it is issued, and how far it can be relied on."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.explanation.consequence import REPEATS
from paretofoil.show.palette import BLUE, GREEN, GREY, ORANGE
from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.issued import DRAWS, NEAR, NOISE, Aftermath, Answered
from paretofoil_paper.measurements import mean_interval, measurements, share
from paretofoil_paper.other_seed import QUICK, AskedAgain, ask_again
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import REACHABLE_PROTOCOL
from paretofoil_paper.report import Picture, Report
from paretofoil_paper.stress import stress_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SEARCHES = ("cf-zoo", "exact")
CAPTION = "Where episodes end: our agents, in the box of what is reachable"
Rows = Sequence[Aftermath]


def reproduce_consequences(plan: Plan) -> Report:
    """Every answer of the stress test by CF-ZOO and by the exact search, issued in its state."""
    answers = [row for row in stress_rows(plan) + proof_rows(plan) if row.search in SEARCHES]
    rows = aftermaths(plan, answers)
    again = asked_again(plan, [row for row in answers if row.search == "exact"])
    report = Report("What a counterfactual is worth")
    report.say(REACHABLE_PROTOCOL, _method(), _in_words(rows))
    report.add(
        _follows(plan, rows),
        Picture.of(
            _figure(plan, rows), "consequences", "Where episodes end: our agents, in the box of what is reachable"
        ),
    )
    report.add(_stands(plan, rows))
    if again:
        report.say(_seed_in_words(plan, again)).add(_elsewhere(plan, again))
    return report


def aftermaths(plan: Plan, answers: Sequence[Row]) -> list[Aftermath]:
    """Of every answer that has a command."""

    def measure() -> list[Aftermath]:
        found = [row for row in answers if row.found]
        agents = {name: plan.load(environment) for name, environment in plan.names.items()}
        mine = {name: [row for row in found if row.case.agent == name] for name in agents}
        return [one for name in agents for one in Answered(agents[name], mine[name], plan.seed).measure()]

    settings = {"noise": NOISE, "draws": DRAWS, "stress": describe_search(plan.seeded(plan.budgets.stress))}
    return measurements(plan, "consequences", Aftermath, measure, settings | _exact(plan))


def asked_again(plan: Plan, answers: Sequence[Row]) -> list[AskedAgain]:
    """Every question again, to an agent of another seed."""
    settings = {"other seed": plan.agent_seeds[0], "training": dict(plan.training), **_exact(plan)}
    return measurements(plan, "consequences-other-seed", AskedAgain, lambda: ask_again(plan, answers), settings)


def _exact(plan: Plan) -> dict[str, Any]:
    return {"exact": describe_search(plan.seeded(plan.budgets.exact))}


def _method() -> str:
    return (
        "Each answer of the stress test is issued, as it is quoted, in the very state that it is about, and the agent "
        f"acts greedily on it to the end. An episode reaches the front if its whole return lies within {NEAR:.0%} "
        "(scaled) of a point of the agent's front; where chance enters, returns are means of "
        f"{REPEATS} runs, three standard errors count as reached, and the step limit is said to end what it ends in "
        "most runs. Beside it: the original command, left as it was, and a quoted command that is issued for one step "
        "only, after which the agent is asked for the point of the front that is nearest to it. The authors' app has "
        "the like among what it tries before it shows an episode, because a command on the boundary can make an agent "
        "go to and fro until the step limit. Branch-Path ends by its step limit only."
    )


def _in_words(rows: Rows) -> str:
    told = []
    for search, mine in ((name, [row for row in rows if row.search == name]) for name in SEARCHES):
        if not mine:
            continue
        reached, turned = share(mine, lambda r: r.reaches_front), share(mine, lambda r: r.turned_reaches_front)
        before = share(mine, lambda r: r.original_reaches_front)
        told.append(
            f"Of {len(mine):,} answers of {search} {share(mine, lambda r: r.takes_foil).successes:,} take the foil at "
            f"once. {100 * reached.rate:.1f} % then end on the front (cluster "
            f"{mean_interval(mine, lambda r: r.reaches_front)}); under the original command {100 * before.rate:.1f} % "
            f"would have; issued for one step, and then the nearest point of the front, {100 * turned.rate:.1f} % do. "
            f"The step limit ends {100 * _mean(mine, 'stopped'):.1f} %, {100 * _mean(mine, 'original_stopped'):.1f} % "
            f"and {100 * _mean(mine, 'turned_stopped'):.1f} % of the episodes."
        )
    return " ".join(told)


def _of(plan: Plan, rows: Rows, environment: str, search: str) -> list[Aftermath]:
    return [r for r in rows if r.search == search and environment in ("all", plan.names[r.agent])]


def _lines(plan: Plan, rows: Rows, line: Callable[[list[Aftermath]], tuple[Any, ...]]) -> tuple[Any, tuple[int, ...]]:
    """A line for each environment and search that has answers, and where groups begin."""
    lines: list[tuple[Any, ...]] = []
    begins = []
    for name in [*plan.agents, "all"]:
        begins.append(len(lines))
        for search in SEARCHES:
            mine = _of(plan, rows, name, search)
            if mine:
                lines.append((ENVIRONMENTS.get(name, "All"), search, len(mine), *line(mine)))
    return tuple(lines), tuple(begins[1:])


def _follows(plan: Plan, rows: Rows) -> Table:
    def line(mine: list[Aftermath]) -> tuple[Any, ...]:
        return (
            *(share(mine, lambda r: r.takes_foil), share(mine, lambda r: r.reaches_front)),
            *(mean_interval(mine, lambda r: r.reaches_front), share(mine, lambda r: r.original_reaches_front)),
            *(share(mine, lambda r: r.turned_reaches_front), share(mine, lambda r: r.stopped > 0.5)),
            *(share(mine, lambda r: r.original_stopped > 0.5), share(mine, lambda r: r.turned_stopped > 0.5)),
        )

    columns = (
        *("environment", "search", "answers", "takes the foil [95 % CI]", "ends on the front [95 % CI]"),
        *("cluster [95 % CI]", "original: on the front", "one step: on the front", "ended by the limit"),
        *("original: by the limit", "one step: by the limit"),
    )
    lines, begins = _lines(plan, rows, line)
    return Table("What follows when a counterfactual command is issued", columns, lines, rules=begins)


def _stands(plan: Plan, rows: Rows) -> Table:
    def line(mine: list[Aftermath]) -> tuple[Any, ...]:
        away = np.array([row.asked_off_front for row in mine])
        near = share(mine, lambda r: r.asked_off_front <= NEAR)
        return (*map(float, np.quantile(away, (0.5, 0.9))), near, *(_percent(mine, name) for name in NOISY_COLUMNS))

    sizes = [f"{100 * size:g} %" for size in NOISE.values()]
    noisy = [f"{what} noise {size}" for what in ("command", "state") for size in sizes]
    columns = ("environment", "search", "answers", "off the front: median", "90 %", "asks for a point of it", *noisy)
    note = (
        "Off the front: the scaled distance from what is asked for, what was collected before included, to the nearest "
        "return of its archive, which is its front, as in the paper: of the other returns that its training met none "
        f"is kept. Noise: the share (%) of {DRAWS} draws of Gaussian noise, with that standard deviation in shares of "
        "each number's range, under which the foil is still chosen. States are continuous in Minecart alone; their "
        "ranges are those of the agent's own episodes."
    )
    lines, begins = _lines(plan, rows, line)
    return Table("How near to what can be had, and how much noise it stands", columns, lines, note, rules=begins)


NOISY_COLUMNS = tuple(f.name for f in fields(Aftermath) if f.name.endswith(("_small", "_large")))


def _mean(rows: Rows, name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def _percent(rows: Rows, name: str) -> float | None:
    known = [row for row in rows if getattr(row, name) is not None]
    return 100 * _mean(known, name) if known and len(known) == len(rows) else None


def _figure(plan: Plan, rows: Rows) -> "Figure":
    groups = {ENVIRONMENTS[name]: name for name in plan.agents}

    def rates(search: str, holds: Callable[[Aftermath], bool]) -> dict[str, Any]:
        return {group: share(_of(plan, rows, name, search), holds) for group, name in groups.items()}

    series = [
        Series("exact's command", BLUE, rates("exact", lambda r: r.reaches_front)),
        Series("CF-ZOO's command", GREEN, rates("cf-zoo", lambda r: r.reaches_front)),
        Series("exact's, for one step", ORANGE, rates("exact", lambda r: r.turned_reaches_front)),
        Series("the original command", GREY, rates("exact", lambda r: r.original_reaches_front)),
    ]
    return figure_rates(list(groups), series, "episodes that end on the front (% of answers")


def _seed_in_words(plan: Plan, rows: Sequence[AskedAgain]) -> str:
    names = [ENVIRONMENTS[name] for name in QUICK if name in plan.agents]
    asked = [row for row in rows if row.here is not None and not row.taken]
    both, over = share(asked, lambda r: r.there is not None), share(asked, _carries)
    return (
        f"**Another seed.** In {_counted(names)} whose agents are trained within seconds ({', '.join(names)}), every "
        f"question of the stress test was also asked of one other agent, of seed {plan.agent_seeds[0]}, in the same "
        f"state, under the same command, with the exact search. Of {len(asked):,} questions that have an answer and "
        f"that the other agent does not settle by taking the foil anyway, {100 * both.rate:.1f} % have one there too, "
        f"and in {100 * over.rate:.1f} % the very command that is quoted for the one agent makes the other take the "
        "foil."
    )


def _carries(row: AskedAgain) -> bool:
    return bool(row.carries_over)


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)} environments" if len(names) != 1 else "one environment"


def _elsewhere(plan: Plan, rows: Sequence[AskedAgain]) -> Table:
    lines = []
    for name in (environment for environment in QUICK if environment in plan.agents):
        mine = [row for row in rows if plan.names[row.agent] == name]
        asked = [row for row in mine if not row.taken]
        possible, impossible = ([r for r in asked if (r.here is not None) == here] for here in (True, False))
        ratios = [r.there / r.here for r in possible if r.there is not None and r.here]
        spread = map(float, np.quantile(ratios, (0.5, 0.1, 0.9))) if ratios else (None,) * 3
        there = (share(kind, lambda r: r.there is not None) for kind in (possible, impossible))
        over = (share(possible, _carries), mean_interval(possible, _carries))
        lines.append((ENVIRONMENTS[name], len(mine), share(mine, lambda r: r.taken), *there, *over, *spread))
    columns = (
        *(
            "environment",
            "questions",
            "the other takes the foil anyway [95 % CI]",
            "possible here: there too [95 % CI]",
        ),
        *("impossible here: possible there [95 % CI]", "the same command flips both [95 % CI]", "cluster [95 % CI]"),
        *("distance there / here: median", "10 %", "90 %"),
    )
    return Table("The same question to an agent of another seed", columns, tuple(lines))
