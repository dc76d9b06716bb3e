"""What CF-ZOO finds for more budget, and how much closer it ends (paper, "We recommend using 50k")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.answer import Outcome
from paretofoil.core.search import Search
from paretofoil.reproduce.plan import Plan
from paretofoil.search import CFZoo
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Case, Row
from paretofoil.study.case import evenly
from paretofoil.study.statistics import Proportion, pair_rows, paired_test, rate_interval, summarise
from paretofoil.study.table import Table

SPENT = (1_000, 3_001, 9_001, 21_000, 50_000, 100_000)
"""Directions and queries of CF-ZOO: those of the paper's studies, what the authors' stress test had, and less."""
RECOMMENDED = 50_000
"""The budget that the paper recommends."""
SAMPLE = 30
"""Cases of each environment that are asked at every budget."""
NEARLY = 1.01
"""An answer is as good as another if it is at most so many times as far."""
NEAR = f"{100 * (NEARLY - 1):.0f} %"


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


def spending(asked: Mapping[int, list[Row]], optimum: Mapping[Case, float]) -> list[Spent]:
    """Budget by budget, in rising order."""
    return [
        Spent(budget, rows, np.array([r.distance / optimum[r.case] for r in rows if r.distance and optimum[r.case]]))
        for budget, rows in asked.items()
    ]


def budget_table(spent: Sequence[Spent]) -> Table:
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
        "exact search has proven. Budget: random directions, and queries of the ZOO phase; queries are those of both "
        "phases, bisections included."
    )
    return Table("CF-ZOO by budget", columns, tuple(lines), note)


def _against(one: Spent, recommended: Spent) -> tuple[Any, ...]:
    """Found at this budget alone, at the recommended one alone, and how likely that would be by chance."""
    if one is recommended or not one.rows:
        return None, None, None
    test = paired_test(pair_rows(one.rows, recommended.rows))
    return test.first, test.second, test.p_value


def budget_in_words(spent: Sequence[Spent]) -> str:
    """What more budget finds, how much closer it ends, and whether the recommended one is needed for it."""
    least, most = spent[0], spent[-1]
    [recommended] = [one for one in spent if one.budget == RECOMMENDED]
    return (
        "**We recommend using 50k for the best compromise between results and time**, says the paper, which gives the "
        "time. The results, for CF-ZOO as the text tells it, in the box of what is reachable: from a budget of "
        f"{least.budget:,} to one of {most.budget:,} it goes from {_found(least)} to {_found(most)} of the possible "
        f"cases, and its mean distance from {least.ratio:.3f} to {most.ratio:.3f} times the optimum. At "
        f"{RECOMMENDED:,} it really spends {recommended.queries:,.0f} queries on a question (directions and their "
        f"bisections beside ZOO's), and has {_found(recommended)} and {recommended.ratio:.3f}. "
        f"{_borne_out(spent, recommended)}"
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
        return f"The recommendation is borne out: no smaller budget finds as many and ends within {NEAR} as close."
    return (
        f"The recommendation is not borne out here: {enough.budget:,}, for {enough.queries:,.0f} queries, finds as "
        f"many and ends within {NEAR} as close."
    )
