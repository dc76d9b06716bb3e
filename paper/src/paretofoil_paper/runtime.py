"""Time per question (paper, appendix "Runtime Details"): by search and environment, and by budget."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import stats

from paretofoil.agents import load_agent
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.search import CFZoo
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil.study.statistics import summarise
from paretofoil.study.table import Table
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.paper_tables import BUDGET_RUNTIME, COMPARISON, ENVIRONMENTS, PAPER_NAMES, RUNTIME
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, WHITE_AS_RUN, WHITE_CONFIGURED
from paretofoil_paper.searches import CFZooAsRun

AS_DESCRIBED = "cf-zoo"
BUDGET_CASES = 2
"""Number of cases per environment that are timed at every budget."""


def runtime_tables(plan: Plan, alone: list[Row]) -> list[Table]:
    """Return the times of questions that were asked alone, as in the paper, and in batches, as in a study."""
    together = comparison_rows(plan)
    budget_cases = _sample(plan, BUDGET_CASES)
    budgets = _timed_rows(plan, "runtime-budget", _at_budgets(plan), budget_cases)
    tables = [_times(plan, alone), _by_search(plan, alone, together)]
    return [*tables, _by_budget(plan, budgets, len(budget_cases))]


def _times(plan: Plan, alone: list[Row]) -> Table:
    """Return the seconds of the paper's two methods and of ours, one question at a time."""
    lines = []
    for label in (AS_RUN, WHITE_AS_RUN, WHITE_CONFIGURED, "boundary", "exact"):
        seconds = [row.seconds for row in alone if row.search == label]
        if seconds:
            lines.append((label, *map(float, np.quantile(seconds, (0.5, 0.1, 0.9))), paper_seconds(plan, "all", label)))
    columns = ("search", "median (s)", "10 %", "90 %", "paper: mean (s)")
    note = (
        f"Times of {len({row.case for row in alone})} cases of the comparison, asked one at a time in one process with "
        "one thread. The interval of the median ratio is from order statistics. The paper's times are means on a GPU, "
        "with one query at a time."
    )
    return Table("Seconds per question", columns, tuple(lines), note)


def time_ratio(alone: list[Row], search: str, other: str) -> tuple[float, float, float]:
    """Return how many times as long a search takes as another one: the median over the cases, and its interval.

    The interval is that of a median for any distribution, from order statistics.
    """
    seconds = {(row.search, row.case): row.seconds for row in alone}
    ratios = [spent / seconds[other, case] for (name, case), spent in seconds.items() if name == search]
    interval = stats.quantile_test(ratios, q=1.0, p=0.5).confidence_interval(0.95)
    return float(np.median(ratios)), float(interval.low), float(interval.high)


def _timed_rows(plan: Plan, name: str, searches: Mapping[str, Search], cases: list[Case]) -> list[Row]:
    """Return rows of cases of the comparison, asked one at a time."""
    return plan.rows(name, searches, PAPER_COMPARISON, only=cases, alone=True, agents=list(plan.as_run.values()))


def _label(name: str, budget: int) -> str:
    return f"{name} {budget:,}"


def _at_budgets(plan: Plan) -> dict[str, Search]:
    """Return CF-ZOO at every budget, as run by the authors (which the paper timed) and as described in the paper."""
    forms: dict[str, Callable[[int], Search]] = {
        AS_RUN: lambda budget: CFZooAsRun(budget, budget),
        AS_DESCRIBED: lambda budget: CFZoo(budget, budget),
    }
    return {_label(name, budget): make(budget) for budget in plan.budgets.runtime for name, make in forms.items()}


def alone_rows(plan: Plan) -> list[Row]:
    """Return a sample of the comparison, asked one question at a time."""
    if not plan.recorded:
        _warm_up(plan)
    sample = _sample(plan, plan.budgets.timed)
    return _timed_rows(plan, "runtime", plan.budgets.comparison, sample)


def _warm_up(plan: Plan) -> None:
    """Run every search once without timing it, so that imports are not timed."""
    agent = load_agent(next(iter(plan.as_run.values())))
    for case, decision in enumerate_cases(agent, PAPER_COMPARISON, plan.seed):
        question = make_case_question(agent, case, decision, box=PAPER_COMPARISON.box)
        for search in plan.budgets.comparison.values():
            ask([question], plan.seeded(search))
        return


def _sample(plan: Plan, count: int) -> list[Case]:
    """Return `count` cases of each agent, evenly spread over those of the comparison."""
    sample = []
    for agent in map(load_agent, plan.as_run.values()):
        cases = [case for case, _ in enumerate_cases(agent, PAPER_COMPARISON, plan.seed)]
        sample += [cases[number] for number in evenly(len(cases), count)]
    return sample


def _by_search(plan: Plan, alone: list[Row], together: list[Row]) -> Table:
    lines: list[tuple[Any, ...]] = []
    rules: list[int] = []
    for name in [*plan.agents, "all"]:
        rules.append(len(lines))
        for label in plan.budgets.comparison:
            means = [mean_seconds(plan, rows, label, name, together) for rows in (alone, together)]
            paper = paper_seconds(plan, name, label)
            lines.append(
                (ENVIRONMENTS.get(name, "All"), label, *means, paper, paper / means[0] if paper and means[0] else None)
            )
    columns = ("environment", "search", "alone (s)", "together (s)", "paper (s)", "paper / ours alone")
    note = "All: mean weighted by the number of cases of the comparison, as in the paper."
    return Table("Mean seconds per question", columns, tuple(lines), note, rules=tuple(rules[1:]))


def paper_seconds(plan: Plan, name: str, label: str) -> float | None:
    """Return the paper's mean; over some of the environments, weighted by their cases as in the paper."""
    if label not in PAPER_NAMES:
        return None
    label = PAPER_NAMES[label]
    if name == "all" and set(plan.agents) == set(ENVIRONMENTS):
        return RUNTIME["all", label]
    names = list(plan.agents) if name == "all" else [name]
    return float(np.average([RUNTIME[e, label] for e in names], weights=[COMPARISON[e, label].cases for e in names]))


def mean_seconds(plan: Plan, rows: list[Row], label: str, name: str, weights: list[Row]) -> float | None:
    """Return the mean of a search in an environment; for "all", weighted by the number of cases in `weights`."""
    if name != "all":
        return summarise(r for r in rows if r.search == label and plan.environment_of(r) == name).seconds
    cases = Counter(plan.environment_of(row) for row in weights if row.search == label)
    means = {environment: mean_seconds(plan, rows, label, environment, weights) for environment in cases}
    known = {environment: mean for environment, mean in means.items() if mean is not None}
    return float(np.average([*known.values()], weights=[cases[e] for e in known])) if known else None


def _by_budget(plan: Plan, rows: list[Row], cases: int) -> Table:
    lines: list[tuple[Any, ...]] = []
    for budget in plan.budgets.runtime:
        mean, std, median = BUDGET_RUNTIME[budget]
        for name in (AS_RUN, AS_DESCRIBED):
            summary = summarise(row for row in rows if row.search == _label(name, budget))
            seconds = f"{summary.seconds:.2f} ± {summary.std_seconds:.2f}"
            ours = (seconds, summary.median_seconds, round(summary.queries or 0))
            paper = (f"{mean} ± {std}", median) if name == AS_RUN else (None, None)
            lines.append((budget, name, *ours, *paper))
    columns = (
        *("budget", "search", "mean ± std (s)", "median (s)", "queries spent"),
        *("paper: mean ± std (s)", "paper: median (s)"),
    )
    note = f"CF-ZOO, one question at a time, {cases} cases. Queries: mean over all phases, including bisections."
    return Table("Seconds per question and budget", columns, tuple(lines), note, rules=tuple(range(2, len(lines), 2)))
