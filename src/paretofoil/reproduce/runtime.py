"""Time per question (paper, appendix "Runtime Details"): by method and environment, and by budget."""

from collections import Counter
from typing import Any

import numpy as np

from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.reproduce.comparison import comparison_rows
from paretofoil.reproduce.paper import BUDGET_RUNTIME, COMPARISON, ENVIRONMENTS, RUNTIME
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Report
from paretofoil.search import CFZoo
from paretofoil.study import COMPARISON as SUBSET
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, evenly, pose_case
from paretofoil.study.statistics import summarise
from paretofoil.study.table import Table

FEW = 2
"""Cases of each environment that are timed at every budget."""


def reproduce_runtime(plan: Plan) -> Report:
    """One question at a time, as the paper measured, and many together, as a study asks them."""
    together = comparison_rows(plan)
    sample = _sample(plan, plan.budgets.alone)
    if not plan.recorded:
        _warm_up(plan)
    alone = plan.rows("runtime", plan.budgets.comparison, SUBSET, only=sample, alone=True)
    few = _sample(plan, FEW)
    searches: dict[str, Search] = {f"cf-zoo {b:,}": CFZoo(b, b) for b in plan.budgets.runtime}
    budgets = plan.rows("runtime-budget", searches, SUBSET, only=few, alone=True)
    report = Report("Time per question")
    report.say(
        f"Alone: {len(sample)} cases, {plan.budgets.alone} of each environment evenly spread over the comparison's, "
        "asked one at a time in one process with one thread. Together: the comparison itself, where a process "
        "searches up to 64 questions at once; a question's time is its share, and the first ones of a process pay for "
        "its imports. The paper's hardware is another, so that only orders of magnitude can be compared."
    )
    return report.add(_by_method(plan, alone, together), _by_budget(plan, budgets, len(few)))


def _warm_up(plan: Plan) -> None:
    """Ask once with every search, untimed, so that nobody's first question pays for imports."""
    agent = plan.load(next(iter(plan.agents)))
    for case, decision in enumerate_cases(agent, SUBSET, plan.seed):
        question = pose_case(agent, case, decision)
        for search in plan.budgets.comparison.values():
            ask([question], plan.seeded(search))
        return


def _sample(plan: Plan, count: int) -> list[Case]:
    """So many cases of each agent, evenly spread over the comparison's."""
    picked = []
    for environment in plan.agents:
        cases = [case for case, _ in enumerate_cases(plan.load(environment), SUBSET, plan.seed)]
        picked += [cases[number] for number in evenly(len(cases), count)]
    return picked


def _by_method(plan: Plan, alone: list[Row], together: list[Row]) -> Table:
    lines: list[tuple[Any, ...]] = []
    rules: list[int] = []
    for name in [*plan.agents, "all"]:
        rules.append(len(lines))
        for label in plan.budgets.comparison:
            means = [_mean_seconds(plan, rows, label, name, together) for rows in (alone, together)]
            paper = paper_seconds(plan, name, label)
            lines.append(
                (ENVIRONMENTS.get(name, "All"), label, *means, paper, paper / means[0] if paper and means[0] else None)
            )
    columns = ("environment", "search", "alone (s)", "together (s)", "paper (s)", "paper / ours alone")
    note = "All: weighted by the comparison's numbers of cases, as in the paper."
    return Table("Mean seconds per question", columns, tuple(lines), note, rules=tuple(rules[1:]))


def paper_seconds(plan: Plan, name: str, label: str) -> float | None:
    """The paper's mean; for "all" over the environments that are asked, weighted by its cases, as it weighs them."""
    if ("all", label) not in RUNTIME:
        return None
    names = list(plan.agents) if name == "all" else [name]
    return float(np.average([RUNTIME[e, label] for e in names], weights=[COMPARISON[e, label].cases for e in names]))


def _mean_seconds(plan: Plan, rows: list[Row], label: str, name: str, weighing: list[Row]) -> float | None:
    """The mean of a search in an environment; for "all" the mean over environments, weighted by their cases."""
    if name != "all":
        return summarise(r for r in rows if r.search == label and plan.environment_of(r) == name).seconds
    cases = Counter(plan.environment_of(row) for row in weighing if row.search == label)
    means = {environment: _mean_seconds(plan, rows, label, environment, weighing) for environment in cases}
    known = {environment: mean for environment, mean in means.items() if mean is not None}
    return float(np.average([*known.values()], weights=[cases[e] for e in known])) if known else None


def _by_budget(plan: Plan, rows: list[Row], cases: int) -> Table:
    lines = []
    for budget in plan.budgets.runtime:
        found = summarise(row for row in rows if row.search == f"cf-zoo {budget:,}")
        mean, std, median = BUDGET_RUNTIME[budget]
        ours = (f"{found.seconds:.2f} ± {found.std_seconds:.2f}", found.median_seconds, round(found.queries or 0))
        lines.append((budget, *ours, f"{mean} ± {std}", median))
    columns = ("budget", "mean ± std (s)", "median (s)", "queries spent", "paper: mean ± std (s)", "paper: median (s)")
    note = f"CF-ZOO, one question at a time, {cases} cases; queries are those of both phases, bisections included."
    return Table("Seconds per question and budget", columns, tuple(lines), note)
