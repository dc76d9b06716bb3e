"""CF-ZOO against white-box C&W (paper, Table "Comparison of our perturbation method ..."), with more beside it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Outcome
from paretofoil.reproduce.paper import AS_RUN, COMPARISON, ENVIRONMENTS, PaperRow, total_of
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Picture, Report
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from paretofoil.show.rates_figure import Series, figure_rates
from paretofoil.study import COMPARISON as SUBSET
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table, paired_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "white-cw": RED,
    "cf-zoo": GREEN,
    "white-cw:as-run": ORANGE,
    "cf-zoo:as-run": INK,
    "projected-cw": GREY,
    "boundary": PURPLE,
    "exact": BLUE,
}
"""Of the searches in the figure; the other forms of White-CW stand in the table alone."""


def comparison_rows(plan: Plan) -> list[Row]:
    """The paper's subset of cases, in its box, by every search of the comparison."""
    return plan.rows(
        "comparison", plan.budgets.comparison, replace(SUBSET, box="paper"), agents=list(plan.as_run.values())
    )


def reproduce_comparison(plan: Plan) -> Report:
    """The paper's subset of cases with its two methods, two better white-box ones, Boundary and Exact."""
    rows = comparison_rows(plan)
    report = Report("CF-ZOO against white-box Carlini-Wagner")
    table = _by_environment(plan, rows)
    report.say(
        f"Cases, by the rule of the authors' code: at most {SUBSET.commands} commands of each front, evenly spread; "
        f"the first {SUBSET.times} moments; the {SUBSET.foils} most probable foils of each decision. All searches have "
        "the box that the authors set for each environment, of which distances are shares, and agents of realised "
        "returns where chance plays a part, as theirs.",
        "The paper's figures stand beside the searches that have the settings of the authors' code: `cf-zoo:as-run` "
        "with B = 21,000, and `white-cw:as-run` with confidence 0.05, which is what their configuration says; "
        "`white-cw:as-run-0` has 0, which is what their data look like. `cf-zoo` is the method as the paper's text "
        "tells it, with 21,000 directions and 21,000 queries of ZOO; `white-cw` is the attack with ART's defaults and "
        "confidence kappa: a command on the edge of the box starts where its change of variables is flat. "
        "`white-cw-padded` removes that by widening the box; `projected-cw` projects instead of changing variables. "
        "`boundary` has 9,001 queries; `exact` proves what it says. The agents are not the paper's, and cases differ "
        "as fronts and episodes do.",
    )
    report.add(table, Picture.of(_figure(table), "comparison", "How often each search flips the action"))
    return report.add(recovery_table(rows), paired_table(rows, "cf-zoo"))


def _figure(table: Table) -> "Figure":
    """The table as a picture: what was measured as dots, what the paper reports as rings."""
    groups = list(dict.fromkeys(line[0] for line in table.rows))
    series = []
    for label, colour in COLOURS.items():
        lines = [line for line in table.rows if line[1] == label]
        if not lines:
            continue
        series.append(Series(label, colour, {line[0]: line[4] for line in lines}))
        if lines[0][7] is not None:
            series.append(Series(f"{label}, the paper's", colour, {line[0]: line[7] for line in lines}, hollow=True))
    return figure_rates(groups, series)


def _by_environment(plan: Plan, rows: list[Row]) -> Table:
    lines: list[tuple[Any, ...]] = []
    rules: list[int] = []
    for name in [*plan.agents, "all"]:
        rules.append(len(lines))
        for label in plan.budgets.comparison:
            taken = [r for r in rows if r.search == label and name in ("all", plan.environment_of(r))]
            found, paper = summarise(taken), _paper(plan, name, label)
            ours = (
                found.success.cases,
                found.success.successes,
                found.success,
                found.distance if name != "all" else None,
            )
            theirs = (paper.cases, Proportion(paper.found, paper.cases), paper.distance) if paper else (None,) * 3
            lines.append((ENVIRONMENTS.get(name, "All"), label, *ours, *theirs))
    columns = ("environment", "search", "cases", "found", "rate [95 % CI]", "distance")
    paper_columns = ("paper: cases", "paper: rate [95 % CI]", "paper: distance")
    note = (
        "Distances are means over each search's own successes, as in the paper: they cannot be compared across rates."
    )
    return Table("Comparison with white-box C&W", columns + paper_columns, tuple(lines), note, rules=tuple(rules[1:]))


def _paper(plan: Plan, name: str, label: str) -> PaperRow | None:
    if label not in AS_RUN:
        return None
    names = plan.agents if name == "all" else [name]
    rows = [COMPARISON[environment, AS_RUN[label]] for environment in names]
    return total_of(rows) if name == "all" else rows[0]


def recovery_table(rows: list[Row]) -> Table:
    """On cases known to be feasible: how many each search found, and how far from the optimum."""
    answers: dict[str, dict[object, Row]] = {}
    for row in rows:
        answers.setdefault(row.search, {})[row.case] = row
    feasible = {row.case for row in rows if row.found}
    proven = answers.get("exact", {}).items()
    optimum = {case: row.distance for case, row in proven if row.outcome is Outcome.PROVEN_OPTIMAL}
    lines = []
    for label, given in answers.items():
        asked = [case for case in given if case in feasible]
        found = [case for case in asked if given[case].found]
        ratios = [given[case].distance / optimum[case] for case in found if optimum.get(case)]  # type: ignore[operator]
        spread = (float(np.mean(ratios)), float(np.median(ratios)), float(np.max(ratios))) if ratios else (None,) * 3
        lines.append((label, len(asked), len(found), Proportion(len(found), len(asked)), *spread))
    columns = ("search", "known feasible", "found", "recovered [95 % CI]", "distance / optimum", "median", "largest")
    note = (
        "Known feasible: found by any search. Distance / optimum: against the proven optimum of the same case "
        f"({len(optimum):,} cases), over the search's own successes; the proofs leave a gap of 0.001 in distance."
    )
    return Table("Recovery of known-feasible cases", columns, tuple(lines), note)
