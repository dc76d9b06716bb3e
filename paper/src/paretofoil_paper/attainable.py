"""What should I ask for? How many smallest answers deliver what they ask for, and how many have one that does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import DELIVERED
from paretofoil.explanation.attainable import find_attainable
from paretofoil.explanation.questions import make_question
from paretofoil.show.palette import BLUE, GREEN, GREY
from paretofoil.study import Row
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.issued import NEAR, Answered, Issue, choose, issue_all
from paretofoil_paper.measurements import mean_interval, measurements, share
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import REACHABLE_PROTOCOL
from paretofoil_paper.report import Picture, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Attained:
    """What was measured on one answer; distances are scaled."""

    agent: str
    front: int
    time: int
    foil: int
    distance: float
    """Of the answer."""
    delivers: bool
    """Whether the answer itself can be had."""
    attained: float | None
    """The distance of the closest command known that can be had; None if none is known."""
    missed: float | None
    """By how much it misses what it asks for, at most."""
    off_front: float | None
    """From what it achieves to the nearest point of the front."""
    tried: int
    """Commands that were rolled out."""
    continued: str | None
    """What of the authors' way to continue ends on the front: a command of the front, the answer, or the answer for
    one step and then the nearest point of the front; None if nothing does."""

    @property
    def known(self) -> bool:
        return self.attained is not None

    @property
    def on_front(self) -> bool:
        return self.off_front is not None and self.off_front <= NEAR


WAYS = ("front", "answer", "one step")
"""How the authors' app continues: the first that ends on the front is taken."""


def measure_attained(answered: Answered) -> Iterator[Attained]:
    """One for each answer, in their order."""
    if not answered.rows:
        return
    agent, ways = answered.agent, _ways(answered)
    for i, (row, decision, command) in enumerate(
        zip(answered.rows, answered.decisions, answered.commands, strict=True)
    ):
        question = make_question(agent, decision, row.case.foil)
        had = find_attainable(agent, decision, question, command)
        follows = had.consequence
        yield Attained(
            *(row.case.agent, row.case.front, row.case.step, row.case.foil),
            distance=float(agent.space.distance(command, decision.command)),
            delivers=had.command is not None and bool(np.array_equal(had.command, command)),
            attained=had.distance,
            missed=had.missed,
            off_front=None if follows is None else answered.off_front(follows.achieved, follows.error),
            tried=had.tried,
            continued=next((way for way in WAYS if ways[way][i]), None),
        )


def _ways(answered: Answered) -> dict[str, Sequence[bool]]:
    """For each way to continue, which answers it brings onto the front."""
    nearest = answered.agent.front[answered.off(answered.asked).argmin(axis=1)]
    ends = {"answer": answered.ends(answered.commands), "one step": answered.ends(answered.commands, nearest)}
    landed = {way: [answered.off_front(end.achieved, end.error) <= NEAR for end in made] for way, made in ends.items()}
    return {"front": _front_lands(answered), **landed}


def _front_lands(answered: Answered) -> list[bool]:
    """Whether some command of the front, less what was collected, takes the foil and ends on the front."""
    agent, places, issues = answered.agent, [], []
    for i, (row, decision) in enumerate(zip(answered.rows, answered.decisions, strict=True)):
        commands = agent.front - decision.collected
        states = np.repeat(decision.state[None], len(commands), axis=0)
        taken = choose(agent.policy, states, commands, [decision.valid_actions] * len(commands))
        mine = commands[taken == row.case.foil]
        places += [i] * len(mine)
        issues += [Issue(answered.episodes[row.case.front], row.case.step, command) for command in mine]
    landed = [False] * len(answered.rows)
    for place, end in zip(places, issue_all(agent, issues, seed=answered.seed), strict=True):
        landed[place] |= answered.off_front(end.achieved, end.error) <= NEAR
    return landed


Rows = Sequence[Attained]
CLAIMED, CLAIMED_OF = 95.8, 2_534
"""Percent of their answers that, continued, end on the front, as the authors' app says; no rows are published."""


def reproduce_attainable(plan: Plan) -> Report:
    """Every answer of the stress test by the exact search."""
    rows = attained_rows(plan, [row for row in proof_rows(plan) if row.search == "exact" and row.found])
    report = Report("What should I ask for? Answers that can be had")
    report.say(REACHABLE_PROTOCOL, _method(), _in_words(rows))
    report.add(_known(plan, rows), Picture.of(_figure(plan, rows), "attainable", "Which answers can be had"))
    return report.add(_continued(plan, rows))


def attained_rows(plan: Plan, answers: Sequence[Row]) -> list[Attained]:
    """What can be had of each answer."""

    def measure() -> list[Attained]:
        made: list[Attained] = []
        for name, environment in plan.names.items():
            mine = [row for row in answers if row.case.agent == name]
            made += measure_attained(Answered(plan.load(environment), mine, plan.seed))
        return made

    settings = {"exact": describe_search(plan.seeded(plan.budgets.exact)), "delivered": DELIVERED}
    return measurements(plan, "attainable", Attained, measure, settings)


def _method() -> str:
    return (
        "The smallest change of a command sits on a decision boundary; issued, it may dither, or end elsewhere than it "
        "asks for. Beside each answer of the exact search to a question of the stress test stands the closest command "
        "*known*, from the same state, under which the agent takes the foil by the same margin and its whole episode, "
        f"rolled out, misses what was asked by at most {100 * DELIVERED:g} % of each objective's range; where chance "
        "plays, in the mean of 2,000 runs, to within two standard errors more. It is sought among the answer, larger "
        "changes the same way, the front, commands at random, and, twice over, what all of these lead to. That none is "
        "known does not prove that there is none. A return is on the front if it lies within "
        f"{100 * NEAR:g} % (scaled) of one of its points."
    )


def _in_words(rows: Rows) -> str:
    own, known, front = share(rows, _delivers), share(rows, _is_known), share(rows, _on_front)
    landed = share(rows, _lands)
    farther = np.median([row.attained / row.distance for row in rows if row.attained and row.distance])
    return (
        f"Of {len(rows):,} smallest answers {own.successes:,} ({100 * own.rate:.1f} %) deliver what they ask for; "
        f"{known.successes:,} ({100 * known.rate:.1f} %, cluster {mean_interval(rows, _is_known)}) have a command that "
        f"does, at a median of {farther:.2g} times the distance, and {100 * front.rate:.1f} % one that ends on the "
        "front. The authors' app continues after an answer in another way: it does not ask whether what was asked "
        f"comes, only whether the episode ends on the front. They claim {CLAIMED} % of {CLAIMED_OF:,} "
        "answers on their agents, without rows. By the rule as we read it "
        f"{100 * landed.rate:.1f} % of the exact search's answers do on ours, in another box."
    )


def _delivers(row: Attained) -> bool:
    return row.delivers


def _is_known(row: Attained) -> bool:
    return row.known


def _on_front(row: Attained) -> bool:
    return row.on_front


def _lands(row: Attained) -> bool:
    return row.continued is not None


def _groups(plan: Plan, rows: Rows) -> dict[str, list[Attained]]:
    """The rows of each environment that has some, and all of them."""
    groups = {ENVIRONMENTS[name]: [r for r in rows if plan.names[r.agent] == name] for name in plan.agents}
    return {name: mine for name, mine in {**groups, "All": list(rows)}.items() if mine}


def _known(plan: Plan, rows: Rows) -> Table:
    lines = []
    for name, mine in _groups(plan, rows).items():
        had = [row for row in mine if row.attained is not None]
        lines.append(
            (
                *(name, len(mine), share(mine, _delivers), share(mine, _is_known), mean_interval(mine, _is_known)),
                *(share(mine, _on_front), float(np.median([row.distance for row in mine]))),
                *(_median([row.attained for row in had]), _median([row.tried for row in mine])),
            )
        )
    columns = (
        *("environment", "answers", "the smallest delivers [95 % CI]", "one that delivers is known [95 % CI]"),
        *("cluster [95 % CI]", "one on the front [95 % CI]", "distance: smallest", "one that delivers", "rolled out"),
    )
    note = "Distances and numbers of commands that were rolled out are medians, over the answers that have them."
    rules = (len(lines) - 1,)
    return Table("Answers that can be had", columns, tuple(lines), note, rules=rules)


def _continued(plan: Plan, rows: Rows) -> Table:
    lines: list[tuple[Any, ...]] = []
    for name, mine in _groups(plan, rows).items():
        landed, cluster = share(mine, _lands), mean_interval(mine, _lands)
        ways = (sum(row.continued == way for row in mine) for way in ("front", "answer", "one step"))
        lines.append((name, len(mine), *ways, landed, cluster))
    columns = (
        *("environment", "answers", "a command of the front", "the answer", "one step of it, then the front"),
        *("ends on the front [95 % CI]", "cluster [95 % CI]"),
    )
    note = (
        "The authors' way to continue, as their code has it: commands of the front less what was collected that take "
        "the foil; else the answer; else the answer for one step, and then the nearest point of the front. Counted is "
        "the first that ends on the front."
    )
    return Table("Continued as the authors' app does", columns, tuple(lines), note, rules=(len(lines) - 1,))


def _median(numbers: Sequence[float | None]) -> float | None:
    return float(np.median(numbers)) if numbers else None  # type: ignore[arg-type]


def _figure(plan: Plan, rows: Rows) -> "Figure":
    groups = {name: mine for name, mine in _groups(plan, rows).items() if name != "All"}
    series = [
        Series("one that delivers is known", BLUE, {name: share(mine, _is_known) for name, mine in groups.items()}),
        Series("the smallest delivers", GREY, {name: share(mine, _delivers) for name, mine in groups.items()}),
        Series("ends on the front, the authors' way", GREEN, {n: share(mine, _lands) for n, mine in groups.items()}),
    ]
    return figure_rates(list(groups), series, "answers (% of those of the exact search")
