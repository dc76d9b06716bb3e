"""What became of CF-ZOO's failures (paper, Table "CF-ZOO diagnosis"): the paper's grid, and proofs beside it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paretofoil.agents import load_agent
from paretofoil.core.answer import Status
from paretofoil.core.search import Search
from paretofoil.search import Boundary, NearestFront
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table, paired_table
from paretofoil_paper.authors_data import TAXONOMY
from paretofoil_paper.comparison import recovery_table
from paretofoil_paper.distances import Distances
from paretofoil_paper.paper_tables import AUDIT, AUDIT_RECOVERED, ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, STRESSED
from paretofoil_paper.report import Report
from paretofoil_paper.searches import Grid, LocalZoo
from paretofoil_paper.stress import papers_rows, stress_rows

CHECKED = 20
"""Every so many of the proven-infeasible cases gets the grid as well, to check the proofs."""
IN_PAPERS, IN_REACHABLE = "in the paper's box", "in the box of what is reachable"
THOROUGH, AS_RUN_THOROUGH = "cf-zoo:thorough", "cf-zoo:as-run-thorough"


@dataclass(frozen=True, eq=False)
class Audit:
    """What is known about every case of the stress test."""

    failed: set[Case]
    """CF-ZOO found nothing at the stress budget."""
    again: list[Row]
    """Asked with the thorough budget where it failed and infeasibility is not proven."""
    proofs: dict[Case, Status]
    """What the exact search says about each case."""
    grid: dict[Case, Row]
    """What the grid says, of the cases that got it."""

    @property
    def total(self) -> int:
        return len(self.proofs)

    @property
    def recovered(self) -> set[Case]:
        """The failures in which it found something at the thorough budget."""
        return {row.case for row in self.again if row.found}

    @property
    def left(self) -> set[Case]:
        """The failures that stay failures."""
        return self.failed - self.recovered

    @property
    def successes(self) -> int:
        return self.total - len(self.left)

    @property
    def impossible(self) -> list[Case]:
        """The failures of which it is proven that no command flips the action."""
        return _infeasible(self.failed, self.proofs)

    @property
    def limited(self) -> set[Case]:
        """The failures that stay failures, although the grid has a command."""
        return {case for case in self.left.intersection(self.grid) if self.grid[case].found}

    @property
    def empty(self) -> set[Case]:
        """Those for which the grid has none, or can have none by proof."""
        return self.left.intersection(self.grid).union(_infeasible(self.left, self.proofs)) - self.limited

    @property
    def missed(self) -> list[Case]:
        """The failures at the stress budget where the exact search has a command."""
        return _feasible(self.failed, self.proofs)


def reproduce_audit(plan: Plan) -> Report:
    """The paper's own experiment with its grid and with proofs; then the same questions as this library asks them."""
    run, rows = as_run_audit(plan), stress_rows(plan) + proof_rows(plan)
    told = reachable_audit(plan, rows)
    report = Report("What became of the failures: the paper's grid, and proofs")
    report.say(_method(plan, run))
    whole = set(plan.agents) == set(ENVIRONMENTS)
    report.add(
        _taxonomy(run, whole), _proofs(run, IN_PAPERS), _by_environment(plan.as_run, run, IN_PAPERS), _cross(run)
    )
    report.say(_reachable(told), _seeding(rows))
    report.add(_proofs(told, IN_REACHABLE), _by_environment(plan.agents, told, IN_REACHABLE))
    return report.add(recovery_table(rows), paired_table(rows, "cf-zoo"))


def proof_rows(plan: Plan) -> list[Row]:
    """Every case of the stress test by the exact search, and by those that CF-ZOO is measured against."""
    others: dict[str, Search] = {"boundary": Boundary(), "exact": plan.budgets.exact}
    return plan.rows("audit-all", others | {"nearest-front": NearestFront(), "local-zoo": LocalZoo()}, EVERY_CASE)


def as_run_audit(plan: Plan) -> Audit:
    """CF-ZOO as the authors ran it, in their box, asked again where it failed and may succeed; then the grid."""
    failed, proofs = _failures(papers_rows(plan), AS_RUN)
    agents, search = list(plan.as_run.values()), {AS_RUN_THOROUGH: plan.budgets.as_run_thorough}
    possible = failed.difference(_infeasible(failed, proofs))  # elsewhere no budget can help
    again = plan.rows("audit-as-run-thorough", search, STRESSED, only=possible, agents=agents)
    asked = _grid_cases(plan, failed.difference(row.case for row in again if row.found), proofs)
    name = f"audit-grid-{plan.grid_dimension}{'-full' if plan.full_grid else ''}"  # more cases, another study
    grid = plan.rows(name, {"grid": Grid()}, STRESSED, only=asked, agents=agents)
    return Audit(failed, again, proofs, {row.case: row for row in grid})


def reachable_audit(plan: Plan, rows: list[Row]) -> Audit:
    """CF-ZOO as the paper tells it, in the box of what is reachable, asked again where it failed and may succeed."""
    failed, proofs = _failures(rows, "cf-zoo")
    possible = failed.difference(_infeasible(failed, proofs))
    again = plan.rows("audit-thorough", {THOROUGH: plan.budgets.thorough}, EVERY_CASE, only=possible)
    return Audit(failed, again, proofs, {})


def _failures(rows: Iterable[Row], search: str) -> tuple[set[Case], dict[Case, Status]]:
    """The cases in which a search found nothing, and what the exact search says about every case."""
    taken = list(rows)
    failed = {row.case for row in taken if row.search == search and not row.found}
    return failed, {row.case: row.status for row in taken if row.search == "exact"}


def _infeasible(cases: Iterable[Case], proofs: dict[Case, Status]) -> list[Case]:
    """Those in which it is proven that no command flips the action, in their order."""
    return [case for case in cases if proofs[case] is Status.PROVEN_INFEASIBLE]


def _feasible(cases: Iterable[Case], proofs: dict[Case, Status]) -> list[Case]:
    """Those in which the exact search found a command that does."""
    return [case for case in cases if proofs[case] in (Status.PROVEN_CLOSEST, Status.FOUND)]


def _grid_cases(plan: Plan, failed: set[Case], proofs: dict[Case, Status]) -> set[Case]:
    """Failures that get the grid: few enough objectives; where infeasibility is proven, a sample (or all, if asked)."""
    agents = map(load_agent, plan.as_run.values())
    sizes = {agent.name: int((agent.paper_space.high > agent.paper_space.low).sum()) for agent in agents}
    small = sorted(case for case in failed if sizes[case.agent] <= plan.grid_dimension)
    proven = _infeasible(small, proofs)
    cheap = {case for case in proven if sizes[case.agent] <= 2}
    sample = set(proven) if plan.full_grid else cheap | set(proven[::CHECKED])
    return set(small).difference(proven) | sample


def _method(plan: Plan, audit: Audit) -> str:
    checked = len(_infeasible(audit.grid, audit.proofs))
    return (
        "First the experiment as the authors ran it: CF-ZOO with their settings, in the box that they set for each "
        "environment, on agents that learned from realised returns where chance plays a part. It failed on "
        f"{len(audit.failed):,} of {audit.total:,} cases of the stress test; with B = 100,000 it found "
        f"{len(audit.recovered):,} of them (asked where infeasibility is not proven). The grid has 200 values per "
        f"objective, for up to {plan.grid_dimension} objectives, and stops at the first valid command. A proof of "
        "infeasibility covers every command of the box and so every grid command: such cases count as "
        f"grid-infeasible, and the grid was evaluated on {checked:,} of them to check the proofs."
    )


def _reachable(audit: Audit) -> str:
    return (
        "From here on the same questions as this library asks them: CF-ZOO as the paper's text tells it, in the box of "
        "what can still be returned, on agents of expected returns. It failed on "
        f"{len(audit.failed):,} of {audit.total:,} cases; {len(audit.impossible):,} of these are proven impossible, "
        f"and with 100,000 directions and queries it found {len(audit.recovered):,} of the others."
    )


def _seeding(rows: list[Row]) -> str:
    """The paper's main claim on these agents; the many-seed study has it with intervals over agents."""
    distances = Distances.of(rows)
    told = []
    for search in ("cf-zoo", "local-zoo"):
        spent = summarise(row for row in rows if row.search == search).queries or 0
        told.append(f"{100 * distances.recovered(search).rate:.1f} % ({spent:,.0f} queries in the mean)")
    return (
        f"**What seeding is worth.** Of {len(distances.feasible):,} cases that are known to be feasible CF-ZOO, which "
        f"is seeded by rays and by the front, recovers {told[0]}, and its ZOO phase alone, from the command itself, "
        f"{told[1]}."
    )


def _taxonomy(audit: Audit, whole: bool) -> Table:
    """The paper's table: a case that neither grid nor proof decides stands apart.

    The paper's figures are of all eight environments; where some are left out, they are not shown.
    """
    empty, limited = len(audit.empty), len(audit.limited)
    counts = {"success": audit.successes, "grid-infeasible": empty, "search-limited": limited}
    undecided = len(audit.left) - empty - limited
    lines: list[tuple[Any, ...]] = []
    for key, name in (
        ("success", "Success (with 100k)"),
        ("grid-infeasible", "Grid-infeasible foil"),
        ("search-limited", "Search-limited failure"),
    ):
        paper = _shares(key, AUDIT, sum(AUDIT.values())) if whole else (None,) * 3
        lines.append((name, *_shares(key, counts, audit.total), *paper))
    if undecided:
        share = Proportion(undecided, audit.total)
        lines.append(("Not decided: too many objectives for the grid", undecided, share, *(None,) * 4))
    columns = ("outcome", "cases", "% all [95 % CI]", "% feasible [95 % CI]")
    paper_columns = ("paper: cases", "paper: % all [95 % CI]", "paper: % feasible [95 % CI]")
    beside = f" (the paper: {AUDIT_RECOVERED})" if whole else ""
    note = f"Success includes {len(audit.recovered):,} recovered at 100k{beside}."
    if whole:
        again = [TAXONOMY[key] for key in ("success", "grid-infeasible", "search-limited")]
        recall = Proportion(again[0], again[0] + again[2])
        note += (
            f" Counted once each, the authors' published rows give {again[0]:,}, {again[1]:,} and {again[2]:,}, and of "
            f"the feasible {recall} ([authors](authors.md))."
        )
    return Table("CF-ZOO diagnosis with the grid", columns + paper_columns, tuple(lines), note)


def _shares(key: str, counts: Mapping[str, int], total: int) -> tuple[int, Proportion, Proportion | None]:
    """How many cases are of this kind, their share of all, and of the feasible ones if they are among these."""
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
        counts = Counter(outcome for case, outcome in audit.proofs.items() if case.agent == name)
        numbers = (counts.total(), *(counts[kind] for kind in kinds), missed[name])
        lines.append((ENVIRONMENTS[environment], *numbers))
    columns = (
        *("environment", "cases", "proven optimal", "found, gap left", "proven infeasible", "undecided"),
        "missed by CF-ZOO",
    )
    return Table(f"What the exact search says about every case, {where}", columns, tuple(lines))


def _cross(audit: Audit) -> Table:
    """How much of "grid-infeasible" is truly infeasible."""
    kinds = (Status.PROVEN_INFEASIBLE, Status.PROVEN_CLOSEST, Status.FOUND, Status.NOT_FOUND)
    counts = Counter((row.found, audit.proofs[case]) for case, row in audit.grid.items())
    lines = tuple(
        (name, *(counts[found, kind] for kind in kinds))
        for found, name in ((False, "no grid command flips the action"), (True, "a grid command flips it"))
    )
    note = "Feasible cases in the first row are counterfactuals that fall between the grid's points."
    columns = ("the grid says", "proven infeasible", "feasible, proven optimal", "feasible, gap left", "undecided")
    return Table("The grid against proofs, on the cases that got both", columns, lines, note)
