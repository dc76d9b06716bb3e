"""The stress test with several agents per environment: how much rates depend on the training seed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.search import Search
from paretofoil.search import Boundary, CFZoo
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import CaseRule, Row
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.study import describe_rule, describe_search
from paretofoil.study.table import Table
from paretofoil_paper.differences import feasible_cases
from paretofoil_paper.distances import Distances
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS, total_of
from paretofoil_paper.plan import REALISED, Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_STRESS, expected_returns_label
from paretofoil_paper.searches import LocalZoo
from paretofoil_paper.seed_agents import agent_name, seed_agents
from paretofoil_paper.statistics import (
    pair_rows,
    paired_table,
    pairs_table,
    rate_interval,
)

LONG = "local-zoo:long"
"""Local ZOO with four times the queries: about as many as CF-ZOO makes on average, including its bisections."""
Rows = Mapping[str, list[Row]]
"""By environment."""


def searches_of(plan: Plan) -> dict[str, Search]:
    """Return CF-ZOO, its ZOO phase alone with the same and with more queries, Boundary and Exact."""
    stress = plan.budgets.stress
    local = LocalZoo(stress.max_queries) if isinstance(stress, CFZoo) else LocalZoo()
    searches: dict[str, Search] = {"cf-zoo": stress, "local-zoo": local, LONG: LocalZoo(4 * local.max_queries)}
    return searches | {"boundary": Boundary(), "exact": plan.budgets.exact}


def environment_of(row: Row) -> str:
    """Return the stratum of a row: environments are fixed, agents are drawn."""
    return row.case.agent.rpartition("-")[0]


@dataclass(frozen=True, eq=False)
class SeedRows:
    """The rows of all agents, by environment."""

    as_run: Rows
    """The paper's stress test, with agents trained on realised returns in stochastic environments."""
    expected: Rows
    """The paper's stress test with agents trained on expected returns, in stochastic environments."""
    reachable: Rows
    """Searches with and without seeding in the reachable search region."""

    @property
    def all_reachable(self) -> list[Row]:
        return [row for rows in self.reachable.values() for row in rows]

    @property
    def all_as_run(self) -> list[Row]:
        return [row for rows in self.as_run.values() for row in rows if row.search == AS_RUN]


def all_seed_rows(plan: Plan) -> SeedRows:
    """Run or read the studies of all agents."""
    return SeedRows(
        {environment: as_run_rows(plan, REALISED.get(environment, environment)) for environment in plan.agents},
        {environment: as_run_rows(plan, environment) for environment in plan.agents if environment in REALISED},
        {environment: seed_rows(plan, environment) for environment in plan.agents},
    )


def seed_tables(plan: Plan, rows: SeedRows) -> list[Table]:
    """Return the stress test of all agents, the effect of seeding, and the rates by agent."""
    pairs = {ENVIRONMENTS[name]: pairs_with(group, "local-zoo") for name, group in rows.reachable.items()}
    title = "The effect of seeding: cf-zoo against local-zoo, by environment"
    return [
        _by_environment(rows.as_run, rows.expected),
        pairs_table(title, "environment", pairs, ("cf-zoo", "local-zoo"), stratum=environment_of),
        _by_seed(plan, rows.as_run, rows.expected),
        _recovery(rows.reachable),
        paired_table(rows.all_reachable, "cf-zoo", stratum=environment_of),
    ]


def seed_rows(plan: Plan, environment: str) -> list[Row]:
    """Return every case of all agents of an environment in the reachable search region, by searches with and without
    seeding."""
    return _rows(plan, environment, f"seeds/{environment}", searches_of(plan), EVERY_CASE)


def as_run_rows(plan: Plan, kind: str) -> list[Row]:
    """Return every case of all agents of a kind in the paper's search region, by CF-ZOO as run and by Exact."""
    searches = {AS_RUN: plan.budgets.as_run, "exact": plan.budgets.exact}
    return _rows(plan, kind, f"seeds/{kind}-as-run", searches, PAPER_STRESS)


def _rows(plan: Plan, kind: str, name: str, searches: Mapping[str, Search], rule: CaseRule) -> list[Row]:
    """Run or read the study of a kind of agents; missing agents are trained first."""
    if not plan.recorded:
        return plan.rows(name, searches, rule, agents=seed_agents(plan, kind))
    described = {label: describe_search(plan.seeded(search)) for label, search in searches.items()}
    rows = plan.recorded_rows(name, {"searches": described, "rule": describe_rule(rule), "seed": plan.seed})
    expected, recorded = ({agent_name(kind, seed) for seed in plan.agent_seeds}, {row.case.agent for row in rows})
    if expected != recorded:
        raise InvalidInput.expected(f"rows of the agents {', '.join(sorted(expected))}", ", ".join(sorted(recorded)))
    return rows


def on_feasible(rows: list[Row], search: str) -> list[Row]:
    """Return the rows of a search on the feasible cases."""
    feasible = feasible_cases(rows)
    return [row for row in rows if row.search == search and row.case in feasible]


def pairs_with(rows: list[Row], other: str) -> list[tuple[Row, Row]]:
    return pair_rows(*([row for row in rows if row.search == search] for search in ("cf-zoo", other)))


def _by_seed(plan: Plan, rows: Rows, expected: Rows) -> Table:
    """Return the rate of each agent; columns are seeds."""
    lines = []
    for name, group in _labelled(rows, expected):
        zoo = [row for row in group if row.search == AS_RUN]
        by_agent = [[row for row in zoo if row.case.agent.endswith(f"-{seed}")] for seed in plan.agent_seeds]
        rates = [100 * summarise(of_agent).success.rate for of_agent in by_agent]
        spread = float(np.std(rates, ddof=1)) if len(rates) > 1 else None
        lines.append((name, *rates, float(np.mean(rates)), spread))
    columns = ("environment", *(f"seed {seed}" for seed in plan.agent_seeds), "mean", "standard deviation")
    title = "Success rate (%) of CF-ZOO as run, by agent"
    return Table(title, columns, tuple(lines), rules=(len(rows),) if expected else ())


def _by_environment(rows: Rows, expected: Rows) -> Table:
    """Return all agents of an environment together, and the paper's rates; the paper has no expected returns."""

    def line(name: str, group: list[Row], environments: Iterable[str]) -> tuple[Any, ...]:
        zoo = [row for row in group if row.search == AS_RUN]
        success = summarise(zoo).success
        feasible = Proportion(len(feasible_cases(group)), len(zoo))
        ours = (len({row.case.agent for row in zoo}), success.cases, feasible)
        paper = total_of(STRESS[environment] for environment in environments)
        paper_cells = (paper.cases, Proportion(paper.found, paper.cases)) if paper.cases else (None, None)
        return (name, *ours, success, rate_interval(zoo, environment_of), *paper_cells)

    lines = [line(ENVIRONMENTS[environment], group, [environment]) for environment, group in rows.items()]
    total = line("Total", [row for group in rows.values() for row in group], rows)
    others = [line(name, group, ()) for name, group in _labelled({}, expected)]
    columns = (
        *("environment", "agents", "cases", "feasible [95 % CI]", "rate [95 % CI]", "cluster [95 % CI]"),
        *("paper: cases", "paper: rate [95 % CI]"),
    )
    rules = (len(lines), len(lines) + 1)[: 1 + bool(others)]
    title = "Stress test of CF-ZOO as run, all agents together"
    return Table(title, columns, (*lines, total, *others), rules=rules)


def _labelled(rows: Rows, expected: Rows) -> list[tuple[str, list[Row]]]:
    """Return the rows with their labels, and after them those of agents trained on expected returns."""
    labelled = [(ENVIRONMENTS[environment], group) for environment, group in rows.items()]
    return labelled + [(expected_returns_label(environment), group) for environment, group in expected.items()]


def _recovery(rows: Rows) -> Table:
    """Return how many feasible cases each search solves, and the distances."""
    lines: list[tuple[Any, ...]] = []
    rules: list[int] = []
    groups = {**rows, "all": [row for group in rows.values() for row in group]}
    for environment, group in groups.items():
        rules.append(len(lines))
        distances, name = Distances.of(group), ENVIRONMENTS.get(environment, "Total")
        for search in dict.fromkeys(row.search for row in group):
            feasible = on_feasible(group, search)
            summary = summarise(feasible)
            rates = (summary.success.cases, summary.success.successes, summary.success)
            cells = (rate_interval(feasible, environment_of), distances.ratio(search), summary.queries)
            lines.append((name, search, *rates, *cells))
    columns = (
        *("environment", "search", "feasible", "found", "recovered [95 % CI]", "cluster [95 % CI]"),
        *("distance / proven optimum", "mean queries"),
    )
    note = "Ratios are medians over the successes of each search; one that solves fewer misses the farthest ones."
    return Table("Recovery of feasible cases", columns, tuple(lines), note, rules=tuple(rules[1:]))
