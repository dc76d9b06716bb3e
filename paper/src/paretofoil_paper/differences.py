"""Where our rates differ from the paper's by more than five points, and by what measured cause.

A rate is the share of cases that are possible times the share of those that the search finds. Both are measured on our
side, by proofs, and known on the authors' side, from their grid; so each difference splits into two parts without rest.
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
from paretofoil_paper.protocols import AS_RUN, PAPER_STRESS
from paretofoil_paper.report import Report
from paretofoil_paper.searches import CFZooAsRun
from paretofoil_paper.stress import paper_rows

NOTABLE = 5.0
"""Points from which on a difference needs a reason."""


@dataclass(frozen=True)
class Counts:
    """Where a rate comes from: of all cases those that are possible, and of these those that are found."""

    cases: int
    possible: int
    found: int

    @property
    def rate(self) -> Proportion:
        return Proportion(self.found, self.cases)

    @property
    def share(self) -> float:
        """Of the cases, in percent, those that are possible."""
        return 100 * self.possible / self.cases if self.cases else 0.0

    @property
    def recovery(self) -> float:
        """Of the possible cases, in percent, those that are found."""
        return 100 * self.found / self.possible if self.possible else 0.0


@dataclass(frozen=True)
class Difference:
    """One rate of the paper and ours."""

    table: str
    environment: str
    """As the tables call it, or all of them together."""
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
    def of_possible(self) -> float:
        """The points that are due to how many cases are possible."""
        return (self.ours.share - self.paper.share) * (self.ours.recovery + self.paper.recovery) / 200

    @property
    def of_found(self) -> float:
        """The points that are due to how many of the possible ones are found."""
        return (self.ours.recovery - self.paper.recovery) * (self.ours.share + self.paper.share) / 200

    @property
    def name(self) -> str:
        """What the sentence is about: "Stress test, DST, cf-zoo"."""
        return f"{self.table}, {self.environment}, {self.search}"

    def __str__(self) -> str:
        rates = f"{100 * self.ours.rate.rate:.1f} % here, {100 * self.paper.rate.rate:.1f} % in the paper"
        return f"**{self.name}**: {rates} ({self.points:+.1f} points){self._why()}."

    def _why(self) -> str:
        ours, paper = self.ours, self.paper
        more, better = _compare(ours.share, paper.share), _compare(ours.recovery, paper.recovery)
        return (
            f". {self.of_possible:+.1f} because {more} of the cases are possible "
            f"({ours.possible:,} of {ours.cases:,} here, {paper.possible:,} of {paper.cases:,} there), "
            f"{self.of_found:+.1f} because of the possible ones {better} are found ({ours.recovery:.1f} % "
            f"here, {paper.recovery:.1f} % there)"
        )


@dataclass(frozen=True)
class FoundAlone(Difference):
    """A rate of which nothing but the search itself tells what is possible in the paper's cases."""

    def _why(self) -> str:
        ours, paper = self.ours, self.paper
        return (
            f". {self.of_possible:+.1f} because {_compare(ours.share, paper.share)} of the "
            f"cases are known to be possible ({ours.possible:,} of {ours.cases:,} here by proof, {paper.possible:,} of "
            f"{paper.cases:,} there, since no other search tells), {self.of_found:+.1f} because here "
            f"{ours.recovery:.1f} % of them are found, and there, by that count, all"
        )


@dataclass(frozen=True)
class Impossibility(Difference):
    """A share of cases that are impossible, counted as if they were found: it has one part only."""

    def _why(self) -> str:
        ours, paper = self.ours, self.paper
        return (
            f", because for {_compare(-ours.share, -paper.share)} of the cases CF-ZOO or "
            f"the grid has a command ({ours.cases - ours.possible:,} of {ours.cases:,} here, "
            f"{paper.cases - paper.possible:,} of {paper.cases:,} there)"
        )


def _compare(ours: float, theirs: float) -> str:
    """In words, of what is printed with one decimal."""
    return "as many" if round(ours - theirs, 1) == 0 else "more" if ours > theirs else "fewer"


def reproduce_differences(plan: Plan) -> Report:
    """A sentence for every rate that differs, in the stress test and in the comparison."""
    found = differences(plan)
    report = Report("Where our rates differ from the paper's, and why")
    report.say(
        "The agents are not the paper's, so that other cases are asked. A rate is the share of cases that are "
        "possible times the share of those that the search finds, and each difference splits into these two parts "
        "without rest (each weighed by the mean of the other). Possible, here: the exact search holds a command that "
        "flips the action. Possible, there: in the stress test CF-ZOO or one of the authors' two grids found one (the "
        f"second has {SECOND_GRID} Minecart cases that the first has not; both are coarse there, so that there may be "
        f"more); in the comparison CF-ZOO did (White-CW alone succeeds in {CW_ALONE} more).",
        *_networks(found),
        _confidence(plan),
        *sentences(found),
    )
    return report.add(_table(found))


def _networks(found: list[Difference]) -> list[str]:
    """The likely cause of most: other networks, of which the authors have published two."""
    told, more = [], []
    for name, (cases, possible, reached) in THEIR_AGENTS.items():
        pairs = [d for d in found if (d.table, d.environment) == ("Stress test", ENVIRONMENTS[name])]
        for d in pairs:
            told.append(
                f"{d.environment} {possible} of {cases} (of which CF-ZOO as run finds {reached}), where in their "
                f"published rows {d.paper.possible} of {d.paper.cases} are, and of our agent {d.ours.possible} of "
                f"{d.ours.cases}"
            )
            more.append(f"{100 * possible / cases:.0f} % against {d.paper.share:.0f} and {d.ours.share:.0f}")
    if not told:
        return []
    return [
        "Searches (but for White-CW's confidence, and the random numbers by which ZOO picks its coordinates), boxes, "
        "worlds and masks are the same on both sides; observations, networks and training are not. Agents that the "
        "authors have published, not those of the paper but with the same fronts, were asked in the same way "
        f"(`benchmarks/authors_agents.py`). Possible are: {'; '.join(told)}; in shares {', '.join(more)}. Where agents "
        "of the authors' making are near the paper's and ours are not, network and training are the likely reason."
    ]


def _confidence(plan: Plan) -> str:
    """White-CW beside the paper's with both confidences."""
    rows = comparison_rows(plan)
    paper = total_of(COMPARISON[name, "white-cw"] for name in plan.agents)
    told = []
    for search in ("white-cw:as-run", "white-cw:as-run-0"):
        ours = counts_of(rows, search).rate.rate
        told.append(f"{100 * ours:.1f} % ({100 * (ours - paper.found / paper.cases):+.1f} points)")
    return (
        f"White-CW has {100 * paper.found / paper.cases:.1f} % in the paper's comparison; as run with confidence 0.05, "
        f"which the authors' configuration says and which the sentences below compare, it has {told[0]} here, with 0, "
        f"which their data look like, {told[1]}."
    )


def sentences(found: list[Difference]) -> list[str]:
    """One for each difference that needs a reason, after one that counts them."""
    notable = [difference for difference in found if difference.notable]
    counted = f"{len(notable)} of {len(found)} rates differ from the paper's by more than {NOTABLE:.0f} points:"
    return [counted, "\n".join(f"- {difference}" for difference in notable)] if notable else []


def differences(plan: Plan) -> list[Difference]:
    """Every rate that the paper has too."""
    stress, compared = paper_rows(plan), comparison_rows(plan)
    mine = {name: _in(plan, stress, name) for name in plan.agents}
    made = stress_differences("Stress test", mine, AS_RUN)
    for search, papers in PAPER_NAMES.items():
        ours = {name: counts_of(_in(plan, compared, name), search) for name in plan.agents}
        theirs = {name: _compared(COMPARISON[name, papers], COMPARISON[name, "cf-zoo"]) for name in plan.agents}
        kind = FoundAlone if papers == "cf-zoo" else Difference
        made += _with_total("Comparison", "All", search, ours, theirs, kind)
    return made + _diagnosis(plan) if set(plan.agents) == set(ENVIRONMENTS) else made


def _diagnosis(plan: Plan) -> list[Difference]:
    """Successes after the large budget, and what no grid command solves; of both the paper knows the sum alone."""
    audit = as_run_audit(plan)
    ours = Counts(audit.total, audit.successes + len(set(audit.missed) & audit.left), audit.successes)
    known = TAXONOMY["success"] + TAXONOMY["search-limited"]
    theirs = Counts(sum(AUDIT.values()), known, AUDIT["success"])
    empty, none = len(audit.grid_infeasible), AUDIT["grid-infeasible"]
    impossible = Counts(audit.total, empty, empty), Counts(sum(AUDIT.values()), none, none)
    return [
        Difference("Diagnosis", "Success (with 100k)", AS_RUN, ours, theirs),
        Impossibility("Diagnosis", "Grid-infeasible foil", AS_RUN, *impossible),
    ]


def stress_differences(table: str, rows: Mapping[str, list[Row]], search: str = "cf-zoo") -> list[Difference]:
    """CF-ZOO's rates by environment, and in all, against those of the paper's stress test."""
    ours = {name: counts_of(taken, search) for name, taken in rows.items()}
    return _with_total(table, "Total", search, ours, {name: _published(name) for name in rows})


def _with_total(
    table: str,
    total: str,
    search: str,
    ours: Mapping[str, Counts],
    theirs: Mapping[str, Counts],
    kind: type[Difference] = Difference,
) -> list[Difference]:
    made = [kind(table, ENVIRONMENTS[name], search, ours[name], theirs[name]) for name in ours]
    return [*made, kind(table, total, search, _sum(ours.values()), _sum(theirs.values()))]


def _sum(parts: Iterable[Counts]) -> Counts:
    taken = list(parts)
    return Counts(sum(p.cases for p in taken), sum(p.possible for p in taken), sum(p.found for p in taken))


def _in(plan: Plan, rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if plan.environment_of(row) == name]


def counts_of(rows: Iterable[Row], search: str) -> Counts:
    """Of rows that hold a search and the exact one."""
    taken = list(rows)
    possible = possible_cases(taken)
    found = {row.case for row in taken if row.search == search and row.found}
    cases = sum(row.search == search for row in taken)
    return Counts(cases, len(possible | found), len(found))


def asked_as_run(agent: Agent) -> tuple[int, int, int]:
    """The stress test of an agent as the authors ran it: its cases, those that are possible, those that are found."""
    questions = [make_case_question(agent, *case, box="paper") for case in enumerate_cases(agent, PAPER_STRESS)]
    parts = [questions[first : first + 64] for first in range(0, len(questions), 64)]
    zoo, exact = (
        [answer.found for part in parts for answer in ask(part, search)]
        for search in (CFZooAsRun.preset("stress"), Exact())
    )
    return len(questions), sum(map(max, zoo, exact)), sum(zoo)


def possible_cases(rows: Iterable[Row]) -> set[Case]:
    """Those in which the exact search holds a command that flips the action."""
    held = (Status.PROVEN_CLOSEST, Status.FOUND)
    return {row.case for row in rows if row.search == "exact" and row.status in held}


def _published(name: str) -> Counts:
    return Counts(STRESS[name].cases, STRESS[name].found + PUBLISHED[name].known_possible, STRESS[name].found)


def _compared(row: PaperRow, zoo: PaperRow) -> Counts:
    return Counts(row.cases, max(row.found, zoo.found), row.found)


def _table(found: list[Difference]) -> Table:
    lines = tuple(
        (d.table, d.environment, d.search, d.ours.rate, d.paper.rate, d.points, d.of_possible, d.of_found)
        for d in found
    )
    columns = (
        *("table", "environment", "search", "rate [95 % CI]", "paper: rate [95 % CI]", "difference (points)"),
        *("because possible (points)", "because found (points)"),
    )
    return Table("Rates of the stress test, the comparison and the diagnosis", columns, lines)
