"""A user study as its file describes it: what people are shown, what they are asked, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

SHOWN = ("counterfactuals", "proofs", "influence", "regions")
"""What a condition may show beside the agent's episode."""
KINDS = ("predict", "choose", "steer")
END = "end"
"""The last step: ratings of the whole."""


@dataclass(frozen=True)
class Condition:
    """What some of the participants are shown."""

    name: str
    shows: tuple[str, ...] = ()
    """Some of `SHOWN`."""
    instead: Mapping[str, str] | None = None
    """Agents that stand in for others, in tasks about one agent: the trained one's under-trained twin."""

    def agent(self, name: str) -> str:
        """Whom a participant meets where a task names this agent."""
        return (self.instead or {}).get(name, name)


@dataclass(frozen=True)
class Rating:
    """A statement or question with a scale of points, both of whose ends have words."""

    name: str
    text: str
    low: str
    high: str
    points: int = 5
    asked: Literal["task", "end"] = "task"
    """With every task, or once at the end."""


@dataclass(frozen=True)
class Task:
    """One thing to do."""

    name: str
    kind: str
    """predict what the agent does; choose the agent that will serve better; steer it, so that it takes the foil."""
    text: str
    agents: tuple[str, ...]
    """One; two to choose from."""
    command: tuple[float, ...]
    """What the agent is asked for; of two, what the chosen one will be asked for."""
    watched: tuple[float, ...]
    """The command of the episodes that are watched: another one where there are two to choose from."""
    time: int | None = None
    """The moment that is asked about; the episode is watched up to it."""
    foil: str | None = None
    explained: tuple[int, ...] = ()
    """Moments of what is watched whose counterfactuals are shown, each against the most probable foil."""
    seed: int = 0
    """Of chance in the environment."""


@dataclass(frozen=True)
class UserStudy:
    """All of a study's file."""

    title: str
    consent: tuple[str, ...]
    conditions: tuple[Condition, ...]
    tasks: tuple[Task, ...]
    ratings: tuple[Rating, ...]
    introduction: tuple[str, ...]
    thanks: tuple[str, ...]
    seed: int
    document: Mapping[str, Any]
    """The file itself, which is kept with the replies."""

    def condition_of(self, number: int) -> Condition:
        """Of the participant with that number, from 0 on: every block of participants has each condition once."""
        block, place = divmod(number, len(self.conditions))
        return self.conditions[self._order(len(self.conditions), 0, block)[place]]

    def tasks_of(self, number: int) -> list[Task]:
        """All tasks, in the participant's own order."""
        return [self.tasks[i] for i in self._order(len(self.tasks), 1, number)]

    def sides_of(self, number: int, task: Task) -> list[int]:
        """In which order the participant sees the agents of a task."""
        return self._order(len(task.agents), 2, number, self.tasks.index(task))

    def ratings_of(self, number: int, asked: str) -> list[Rating]:
        """Those that come with a task, as the file has them; those at the end, in the participant's own order."""
        found = [rating for rating in self.ratings if rating.asked == asked]
        return [found[i] for i in self._order(len(found), 3, number)] if asked == END else found

    def _order(self, size: int, *purpose: int) -> list[int]:
        """An order by chance that is always the same: from the seed, and from what it is for."""
        return [int(i) for i in np.random.default_rng([self.seed, *purpose]).permutation(size)]
