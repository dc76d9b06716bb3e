"""The page about searches: CF-ZOO, White-CW, Boundary and Exact on the same cases."""

from collections import Counter
from typing import Any

from paretofoil.core.answer import Status
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table, text
from paretofoil_paper.ablation import COMPARED_AT, ablation_tables
from paretofoil_paper.comparison import (
    PAPER_METHODS,
    RECOVERY_COLUMNS,
    comparison_figure,
    comparison_rows,
    comparison_table,
    recovery_table,
)
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, PAPER_PROTOCOL, WHITE_AS_RUN, WHITE_CONFIGURED
from paretofoil_paper.report import Picture, Report, cells_of, pick
from paretofoil_paper.runtime import alone_rows, runtime_tables, time_ratio
from paretofoil_paper.statistics import difference_interval, pair_rows, paired_table

CAPTION = "Solved cases by search and environment: ours filled, the paper's hollow"
WHERE = {AS_RUN: "CF-ZOO", WHITE_AS_RUN: "White-CW with confidence 0"}


def page(plan: Plan) -> Report:
    """Run the paper's comparison, the ablation and the timings."""
    rows, table = comparison_rows(plan), comparison_table(plan)
    recovery, alone = recovery_table(rows), alone_rows(plan)
    times = runtime_tables(plan, alone)
    ablation, curves = ablation_tables(plan)
    report = Report("CF-ZOO, White-CW, Boundary and Exact on the same questions")
    report.find(*_rates(table, rows), picture="comparison.png")
    report.find(*_costs(recovery))
    report.find(*_speed(times[0], alone))
    report.say(
        f"The cases are chosen as in the authors' code: at most {PAPER_COMPARISON.commands} commands of each front, "
        f"the first {PAPER_COMPARISON.steps} steps of each episode, and the {PAPER_COMPARISON.foils} most probable "
        f"foils of each step. {PAPER_PROTOCOL} CF-ZOO is as run by the authors (`{AS_RUN}`, B = 21,000). So is "
        "White-CW. Its confidence is the margin that the attack requires: 0, the value that the authors' published "
        "margins imply, or 0.05, the value in their configuration."
    )
    report.add(_by_environment(table), Picture.of(comparison_figure(table), "comparison", CAPTION))
    report.say("## Quality and cost", _reading())
    report.add(pick(recovery, RECOVERY_COLUMNS, note=recovery.note))
    compared = [row for row in rows if row.search in (*PAPER_METHODS, "boundary", "exact")]
    paired = paired_table(compared, AS_RUN)
    columns = (
        *("against", "cf-zoo:as-run alone", "other alone", "difference (points)", "cluster [95 % CI]"),
        "p (Holm)",
    )
    report.add(pick(paired, columns, title="CF-ZOO as run against each other search", note=_paired_note()))
    report.say("## Which parts of CF-ZOO matter", _describe_ablation(ablation[0], plan.budgets.ablation_cases))
    report.add(ablation[0], curves)
    report.say("## Time").add(times[0])
    report.appendix += [table, recovery, paired_table(rows, "cf-zoo"), *ablation[1:], *times[1:]]
    return report


def _by_environment(table: Table) -> Table:
    """Return one line for each environment: the feasible cases and the rate of each search."""
    lines: dict[str, dict[str, Any]] = {}
    for cells in cells_of(table):
        lines.setdefault(cells["environment"], {})[cells["search"]] = cells
    rows = []
    for name, by_search in lines.items():
        paper = [by_search[search]["paper: rate [95 % CI]"] for search in (AS_RUN, WHITE_AS_RUN)]
        if not any(paper):
            continue  # agents trained on expected returns are in the appendix
        rates = [by_search[search]["rate [95 % CI]"] for search in (AS_RUN, WHITE_AS_RUN, WHITE_CONFIGURED)]
        exact = by_search["exact"]["rate [95 % CI]"]
        rows.append((name, exact.cases, exact, rates[0], paper[0], rates[1], paper[1], _percent(rates[2])))
    columns = (
        *("environment", "cases", "Exact [95 % CI]", "CF-ZOO [95 % CI]", "paper: CF-ZOO [95 % CI]"),
        *("White-CW, confidence 0 [95 % CI]", "paper: White-CW [95 % CI]", "White-CW, 0.05"),
    )
    note = "Solved cases in %. Where Exact leaves no case undecided, its rate is the share of feasible cases."
    return Table("Solved cases by environment", columns, tuple(rows), note, rules=(len(rows) - 1,))


def _percent(rate: Proportion) -> float:
    return 100 * rate.rate


def _totals(table: Table) -> dict[str, dict[str, Any]]:
    return {cells["search"]: cells for cells in cells_of(table) if cells["environment"] == "All"}


def _rates(table: Table, rows: list[Row]) -> tuple[str, str]:
    totals = _totals(table)
    of_search = [[row for row in rows if row.search == search] for search in (AS_RUN, WHITE_AS_RUN, "exact")]
    interval = difference_interval(pair_rows(*of_search[:2]))
    statuses = Counter(row.status for row in of_search[2])
    infeasible, undecided = statuses[Status.PROVEN_INFEASIBLE], statuses[Status.NOT_FOUND]
    parts = []
    for search in (AS_RUN, WHITE_AS_RUN):
        ours, paper = totals[search]["rate [95 % CI]"], totals[search]["paper: rate [95 % CI]"]
        reported = f"; paper: {100 * paper.rate:.1f} %" if paper else ""
        parts.append(
            f"{WHERE[search]} solves {100 * ours.rate:.1f} % (cluster {totals[search]['cluster [95 % CI]']}{reported})"
        )
    cases = totals[AS_RUN]["rate [95 % CI]"].cases
    boundary, exact = (100 * totals[search]["rate [95 % CI]"].rate for search in ("boundary", "exact"))
    finding = (
        "CF-ZOO solves more cases than White-CW, as in the paper"
        if interval.low > 0
        else "CF-ZOO solves fewer cases than White-CW, unlike in the paper"
        if interval.high < 0
        else "It is open whether CF-ZOO solves more cases than White-CW, as in the paper"
    )
    return (
        f"**{finding}**: of {cases:,} cases, {parts[0]}, and {parts[1]}.",
        f"Boundary solves {boundary:.1f} % and Exact {exact:.1f} %. Exact proves that {infeasible:,} cases are "
        f"infeasible and leaves {undecided:,} undecided.",
    )


def _costs(recovery: Table) -> tuple[str, str]:
    by_search = {cells["search"]: cells for cells in cells_of(recovery)}
    zoo, boundary, exact = (by_search[search] for search in (AS_RUN, "boundary", "exact"))
    return (
        f"**The answers of CF-ZOO have a median of {text(zoo['distance / optimum: median'])} times the smallest "
        f"distance, after a median of {zoo['queries: median']:,.0f} queries**; those of Boundary have a median of "
        f"{text(boundary['distance / optimum: median'])} times, after {boundary['queries: median']:,.0f} queries.",
        f"One answer of CF-ZOO in ten has more than {text(zoo['90 %'])} times the smallest distance. Exact proves its "
        f"answers with medians of {exact['queries: median']:,.0f} queries and "
        f"{exact['bound evaluations: median'] or 0:,.0f} bounds of the network over a box of commands.",
    )


def _speed(times: Table, alone: list[Row]) -> tuple[str, str]:
    seconds = {cells["search"]: cells for cells in cells_of(times)}
    if AS_RUN not in seconds or WHITE_AS_RUN not in seconds:
        return "The times of CF-ZOO and White-CW were not measured.", ""
    zoo, white = seconds[AS_RUN], seconds[WHITE_AS_RUN]
    ratio, low, high = time_ratio(alone, AS_RUN, WHITE_AS_RUN)
    finding = "Unlike in the paper, CF-ZOO takes about as long as White-CW"
    if high < 1:
        finding = "Unlike in the paper, CF-ZOO is faster than White-CW"
    elif low > 1:
        finding = "As in the paper, CF-ZOO is slower than White-CW"
    reported = ""
    if zoo["paper: mean (s)"]:
        reported = f" (paper: means of {zoo['paper: mean (s)']} and {white['paper: mean (s)']} s)"
    return (
        f"**{finding}**: the median ratio of their times is {ratio:.2f} [{low:.2f},{high:.2f}].",
        f"The median time per case is {text(zoo['median (s)'])} s for CF-ZOO and {text(white['median (s)'])} s for "
        f"White-CW{reported}. Our CF-ZOO queries the policy in batches; the authors' code makes one query at a time.",
    )


def _reading() -> str:
    return (
        "The table also has variants of the two methods. `cf-zoo` follows the paper's text. `white-cw` has the "
        "defaults of the Adversarial Robustness Toolbox (ART), whose steps are small near the edge of the search "
        "region. Two variants avoid this: `white-cw-padded` widens the region, and `projected-cw`, our own attack, "
        "projects each step onto it. Ratios are medians. Their means would mislead where the search region is far "
        "wider than episodes need: in Minecart, fuel ranges over 200 in the region, and an episode needs less than 2."
    )


def _paired_note() -> str:
    return (
        "p is that of McNemar's exact test, with Holm's correction. The test assumes independent cases; the cluster "
        "interval does not. If the cluster interval contains 0, do not rely on a small p."
    )


def _describe_ablation(effects: Table, cases: int) -> str:
    lines = [cells for cells in cells_of(effects) if cells["only as-run"] or cells["only this variant"]]
    changes = [f"*{c['variant']}* loses {c['only as-run']} and gains {c['only this variant']} cases" for c in lines]
    compared = f"{', '.join(changes)}; all others solve the same cases" if changes else "all solve the same cases"
    return (
        f"Each variant lacks one component of CF-ZOO as run. Compared with CF-ZOO as run, {compared}. The sample has "
        f"{cases} cases of each environment in the reachable search region. Every search is limited to the same "
        f"number of queries, {COMPARED_AT:,} in the table. The *cone* is the part of the region that has the signs of "
        "a front point; without it, the whole region is searched. *Bisect last* queries the outer ends of rays "
        "first, and then bisects the closest rays whose end is valid. *Kappa 0* only requires that the foil has the "
        "largest probability. In the figure, `local-zoo` is ZOO without rays, and `nearest-front` only tries the "
        "points of the front."
    )
