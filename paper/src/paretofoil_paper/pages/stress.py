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
    report.find(_rate(stress), picture="stress.png")
    report.find(*_reason(of_stress))
    report.say(
        "The stress test has a case for every command of an agent's front, every step of its greedy rollout, and every "
        "valid action that was not chosen there. CF-ZOO is as run by the authors: it may "
        "spend B = 3,001 queries on the rays and 3,001 on ZOO, as their published rows show; the paper's text says "
        f"9,001. We ran the authors' own code on {OWN_CODE['questions']} of these cases, with our agents: it solves "
        f"the same ones as our code. Of the {OWN_CODE['solved']} commands that both find, {OWN_CODE['close']} agree "
        f"within 0.1 % of each objective's range and all within {100 * OWN_CODE['largest']:.0f} %; their code computes "
        f"in single precision. {PAPER_PROTOCOL}"
    )
    columns = {name: name for name in ("environment", "cases", "rate [95 % CI]", "cluster [95 % CI]")}
    columns |= {name: name for name in ("paper: cases", "paper: rate [95 % CI]")}
    report.add(pick(stress, columns, note=_intervals()))
    report.add(Picture.of(stress_figure(stress), "stress", CAPTION))
    report.say("## Why rates differ", _describe_differences(of_stress))
    report.add(_decomposition(of_stress))
    examples = examples_table(plan)
    report.say("## The paper's worked examples", _describe_examples(examples))
    shown = {name: name for name in ("example", "foil", "by", "counterfactual command")}
    shown |= {"in the paper's units": "distance", "signs": "signs"}
    chosen = ("paper", "CF-ZOO", "exact")
    report.add(pick(examples, shown, where=lambda cells: cells["by"] in chosen, note=_examples_note()))
    sentences, picture = landscapes_picture(plan)
    if picture is not None:
        report.say("## Landscapes", RULE, READING, *sentences).add(picture)
    report.appendix += [stress, reachable, counts, differences_table(all_differences), examples, *authors_tables(plan)]
    return report


def _intervals() -> str:
    return (
        "The intervals after the rates are Wilson's, as in the paper; they assume independent cases. The cluster "
        "intervals are from a bootstrap over episodes, for at least five episodes. Both are about these agents only. "
        "The last two lines are about agents trained on expected returns. Distances are in the appendix."
    )


def _rate(table: Table) -> str:
    [total] = [cells for cells in cells_of(table) if cells["environment"] == "Total"]
    ours, paper = total["rate [95 % CI]"], total["paper: rate [95 % CI]"]
    return (
        f"**CF-ZOO, run as the authors ran it, solves {100 * ours.rate:.1f} % of our cases** ({ours.successes:,} of "
        f"{ours.cases:,}; cluster {total['cluster [95 % CI]']}); the paper reports {100 * paper.rate:.1f} % "
        f"({paper.successes:,} of {paper.cases:,})."
    )


def _reason(of_stress: list[Difference]) -> tuple[str, str]:
    *parts, total = of_stress
    feasible, solved = (max(parts, key=lambda d: abs(getattr(d, part))) for part in ("from_feasible", "from_recovery"))
    return (
        f"**Of the difference of {total.points:+.1f} percentage points, {total.from_feasible:+.1f} come from the share "
        f"of cases that are feasible and {total.from_recovery:+.1f} from the share of the feasible cases that are "
        "solved.**",
        f"Feasibility has its largest effect in {feasible.environment} ({feasible.ours.feasible_share:.0f} % of the "
        f"cases are feasible here, {feasible.paper.feasible_share:.0f} % in the authors' rows), the search in "
        f"{solved.environment}. Different numbers of cases per environment alone would change the total rate by "
        f"{case_mix(parts):+.1f} points.",
    )


def _describe_differences(of_stress: list[Difference]) -> str:
    trees = [d.ours.cases for d in of_stress if d.environment == ENVIRONMENTS["fruit-tree"]]
    fruit = "".join(
        f"; Fruit-Tree, for example, has {cases:,} here and {STRESS['fruit-tree'].cases} in the paper"
        for cases in trees
    )
    return (
        "A success rate is the share of cases that are feasible, times the share of the feasible cases that are "
        "solved. The table splits each difference from the paper into the effects of these two factors; the appendix "
        "does this for the comparison and the diagnosis. Our cases are feasible if CF-ZOO or the exact search solves "
        "them. The authors' cases count as feasible if CF-ZOO or one of their two grids found a command (the second "
        f"grid adds {SECOND_GRID} Minecart cases). The total also depends on the numbers of cases{fruit}. The page "
        "[agents](agents.md) has results for the authors' own agents."
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


def _describe_examples(examples: Table) -> str:
    lines = {(cells["example"], cells["by"]): cells for cells in cells_of(examples)}
    pairs = {name: (lines[name, "paper"], lines[name, "exact"]) for name, by in lines if by == "paper"}
    asked = [name for name, (paper, ours) in pairs.items() if paper["foil"] == ours["foil"]]
    equal = [name for name in asked if pairs[name][0]["signs"] == pairs[name][1]["signs"]]
    where = f" ({', '.join(equal)})" if equal else ""
    other = f" ({', '.join(name for name in pairs if name not in asked)})" if len(asked) < len(pairs) else ""
    return (
        f"In {len(equal)} of {len(asked)} examples with the paper's foil{where}, the closest command changes all "
        "objectives in the same directions as the paper's answer. Each question has the paper's state, remaining "
        "command and foil. Our agent is another network, so compare the signs of the change, not its size. If our "
        f"agent already takes the foil{other}, the foil is the action that the authors' agent took. Our searches "
        "run in the reachable region."
    )


def _examples_note() -> str:
    return (
        "Distance: with each objective divided by its range in the paper's search region. Signs: the direction in "
        "which each objective changes; 0 if its share of the scaled change is below 5 %."
    )
