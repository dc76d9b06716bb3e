"""What the paper claims in words, tested: sparse changes, the budget, gradients, the horizon, under-trained agents."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paretofoil.core.answer import Outcome
from paretofoil.core.search import Search
from paretofoil.reproduce.audit import proof_rows
from paretofoil.reproduce.early import early_in_words, early_table, question_both
from paretofoil.reproduce.gradient import gradient_in_words, gradient_table, slopes
from paretofoil.reproduce.horizon import horizon_in_words, horizon_table, pairs
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Report
from paretofoil.reproduce.sparsity import sparsity_in_words, sparsity_table
from paretofoil.reproduce.stress import stress_rows
from paretofoil.search import CFZoo
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Case, Row
from paretofoil.study.case import evenly
from paretofoil.study.statistics import pair_rows, paired_test, rate_interval, summarise
from paretofoil.study.table import Table

SPENT = (1_000, 3_001, 9_001, 21_000, 50_000, 100_000)
"""Directions and queries of CF-ZOO: those of the paper's studies, what the authors' stress test had, and less."""
RECOMMENDED = 50_000
"""The budget that the paper recommends."""
SAMPLE = 30
"""Cases of each environment that are asked at every budget."""
NEARLY = 1.01
"""An answer is as good as the optimum if it is at most so many times as far."""


def reproduce_claims(plan: Plan) -> Report:
    """Claim by claim: what the paper says, how it was tested, and what came out."""
    rows = stress_rows(plan) + proof_rows(plan)
    report = Report("What the paper claims in words, tested")
    report.say(
        "Each claim in bold is the paper's; behind it stands what the rows beside this page say. The agents are ours, "
        "not the paper's."
    )
    report.say("## How many entries change", sparsity_in_words(plan, rows))
    report.add(sparsity_table(plan, rows, ("cf-zoo", "exact")))
    spent = budget_rows(plan, rows)
    report.say("## The budget", _budget_in_words(spent)).add(_budget_table(spent, optima(rows)))
    found = {row.case for row in rows if row.search == "local-zoo" and row.found}
    measured = slopes(plan, rows)
    report.say("## Gradient and counterfactual", gradient_in_words(measured))
    report.add(gradient_table(plan, measured, found))
    timed, both = pairs(plan), question_both(plan)
    if timed:
        report.say("## Return and horizon", horizon_in_words(timed)).add(horizon_table(timed))
    if both:
        report.say("## Early and trained", early_in_words(both)).add(early_table(both))
    return report


def optima(rows: Sequence[Row]) -> dict[Case, float]:
    """The distance of every case whose optimum is proven."""
    exact = [row for row in rows if row.search == "exact" and row.outcome is Outcome.PROVEN_OPTIMAL]
    return {row.case: row.distance for row in exact if row.distance is not None}


def budget_rows(plan: Plan, rows: Sequence[Row]) -> dict[int, list[Row]]:
    """A sample of the cases that have a proven optimum, by CF-ZOO at each budget."""
    possible = sorted(optima(rows))
    mine = [[case for case in possible if plan.names[case.agent] == name] for name in plan.agents]
    sample = [cases[number] for cases in mine for number in evenly(len(cases), SAMPLE)]
    searches: dict[str, Search] = {f"cf-zoo {budget:,}": CFZoo(budget, budget) for budget in SPENT}
    asked = plan.rows("claims-budget", searches, EVERY_CASE, only=sample)
    return {budget: [row for row in asked if row.search == f"cf-zoo {budget:,}"] for budget in SPENT}


def _budget_table(spent: Mapping[int, list[Row]], optimum: Mapping[Case, float]) -> Table:
    lines: list[tuple[Any, ...]] = []
    for budget, rows in spent.items():
        summary = summarise(rows)
        ratios = np.array([row.distance / optimum[row.case] for row in rows if row.distance and optimum[row.case]])
        spread = (float(np.median(ratios)), float(np.mean(ratios)), 100 * float((ratios <= NEARLY).mean()))
        alone = _against(spent, budget)
        told = (summary.success.cases, summary.success.successes, summary.success, rate_interval(rows))
        lines.append((budget, summary.queries, *told, *(spread if len(ratios) else (None,) * 3), *alone))
    columns = (
        *("budget", "mean queries", "cases", "found", "recovered [95 % CI]", "cluster [95 % CI]"),
        *("distance / optimum: median", "mean", f"within {NEARLY - 1:.0%} of it (%)"),
        *(f"found here alone, not at {RECOMMENDED:,}", f"found at {RECOMMENDED:,} alone", "McNemar p"),
    )
    note = (
        f"At most {SAMPLE} cases of each environment, evenly spread over those of the stress test whose optimum the "
        "exact search has proven. Budget: random directions, and queries of the ZOO phase; queries are those of both "
        "phases, bisections included."
    )
    return Table("CF-ZOO by budget", columns, tuple(lines), note)


def _against(spent: Mapping[int, list[Row]], budget: int) -> tuple[Any, ...]:
    """Found at this budget alone, at the recommended one alone, and how likely that would be by chance."""
    if budget == RECOMMENDED or not spent[budget]:
        return None, None, None
    test = paired_test(pair_rows(spent[budget], spent[RECOMMENDED]))
    return test.first, test.second, test.p_value


def _budget_in_words(spent: Mapping[int, list[Row]]) -> str:
    told = []
    for budget, rows in spent.items():
        found = summarise(rows).success
        told.append(f"{budget:,}: {100 * found.rate:.1f} %")
    return (
        "**We recommend 50k for the best compromise between results and time**, says the paper, which gives the time. "
        f"The results, as the share of possible cases that are found at each budget: {', '.join(told)}."
    )
