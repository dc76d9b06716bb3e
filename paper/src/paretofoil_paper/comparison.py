"""CF-ZOO against white-box C&W (paper, Table "Comparison of our perturbation method ..."), and further searches."""

from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table
from paretofoil_paper.distances import Distances
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.paper_tables import COMPARISON, ENVIRONMENTS, PAPER_NAMES, PaperRow, total_of
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, WHITE_AS_RUN, WHITE_CONFIGURED, expected_returns_label
from paretofoil_paper.report import Picture, Report
from paretofoil_paper.statistics import paired_table, rate_interval
from paretofoil_paper.stress import INTERVALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "white-cw": RED,
    "cf-zoo": GREEN,
    WHITE_AS_RUN: ORANGE,
    AS_RUN: INK,
    "projected-cw": GREY,
    "boundary": PURPLE,
    "exact": BLUE,
}
"""The colours of the searches in the figure; two variants of White-CW are only in the table."""
PAPER_METHODS = (AS_RUN, WHITE_AS_RUN, WHITE_CONFIGURED)
"""The paper's two methods as run by the authors; White-CW with confidence 0 and with confidence 0.05."""
CAPTION = "Success rates in the paper's search region (two variants of White-CW are only in the table)"


def comparison_rows(plan: Plan) -> list[Row]:
    """Return the rows of the comparison whose agents repeat the paper's experiment."""
    names = {load_agent(agent).name for agent in plan.as_run.values()}
    return [row for row in _all_rows(plan) if row.case.agent in names]


def _all_rows(plan: Plan) -> list[Row]:
    """Return all rows; in stochastic environments of agents trained on realised and on expected returns."""
    return plan.rows("comparison", plan.budgets.comparison, PAPER_COMPARISON, agents=plan.all_agents)


def reproduce_comparison(plan: Plan) -> Report:
    """Run the paper's subset of cases with its two methods, other white-box attacks, Boundary and Exact."""
    rows = comparison_rows(plan)
    report = Report("CF-ZOO against the white-box Carlini-Wagner attack")
    table = _by_environment(plan)
    rule = PAPER_COMPARISON
    report.say(
        _finding(table),
        f"The cases follow the rule of the authors' code: at most {rule.commands} commands of each front, evenly "
        f"spread; the first {rule.steps} steps; the {rule.foils} most probable foils of each decision. All searches "
        "use the search region that the authors set for each environment, and distances are in its units. In the "
        "stochastic environments our agents are trained on realised returns, like theirs; the lines after the total "
        "are about agents trained on expected returns.",
        "The paper's figures are next to the searches with the settings behind the authors' data. `cf-zoo:as-run` has "
        "B = 21,000. `white-cw:as-run-0` has confidence 0, which matches their published data; `white-cw:as-run` has "
        "confidence 0.05, as in their configuration. `cf-zoo` follows the paper's text, with 21,000 directions "
        "and 21,000 queries of ZOO. `white-cw` uses the defaults of ART and confidence kappa; it hardly moves a "
        "command on the edge of the region, where its change of variables is flat. `white-cw-padded` widens the region "
        "to remove this defect; `projected-cw` projects instead of changing variables. `boundary` has 9,001 queries; "
        "`exact` proves its answers. Our agents are not the paper's, and cases differ because fronts and episodes do.",
    )
    report.add(table, Picture.of(_figure(table), "comparison", CAPTION))
    report.add(recovery_table(rows)).say(_describe_ratios(plan, rows))
    as_run = [row for row in rows if row.search in PAPER_METHODS]
    return report.add(paired_table(as_run, PAPER_METHODS[0]), paired_table(rows, "cf-zoo"))


def _finding(table: Table) -> str:
    lines = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    total = {line["search"]: line for line in lines if line["environment"] == "All"}
    ours = {name: line["rate [95 % CI]"] for name, line in total.items()}
    papers = {name: line["paper: rate [95 % CI]"] for name, line in total.items()}
    parts = []
    for name in PAPER_METHODS:
        if name in total:
            paper = f" (paper: {100 * papers[name].rate:.1f} %)" if papers[name] else ""
            parts.append(f"`{name}` {100 * ours[name].rate:.1f} %{paper}")
    parts += [f"`{name}` {100 * ours[name].rate:.1f} %" for name in ("boundary", "exact") if name in total]
    return f"Of {ours[AS_RUN].cases:,} cases, the searches solve: {', '.join(parts)}."


def _describe_ratios(plan: Plan, rows: list[Row]) -> str:
    """Say from which environment the mean of distance / optimum comes."""
    parts = []
    distances = {name: Distances.of(r for r in rows if plan.environment_of(r) == name) for name in plan.agents}
    for search in (AS_RUN, "cf-zoo"):
        ratios = {name: np.mean(of_name.ratios(search) or [0.0]) for name, of_name in distances.items()}
        far, *others = sorted(ratios, key=lambda name: -ratios[name])
        rest = f", at most {ratios[others[0]]:.2f} elsewhere" if others else ""
        parts.append(f"for `{search}` {ratios[far]:.1f} in {ENVIRONMENTS[far]}{rest}")
    return (
        f"The mean of distance / optimum depends on the environment: {'; '.join(parts)}. Where the search region is "
        "far wider than what episodes need, as for Minecart's fuel, some optima are tiny fractions of it."
    )


def _figure(table: Table) -> "Figure":
    """Draw the table: our rates as dots, the paper's as rings."""
    cells = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    series = []
    for label, colour in COLOURS.items():
        lines = [line for line in cells if line["search"] == label]
        if not lines:
            continue
        series.append(Series(label, colour, {line["environment"]: line["rate [95 % CI]"] for line in lines}))
        paper = {
            line["environment"]: line["paper: rate [95 % CI]"] for line in lines if line["paper: cases"] is not None
        }
        series += [Series(f"{label}, paper", colour, paper, hollow=True)] * bool(paper)
    return figure_rates(list(dict.fromkeys(line["environment"] for line in cells)), series)


def _by_environment(plan: Plan) -> Table:
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
        "be compared by them. "
        f"{INTERVALS}"
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


def recovery_table(rows: list[Row]) -> Table:
    """Return how many known feasible cases each search solved, and how far its answers are from the optimum."""
    distances, lines = Distances.of(rows), []
    for label in distances.found:
        feasible = [row for row in rows if row.search == label and row.case in distances.feasible]
        success, ratios = summarise(feasible).success, distances.ratios(label)
        spread = (float(np.mean(ratios)), float(np.median(ratios)), float(np.max(ratios))) if ratios else (None,) * 3
        lines.append((label, success.cases, success.successes, success, rate_interval(feasible), *spread))
    columns = (
        *("search", "known feasible", "found", "recovered [95 % CI]", "cluster [95 % CI]", "distance / optimum"),
        *("median", "largest"),
    )
    note = (
        "Known feasible: solved by at least one search. Distance / optimum: mean, median and largest ratio to the "
        f"proven closest distance of the same case ({len(distances.optimum):,} cases), over the successes of the "
        "search. The proofs leave a gap of 1 % of the distance, at most 0.001."
    )
    return Table("Recovery of known-feasible cases", columns, tuple(lines), note)
