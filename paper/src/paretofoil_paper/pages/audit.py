"""The page about failures: what the grid, proofs and larger budgets say about them."""

from typing import TYPE_CHECKING

from paretofoil.show.palette import BLUE, GREEN, GREY
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.audit import Audit, as_run_audit, audit_tables
from paretofoil_paper.comparison import RECOVERY_COLUMNS
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.paper_tables import AUDIT, ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import PAPER_PROTOCOL
from paretofoil_paper.report import Picture, Report, cells_of, pick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = "Every case of the stress test: solved by CF-ZOO as run, feasible, and proven infeasible"


def page(plan: Plan) -> Report:
    """Classify the failures of the paper's experiment by its grid and by proofs; then those in the reachable region."""
    audit = as_run_audit(plan)
    grid, proofs, budgets, by_environment, against, recovery, *others = audit_tables(plan, audit)
    report = Report("The failures of CF-ZOO, classified by the paper's grid and by proofs")
    report.find(_failures(audit), picture="audit.png")
    report.find(*_grid(against, set(plan.agents) == set(ENVIRONMENTS)))
    report.find(*_budget(budgets))
    report.find(*_seeding(recovery))
    report.say(
        f"{PAPER_PROTOCOL} The exact search answered every case. CF-ZOO ran again, with larger budgets, on the cases "
        "that it had missed and that are not proven infeasible. The grid has 200 values per objective, for up to "
        f"{plan.grid_dimension} objectives. It was run on the cases that the largest budget does not solve. Of the "
        "proven infeasible cases, it was run on all with two objectives and on a sample of the others."
    )
    kept = [name for name in grid.columns if "% all" not in name]
    report.add(pick(grid, kept, title="The paper's diagnosis, with the grid", note=grid.note))
    report.add(pick(proofs, proofs.columns, title="The same diagnosis, with proofs"), budgets)
    report.add(pick(by_environment, by_environment.columns, title="Every case by proof", note=_gap_note()))
    report.add(Picture.of(_figure(by_environment), "audit", CAPTION))
    report.add(pick(against, against.columns, note=against.note))
    report.say("## In the reachable search region", _describe_recovery())
    title = "Recovery of the feasible cases, in the reachable search region"
    report.add(pick(recovery, RECOVERY_COLUMNS, title=title))
    report.appendix += [grid, proofs, by_environment, recovery, *others]
    return report


def _failures(audit: Audit) -> str:
    infeasible = Proportion(len(audit.infeasible), len(audit.failed))
    undecided = len(audit.failed) - len(audit.infeasible) - len(audit.missed)
    return (
        f"**Of the {infeasible.cases:,} cases that CF-ZOO as run does not solve, {infeasible.successes:,} are proven "
        f"infeasible** ({infeasible} %), {len(audit.missed):,} have a valid command, and {undecided:,} are undecided."
    )


def _grid(against: Table, complete: bool) -> tuple[str, str]:
    lines = cells_of(against)
    none, some = (line["feasible, proven closest"] + line["feasible, with a gap"] for line in lines)
    infeasible = [line["proven infeasible"] for line in lines]
    paper = f"The paper calls {AUDIT['grid-infeasible']} cases infeasible because of its grid. " if complete else ""
    share = Proportion(none, none + some)
    return (
        f"**A grid of 200 values per objective misses every valid command in {none:,} of {share.cases:,} feasible "
        f"cases** that CF-ZOO misses even with its largest budget ({share} %): all valid commands lie between its "
        "points.",
        f"{paper}Of {sum(infeasible):,} cases that are proven infeasible, our grid finds a valid command in "
        f"{infeasible[1]:,}.",
    )


def _budget(budgets: Table) -> tuple[str, str]:
    first, *_, recommended, last = cells_of(budgets)
    rates = [cells["of all feasible cases [95 % CI]"] for cells in (first, recommended, last)]
    return (
        f"**Of the {first['feasible cases missed at first']:,} feasible cases that CF-ZOO as run misses with a budget "
        f"of B = {first['budget B']:,} queries, it solves {recommended['found']} with B = "
        f"{recommended['budget B']:,} and {last['found']} with B = {last['budget B']:,}**: of all "
        f"{rates[0].cases:,} feasible cases, it solves {rates[0]} % with B = {first['budget B']:,}, {rates[1]} % with "
        f"B = {recommended['budget B']:,} and {rates[2]} % with B = {last['budget B']:,}.",
        "The paper recommends 50,000.",
    )


def _seeding(recovery: Table) -> tuple[str, str]:
    by_search = {cells["search"]: cells for cells in cells_of(recovery)}
    zoo, local = by_search["cf-zoo"], by_search["local-zoo"]
    return (
        f"**Of {zoo['known feasible']:,} cases that are feasible in the reachable region, CF-ZOO solves "
        f"{zoo['recovered [95 % CI]']} % and its ZOO phase alone {local['recovered [95 % CI]']} %**.",
        f"They need medians of {zoo['queries: median']:,.0f} and {local['queries: median']:,.0f} queries.",
    )


def _describe_recovery() -> str:
    return (
        "Here the stress test is repeated with the defaults of this library: in the reachable region, with agents "
        "trained on expected returns, and with CF-ZOO as the paper's text describes it (`cf-zoo`). `local-zoo` is ZOO "
        "alone, started at the original command; `nearest-front` tries the points of the front."
    )


def _gap_note() -> str:
    return "Found, with a gap: a valid command is known, but it is not proven to be the closest."


def _figure(table: Table) -> "Figure":
    cells = cells_of(table)
    names = [line["environment"] for line in cells]

    def share(count: str) -> dict[str, Proportion]:
        return {line["environment"]: Proportion(line[count], line["cases"]) for line in cells}

    solved = {
        line["environment"]: Proportion(
            line["cases"] - line["proven infeasible"] - line["undecided"] - line["missed by CF-ZOO"], line["cases"]
        )
        for line in cells
    }
    feasible = {
        line["environment"]: Proportion(line["cases"] - line["proven infeasible"] - line["undecided"], line["cases"])
        for line in cells
    }
    series = [
        Series("solved by CF-ZOO as run", GREEN, solved),
        Series("feasible", BLUE, feasible),
        Series("proven infeasible", GREY, share("proven infeasible")),
    ]
    return figure_rates(names, series, "cases (% of all")
