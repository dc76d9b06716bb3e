"""CF-ZOO against white-box C&W (paper, Table "Comparison of our perturbation method ..."), and further searches."""

from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.show.palette import BLUE, GREEN, PURPLE, RED
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table
from paretofoil_paper.distances import Distances
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.paper_tables import COMPARISON, ENVIRONMENTS, PAPER_NAMES, PaperRow, total_of
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, WHITE_AS_RUN, WHITE_CONFIGURED, expected_returns_label
from paretofoil_paper.report import cells_of
from paretofoil_paper.statistics import rate_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = {
    "exact": ("Exact", BLUE),
    "boundary": ("Boundary", PURPLE),
    AS_RUN: ("CF-ZOO", GREEN),
    WHITE_AS_RUN: ("White-CW, confidence 0", RED),
}
"""The labels and colours of the searches in the figure; all others are only in tables."""
PAPER_METHODS = (AS_RUN, WHITE_AS_RUN, WHITE_CONFIGURED)
"""The paper's two methods as run by the authors; White-CW with confidence 0 and with confidence 0.05."""
RECOVERY_COLUMNS = (
    *("search", "recovered [95 % CI]", "cluster [95 % CI]", "distance / optimum: median", "90 %", "queries: median"),
    "bound evaluations: median",
)
"""The columns of `recovery_table` that pages show."""


def comparison_rows(plan: Plan) -> list[Row]:
    """Return the rows of the comparison whose agents repeat the paper's experiment."""
    names = {load_agent(agent).name for agent in plan.as_run.values()}
    return [row for row in _all_rows(plan) if row.case.agent in names]


def _all_rows(plan: Plan) -> list[Row]:
    """Return all rows; in stochastic environments of agents trained on realised and on expected returns."""
    return plan.rows("comparison", plan.budgets.comparison, PAPER_COMPARISON, agents=plan.all_agents)


def comparison_figure(table: Table) -> "Figure":
    """Draw the environments of the paper: our rates filled, the paper's hollow."""
    cells = cells_of(table)
    groups = {line["environment"] for line in cells if line["paper: cases"] is not None}
    cells = [line for line in cells if line["environment"] in groups]
    series = []
    for search, (label, colour) in SERIES.items():
        lines = [line for line in cells if line["search"] == search]
        if not lines:
            continue
        series.append(Series(label, colour, {line["environment"]: line["rate [95 % CI]"] for line in lines}))
        paper = {
            line["environment"]: line["paper: rate [95 % CI]"] for line in lines if line["paper: cases"] is not None
        }
        series += [Series(f"{label.split(',')[0]}, paper", colour, paper, hollow=True)] * bool(paper)
    return figure_rates(list(dict.fromkeys(line["environment"] for line in cells)), series)


def comparison_table(plan: Plan) -> Table:
    """Return the rates by environment, their total, and the agents trained on expected returns."""
    all_rows, rows = _all_rows(plan), comparison_rows(plan)
    agents = {row.case.agent for row in rows}
    groups = [(ENVIRONMENTS[e], [r for r in rows if plan.environment_of(r) == e], e) for e in plan.agents]
    groups.append(("All", rows, "all"))
    for environment in plan.agents:
        others = [r for r in all_rows if plan.environment_of(r) == environment and r.case.agent not in agents]
        groups += [(expected_returns_label(environment), others, "")] * bool(others)
    lines = [_line(plan, label, *group) for group in groups for label in plan.budgets.comparison]
    columns = ("environment", "search", "cases", "found", "rate [95 % CI]", "cluster [95 % CI]", "distance")
    paper_columns = ("paper: cases", "paper: rate [95 % CI]", "paper: distance")
    note = (
        "Distances are means over the successes of each search, as in the paper; searches with different rates cannot "
        "be compared by them."
    )
    rules = tuple(range(len(plan.budgets.comparison), len(lines), len(plan.budgets.comparison)))
    return Table("Comparison with white-box C&W", columns + paper_columns, tuple(lines), note, rules=rules)


def _line(plan: Plan, label: str, group: str, rows: list[Row], name: str) -> tuple[Any, ...]:
    """Return the line of one search in a group of rows, with the paper's figures if it has them."""
    of_search = [row for row in rows if row.search == label]
    summary, paper = summarise(of_search), _paper(plan, name, label) if name else None
    rates = (summary.success.cases, summary.success.successes, summary.success, rate_interval(of_search))
    paper_cells = (paper.cases, Proportion(paper.found, paper.cases), paper.distance) if paper else (None,) * 3
    return (group, label, *rates, summary.closest_distance if name != "all" else None, *paper_cells)


def _paper(plan: Plan, name: str, label: str) -> PaperRow | None:
    if label not in PAPER_NAMES:
        return None
    names = plan.agents if name == "all" else [name]
    rows = [COMPARISON[environment, PAPER_NAMES[label]] for environment in names]
    return total_of(rows) if name == "all" else rows[0]


def recovery_table(rows: list[Row], title: str = "Recovery of the feasible cases") -> Table:
    """Return how many known feasible cases each search solved, how far its answers are from the optimum, and its cost.

    The exact search also bounds the policy over boxes of commands; these evaluations are counted beside its queries.
    """
    distances, lines = Distances.of(rows), []
    for label in distances.found:
        feasible = [row for row in rows if row.search == label and row.case in distances.feasible]
        success, ratios = summarise(feasible).success, distances.ratios(label)
        spread = map(float, np.quantile(ratios, (0.5, 0.9, 1.0))) if ratios else (None,) * 3
        queries = [row.queries for row in feasible]
        bounds = [proof.boxes for row in feasible if (proof := row.full_answer().proof)] if label == "exact" else []
        cost = [round(float(np.median(counts))) if counts else None for counts in (queries, bounds)]
        lines.append((label, success.cases, success.successes, success, rate_interval(feasible), *spread, *cost))
    columns = (
        *("search", "known feasible", "found", "recovered [95 % CI]", "cluster [95 % CI]"),
        *("distance / optimum: median", "90 %", "largest", "queries: median", "bound evaluations: median"),
    )
    note = (
        "Recovered: solved cases in % of those that at least one search solves. Distance / optimum: the distance of an "
        f"answer divided by the proven smallest distance of its case (known for {len(distances.optimum):,} cases, up "
        "to a gap of 1 % of the distance and at most 0.001), with its median and its 90 % quantile. A bound evaluation "
        "bounds the network over a box of commands."
    )
    return Table(title, columns, tuple(lines), note)
