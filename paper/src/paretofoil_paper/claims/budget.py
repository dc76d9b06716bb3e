"""What CF-ZOO finds for more budget, and how much closer it ends (paper, "We recommend using 50k")."""

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
"""Budgets of CF-ZOO: those of the paper's studies, what the authors' stress test had, and less."""
RECOMMENDED = 50_000
"""The budget that the paper recommends."""
SAMPLE = 30
"""Cases of each environment that are asked at every budget."""
NEARLY = 1.01
"""An answer is as good as another if it is at most so many times as far."""
NEAR = f"{100 * (NEARLY - 1):.0f} %"


def budget_rows(plan: Plan, rows: Sequence[Row]) -> list["Spent"]:
    """A sample of the cases that have a proven optimum, by CF-ZOO at each budget, as the text tells it."""
    searches = {budget: CFZoo(budget, budget) for budget in BUDGETS}
    return _spending(plan, "claims-budget", rows, searches, EVERY_CASE, list(plan.agents.values()))


def as_run_budget_rows(plan: Plan) -> list["Spent"]:
    """The same as the authors ran it, in their box, on the agents that stand for theirs: what the paper speaks of."""
    searches = {budget: CFZooAsRun(budget, budget) for budget in BUDGETS}
    asked = (paper_rows(plan), searches, PAPER_STRESS, list(plan.as_run.values()))
    return _spending(plan, "claims-budget-as-run", *asked)


def _spending(
    plan: Plan, name: str, rows: Sequence[Row], searches: Mapping[int, Search], rule: CaseRule, agents: list[str]
) -> list["Spent"]:
    """Budget by budget, in rising order, on cases that the exact search has settled."""
    optimum = Distances.of(row for row in rows if row.search == "exact").optimum
    mine = [[case for case in sorted(optimum) if case.agent == load_agent(agent).name] for agent in agents]
    sample = [cases[number] for cases in mine for number in evenly(len(cases), SAMPLE)]
    labels = {f"cf-zoo {budget:,}": search for budget, search in searches.items()}
    asked = plan.rows(name, labels, rule, only=sample, agents=agents)
    taken = {budget: [row for row in asked if row.search == f"cf-zoo {budget:,}"] for budget in searches}
    return [
        Spent(
            budget,
            of,
            np.array([r.closest_distance / optimum[r.case] for r in of if r.closest_distance and optimum[r.case]]),
        )
        for budget, of in taken.items()
    ]


@dataclass(frozen=True, eq=False)
class Spent:
    """What CF-ZOO gives for one budget."""

    budget: int
    rows: Sequence[Row]
    ratios: np.ndarray
    """Distance / proven optimum, of what it found."""

    @property
    def found(self) -> Proportion:
        return summarise(self.rows).success

    @property
    def queries(self) -> float:
        """Those that it really asks about a question, on average."""
        return summarise(self.rows).queries or 0.0

    @property
    def ratio(self) -> float:
        return float(np.mean(self.ratios)) if len(self.ratios) else float("nan")


def budget_table(spent: Sequence[Spent], how: str) -> Table:
    [recommended] = [one for one in spent if one.budget == RECOMMENDED]
    lines: list[tuple[Any, ...]] = []
    for one in spent:
        found = (one.found.cases, one.found.successes, one.found, rate_interval(one.rows))
        spread = (float(np.median(one.ratios)), one.ratio, 100 * float((one.ratios <= NEARLY).mean()))
        told = spread if len(one.ratios) else (None,) * 3
        lines.append((one.budget, one.queries, *found, *told, *_against(one, recommended)))
    columns = (
        *("budget", "mean queries", "cases", "found", "recovered [95 % CI]", "cluster [95 % CI]"),
        *("distance / optimum: median", "mean", f"within {NEAR} of it (%)"),
        *(f"found here alone, not at {RECOMMENDED:,}", f"found at {RECOMMENDED:,} alone", "McNemar p"),
    )
    note = (
        f"At most {SAMPLE} cases of each environment, evenly spread over those of the stress test whose optimum the "
        "exact search has proven. Budget: random directions, and queries of the ZOO phase (as run of the rays, too); "
        "queries are those of all phases, bisections included."
    )
    return Table(f"CF-ZOO by budget, {how}", columns, tuple(lines), note)


def _against(one: Spent, recommended: Spent) -> tuple[Any, ...]:
    """Found at this budget alone, at the recommended one alone, and how likely that would be by chance."""
    if one is recommended or not one.rows:
        return None, None, None
    test = paired_test(pair_rows(one.rows, recommended.rows))
    return test.first, test.second, test.p_value


def budget_in_words(as_run: Sequence[Spent], as_told: Sequence[Spent]) -> str:
    """What more budget finds, how much closer it ends, and whether the recommended one is needed for it."""
    return (
        "**We recommend using 50k for the best compromise between results and time**, says the paper, which gives the "
        "time. The results, for CF-ZOO as the authors ran it, in the paper's box, on agents of realised returns where "
        f"chance plays: {_results(as_run)} For CF-ZOO as the text tells it, in the box of what is reachable: "
        f"{_results(as_told)}"
    )


def _results(spent: Sequence[Spent]) -> str:
    least, most = spent[0], spent[-1]
    [recommended] = [one for one in spent if one.budget == RECOMMENDED]
    return (
        f"from a budget of {least.budget:,} to one of {most.budget:,} it goes from {_found(least)} to {_found(most)} "
        f"of the possible cases, and its mean distance from {least.ratio:.3f} to {most.ratio:.3f} times the optimum. "
        f"At {RECOMMENDED:,} it really spends {recommended.queries:,.0f} queries on a question, and has "
        f"{_found(recommended)} and {recommended.ratio:.3f}. {_borne_out(spent, recommended)}"
    )


def _found(one: Spent) -> str:
    return f"{one.found.successes:,} ({100 * one.found.rate:.1f} %)"


def _borne_out(spent: Sequence[Spent], recommended: Spent) -> str:
    """By the smallest budget that finds as many cases and ends nearly as close."""
    enough = next(
        one
        for one in spent
        if one.found.successes >= recommended.found.successes and not one.ratio > NEARLY * recommended.ratio
    )
    if enough.budget >= RECOMMENDED:
        return f"The recommendation is borne out: no smaller budget that was tried does as well (to {NEAR})."
    return (
        f"The recommendation is not borne out on these cases: {enough.budget:,}, for {enough.queries:,.0f} queries, "
        f"finds as many and ends within {NEAR} as close."
    )
