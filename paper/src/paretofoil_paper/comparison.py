"""CF-ZOO against white-box C&W (paper, Table "Comparison of our perturbation method ..."), with more beside it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, rate_interval, summarise
from paretofoil.study.table import Table, paired_table
from paretofoil_paper.distances import Distances
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.paper_tables import COMPARISON, ENVIRONMENTS, PAPERS_NAMES, PaperRow, total_of
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, COMPARED, WHITE_AS_RUN, of_expected_returns
from paretofoil_paper.report import Picture, Report
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
"""Of the searches in the figure; the other forms of White-CW stand in the table alone."""
PAPERS_OWN = (AS_RUN, WHITE_AS_RUN, f"{WHITE_AS_RUN}-0")
"""The paper's two methods as its authors ran them, of the second both readings."""
CAPTION = "How often searches flip the action in the paper's box (two forms of White-CW are in the table alone)"


def comparison_rows(plan: Plan) -> list[Row]:
    """The paper's subset of cases, in its box, by every search of the comparison, on the agents that stand for its."""
    names = {load_agent(agent).name for agent in plan.as_run.values()}
    return [row for row in _all_rows(plan) if row.case.agent in names]


def _all_rows(plan: Plan) -> list[Row]:
    """Where chance plays a part both kinds of agents are asked: of realised returns, as theirs, and of expected."""
    return plan.rows("comparison", plan.budgets.comparison, COMPARED, agents=plan.both_kinds)


def reproduce_comparison(plan: Plan) -> Report:
    """The paper's subset of cases with its two methods, two better white-box ones, Boundary and Exact."""
    rows = comparison_rows(plan)
    report = Report("CF-ZOO against white-box Carlini-Wagner")
    table = _by_environment(plan)
    report.say(
        f"Cases, by the rule of the authors' code: at most {COMPARED.commands} commands of each front, evenly spread; "
        f"the first {COMPARED.steps} moments; the {COMPARED.foils} most probable foils of each decision. All searches "
        "have the box that the authors set for each environment, of which distances are shares, and agents of realised "
        "returns where chance plays a part, as theirs; beneath the table's sum stand agents of expected returns.",
        "The paper's figures stand beside the searches that have the settings of the authors' code: `cf-zoo:as-run` "
        "with B = 21,000, and `white-cw:as-run` with confidence 0.05, which is what their configuration says; "
        "`white-cw:as-run-0` has 0, which is what their data look like. `cf-zoo` is the method as the paper's text "
        "tells it, with 21,000 directions and 21,000 queries of ZOO; `white-cw` is the attack with ART's defaults and "
        "confidence kappa: a command on the edge of the box starts where its change of variables is flat. "
        "`white-cw-padded` removes that by widening the box; `projected-cw` projects instead of changing variables. "
        "`boundary` has 9,001 queries; `exact` proves what it says. The agents are not the paper's, and cases differ "
        "as fronts and episodes do.",
    )
    report.add(table, Picture.of(_figure(table), "comparison", CAPTION))
    report.add(recovery_table(rows)).say(_far_in_words(plan, rows))
    as_run = [row for row in rows if row.search in PAPERS_OWN]
    return report.add(paired_table(as_run, PAPERS_OWN[0]), paired_table(rows, "cf-zoo"))


def _far_in_words(plan: Plan, rows: list[Row]) -> str:
    """Where CF-ZOO's mean ratio to the optimum comes from."""
    told = []
    distances = {name: Distances.of(r for r in rows if plan.environment_of(r) == name) for name in plan.agents}
    for search in (AS_RUN, "cf-zoo"):
        ratios = {name: np.mean(mine.ratios(search) or [0.0]) for name, mine in distances.items()}
        far, *others = sorted(ratios, key=lambda name: -ratios[name])
        rest = f", elsewhere at most {ratios[others[0]]:.2f}" if others else ""
        told.append(f"for `{search}` {ratios[far]:.1f} in {ENVIRONMENTS[far]}{rest}")
    return (
        f"These means are not of all environments alike: {'; '.join(told)}. In a box that is far wider than what "
        "occurs, as Minecart's is in fuel, some optima are tiny shares of it."
    )


def _figure(table: Table) -> "Figure":
    """The table as a picture: what was measured as dots, what the paper reports as rings."""
    cells = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    series = []
    for label, colour in COLOURS.items():
        lines = [line for line in cells if line["search"] == label]
        if not lines:
            continue
        series.append(Series(label, colour, {line["environment"]: line["rate [95 % CI]"] for line in lines}))
        told = {
            line["environment"]: line["paper: rate [95 % CI]"] for line in lines if line["paper: cases"] is not None
        }
        series += [Series(f"{label}, the paper's", colour, told, hollow=True)] * bool(told)
    return figure_rates(list(dict.fromkeys(line["environment"] for line in cells)), series)


def _by_environment(plan: Plan) -> Table:
    """The agents that stand for the paper's, all of them, and beneath those of expected returns."""
    everything, rows = _all_rows(plan), comparison_rows(plan)
    named = {row.case.agent for row in rows}
    groups = [(ENVIRONMENTS[e], [r for r in rows if plan.environment_of(r) == e], e) for e in plan.agents]
    groups.append(("All", rows, "all"))
    for environment in plan.agents:
        mine = [r for r in everything if plan.environment_of(r) == environment and r.case.agent not in named]
        groups += [(of_expected_returns(environment), mine, "")] * bool(mine)
    lines = [_line(plan, label, *group) for group in groups for label in plan.budgets.comparison]
    columns = ("environment", "search", "cases", "found", "rate [95 % CI]", "cluster [95 % CI]", "distance")
    paper_columns = ("paper: cases", "paper: rate [95 % CI]", "paper: distance")
    note = (
        "Distances are means over each search's own successes, as in the paper: they cannot be compared across rates. "
        f"{INTERVALS}"
    )
    rules = tuple(range(len(plan.budgets.comparison), len(lines), len(plan.budgets.comparison)))
    return Table("Comparison with white-box C&W", columns + paper_columns, tuple(lines), note, rules=rules)


def _line(plan: Plan, label: str, group: str, rows: list[Row], name: str) -> tuple[Any, ...]:
    """One search on the rows of a group; the paper's beside it, where it has such a group and such a search."""
    taken = [row for row in rows if row.search == label]
    found, paper = summarise(taken), _paper(plan, name, label) if name else None
    rates = (found.success.cases, found.success.successes, found.success, rate_interval(taken))
    theirs = (paper.cases, Proportion(paper.found, paper.cases), paper.distance) if paper else (None,) * 3
    return (group, label, *rates, found.closest_distance if name != "all" else None, *theirs)


def _paper(plan: Plan, name: str, label: str) -> PaperRow | None:
    if label not in PAPERS_NAMES:
        return None
    names = plan.agents if name == "all" else [name]
    rows = [COMPARISON[environment, PAPERS_NAMES[label]] for environment in names]
    return total_of(rows) if name == "all" else rows[0]


def recovery_table(rows: list[Row]) -> Table:
    """On cases known to be feasible: how many each search found, and how far from the optimum."""
    distances, lines = Distances.of(rows), []
    for label in distances.found:
        asked = [row for row in rows if row.search == label and row.case in distances.feasible]
        success, ratios = summarise(asked).success, distances.ratios(label)
        spread = (float(np.mean(ratios)), float(np.median(ratios)), float(np.max(ratios))) if ratios else (None,) * 3
        lines.append((label, success.cases, success.successes, success, rate_interval(asked), *spread))
    columns = (
        *("search", "known feasible", "found", "recovered [95 % CI]", "cluster [95 % CI]", "distance / optimum"),
        *("median", "largest"),
    )
    note = (
        "Known feasible: found by any search. Distance / optimum: against the proven optimum of the same case "
        f"({len(distances.optimum):,} cases), over the search's own successes; the proofs leave a gap of 1 % of the "
        "distance, and of 0.001 at most."
    )
    return Table("Recovery of known-feasible cases", columns, tuple(lines), note)
