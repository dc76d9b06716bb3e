"""Outcome questions: the closest command under which the episode ends otherwise, proven."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, as_command
from paretofoil.core.answer import Status
from paretofoil.core.command import Objective
from paretofoil.core.display import show
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Stop, as_seconds, now
from paretofoil.explanation.episodes import require_deterministic
from paretofoil.explanation.outcome_search import GAP, Goal, OutcomeSearch

_LONGER = 1.05
"""How much farther than the closest command the short one may be."""


def read_goal(text: str, objectives: Sequence[Objective]) -> Goal:
    """Return the goal of a text such as "treasure >= 50, time <= 10"; costs are positive."""
    low, high = np.full(len(objectives), -np.inf), np.full(len(objectives), np.inf)
    names = [objective.name for objective in objectives]
    for part in text.split(","):
        matched = re.fullmatch(r"\s*(.+?)\s*(<=|>=|=)\s*([-+0-9.eE]+)\s*", part)
        if matched is None or matched[1] not in names:
            what = f'a goal such as "{names[0]} >= 1", for {", ".join(names)}'
            raise InvalidInput.expected(what, repr(part.strip()))
        which, sign = names.index(matched[1]), -1.0 if objectives[names.index(matched[1])].cost else 1.0
        try:
            number = sign * float(matched[3])
        except ValueError:
            raise InvalidInput.expected("a number in a goal", repr(matched[3])) from None
        if matched[2] == "=" or (matched[2] == ">=") == (sign > 0):
            low[which] = max(low[which], number)
        if matched[2] == "=" or (matched[2] == "<=") == (sign > 0):
            high[which] = min(high[which], number)
    return Goal(low, high)


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeAnswer:
    """The closest command under which the greedy episode meets a goal."""

    status: Status
    agent: str
    objectives: tuple[Objective, ...]
    goal: str
    original: np.ndarray  # (d,): the original command
    achieved_before: np.ndarray  # (d,): the return of the episode under it
    command: np.ndarray | None
    """A command in short numbers whose rollout meets the goal, close to the closest one; None if none was found."""
    achieved: np.ndarray | None  # (d,): the return of that rollout
    closest: np.ndarray | None
    """The closest command that was found: what the proof is about. Its rollout meets the goal, too."""
    distance: float | None
    """The scaled distance of the closest command from the original one."""
    lower_bound: float | None
    """No command that is closer than this meets the goal; None if nothing is proven."""
    low: np.ndarray
    high: np.ndarray
    """The search region."""
    stop: Stop
    boxes: int
    seconds: float
    assumed: float = 0.0
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""

    def __repr__(self) -> str:
        return f"<OutcomeAnswer: {self.sentence()}>"

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """Return the answer in words."""
        return str(show(self, "sentence"))


def explain_outcome(agent: Agent, command: Any, goal: str, *, seconds: float = 10.0) -> OutcomeAnswer:
    """Return the closest command under which the episode meets a goal, with its proof.

    The answer is proven in deterministic environments with finitely many states, for policies whose computation is
    known. Otherwise it is the closest of the commands that were rolled out.

    Args:
        agent: The agent.
        command: The original command, for the whole episode.
        goal: Conditions on the return, such as "treasure >= 50, time <= 10"; costs are positive.
        seconds: Time limit.
    """
    require_deterministic(agent)
    original = as_command(agent, command)
    limit = now() + as_seconds(seconds)
    start = now()
    search = OutcomeSearch(agent, original, read_goal(goal, agent.environment.objectives), limit)
    [before] = search.roll_out(original[None])
    if search.goal.met(before[None], search.tolerance)[0]:
        what = f"a goal that the episode under {original.tolist()} does not meet"
        raise InvalidInput.expected(what, f"{goal.strip()!r}, which it meets with {before.tolist()}")
    result = search.run()
    if result.closest is None:
        status = Status.PROVEN_INFEASIBLE if result.lower_bound == np.inf else Status.NOT_FOUND
    else:
        is_closest = result.lower_bound is not None and result.lower_bound >= result.distance * (1.0 - GAP)
        status = Status.PROVEN_CLOSEST if is_closest else Status.FOUND
    command, achieved = (None, None) if result.closest is None else _shorten(search, result.closest)
    return OutcomeAnswer(
        status=status,
        agent=agent.name,
        objectives=agent.space.command_objectives,
        goal=goal.strip(),
        original=original,
        achieved_before=before,
        command=command,
        achieved=achieved,
        closest=result.closest,
        distance=None if result.closest is None else result.distance,
        lower_bound=result.lower_bound,
        low=search.low,
        high=search.high,
        stop=result.stop,
        boxes=result.boxes,
        seconds=now() - start,
        assumed=result.assumed,
    )


def _shorten(search: OutcomeSearch, command: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a command in short numbers close to the given one, and its return; both commands meet the goal."""
    first = 1 - np.floor(np.log10(search.scale))
    for more in range(6):
        unit = 10.0 ** -(first + more)
        floor = np.floor(command / unit)
        corners = np.array(list(product((0.0, 1.0), repeat=len(command))))
        near = np.clip((floor + corners) * unit, search.low, search.high)
        near = np.stack([np.round(c, int(k)) for c, k in zip(near.T, first + more, strict=True)], axis=1) + 0.0
        returns = search.roll_out(near)
        met = np.flatnonzero(search.goal.met(returns, search.tolerance))
        if len(met):
            distances = search.distances(near[met], near[met])
            if distances.min() <= _LONGER * float(search.distances(command[None], command[None])[0]):
                nearest = met[distances.argmin()]
                return near[nearest], returns[nearest]
    [achieved] = search.roll_out(command[None])
    return command, achieved
