"""What can be had of each answer, and where the authors' own way to continue after it would end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.explanation.attainable import find_attainable
from paretofoil.explanation.pose import pose
from paretofoil_paper.aftermath import NEAR, Answered, choose
from paretofoil_paper.issue import Issue, issue_all


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
        question = pose(agent.policy, decision, row.case.foil, agent.space, agent.front)
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
