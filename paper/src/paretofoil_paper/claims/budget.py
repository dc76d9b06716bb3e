"""What CF-ZOO finds with a larger budget, and how much closer it ends (paper, "We recommend using 50k")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.search import Search
from paretofoil.search import CFZoo
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import CaseRule, Row
from paretofoil.study.case import evenly
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table
from paretofoil_paper.distances import Distances
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import PAPER_STRESS
from paretofoil_paper.searches import CFZooAsRun
from paretofoil_paper.statistics import pair_rows, paired_test, rate_interval
from paretofoil_paper.stress import paper_rows

BUDGETS = (1_000, 3_001, 9_001, 21_000, 50_000, 100_000)
"""Budgets of CF-ZOO: those of the paper's studies, that of the authors' stress test, and a smaller one."""
RECOMMENDED = 50_000
"""The budget that the paper recommends."""
SAMPLE = 30
"""Number of cases per environment that are answered at every budget."""
NEARLY = 1.01
"""An answer is as good as another if it is at most this many times as far."""
NEAR = f"{100 * (NEARLY - 1):.0f} %"


def described_results(plan: Plan, rows: Sequence[Row]) -> list["BudgetResult"]:
    """Run CF-ZOO as the paper describes it at each budget, on a sample of the cases with a proven optimum."""
    searches = {budget: CFZoo(budget, budget) for budget in BUDGETS}
    return _results(plan, "claims-budget", rows, searches, EVERY_CASE, list(plan.agents.values()))


def as_run_results(plan: Plan) -> list["BudgetResult"]:
    """Run CF-ZOO as the authors ran it, in the paper's search region: the setting of the recommendation."""
    searches = {budget: CFZooAsRun(budget, budget) for budget in BUDGETS}
    agents = list(plan.as_run.values())
    return _results(plan, "claims-budget-as-run", paper_rows(plan), searches, PAPER_STRESS, agents)


def _results(
    plan: Plan, name: str, rows: Sequence[Row], searches: Mapping[int, Search], rule: CaseRule, agents: list[str]
) -> list["BudgetResult"]:
    """Return the result of each budget, in rising order, on cases with a proven optimum."""
    optimum = Distances.of(row for row in rows if row.search == "exact").optimum
    by_agent = [[case for case in sorted(optimum) if case.agent == load_agent(agent).name] for agent in agents]
    sample = [cases[number] for cases in by_agent for number in evenly(len(cases), SAMPLE)]
    labels = {f"cf-zoo {budget:,}": search for budget, search in searches.items()}
    answered = plan.rows(name, labels, rule, only=sample, agents=agents)
    results = []
    for budget in searches:
        group = [row for row in answered if row.search == f"cf-zoo {budget:,}"]
        ratios = [r.closest_distance / optimum[r.case] for r in group if r.closest_distance and optimum[r.case]]
        results.append(BudgetResult(budget, group, np.array(ratios)))
    return results


@dataclass(frozen=True, eq=False)
class BudgetResult:
    """The answers of CF-ZOO at one budget."""

    budget: int
    rows: Sequence[Row]
    ratios: np.ndarray
    """Distance / proven optimum of the solved cases."""

    @property
    def solved(self) -> Proportion:
        return summarise(self.rows).success

    @property
    def queries(self) -> float:
        """Mean number of queries per question, over all phases."""
        return summarise(self.rows).queries or 0.0

    @property
    def ratio(self) -> float:
        return float(np.mean(self.ratios)) if len(self.ratios) else float("nan")


def budget_table(results: Sequence[BudgetResult], how: str) -> Table:
    """Return rates, distances and a paired test against the recommended budget."""
    [recommended] = [one for one in results if one.budget == RECOMMENDED]
    lines: list[tuple[Any, ...]] = []
    for one in results:
        rates = (one.solved.cases, one.solved.successes, one.solved, rate_interval(one.rows))
        spread = (float(np.median(one.ratios)), one.ratio, 100 * float((one.ratios <= NEARLY).mean()))
        distances = spread if len(one.ratios) else (None,) * 3
        lines.append((one.budget, one.queries, *rates, *distances, *_paired(one, recommended)))
    columns = (
        *("budget", "mean queries", "cases", "found", "recovered [95 % CI]", "cluster [95 % CI]"),
        *("distance / optimum: median", "mean", f"within {NEAR} of it (%)"),
        *(f"found here, not at {RECOMMENDED:,}", f"found at {RECOMMENDED:,}, not here", "McNemar p"),
    )
    note = (
        f"At most {SAMPLE} cases of each environment, evenly spread over those of the stress test whose optimum is "
        "proven. Budget: number of random directions and of queries of the ZOO phase (as run, also the number of "
        "queries for the rays). Mean queries: over all phases, including bisections."
    )
    return Table(f"CF-ZOO by budget, {how}", columns, tuple(lines), note)


def _paired(one: BudgetResult, recommended: BudgetResult) -> tuple[Any, ...]:
    """Return the cases that only this budget and only the recommended one solve, and the p-value."""
    if one is recommended or not one.rows:
        return None, None, None
    test = paired_test(pair_rows(one.rows, recommended.rows))
    return test.first, test.second, test.p_value


def describe_budgets(as_run: Sequence[BudgetResult], described: Sequence[BudgetResult]) -> str:
    """Say what a larger budget finds, how much closer it ends, and whether the recommended one is needed."""
    return (
        "**We recommend using 50k for the best compromise between results and time**, says the paper. It reports "
        "the times; the following results are ours. CF-ZOO as the authors ran it, in the paper's search region, with "
        f"agents trained on realised returns: {_describe(as_run)} CF-ZOO as the paper describes it, in the reachable "
        f"search region: {_describe(described)}"
    )


def _describe(results: Sequence[BudgetResult]) -> str:
    smallest, largest = results[0], results[-1]
    [recommended] = [one for one in results if one.budget == RECOMMENDED]
    return (
        f"a budget of {smallest.budget:,} solves {_solved(smallest)} of the feasible cases, and a budget of "
        f"{largest.budget:,} solves {_solved(largest)}. The mean distance falls from {smallest.ratio:.3f} to "
        f"{largest.ratio:.3f} times the optimum. The budget of {RECOMMENDED:,} makes {recommended.queries:,.0f} "
        f"queries per question and solves {_solved(recommended)}, at {recommended.ratio:.3f} times the optimum. "
        f"{_verdict(results, recommended)}"
    )


def _solved(one: BudgetResult) -> str:
    return f"{one.solved.successes:,} ({100 * one.solved.rate:.1f} %)"


def _verdict(results: Sequence[BudgetResult], recommended: BudgetResult) -> str:
    """Name the smallest budget that solves as many cases and ends nearly as close."""
    enough = next(
        one
        for one in results
        if one.solved.successes >= recommended.solved.successes and not one.ratio > NEARLY * recommended.ratio
    )
    if enough.budget >= RECOMMENDED:
        return (
            "This supports the recommendation: no smaller budget solves as many cases with a mean distance at most "
            f"{NEAR} larger."
        )
    return (
        f"This does not support the recommendation: a budget of {enough.budget:,} ({enough.queries:,.0f} queries) "
        f"solves as many cases, and its mean distance is at most {NEAR} larger."
    )
