"""The combinatorial stress test (paper, Table "Stress test of CF-ZOO")."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.question import QuestionBatch
from paretofoil.show.palette import GREEN
from paretofoil.study import STRESS as EVERY_CASE
from paretofoil.study import Row
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil.study.statistics import Proportion, rate_interval, summarise
from paretofoil.study.table import Table
from paretofoil_paper.authors_data import PUBLISHED, PUBLISHED_MOMENTS
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS, total_of
from paretofoil_paper.plan import REALISED, Plan
from paretofoil_paper.protocols import AS_RUN, STRESSED, of_expected_returns
from paretofoil_paper.report import Picture, Report
from paretofoil_paper.searches.cf_zoo_as_run import cut_distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("environment", "cases", "found", "rate [95 % CI]", "cluster [95 % CI]")
AS_RUN_COLUMNS = ("distance (cut box)", "distance (whole box)")
PAPER_COLUMNS = (
    *("paper: cases", "paper: rate [95 % CI]", "paper: distance (cut box)"),
    "authors' rows: distance (whole box)",
)
INTERVALS = (
    "Intervals: Wilson's, as in the paper, which takes cases for independent; beside it a cluster bootstrap over "
    "episodes, where there are five or more (with one agent in each environment it is about these agents; where all "
    "cases succeed, or none, it has no width and says nothing)."
)


def stress_rows(plan: Plan) -> list[Row]:
    """Every case of every agent in the box of what is reachable, searched by CF-ZOO as the paper tells it."""
    return plan.rows("stress", {"cf-zoo": plan.budgets.stress}, EVERY_CASE)


def as_run_rows(plan: Plan) -> list[Row]:
    """Every case in the paper's box, searched by CF-ZOO as the authors ran it, and by proofs.

    Where chance plays a part both kinds of agents are asked: of realised returns, as theirs, and of expected ones.
    """
    searches = {AS_RUN: plan.budgets.as_run, "exact": plan.budgets.exact}
    return plan.rows("stress-as-run", searches, STRESSED, agents=plan.both_kinds)


def reproduce_stress(plan: Plan) -> Report:
    """Every front command x every moment of its greedy rollout x every valid foil."""
    report = Report("Stress test of CF-ZOO: every decision, every foil")
    report.say(
        "Each case is a state, a command and a valid foil: every command of the agent's front, every moment of its "
        "greedy rollout, every valid action that was not chosen. The agents are not the paper's, so that cases and "
        "rates differ where fronts, episodes and networks do ([differences](differences.md) has the measured reasons "
        "of the rates, the last table those of the counts)."
    )
    table = _as_run_table(plan)
    caption = "How often CF-ZOO flips the action in the paper's box, ours and the paper's"
    report.add(table, Picture.of(_figure(table), "stress", caption))
    report.add(_reachable_table(plan))
    counts = {name: Counted.of(_of(papers_rows(plan), agent)) for name, agent in plan.as_run.items()}
    return report.say(counts_in_words(counts)).add(_counts_table(counts))


def _as_run_table(plan: Plan) -> Table:
    """The paper's own experiment: its search, budget and box, with agents of realised returns."""
    rows = [row for row in as_run_rows(plan) if row.search == AS_RUN]
    cut = cut_by_case(plan, rows)
    lines = [
        (*_ours(ENVIRONMENTS[environment], _of(rows, agent), cut), *_theirs(environment))
        for environment, agent in plan.as_run.items()
    ]
    others = [(environment, agent) for environment, agent in plan.agents.items() if agent != plan.as_run[environment]]
    expected = [
        (*_ours(of_expected_returns(environment), _of(rows, agent), cut), *(None,) * len(PAPER_COLUMNS))
        for environment, agent in others
    ]
    paper = total_of(STRESS[name] for name in plan.agents)
    everything = [row for agent in plan.as_run.values() for row in _of(rows, agent)]
    total = (*_ours("Total", everything, None), paper.cases, Proportion(paper.found, paper.cases), None, None)
    note = (
        "CF-ZOO as the authors ran it (B = 3,001 queries for the rays and as many for ZOO, which their published "
        "queries show; the paper's text says 9,001), in the box that they set for each environment, on agents that "
        "learned from realised returns where chance plays a part, as theirs did; beneath, agents of expected returns. "
        "The paper's distances are in units of the box that is cut by the signs of the front, so ours stand beside "
        "them in the same units (what ZOO found without a seed, and so in the whole box, in units of that); "
        f"in those of the whole box theirs are recomputed from their published rows. {INTERVALS}"
    )
    columns = COLUMNS + AS_RUN_COLUMNS + PAPER_COLUMNS
    return Table("Stress test", columns, (*lines, total, *expected), note, rules=(len(lines), len(lines) + 1))


def papers_rows(plan: Plan) -> list[Row]:
    """Of these those of the agents that stand for the paper's."""
    rows = as_run_rows(plan)
    return [row for agent in plan.as_run.values() for row in _of(rows, agent)]


def _of(rows: Iterable[Row], agent: str) -> list[Row]:
    name = load_agent(agent).name
    return [row for row in rows if row.case.agent == name]


def _ours(name: str, rows: list[Row], cut: Mapping[object, float] | None) -> tuple[Any, ...]:
    """What a line says of our agents; without `cut` no distances, which cannot be averaged over environments."""
    success = Proportion(sum(row.found for row in rows), len(rows))
    rates = (name, success.cases, success.successes, success, rate_interval(rows))
    if cut is None:
        return (*rates, None, None)
    distances = [cut[row.case] for row in rows if row.found]
    return (*rates, float(np.mean(distances)) if distances else None, summarise(rows).closest_distance)


def _theirs(environment: str) -> tuple[Any, ...]:
    """What a line says of the paper."""
    paper = STRESS[environment]
    rate = Proportion(paper.found, paper.cases)
    return (paper.cases, rate, paper.distance, PUBLISHED[environment].whole_mean)


def cut_by_case(plan: Plan, rows: list[Row]) -> dict[object, float]:
    """The distances of the answers in units of the cut box, which is asked for of the policy again."""
    found = {row.case: Answer.from_json(row.answer) for row in rows if row.found}
    distances: dict[object, float] = {}
    for agent in map(load_agent, plan.both_kinds):
        asked = [(case, decision) for case, decision in enumerate_cases(agent, STRESSED, plan.seed) if case in found]
        if asked:
            batch = QuestionBatch([make_case_question(agent, case, decision, box="paper") for case, decision in asked])
            answers = [found[case] for case, _ in asked]
            commands = np.array([answer.closest.command for answer in answers if answer.closest])
            by_rays = np.array(["bisection" in answer.queries for answer in answers])
            measured = cut_distances(batch, commands, by_rays).tolist()
            distances |= dict(zip([case for case, _ in asked], measured, strict=True))
    return distances


def _reachable_table(plan: Plan) -> Table:
    """The same questions as this library asks them."""
    rows = stress_rows(plan)
    lines = []
    for name in [*plan.agents, "all"]:
        taken = [row for row in rows if name in ("all", plan.environment_of(row))]
        found = summarise(taken)
        rates = (found.success.cases, found.success.successes, found.success, rate_interval(taken))
        lines.append((ENVIRONMENTS.get(name, "Total"), *rates, found.closest_distance if name != "all" else None))
    took = f"{len(rows):,} cases took {sum(row.seconds for row in rows):,.0f} s of workers' wall time."
    note = (
        "CF-ZOO as the paper's text tells it (9,001 directions, 9,001 queries of ZOO), in the box of what can still be "
        "returned, on agents of expected returns. Distance: mean scaled l2 distance over the successes, in units of "
        f"the box that the agent was trained on. {took}"
    )
    columns = (*COLUMNS, "distance")
    return Table("In the box of what is reachable", columns, tuple(lines), note, rules=(len(lines) - 1,))


@dataclass(frozen=True)
class Counted:
    """How the cases of an agent come about."""

    commands: int
    moments: int
    cases: int

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Counted":
        cases = {row.case for row in rows}
        return cls(len({case.front for case in cases}), len({(case.front, case.step) for case in cases}), len(cases))

    def more_than(self, paper: int) -> float:
        """By how many percent its cases are more than the paper's."""
        return 100 * (self.cases / paper - 1)


def counts_in_words(counts: Mapping[str, Counted]) -> str:
    """Which counts are near the paper's, and what the others follow from."""
    steady = [name for name in counts if name not in REALISED]
    far = [name for name in steady if abs(counts[name].more_than(STRESS[name].cases)) > 10]
    near = len(steady) - len(far)
    told = [f"Of {len(steady)} environments without chance {near} have as many cases as the paper, within 10 %."]
    for name in far:
        ours, fronts, paper = counts[name], PUBLISHED[name].fronts, STRESS[name].cases
        told.append(
            f"{ENVIRONMENTS[name]} has {ours.more_than(paper):+.0f} %, because our front has {ours.commands} points "
            f"where theirs has {fronts}; a command has {ours.cases / ours.commands:.3g} cases in the mean here, "
            f"{paper / fronts:.3g} there."
        )
    for name in (name for name in counts if name in REALISED):
        if abs(counts[name].more_than(STRESS[name].cases)) > 10:
            told.append(
                f"{ENVIRONMENTS[name]} is one episode under one command, and chance decides how long it lasts: "
                f"{counts[name].moments} moments with a foil here, {PUBLISHED_MOMENTS[name]} moments there."
            )
    return " ".join(told)


def _counts_table(counts: Mapping[str, Counted]) -> Table:
    lines = []
    for name, ours in counts.items():
        paper = STRESS[name].cases
        mine = (ours.commands, ours.moments, ours.cases)
        lines.append((ENVIRONMENTS[name], *mine, PUBLISHED[name].fronts, paper, ours.more_than(paper)))
    columns = (
        *("environment", "commands", "moments with a foil", "cases", "their rows: commands", "paper: cases"),
        "difference (%)",
    )
    return Table("Where the numbers of cases come from", columns, tuple(lines))


def _figure(table: Table) -> "Figure":
    lines = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    measured = {line["environment"]: line[COLUMNS[3]] for line in lines}
    reported = {line["environment"]: line[PAPER_COLUMNS[1]] for line in lines if line[PAPER_COLUMNS[1]] is not None}
    series = [
        Series("CF-ZOO as run, measured", GREEN, measured),
        Series("CF-ZOO, the paper's", GREEN, reported, hollow=True),
    ]
    return figure_rates(list(measured), series)
