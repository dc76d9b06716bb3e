"""The page about the stress test, and what differs from the paper."""

from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.authors import authors_tables
from paretofoil_paper.authors_data import OWN_CODE, SECOND_GRID, SOURCE
from paretofoil_paper.differences import Difference, case_mix, differences, differences_table
from paretofoil_paper.examples import examples_table
from paretofoil_paper.landscapes import READING, RULE, landscapes_picture
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_PROTOCOL
from paretofoil_paper.report import Picture, Report, cells_of, pick
from paretofoil_paper.stress import stress_figure, stress_tables

CAPTION = "Success rates of CF-ZOO as run, ours (filled) and the paper's (hollow)"


def page(plan: Plan) -> Report:
    """Run every command of the front x every step of its greedy rollout x every valid foil."""
    stress, reachable, counts = stress_tables(plan)
    all_differences = differences(plan)
    of_stress = [d for d in all_differences if d.table == "Stress test"]
    report = Report("The stress test of CF-ZOO, and what differs from the paper")
    report.find(_rate(stress), "stress.png")
    report.find(_reason(of_stress))
    report.say(
        "A case is a state, a command and a foil: all commands of an agent's front, all steps of their greedy "
        "rollouts, and all valid actions that were not chosen. CF-ZOO is as run by the authors: B = 3,001 queries for "
        "the rays and 3,001 for ZOO, as their published rows show; the paper's text says 9,001. On "
        f"{OWN_CODE['questions']} of these questions the authors' own code and ours solve the same ones; "
        f"{OWN_CODE['close']} of {OWN_CODE['solved']} commands agree within 0.1 % of the range and all within "
        f"{100 * OWN_CODE['largest']:.0f} % (their code computes in single precision). {PAPER_PROTOCOL}"
    )
    columns = {name: name for name in ("environment", "cases", "rate [95 % CI]", "cluster [95 % CI]")}
    columns |= {name: name for name in ("paper: cases", "paper: rate [95 % CI]")}
    report.add(pick(stress, columns, note=_intervals()))
    report.add(Picture.of(stress_figure(stress), "stress", CAPTION))
    report.say("## Why rates differ", _describe_differences(of_stress))
    report.add(_decomposition(of_stress))
    report.say("## The paper's worked examples", _describe_examples())
    examples = examples_table(plan)
    shown = ("example", "foil", "by", "counterfactual command", "in the paper's units", "signs")
    chosen = ("paper", "CF-ZOO", "exact")
    report.add(pick(examples, shown, where=lambda cells: cells["by"] in chosen, note=_examples_note()))
    sentences, picture = landscapes_picture(plan)
    if picture is not None:
        report.say("## Landscapes", f"{RULE} {READING}", *sentences).add(picture)
    report.appendix += [stress, reachable, counts, differences_table(all_differences), examples, *authors_tables(plan)]
    return report


def _intervals() -> str:
    return (
        "Intervals: Wilson's, as in the paper, which assume independent cases; and a cluster bootstrap over episodes, "
        "for at least five episodes. Both apply to these agents only. Distances are in the appendix."
    )


def _rate(table: Table) -> str:
    [total] = [cells for cells in cells_of(table) if cells["environment"] == "Total"]
    ours, paper = total["rate [95 % CI]"], total["paper: rate [95 % CI]"]
    return (
        f"**CF-ZOO, run as the authors ran it, solves {100 * ours.rate:.1f} % of our cases** ({ours.successes:,} of "
        f"{ours.cases:,}; cluster {total['cluster [95 % CI]']}); the paper reports {100 * paper.rate:.1f} % "
        f"({paper.successes:,} of {paper.cases:,})."
    )


def _reason(of_stress: list[Difference]) -> str:
    *parts, total = of_stress
    feasible, solved = (max(parts, key=lambda d: abs(getattr(d, part))) for part in ("from_feasible", "from_recovery"))
    return (
        f"**Of the difference of {total.points:+.1f} points, {total.from_feasible:+.1f} come from the share of "
        f"feasible cases and {total.from_recovery:+.1f} from the share of these that is solved.** The first part is "
        f"largest in {feasible.environment} ({feasible.ours.feasible_share:.0f} % feasible here, "
        f"{feasible.paper.feasible_share:.0f} % in the authors' "
        f"rows), the second in {solved.environment}. The mix of environments alone makes {case_mix(parts):+.1f} points."
    )


def _describe_differences(of_stress: list[Difference]) -> str:
    trees = [d.ours.cases for d in of_stress if d.environment == ENVIRONMENTS["fruit-tree"]]
    fruit = "".join(
        f", such as Fruit-Tree with {cases:,} here and {STRESS['fruit-tree'].cases} in the paper" for cases in trees
    )
    return (
        "A rate is the share of feasible cases times the share of these that is solved; each difference is split into "
        "these two parts (those of the comparison and the diagnosis are in the appendix). "
        "Feasible here: by proof. Feasible in the paper: CF-ZOO or one of the authors' two grids found a command (the "
        f"second grid adds {SECOND_GRID} Minecart cases). The total also changes because environments have other "
        f"numbers of cases{fruit}. The page [agents](agents.md) measures the authors' own agents."
    )


def _decomposition(of_stress: list[Difference]) -> Table:
    lines = []
    for d in of_stress:
        shares = (Proportion(d.ours.feasible, d.ours.cases), Proportion(d.paper.feasible, d.paper.cases))
        lines.append((d.environment, d.points, d.from_feasible, d.from_recovery, *(100 * s.rate for s in shares)))
    columns = (
        *("environment", "difference (points)", "due to feasibility", "due to the search", "feasible here (%)"),
        "feasible in the authors' rows (%)",
    )
    note = f"Search: `{AS_RUN}`. The authors' rows are published ({SOURCE})."
    return Table("The difference from the paper, in two parts", columns, tuple(lines), note, rules=(len(lines) - 1,))


def _describe_examples() -> str:
    return (
        "Each question has the paper's state, remaining command and foil. Our agent is another network, so the signs "
        "of the change can be compared, not its size. If our agent already takes the foil, the question is reversed. "
        "Our agents are searched in the reachable region."
    )


def _examples_note() -> str:
    return "Signs: direction of each objective; 0 if its share of the scaled change is below 5 %."
