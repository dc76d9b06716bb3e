"""The combinatorial stress test (paper, Table "Stress test of CF-ZOO")."""

from typing import TYPE_CHECKING, Any

from paretofoil.reproduce.paper import ENVIRONMENTS, STRESS, total_of
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Picture, Report
from paretofoil.show.palette import GREEN
from paretofoil.show.rates_figure import Series, figure_rates
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, rate_interval, summarise
from paretofoil.study.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("environment", "cases", "found", "rate [95 % CI]", "cluster [95 % CI]", "distance")
PAPER_COLUMNS = ("paper: cases", "paper: rate [95 % CI]", "paper: distance")
NOTE = (
    "Intervals: Wilson's, as in the paper, which takes cases for independent; beside it a cluster bootstrap over "
    "episodes, where there are five or more (with one agent in each environment it is about these agents). Distance: "
    "mean scaled l2 distance over the successes."
)


def stress_rows(plan: Plan) -> list[Row]:
    """Every case of every agent, searched by CF-ZOO at the paper's budget."""
    return plan.rows("stress", {"cf-zoo": plan.budgets.stress}, EVERY_CASE)


def reproduce_stress(plan: Plan) -> Report:
    """Every front command x every moment of its greedy rollout x every valid foil."""
    rows = stress_rows(plan)
    lines = tuple(_line(plan, rows, name) for name in [*plan.agents, "all"])
    report = Report("Stress test of CF-ZOO: every decision, every foil")
    report.say(
        "Each case is a state, a command and a valid foil: every command of the agent's front, every moment of its "
        "greedy rollout, every valid action that was not chosen. CF-ZOO has the paper's budget (9,001 directions, "
        "9,001 queries of the ZOO phase). The agents are not the paper's, so that cases and rates differ where "
        "fronts and networks do."
    )
    took = f"{len(rows):,} cases took {sum(row.seconds for row in rows):,.0f} s of workers' wall time."
    table = Table("Stress test", COLUMNS + PAPER_COLUMNS, lines, f"{NOTE} {took}", rules=(len(lines) - 1,))
    caption = "How often CF-ZOO flips the action, ours and the paper's"
    return report.add(table, Picture.of(_figure(table), "stress", caption))


def _line(plan: Plan, rows: list[Row], name: str) -> tuple[Any, ...]:
    """An environment, or all of them, ours and the paper's."""
    taken = [row for row in rows if name in ("all", plan.environment_of(row))]
    found = summarise(taken)
    paper = STRESS[name] if name in STRESS else total_of([STRESS[environment] for environment in plan.agents])
    rates = (found.success.cases, found.success.successes, found.success, rate_interval(taken))
    ours = (ENVIRONMENTS.get(name, "Total"), *rates, found.distance if name != "all" else None)
    return (*ours, paper.cases, Proportion(paper.found, paper.cases), paper.distance)


def _figure(table: Table) -> "Figure":
    lines = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    measured, reported = (
        {line["environment"]: line[name] for line in lines} for name in (COLUMNS[3], PAPER_COLUMNS[1])
    )
    series = [
        Series("CF-ZOO, measured", GREEN, measured),
        Series("CF-ZOO, the paper's", GREEN, reported, hollow=True),
    ]
    return figure_rates(list(measured), series)
