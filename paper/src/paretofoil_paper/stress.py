"""The stress test (paper, Table "Stress test of CF-ZOO")."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.question import QuestionBatch
from paretofoil.show.palette import GREEN
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Row
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table
from paretofoil_paper.authors_data import PUBLISHED
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS, total_of
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_STRESS, expected_returns_label
from paretofoil_paper.report import cells_of
from paretofoil_paper.searches.cf_zoo_as_run import cut_distances
from paretofoil_paper.statistics import rate_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("environment", "cases", "found", "rate [95 % CI]", "cluster [95 % CI]")
AS_RUN_COLUMNS = ("distance (cut region)", "distance (whole region)")
PAPER_COLUMNS = (
    *("paper: cases", "paper: rate [95 % CI]", "paper: distance (cut region)"),
    "authors' rows: distance (whole region)",
)


def stress_rows(plan: Plan) -> list[Row]:
    """Return every case in the reachable search region, answered by CF-ZOO as the paper describes it."""
    return plan.rows("stress", {"cf-zoo": plan.budgets.stress}, EVERY_CASE)


def as_run_rows(plan: Plan) -> list[Row]:
    """Return every case in the paper's search region, answered by CF-ZOO as run by the authors and by the exact search.

    In stochastic environments they include agents trained on realised returns and agents trained on expected returns.
    """
    searches = {AS_RUN: plan.budgets.as_run, "exact": plan.budgets.exact}
    return plan.rows("stress-as-run", searches, PAPER_STRESS, agents=plan.all_agents)


def stress_tables(plan: Plan) -> list[Table]:
    """Return the stress test as run and with the defaults of this library, and the numbers of cases."""
    counts = {name: CaseCounts.of(_of_agent(paper_rows(plan), agent)) for name, agent in plan.as_run.items()}
    return [as_run_table(plan), _reachable_table(plan), _counts_table(counts)]


def as_run_table(plan: Plan) -> Table:
    """Return the paper's experiment with our agents: its search, budget and search region, realised returns."""
    rows = [row for row in as_run_rows(plan) if row.search == AS_RUN]
    cut = cut_by_case(plan, rows)
    lines = [
        (*_our_cells(ENVIRONMENTS[environment], _of_agent(rows, agent), cut), *_paper_cells(environment))
        for environment, agent in plan.as_run.items()
    ]
    others = [(environment, agent) for environment, agent in plan.agents.items() if agent != plan.as_run[environment]]
    expected = [
        (*_our_cells(expected_returns_label(environment), _of_agent(rows, agent), cut), *(None,) * len(PAPER_COLUMNS))
        for environment, agent in others
    ]
    paper = total_of(STRESS[name] for name in plan.agents)
    all_rows = [row for agent in plan.as_run.values() for row in _of_agent(rows, agent)]
    total = (*_our_cells("Total", all_rows, None), paper.cases, Proportion(paper.found, paper.cases), None, None)
    note = (
        "The paper's distances are in units of the cut region: the part of the search region that has the signs of the "
        "front. If ZOO succeeded without any ray, the unit of ours is the whole region."
    )
    columns = COLUMNS + AS_RUN_COLUMNS + PAPER_COLUMNS
    return Table("Stress test", columns, (*lines, total, *expected), note, rules=(len(lines), len(lines) + 1))


def paper_rows(plan: Plan) -> list[Row]:
    """Return the rows of `as_run_rows` whose agents repeat the paper's experiment."""
    rows = as_run_rows(plan)
    return [row for agent in plan.as_run.values() for row in _of_agent(rows, agent)]


def _of_agent(rows: Iterable[Row], agent: str) -> list[Row]:
    name = load_agent(agent).name
    return [row for row in rows if row.case.agent == name]


def _our_cells(name: str, rows: list[Row], cut: Mapping[object, float] | None) -> tuple[Any, ...]:
    """Return the cells of our agents. Without `cut` (totals) they have no distances, which have different units."""
    success = Proportion(sum(row.found for row in rows), len(rows))
    rates = (name, success.cases, success.successes, success, rate_interval(rows))
    if cut is None:
        return (*rates, None, None)
    distances = [cut[row.case] for row in rows if row.found]
    return (*rates, float(np.mean(distances)) if distances else None, summarise(rows).closest_distance)


def _paper_cells(environment: str) -> tuple[Any, ...]:
    """Return the cells of the paper."""
    paper = STRESS[environment]
    rate = Proportion(paper.found, paper.cases)
    return (paper.cases, rate, paper.distance, PUBLISHED[environment].whole_mean)


def cut_by_case(plan: Plan, rows: list[Row]) -> dict[object, float]:
    """Return the distance of each answer in units of the cut region. To find this region, query the policy again."""
    answers = {row.case: Answer.from_json(row.answer) for row in rows if row.found}
    distances: dict[object, float] = {}
    for agent in map(load_agent, plan.all_agents):
        cases = [pair for pair in enumerate_cases(agent, PAPER_STRESS, plan.seed) if pair[0] in answers]
        if cases:
            batch = QuestionBatch([make_case_question(agent, *pair, box="paper") for pair in cases])
            solved = [answers[case] for case, _ in cases]
            commands = np.array([answer.closest.command for answer in solved if answer.closest])
            by_rays = np.array(["bisection" in answer.search.queries for answer in solved])
            scaled = cut_distances(batch, commands, by_rays).tolist()
            distances |= dict(zip([case for case, _ in cases], scaled, strict=True))
    return distances


def _reachable_table(plan: Plan) -> Table:
    """Return the same cases with the defaults of this library."""
    rows = stress_rows(plan)
    lines = []
    for name in [*plan.agents, "all"]:
        group = [row for row in rows if name in ("all", plan.environment_of(row))]
        summary = summarise(group)
        rates = (summary.success.cases, summary.success.successes, summary.success, rate_interval(group))
        lines.append((ENVIRONMENTS.get(name, "Total"), *rates, summary.closest_distance if name != "all" else None))
    note = (
        "CF-ZOO as the paper's text describes it (9,001 directions, 9,001 queries of ZOO), in the region of returns "
        "that are still possible, with agents trained on expected returns. Distance: mean scaled l2 distance over "
        "the successes, in units of the returns seen in training. Worker time of all "
        f"{len(rows):,} cases: {sum(row.seconds for row in rows):,.0f} s."
    )
    columns = (*COLUMNS, "distance")
    return Table("In the reachable search region", columns, tuple(lines), note, rules=(len(lines) - 1,))


@dataclass(frozen=True)
class CaseCounts:
    """How many cases an agent has, and from how many commands and steps."""

    commands: int
    steps: int
    """Steps of all rollouts that have a foil."""
    cases: int

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "CaseCounts":
        cases = {row.case for row in rows}
        return cls(len({case.front for case in cases}), len({(case.front, case.step) for case in cases}), len(cases))

    def more_than(self, paper: int) -> float:
        """Return by how many percent its cases exceed the paper's."""
        return 100 * (self.cases / paper - 1)


def _counts_table(counts: Mapping[str, CaseCounts]) -> Table:
    lines = []
    for name, ours in counts.items():
        paper = STRESS[name].cases
        numbers = (ours.commands, ours.steps, ours.cases)
        lines.append((ENVIRONMENTS[name], *numbers, PUBLISHED[name].fronts, paper, ours.more_than(paper)))
    columns = (
        *("environment", "commands", "steps with a foil", "cases", "authors' rows: commands", "paper: cases"),
        "difference (%)",
    )
    return Table("Numbers of cases", columns, tuple(lines))


def stress_figure(table: Table) -> "Figure":
    lines = cells_of(table)
    ours = {line["environment"]: line[COLUMNS[3]] for line in lines}
    reported = {line["environment"]: line[PAPER_COLUMNS[1]] for line in lines if line[PAPER_COLUMNS[1]] is not None}
    series = [
        Series("CF-ZOO as run, ours", GREEN, ours),
        Series("CF-ZOO, paper", GREEN, reported, hollow=True),
    ]
    return figure_rates(list(ours), series)
