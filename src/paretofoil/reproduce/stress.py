"""The combinatorial stress test (paper, Table "Stress test of CF-ZOO")."""

from typing import Any

from paretofoil.reproduce.paper import ENVIRONMENTS, STRESS, total_of
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Picture, Report
from paretofoil.show.palette import GREEN
from paretofoil.show.rates_figure import Series, figure_rates
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table

COLUMNS = ("environment", "cases", "found", "rate [95 % CI]", "distance")
PAPER_COLUMNS = ("paper: cases", "paper: rate [95 % CI]", "paper: distance")


def stress_rows(plan: Plan) -> list[Row]:
    """Every case of every agent, searched by CF-ZOO at the paper's budget."""
    return plan.rows("stress", {"cf-zoo": plan.budgets.stress}, EVERY_CASE)


def reproduce_stress(plan: Plan) -> Report:
    """Every front command x every moment of its greedy rollout x every valid foil."""
    rows = stress_rows(plan)
    lines: list[tuple[Any, ...]] = []
    for name in [*plan.agents, "all"]:
        found = summarise(row for row in rows if name in ("all", plan.environment_of(row)))
        paper = STRESS[name] if name in STRESS else total_of([STRESS[environment] for environment in plan.agents])
        distance = found.distance if name != "all" else None
        ours = (ENVIRONMENTS.get(name, "Total"), found.success.cases, found.success.successes, found.success, distance)
        lines.append((*ours, paper.cases, Proportion(paper.found, paper.cases), paper.distance))
    report = Report("Stress test of CF-ZOO: every decision, every foil")
    report.say(
        "Each case is a state, a command and a valid foil: every command of the agent's front, every moment of its "
        "greedy rollout, every valid action that was not chosen. CF-ZOO has the paper's budget (9,001 directions, "
        "9,001 queries of the ZOO phase). The agents are not the paper's, so that cases and rates differ where "
        "fronts and networks do."
    )
    seconds = sum(row.seconds for row in rows)
    took = f"{len(rows):,} cases took {seconds:,.0f} s of workers' wall time."
    note = f"Distance: mean scaled l2 distance over the successes. {took}"
    table = Table("Stress test", COLUMNS + PAPER_COLUMNS, tuple(lines), note, rules=(len(lines) - 1,))
    figure = figure_rates(
        [line[0] for line in lines],
        [
            Series("CF-ZOO, measured", GREEN, {line[0]: line[3] for line in lines}),
            Series("CF-ZOO, the paper's", GREEN, {line[0]: line[6] for line in lines}, hollow=True),
        ],
    )
    return report.add(table, Picture.of(figure, "stress", "How often CF-ZOO flips the action, ours and the paper's"))
