"""Rates that differ from the paper's by more than five points, and the measured reasons.

A rate is the share of cases that are feasible times the share of the feasible cases that the search solves. Both are
known on our side, by proofs, and on the authors' side, from their grids, so each difference is the sum of two parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paretofoil.agents import Agent
from paretofoil.core.answer import Status
from paretofoil.explanation.ask import ask
from paretofoil.search import Exact
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.audit import as_run_audit
from paretofoil_paper.authors_data import CW_ALONE, PUBLISHED, SECOND_GRID, TAXONOMY, THEIR_AGENTS
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.paper_tables import AUDIT, COMPARISON, ENVIRONMENTS, PAPER_NAMES, STRESS, PaperRow, total_of
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_STRESS, WHITE_AS_RUN, WHITE_CONFIGURED
from paretofoil_paper.report import Report
from paretofoil_paper.searches import CFZooAsRun
from paretofoil_paper.stress import paper_rows

NOTABLE = 5.0
"""Differences above this many points get a sentence."""


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
    def notable(self) -> bool:
        return round(abs(self.points), 6) > NOTABLE

    @property
    def from_feasible(self) -> float:
        """The points that are due to the share of feasible cases."""
        return (self.ours.feasible_share - self.paper.feasible_share) * (self.ours.recovery + self.paper.recovery) / 200

    @property
    def from_recovery(self) -> float:
        """The points that are due to the share of feasible cases that are solved."""
        return (self.ours.recovery - self.paper.recovery) * (self.ours.feasible_share + self.paper.feasible_share) / 200

    @property
    def name(self) -> str:
        """For example "Stress test, DST, cf-zoo"."""
        return f"{self.table}, {self.environment}, {self.search}"

    def __str__(self) -> str:
        rates = f"{100 * self.ours.rate.rate:.1f} % here, {100 * self.paper.rate.rate:.1f} % in the paper"
        return f"**{self.name}**: {rates} ({self.points:+.1f} points){self._reasons()}."

    def _reasons(self) -> str:
        ours, paper = self.ours, self.paper
        return (
            f". {self.from_feasible:+.1f} because {_compare(ours.feasible_share, paper.feasible_share)} share of the "
            f"cases is feasible ({ours.feasible:,} of {ours.cases:,} here, {paper.feasible:,} of {paper.cases:,} in "
            f"the paper), {self.from_recovery:+.1f} because {_compare(ours.recovery, paper.recovery)} share of the "
            f"feasible cases is solved ({ours.recovery:.1f} % here, {paper.recovery:.1f} % in the paper)"
        )


@dataclass(frozen=True)
class SearchOnlyDifference(Difference):
    """A rate for which only the search itself shows which of the paper's cases are feasible."""

    def _reasons(self) -> str:
        ours, paper = self.ours, self.paper
        return (
            f". {self.from_feasible:+.1f} because {_compare(ours.feasible_share, paper.feasible_share)} share of the "
            f"cases is known to be feasible ({ours.feasible:,} of {ours.cases:,} here by proof, {paper.feasible:,} of "
            f"{paper.cases:,} in the paper, those that CF-ZOO solved), {self.from_recovery:+.1f} because CF-ZOO solves "
            f"{ours.recovery:.1f} % of the feasible cases here, and all that are known to be feasible in the paper"
        )


@dataclass(frozen=True)
class InfeasibleDifference(Difference):
    """A share of infeasible cases, which are counted as if they were solved."""

    def _reasons(self) -> str:
        ours, paper = self.ours, self.paper
        return (
            f", because CF-ZOO or the grid finds a command for {_compare(-ours.feasible_share, -paper.feasible_share)} "
            f"share of the cases ({ours.cases - ours.feasible:,} of {ours.cases:,} here, "
            f"{paper.cases - paper.feasible:,} of {paper.cases:,} in the paper)"
        )


def _compare(ours: float, paper: float) -> str:
    """Return the comparison of two values as printed with one decimal."""
    return "the same" if round(ours - paper, 1) == 0 else "a larger" if ours > paper else "a smaller"


def reproduce_differences(plan: Plan) -> Report:
    """Write a sentence for every rate of the stress test, comparison and diagnosis that differs."""
    all_differences = differences(plan)
    report = Report("Differences from the paper")
    report.say(
        _finding(all_differences),
        "Our agents are not the paper's, so the cases are not the same. A rate is the share of feasible cases times "
        "the share of these that the search solves. We split each difference into two parts, one for each share: the "
        "difference of that share, times the mean of the other share. Feasible here: the exact search found a valid "
        "command. Feasible in the paper's stress test: CF-ZOO or one of the authors' two grids found one. The second "
        f"grid adds {SECOND_GRID} Minecart cases; both grids are coarse there, so there may be more. Feasible in the "
        f"paper's comparison: CF-ZOO found one (White-CW solves {CW_ALONE} cases that CF-ZOO does not).",
        *_describe_networks(all_differences),
        _describe_confidence(plan),
        *describe_notable(all_differences),
    )
    return report.add(_table(all_differences))


def _finding(all_differences: list[Difference]) -> str:
    """State the largest reason over all rates that differ."""
    notable = [difference for difference in all_differences if difference.notable]
    feasible = sum(abs(difference.from_feasible) > abs(difference.from_recovery) for difference in notable)
    return (
        f"Of {len(all_differences)} rates, {len(notable)} differ from the paper's by more than {NOTABLE:.0f} points. "
        f"For {feasible} of these, more points are due to the share of feasible cases than to the search."
    )


def _describe_networks(all_differences: list[Difference]) -> list[str]:
    """Name the likely reason of most differences: other networks. The authors published two of theirs."""
    counts = []
    for name, (cases, feasible, solved) in THEIR_AGENTS.items():
        rates = [d for d in all_differences if (d.table, d.environment) == ("Stress test", ENVIRONMENTS[name])]
        for d in rates:
            counts.append(
                f"On {d.environment}, {feasible} of {cases} cases ({100 * feasible / cases:.0f} %) are feasible with "
                f"their published agent (CF-ZOO as run solves {solved}), {d.paper.feasible} of {d.paper.cases} "
                f"({d.paper.feasible_share:.0f} %) in their published rows, and {d.ours.feasible} of {d.ours.cases} "
                f"({d.ours.feasible_share:.0f} %) with our agent."
            )
    if not counts:
        return []
    return [
        "Searches, search regions, environments and masks are the same in the paper and here, except for White-CW's "
        "confidence and the random numbers with which ZOO chooses coordinates. Observations, networks and training "
        "differ. The authors published two agents, which are not those of the paper but have the same fronts. We ran "
        f"the same stress test on them (`benchmarks/authors_agents.py`). {' '.join(counts)} Where the authors' agents "
        "are close to the paper and ours are not, network and training are the likely reason."
    ]


def _describe_confidence(plan: Plan) -> str:
    """Compare White-CW with both confidences."""
    rows = comparison_rows(plan)
    paper = total_of(COMPARISON[name, "white-cw"] for name in plan.agents)
    rates = []
    for search in (WHITE_AS_RUN, WHITE_CONFIGURED):
        ours = counts_of(rows, search).rate.rate
        rates.append(f"{100 * ours:.1f} % ({100 * (ours - paper.found / paper.cases):+.1f} points)")
    return (
        f"White-CW solves {100 * paper.found / paper.cases:.1f} % in the paper's comparison. With confidence 0, "
        f"which matches the authors' data, it solves {rates[0]} here; the sentences below use this value. With "
        f"confidence 0.05, the value in the authors' configuration, it solves {rates[1]}."
    )


def describe_notable(all_differences: list[Difference]) -> list[str]:
    """Return a sentence for each notable difference, after one that counts them."""
    notable = [difference for difference in all_differences if difference.notable]
    count = f"{len(notable)} of {len(all_differences)} rates differ from the paper's by more than {NOTABLE:.0f} points:"
    return [count, "\n".join(f"- {difference}" for difference in notable)] if notable else []


def differences(plan: Plan) -> list[Difference]:
    """Return every rate that is in the paper, too."""
    stress, comparison = paper_rows(plan), comparison_rows(plan)
    result = stress_differences("Stress test", {name: _in(plan, stress, name) for name in plan.agents}, AS_RUN)
    for search, paper_name in PAPER_NAMES.items():
        ours = {name: counts_of(_in(plan, comparison, name), search) for name in plan.agents}
        paper = {
            name: _comparison_counts(COMPARISON[name, paper_name], COMPARISON[name, "cf-zoo"]) for name in plan.agents
        }
        kind = SearchOnlyDifference if paper_name == "cf-zoo" else Difference
        result += _with_total("Comparison", "All", search, ours, paper, kind)
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
        InfeasibleDifference("Diagnosis", "Grid-infeasible foil", AS_RUN, our_share, paper_share),
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
    kind: type[Difference] = Difference,
) -> list[Difference]:
    result = [kind(table, ENVIRONMENTS[name], search, ours[name], paper[name]) for name in ours]
    return [*result, kind(table, total, search, _sum(ours.values()), _sum(paper.values()))]


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


def ask_as_run(agent: Agent) -> tuple[int, int, int]:
    """Run the stress test as the authors ran it; return the numbers of cases, feasible cases and solved cases."""
    questions = [make_case_question(agent, *case, box="paper") for case in enumerate_cases(agent, PAPER_STRESS)]
    batches = [questions[first : first + 64] for first in range(0, len(questions), 64)]
    zoo, exact = (
        [answer.found for batch in batches for answer in ask(batch, search)]
        for search in (CFZooAsRun.preset("stress"), Exact())
    )
    return len(questions), sum(map(max, zoo, exact)), sum(zoo)


def feasible_cases(rows: Iterable[Row]) -> set[Case]:
    """Return the cases for which the exact search has a valid command."""
    statuses = (Status.PROVEN_CLOSEST, Status.FOUND)
    return {row.case for row in rows if row.search == "exact" and row.status in statuses}


def _published_counts(name: str) -> Counts:
    return Counts(STRESS[name].cases, STRESS[name].found + PUBLISHED[name].known_feasible, STRESS[name].found)


def _comparison_counts(row: PaperRow, zoo: PaperRow) -> Counts:
    return Counts(row.cases, max(row.found, zoo.found), row.found)


def _table(all_differences: list[Difference]) -> Table:
    lines = tuple(
        (d.table, d.environment, d.search, d.ours.rate, d.paper.rate, d.points, d.from_feasible, d.from_recovery)
        for d in all_differences
    )
    columns = (
        *("table", "environment", "search", "rate [95 % CI]", "paper: rate [95 % CI]", "difference (points)"),
        *("due to feasibility (points)", "due to the search (points)"),
    )
    return Table("Rates of the stress test, the comparison and the diagnosis", columns, lines)
