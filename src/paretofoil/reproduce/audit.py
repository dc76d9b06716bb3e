"""What became of CF-ZOO's failures (paper, Table "CF-ZOO diagnosis"): the paper's grid, and proofs beside it."""

from collections import Counter
from typing import Any

from paretofoil.core.search import Search
from paretofoil.reproduce.comparison import recovery_table
from paretofoil.reproduce.paper import AUDIT, AUDIT_RECOVERED, ENVIRONMENTS
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Report
from paretofoil.reproduce.stress import stress_rows
from paretofoil.search import Boundary, CFZoo, Exact, Grid, LocalZoo, NearestFront
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table

CHECKED = 20
"""Every so many of the proven-infeasible cases gets the grid as well, to check the proofs."""


def reproduce_audit(plan: Plan) -> Report:
    """Success, grid-infeasible, search-limited; then the same with proofs instead of a grid."""
    rows = stress_rows(plan)
    seed = plan.seed
    others: dict[str, Search] = {"boundary": Boundary(seed=seed), "exact": Exact(seed=seed)}
    others |= {"nearest-front": NearestFront(seed=seed), "local-zoo": LocalZoo(seed=seed)}
    rows += plan.rows("audit-all", others, EVERY_CASE)
    failed = {row.case for row in rows if row.search == "cf-zoo" and not row.found}
    proofs = {row.case: row.outcome for row in rows if row.search == "exact"}
    possible = {case for case in failed if proofs[case] != "proven infeasible"}  # elsewhere no budget can help
    thorough = {"cf-zoo:thorough": CFZoo.preset("thorough", seed)}
    rows += plan.rows("audit-thorough", thorough, EVERY_CASE, only=possible)
    recovered = {row.case for row in rows if row.search == "cf-zoo:thorough" and row.found}
    asked = _grid_cases(plan, failed - recovered, proofs)
    name = f"audit-grid-{plan.grid_dimension}{'-full' if plan.full_grid else ''}"  # more cases, another study
    grid = {row.case: row for row in plan.rows(name, {"grid": Grid(seed=seed)}, EVERY_CASE, only=asked)}
    report = Report("What became of the failures: the paper's grid, and proofs")
    report.say(_method(plan, len(failed), len(recovered), asked, proofs))
    total = len(proofs)
    whole = set(plan.agents) == set(ENVIRONMENTS)
    report.add(_taxonomy(total, failed, recovered, grid, proofs, whole), _proofs(total, failed, recovered, proofs))
    report.add(_by_environment(plan, failed, proofs), _cross(grid, proofs), recovery_table(_plain(rows)))
    return report


def _plain(rows: list[Row]) -> list[Row]:
    """The rows of searches that were asked everything."""
    return [row for row in rows if row.search != "cf-zoo:thorough"]


def _grid_cases(plan: Plan, failed: set[Case], proofs: dict[Case, str]) -> set[Case]:
    """Failures that get the grid: few enough objectives; where infeasibility is proven, a sample (or all, if asked)."""
    sizes = {agent.name: int((agent.space.high > agent.space.low).sum()) for agent in map(plan.load, plan.agents)}
    small = sorted(case for case in failed if sizes[case.agent] <= plan.grid_dimension)
    proven = [case for case in small if proofs[case] == "proven infeasible"]
    cheap = {case for case in proven if sizes[case.agent] <= 2}
    sample = set(proven) if plan.full_grid else cheap | set(proven[::CHECKED])
    return {case for case in small if proofs[case] != "proven infeasible"} | sample


def _method(plan: Plan, failed: int, recovered: int, asked: set[Case], proofs: dict[Case, str]) -> str:
    checked = sum(proofs[case] == "proven infeasible" for case in asked)
    return (
        f"CF-ZOO failed on {failed:,} cases at the stress budget; with 100,000 directions and queries it found "
        f"{recovered:,} of them (asked where infeasibility is not proven). The grid has 200 values per objective, for "
        f"up to {plan.grid_dimension} objectives, and stops at the first valid command. A proof of infeasibility "
        "covers every command of the region and so every grid command: such cases count as grid-infeasible, and the "
        f"grid was evaluated on {checked:,} of them to check the proofs."
    )


def _taxonomy(
    total: int, failed: set[Case], recovered: set[Case], grid: dict[Case, Row], proofs: dict[Case, str], whole: bool
) -> Table:
    """The paper's table: a case that neither grid nor proof decides stands apart.

    The paper's figures are of all eight environments; where some are left out, they are not shown.
    """
    left = failed - recovered
    limited = {case for case in left if case in grid and grid[case].found}
    empty = {
        case for case in left if (case in grid and not grid[case].found) or proofs[case] == "proven infeasible"
    } - limited
    counts = {"success": total - len(left), "grid-infeasible": len(empty), "search-limited": len(limited)}
    undecided = len(left) - len(empty) - len(limited)
    paper_total = sum(AUDIT.values())
    lines: list[tuple[Any, ...]] = []
    for key, name in (
        ("success", "Success (with 100k)"),
        ("grid-infeasible", "Grid-infeasible foil"),
        ("search-limited", "Search-limited failure"),
    ):
        feasible, theirs = None, None
        if key != "grid-infeasible":
            feasible = Proportion(counts[key], counts["success"] + counts["search-limited"])
            theirs = Proportion(AUDIT[key], AUDIT["success"] + AUDIT["search-limited"])
        paper = (AUDIT[key], Proportion(AUDIT[key], paper_total), theirs) if whole else (None,) * 3
        lines.append((name, counts[key], Proportion(counts[key], total), feasible, *paper))
    if undecided:
        lines.append(
            ("Not decided: too many objectives for the grid", undecided, Proportion(undecided, total), *(None,) * 4)
        )
    columns = ("outcome", "cases", "% all [95 % CI]", "% feasible [95 % CI]")
    paper_columns = ("paper: cases", "paper: % all [95 % CI]", "paper: % feasible [95 % CI]")
    beside = f" (the paper: {AUDIT_RECOVERED})" if whole else ""
    note = f"Success includes {len(recovered):,} recovered at 100k{beside}."
    return Table("CF-ZOO diagnosis with the grid", columns + paper_columns, tuple(lines), note)


def _proofs(total: int, failed: set[Case], recovered: set[Case], proofs: dict[Case, str]) -> Table:
    left = failed - recovered
    infeasible = sum(proofs[case] == "proven infeasible" for case in left)
    feasible = sum(proofs[case] in ("proven optimal", "found") for case in left)
    known = total - len(left) + feasible
    lines = (
        (
            "Success (with 100k)",
            total - len(left),
            Proportion(total - len(left), total),
            Proportion(total - len(left), known),
        ),
        ("Proven infeasible foil", infeasible, Proportion(infeasible, total), None),
        (
            "Search-limited failure (a valid command exists)",
            feasible,
            Proportion(feasible, total),
            Proportion(feasible, known),
        ),
        ("Undecided", len(left) - infeasible - feasible, Proportion(len(left) - infeasible - feasible, total), None),
    )
    return Table("CF-ZOO diagnosis with proofs", ("outcome", "cases", "% all [95 % CI]", "% feasible [95 % CI]"), lines)


def _by_environment(plan: Plan, failed: set[Case], proofs: dict[Case, str]) -> Table:
    lines = []
    for environment, name in ((e, plan.load(e).name) for e in plan.agents):
        counts = Counter(outcome for case, outcome in proofs.items() if case.agent == name)
        missed = sum(case.agent == name and proofs[case] in ("proven optimal", "found") for case in failed)
        kinds = [
            counts["proven optimal"],
            counts["found"],
            counts["proven infeasible"],
            counts["not found within the budget"],
        ]
        lines.append((ENVIRONMENTS[environment], sum(counts.values()), *kinds, missed))
    columns = (
        "environment",
        "cases",
        "proven optimal",
        "found, gap left",
        "proven infeasible",
        "undecided",
        "missed by CF-ZOO",
    )
    return Table("What the exact search says about every case", columns, tuple(lines))


def _cross(grid: dict[Case, Row], proofs: dict[Case, str]) -> Table:
    """How much of "grid-infeasible" is truly infeasible."""
    counts = Counter((row.found, proofs[case]) for case, row in grid.items())
    outcomes = ("proven infeasible", "proven optimal", "found", "not found within the budget")
    lines = tuple(
        (name, *(counts[found, outcome] for outcome in outcomes))
        for found, name in ((False, "no grid command flips the action"), (True, "a grid command flips it"))
    )
    note = "Feasible cases in the first row are counterfactuals that fall between the grid's points."
    columns = ("the grid says", "proven infeasible", "feasible, proven optimal", "feasible, gap left", "undecided")
    return Table("The grid against proofs, on the cases that got both", columns, lines, note)
