"""Episodes and their moments, rolled out once and kept: pictures, networks and questions are about the same ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout, rollout_from
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.document import write_document
from paretofoil.core.errors import InvalidInput
from paretofoil.web.memory import Memory

EPISODES_BYTES = 64 << 20
DECISION_BYTES = 2000
"""What a decision takes in memory beside its state, with the environment's."""


@dataclass(frozen=True)
class Course:
    """Which episode: whose, under which command and seed, and what was issued instead from some moment on."""

    agent: str
    command: tuple[float, ...]
    seed: int = 0
    since: int | None = None
    issued: tuple[float, ...] | None = None

    @property
    def key(self) -> str:
        return write_document({"episode": [self.agent, self.command, self.seed, self.since, self.issued]})

    @property
    def original(self) -> "Course":
        """The episode that it departs from."""
        return Course(self.agent, self.command, self.seed)


class Moments:
    """The episodes of agents that are found by name, by what was asked for."""

    def __init__(self, find: Callable[[str], Agent]) -> None:
        self.agent = find
        self._kept: Memory[Episode] = Memory(EPISODES_BYTES)

    def episode(self, course: Course) -> Episode:
        kept = self._kept.get(course.key)
        if kept is None:
            kept = self._roll_out(course)
            self._kept.put(course.key, kept, len(kept) * (DECISION_BYTES + kept[0].state.nbytes))
        return kept

    def decision(self, course: Course, time: int) -> Decision:
        episode = self.episode(course)
        return episode[_place(episode, time, last=len(episode) - 1)]

    def snapshot(self, course: Course, time: int) -> Any:
        """The environment's state at a moment; the one behind the last decision is the end."""
        episode = self.episode(course)
        place = _place(episode, time, last=len(episode))
        return episode[place].snapshot if place < len(episode) else episode.end

    def _roll_out(self, course: Course) -> Episode:
        agent = self.agent(course.agent)
        if course.since is None or course.issued is None:
            return rollout(agent, course.command, seed=course.seed)
        since = self.decision(course.original, course.since)
        return rollout_from(agent, since, course.issued, seed=course.seed)


def _place(episode: Episode, time: int, last: int) -> int:
    first = episode[0].step
    if not first <= time <= first + last:
        raise InvalidInput.expected(f"a moment from {first} to {first + last} of this episode", time)
    return time - first
