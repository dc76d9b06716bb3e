"""Time per question (paper, appendix "Runtime Details"): by method and environment, and by budget."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.search import CFZoo
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil.study.statistics import summarise
from paretofoil.study.table import Table
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.paper_tables import BUDGET_RUNTIME, COMPARISON, ENVIRONMENTS, PAPERS_NAMES, RUNTIME
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, COMPARED, PAPERS_SETTING
from paretofoil_paper.report import Report
from paretofoil_paper.searches import CFZooAsRun

AS_TOLD = "cf-zoo"
FEW = 2
"""Cases of each environment that are timed at every budget."""


def reproduce_runtime(plan: Plan) -> Report:
    """One question at a time, as the paper measured, and many together, as a study asks them."""
    together, alone = comparison_rows(plan), alone_rows(plan)
    asked = len({row.case for row in alone})
    few = _sample(plan, FEW)
    budgets = _asked(plan, "runtime-budget", _at_budgets(plan), few)
    report = Report("Time per question")
    report.say(
        PAPERS_SETTING,
        f"Alone: {asked} cases, {plan.budgets.alone} of each environment evenly spread over the comparison's, asked "
        "one at a time in one process with one thread. Together: the comparison itself, where a process searches up to "
        "64 questions at once; a question's time is its share, and the first ones of a process pay for its imports. "
        "Hardware (theirs a GPU), networks (theirs 256 to 1,024 wide, ours 64 to 128) and the way of asking (theirs "
        "one query at a time, ours in batches) differ, so that only orders of magnitude can be compared.",
        budget_in_words(plan, budgets),
    )
    return report.add(_by_method(plan, alone, together), _by_budget(plan, budgets, len(few)))


def _asked(plan: Plan, name: str, searches: Mapping[str, Search], cases: list[Case]) -> list[Row]:
    """Cases of the comparison, of its agents and in its box, one question at a time."""
    return plan.rows(name, searches, COMPARED, only=cases, alone=True, agents=list(plan.as_run.values()))


def _label(name: str, budget: int) -> str:
    return f"{name} {budget:,}"


def _at_budgets(plan: Plan) -> dict[str, Search]:
    """CF-ZOO as the authors ran it, which the paper timed, and as the text tells it."""
    forms: dict[str, Callable[[int], Search]] = {
        AS_RUN: lambda budget: CFZooAsRun(budget, budget),
        AS_TOLD: lambda budget: CFZoo(budget, budget),
    }
    return {_label(name, budget): make(budget) for budget in plan.budgets.runtime for name, make in forms.items()}


def alone_rows(plan: Plan) -> list[Row]:
    """A sample of the comparison, asked one question at a time."""
    if not plan.recorded:
        _warm_up(plan)
    sample = _sample(plan, plan.budgets.alone)
    return _asked(plan, "runtime", plan.budgets.comparison, sample)


def _warm_up(plan: Plan) -> None:
    """Ask once with every search, untimed, so that nobody's first question pays for imports."""
    agent = load_agent(next(iter(plan.as_run.values())))
    for case, decision in enumerate_cases(agent, COMPARED, plan.seed):
        question = make_case_question(agent, case, decision, box=COMPARED.box)
        for search in plan.budgets.comparison.values():
            ask([question], plan.seeded(search))
        return


def _sample(plan: Plan, count: int) -> list[Case]:
    """So many cases of each agent, evenly spread over the comparison's."""
    picked = []
    for agent in map(load_agent, plan.as_run.values()):
        cases = [case for case, _ in enumerate_cases(agent, COMPARED, plan.seed)]
        picked += [cases[number] for number in evenly(len(cases), count)]
    return picked


def _by_method(plan: Plan, alone: list[Row], together: list[Row]) -> Table:
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
    note = "All: weighted by the comparison's numbers of cases, as in the paper."
    return Table("Mean seconds per question", columns, tuple(lines), note, rules=tuple(rules[1:]))


def paper_seconds(plan: Plan, name: str, label: str) -> float | None:
    """The paper's mean; where not all environments are asked, theirs is weighted by its cases, as it weighs them."""
    if label not in PAPERS_NAMES:
        return None
    label = PAPERS_NAMES[label]
    if name == "all" and set(plan.agents) == set(ENVIRONMENTS):
        return RUNTIME["all", label]
    names = list(plan.agents) if name == "all" else [name]
    return float(np.average([RUNTIME[e, label] for e in names], weights=[COMPARISON[e, label].cases for e in names]))


def mean_seconds(plan: Plan, rows: list[Row], label: str, name: str, weighing: list[Row]) -> float | None:
    """The mean of a search in an environment; for "all" the mean over environments, weighted by their cases."""
    if name != "all":
        return summarise(r for r in rows if r.search == label and plan.environment_of(r) == name).seconds
    cases = Counter(plan.environment_of(row) for row in weighing if row.search == label)
    means = {environment: mean_seconds(plan, rows, label, environment, weighing) for environment in cases}
    known = {environment: mean for environment, mean in means.items() if mean is not None}
    return float(np.average([*known.values()], weights=[cases[e] for e in known])) if known else None


def _by_budget(plan: Plan, rows: list[Row], cases: int) -> Table:
    lines: list[tuple[Any, ...]] = []
    for budget in plan.budgets.runtime:
        mean, std, median = BUDGET_RUNTIME[budget]
        for name in (AS_RUN, AS_TOLD):
            found = summarise(row for row in rows if row.search == _label(name, budget))
            ours = (f"{found.seconds:.2f} ± {found.std_seconds:.2f}", found.median_seconds, round(found.queries or 0))
            paper = (f"{mean} ± {std}", median) if name == AS_RUN else (None, None)
            lines.append((budget, name, *ours, *paper))
    columns = (
        *("budget", "search", "mean ± std (s)", "median (s)", "queries spent"),
        *("paper: mean ± std (s)", "paper: median (s)"),
    )
    note = f"CF-ZOO, one question at a time, {cases} cases; queries are those of all phases, bisections included."
    return Table("Seconds per question and budget", columns, tuple(lines), note, rules=tuple(range(2, len(lines), 2)))


def budget_in_words(plan: Plan, rows: list[Row]) -> str:
    """What a budget means: it is not the number of queries."""
    spent = {name: _times_spent(plan, rows, name) for name in (AS_RUN, AS_TOLD)}
    return (
        "A budget in the paper's table is B, which the authors' code spends twice, on rays and on ZOO, so that about "
        f"2 B queries are asked. Ours, over the cases below, asks {spent[AS_RUN]:.1f} B as the authors ran it "
        f"(`{AS_RUN}`), and {spent[AS_TOLD]:.1f} B as the text tells it (`{AS_TOLD}`: B directions, a bisection along "
        "each that succeeds, and B queries of ZOO)."
    )


def _times_spent(plan: Plan, rows: list[Row], name: str) -> float:
    """The mean of queries / budget."""
    budgets = {_label(name, budget): budget for budget in plan.budgets.runtime}
    return float(np.mean([row.queries / budgets[row.search] for row in rows if row.search in budgets]))
