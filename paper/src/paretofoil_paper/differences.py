"""The differences between the paper's rates and ours, each split into two parts.

A rate is the share of cases that are feasible times the share of the feasible cases that the search solves. Both are
known on our side, by proofs, and on the authors' side, from their grids, so each difference is the sum of two parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paretofoil.core.answer import Status
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.audit import as_run_audit
from paretofoil_paper.authors_data import PUBLISHED, TAXONOMY
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.paper_tables import AUDIT, COMPARISON, ENVIRONMENTS, PAPER_NAMES, STRESS, PaperRow
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN
from paretofoil_paper.stress import paper_rows


@dataclass(frozen=True)
class Counts:
    """The numbers behind a rate: all cases, the feasible ones, and the solved ones."""

    cases: int
    feasible: int
    solved: int

    @property
    def rate(self) -> Proportion:
        return Proportion(self.solved, self.cases)

    @property
    def feasible_share(self) -> float:
        """The feasible cases, in percent of all cases."""
        return 100 * self.feasible / self.cases if self.cases else 0.0

    @property
    def recovery(self) -> float:
        """The solved cases, in percent of the feasible ones."""
        return 100 * self.solved / self.feasible if self.feasible else 0.0


@dataclass(frozen=True)
class Difference:
    """One rate of the paper and ours."""

    table: str
    environment: str
    """Its label in the table, or that of the total."""
    search: str
    ours: Counts
    paper: Counts

    @property
    def points(self) -> float:
        return 100 * (self.ours.rate.rate - self.paper.rate.rate)

    @property
    def from_feasible(self) -> float:
        """The points that are due to the share of feasible cases."""
        return (self.ours.feasible_share - self.paper.feasible_share) * (self.ours.recovery + self.paper.recovery) / 200

    @property
    def from_recovery(self) -> float:
        """The points that are due to the share of feasible cases that are solved."""
        return (self.ours.recovery - self.paper.recovery) * (self.ours.feasible_share + self.paper.feasible_share) / 200


def case_mix(by_environment: Sequence[Difference]) -> float:
    """Return by how many points our total rate would fall if our cases had the paper's mix of environments."""
    ours, paper = (sum(getattr(d, side).cases for d in by_environment) for side in ("ours", "paper"))
    return sum(100 * (d.ours.cases / ours - d.paper.cases / paper) * d.ours.rate.rate for d in by_environment)


def differences(plan: Plan) -> list[Difference]:
    """Return every rate that is in the paper, too."""
    stress, comparison = paper_rows(plan), comparison_rows(plan)
    result = stress_differences("Stress test", {name: _in(plan, stress, name) for name in plan.agents}, AS_RUN)
    for search, paper_name in PAPER_NAMES.items():
        ours = {name: counts_of(_in(plan, comparison, name), search) for name in plan.agents}
        paper = {
            name: _comparison_counts(COMPARISON[name, paper_name], COMPARISON[name, "cf-zoo"]) for name in plan.agents
        }
        result += _with_total("Comparison", "All", search, ours, paper)
    return result + _diagnosis(plan) if set(plan.agents) == set(ENVIRONMENTS) else result


def _diagnosis(plan: Plan) -> list[Difference]:
    """Return the successes with the large budget and the grid-infeasible cases, of which the paper has totals only."""
    audit = as_run_audit(plan)
    ours = Counts(audit.total, audit.successes + len(set(audit.missed) & audit.left), audit.successes)
    total = sum(AUDIT.values())
    paper = Counts(total, TAXONOMY["success"] + TAXONOMY["search-limited"], AUDIT["success"])
    infeasible, paper_infeasible = len(audit.grid_infeasible), AUDIT["grid-infeasible"]
    our_share = Counts(audit.total, infeasible, infeasible)
    paper_share = Counts(total, paper_infeasible, paper_infeasible)
    return [
        Difference("Diagnosis", "Success (with 100k)", AS_RUN, ours, paper),
        Difference("Diagnosis", "Grid-infeasible foil", AS_RUN, our_share, paper_share),
    ]


def stress_differences(table: str, rows: Mapping[str, list[Row]], search: str = "cf-zoo") -> list[Difference]:
    """Return CF-ZOO's rates by environment and in total, against those of the paper's stress test."""
    ours = {name: counts_of(of_name, search) for name, of_name in rows.items()}
    return _with_total(table, "Total", search, ours, {name: _published_counts(name) for name in rows})


def _with_total(
    table: str,
    total: str,
    search: str,
    ours: Mapping[str, Counts],
    paper: Mapping[str, Counts],
) -> list[Difference]:
    result = [Difference(table, ENVIRONMENTS[name], search, ours[name], paper[name]) for name in ours]
    return [*result, Difference(table, total, search, _sum(ours.values()), _sum(paper.values()))]


def _sum(parts: Iterable[Counts]) -> Counts:
    parts = list(parts)
    return Counts(sum(p.cases for p in parts), sum(p.feasible for p in parts), sum(p.solved for p in parts))


def _in(plan: Plan, rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if plan.environment_of(row) == name]


def counts_of(rows: Iterable[Row], search: str) -> Counts:
    """Count rows of a search and of the exact search."""
    rows = list(rows)
    solved = {row.case for row in rows if row.search == search and row.found}
    cases = sum(row.search == search for row in rows)
    return Counts(cases, len(feasible_cases(rows) | solved), len(solved))


def feasible_cases(rows: Iterable[Row]) -> set[Case]:
    """Return the cases for which the exact search has a valid command."""
    statuses = (Status.PROVEN_CLOSEST, Status.FOUND)
    return {row.case for row in rows if row.search == "exact" and row.status in statuses}


def _published_counts(name: str) -> Counts:
    return Counts(STRESS[name].cases, STRESS[name].found + PUBLISHED[name].known_feasible, STRESS[name].found)


def _comparison_counts(row: PaperRow, zoo: PaperRow) -> Counts:
    return Counts(row.cases, max(row.found, zoo.found), row.found)


def differences_table(all_differences: list[Difference]) -> Table:
    lines = tuple(
        (d.table, d.environment, d.search, d.ours.rate, d.paper.rate, d.points, d.from_feasible, d.from_recovery)
        for d in all_differences
    )
    columns = (
        *("table", "environment", "search", "rate [95 % CI]", "paper: rate [95 % CI]", "difference (points)"),
        *("due to feasibility (points)", "due to the search (points)"),
    )
    return Table("Rates of the stress test, the comparison and the diagnosis", columns, lines)
