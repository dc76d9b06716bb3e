"""The failures of CF-ZOO (paper, Table "CF-ZOO diagnosis"), classified by the paper's grid and by proofs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.answer import Status
from paretofoil.core.search import Search
from paretofoil.search import Boundary, NearestFront
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.authors_data import TAXONOMY
from paretofoil_paper.comparison import recovery_table
from paretofoil_paper.paper_tables import AUDIT, AUDIT_RECOVERED, ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_STRESS
from paretofoil_paper.searches import CFZooAsRun, Grid, LocalZoo
from paretofoil_paper.statistics import paired_table
from paretofoil_paper.stress import paper_rows, stress_rows

GRID_EVERY = 20
"""The grid runs on every n-th case that is proven infeasible, to check the proofs."""
IN_PAPER, IN_REACHABLE = "in the paper's search region", "in the reachable search region"
THOROUGH, AS_RUN_THOROUGH = "cf-zoo:thorough", "cf-zoo:as-run-thorough"


@dataclass(frozen=True, eq=False)
class Audit:
    """The results of all searches on every case of the stress test."""

    failed: set[Case]
    """The cases that CF-ZOO did not solve with the budget of the stress test."""
    again: list[Row]
    """The rows with the large budget, of the failures that are not proven infeasible."""
    proofs: dict[Case, Status]
    """The status of each case by the exact search."""
    grid: dict[Case, Row]
    """The row of the grid, for the cases on which it was run."""

    @property
    def total(self) -> int:
        return len(self.proofs)

    @property
    def recovered(self) -> set[Case]:
        """The failures that CF-ZOO solved with the large budget."""
        return {row.case for row in self.again if row.found}

    @property
    def left(self) -> set[Case]:
        """The failures that the large budget did not solve either."""
        return self.failed - self.recovered

    @property
    def successes(self) -> int:
        return self.total - len(self.left)

    @property
    def infeasible(self) -> list[Case]:
        """The failures that are proven infeasible."""
        return _infeasible(self.failed, self.proofs)

    @property
    def limited(self) -> set[Case]:
        """The remaining failures for which the grid has a valid command."""
        return {case for case in self.left.intersection(self.grid) if self.grid[case].found}

    @property
    def grid_infeasible(self) -> set[Case]:
        """The remaining failures that have no valid command on the grid, or are proven infeasible."""
        return self.left.intersection(self.grid).union(_infeasible(self.left, self.proofs)) - self.limited

    @property
    def missed(self) -> list[Case]:
        """The failures for which the exact search has a valid command."""
        return _feasible(self.failed, self.proofs)


def audit_tables(plan: Plan, as_run: Audit) -> list[Table]:
    """Return the paper's diagnosis by grid and by proofs, the larger budgets, and the audit of the reachable region."""
    rows = stress_rows(plan) + proof_rows(plan)
    reachable = reachable_audit(plan, rows)
    return [
        _taxonomy(as_run, set(plan.agents) == set(ENVIRONMENTS)),
        _proofs(as_run, IN_PAPER),
        budgets_table(plan, as_run),
        _by_environment(plan.as_run, as_run, IN_PAPER),
        _grid_against_proofs(as_run),
        recovery_table(rows, "Recovery of the feasible cases of the stress test, in the reachable search region"),
        _proofs(reachable, IN_REACHABLE),
        _by_environment(plan.agents, reachable, IN_REACHABLE),
        paired_table(rows, "cf-zoo"),
    ]


def proof_rows(plan: Plan) -> list[Row]:
    """Return every case of the stress test answered by Boundary, Exact, nearest-front and local ZOO."""
    others: dict[str, Search] = {"boundary": Boundary(), "exact": plan.budgets.exact}
    return plan.rows("audit-all", others | {"nearest-front": NearestFront(), "local-zoo": LocalZoo()}, EVERY_CASE)


def as_run_audit(plan: Plan) -> Audit:
    """Audit CF-ZOO as run by the authors, in the paper's search region, with the large budget and the grid."""
    failed, proofs = _failures(paper_rows(plan), AS_RUN)
    agents, search = list(plan.as_run.values()), {AS_RUN_THOROUGH: plan.budgets.as_run_thorough}
    undecided = failed.difference(_infeasible(failed, proofs))  # no budget can help with the others
    again = plan.rows("audit-as-run-thorough", search, PAPER_STRESS, only=undecided, agents=agents)
    cases = _grid_cases(plan, failed.difference(row.case for row in again if row.found), proofs)
    name = f"audit-grid-{plan.grid_dimension}{'-full' if plan.full_grid else ''}"  # other cases, so another study
    grid = plan.rows(name, {"grid": Grid()}, PAPER_STRESS, only=cases, agents=agents)
    return Audit(failed, again, proofs, {row.case: row for row in grid})


def larger_budgets(plan: Plan, audit: Audit) -> dict[int, list[Row]]:
    """Return, by budget, the rows of CF-ZOO as run on the failures for which a valid command exists."""
    labels = {budget: f"{AS_RUN} {budget:,}" for budget in plan.budgets.as_run_larger}
    searches: dict[str, Search] = {label: CFZooAsRun(budget, budget) for budget, label in labels.items()}
    agents, missed = list(plan.as_run.values()), set(audit.missed)
    rows = plan.rows("audit-as-run-budgets", searches, PAPER_STRESS, only=missed, agents=agents)
    by_budget = {budget: [row for row in rows if row.search == label] for budget, label in labels.items()}
    return by_budget | {_largest(plan): [row for row in audit.again if row.case in missed]}


def _largest(plan: Plan) -> int:
    return cast(CFZooAsRun, plan.budgets.as_run_thorough).max_queries


def reachable_audit(plan: Plan, rows: list[Row]) -> Audit:
    """Audit CF-ZOO as the paper describes it, in the reachable search region, with the large budget."""
    failed, proofs = _failures(rows, "cf-zoo")
    undecided = failed.difference(_infeasible(failed, proofs))
    again = plan.rows("audit-thorough", {THOROUGH: plan.budgets.thorough}, EVERY_CASE, only=undecided)
    return Audit(failed, again, proofs, {})


def _failures(rows: Iterable[Row], search: str) -> tuple[set[Case], dict[Case, Status]]:
    """Return the cases that a search did not solve, and the status of every case by the exact search."""
    rows = list(rows)
    failed = {row.case for row in rows if row.search == search and not row.found}
    return failed, {row.case: row.status for row in rows if row.search == "exact"}


def _infeasible(cases: Iterable[Case], proofs: dict[Case, Status]) -> list[Case]:
    """Return the cases that are proven infeasible, in their order."""
    return [case for case in cases if proofs[case] is Status.PROVEN_INFEASIBLE]


def _feasible(cases: Iterable[Case], proofs: dict[Case, Status]) -> list[Case]:
    """Return the cases for which the exact search has a valid command."""
    return [case for case in cases if proofs[case] in (Status.PROVEN_CLOSEST, Status.FOUND)]


def _grid_cases(plan: Plan, failed: set[Case], proofs: dict[Case, Status]) -> set[Case]:
    """Return the failures on which the grid runs; of those that are proven infeasible only a sample."""
    agents = map(load_agent, plan.as_run.values())
    sizes = {agent.name: int((agent.paper_space.high > agent.paper_space.low).sum()) for agent in agents}
    small = sorted(case for case in failed if sizes[case.agent] <= plan.grid_dimension)
    proven = _infeasible(small, proofs)
    cheap = {case for case in proven if sizes[case.agent] <= 2}
    sample = set(proven) if plan.full_grid else cheap | set(proven[::GRID_EVERY])
    return set(small).difference(proven) | sample


def budgets_table(plan: Plan, audit: Audit) -> Table:
    """Return how many of its feasible failures CF-ZOO as run solves with a larger budget."""
    missed, feasible = len(audit.missed), audit.total - len(_infeasible(audit.proofs, audit.proofs))
    smallest = cast(CFZooAsRun, plan.budgets.as_run).max_queries
    lines: list[tuple[Any, ...]] = [(smallest, missed, 0, Proportion(feasible - missed, feasible), None)]
    for budget, rows in larger_budgets(plan, audit).items():
        found = sum(row.found for row in rows)
        queries = round(float(np.median([row.queries for row in rows]))) if rows else None
        lines.append((budget, missed, found, Proportion(feasible - missed + found, feasible), queries))
    columns = (
        "budget B",
        "feasible cases missed at first",
        "found",
        "of all feasible cases [95 % CI]",
        "median queries",
    )
    note = "Cases that the first budget solves were not run again; they count as solved with every larger budget."
    return Table("CF-ZOO as run with larger budgets", columns, tuple(lines), note)


def _taxonomy(audit: Audit, complete: bool) -> Table:
    """Return the paper's table, with undecided cases on a line of their own.

    The paper's figures are totals of all eight environments; they are shown only if all are run.
    """
    infeasible, limited = len(audit.grid_infeasible), len(audit.limited)
    counts = {"success": audit.successes, "grid-infeasible": infeasible, "search-limited": limited}
    undecided = len(audit.left) - infeasible - limited
    lines: list[tuple[Any, ...]] = []
    for key, name in (
        ("success", "Success (with 100k)"),
        ("grid-infeasible", "Grid-infeasible foil"),
        ("search-limited", "Search-limited failure"),
    ):
        paper = _shares(key, AUDIT, sum(AUDIT.values())) if complete else (None,) * 3
        lines.append((name, *_shares(key, counts, audit.total), *paper))
    if undecided:
        share = Proportion(undecided, audit.total)
        lines.append(("Undecided: too many objectives for the grid", undecided, share, *(None,) * 4))
    columns = ("outcome", "cases", "% all [95 % CI]", "% feasible [95 % CI]")
    paper_columns = ("paper: cases", "paper: % all [95 % CI]", "paper: % feasible [95 % CI]")
    paper_recovered = f" (paper: {AUDIT_RECOVERED})" if complete else ""
    note = f"Success includes {len(audit.recovered):,} cases that only the budget of 100k solves{paper_recovered}."
    if complete:
        success, none, missed = (TAXONOMY[key] for key in ("success", "grid-infeasible", "search-limited"))
        note += (
            " The authors' published rows have two results for some cases. If each case counts once, by its last "
            f"result, {success:,} are a success, {none:,} are infeasible by the grid and {missed:,} are missed by the "
            f"search; {Proportion(success, success + missed)} % of the feasible cases are then solved."
        )
    return Table("CF-ZOO diagnosis with the grid", columns + paper_columns, tuple(lines), note)


def _shares(key: str, counts: Mapping[str, int], total: int) -> tuple[int, Proportion, Proportion | None]:
    """Return the number of cases of a kind, and their shares of all and of the feasible cases."""
    feasible = counts["success"] + counts["search-limited"]
    of_feasible = None if key == "grid-infeasible" else Proportion(counts[key], feasible)
    return counts[key], Proportion(counts[key], total), of_feasible


def _proofs(audit: Audit, where: str) -> Table:
    total, successes = audit.total, audit.successes
    infeasible, feasible = len(_infeasible(audit.left, audit.proofs)), len(_feasible(audit.left, audit.proofs))
    undecided, known = len(audit.left) - infeasible - feasible, successes + feasible
    limited = "Search-limited failure (a valid command exists)"
    lines = (
        ("Success (with 100k)", successes, Proportion(successes, total), Proportion(successes, known)),
        ("Proven infeasible foil", infeasible, Proportion(infeasible, total), None),
        (limited, feasible, Proportion(feasible, total), Proportion(feasible, known)),
        ("Undecided", undecided, Proportion(undecided, total), None),
    )
    columns = ("outcome", "cases", "% all [95 % CI]", "% feasible [95 % CI]")
    return Table(f"CF-ZOO diagnosis with proofs, {where}", columns, lines)


def _by_environment(agents: Mapping[str, str], audit: Audit, where: str) -> Table:
    kinds = (Status.PROVEN_CLOSEST, Status.FOUND, Status.PROVEN_INFEASIBLE, Status.NOT_FOUND)
    missed = Counter(case.agent for case in audit.missed)
    lines = []
    for environment, name in ((e, load_agent(agent).name) for e, agent in agents.items()):
        counts = Counter(status for case, status in audit.proofs.items() if case.agent == name)
        numbers = (counts.total(), *(counts[kind] for kind in kinds), missed[name])
        lines.append((ENVIRONMENTS[environment], *numbers))
    columns = (
        *("environment", "cases", "proven closest", "found, with a gap", "proven infeasible", "undecided"),
        "missed by CF-ZOO",
    )
    return Table(f"The exact search on every case, {where}", columns, tuple(lines))


def _grid_against_proofs(audit: Audit) -> Table:
    """Return how many grid-infeasible cases are proven infeasible."""
    kinds = (Status.PROVEN_INFEASIBLE, Status.PROVEN_CLOSEST, Status.FOUND, Status.NOT_FOUND)
    counts = Counter((row.found, audit.proofs[case]) for case, row in audit.grid.items())
    lines = tuple(
        (name, *(counts[found, kind] for kind in kinds))
        for found, name in ((False, "no valid command"), (True, "a valid command"))
    )
    note = "Feasible cases in the first row have valid commands only between the points of the grid."
    columns = ("grid", "proven infeasible", "feasible, proven closest", "feasible, with a gap", "undecided")
    return Table("The grid against proofs, on the cases with both", columns, lines, note)
