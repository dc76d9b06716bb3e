"""Decisions of an agent in a state under a command, and episodes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from paretofoil.core.command import LARGEST, Objective, as_vector, format_numbers
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import UNSTORED, Count, Document, brief, show


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Document):
    """One step of an episode: a state, a command, the valid actions and the chosen one."""

    SCHEMA: ClassVar[str] = "paretofoil/decision/2"
    EARLIER: ClassVar = {"paretofoil/decision/1": {"time": "step"}}

    state: np.ndarray
    command: np.ndarray
    """R_t: the return that remained to be collected."""
    valid_actions: tuple[Count, ...]
    """Empty if actions are continuous."""
    action: int
    """The chosen action; -1 if actions are continuous."""
    collected: np.ndarray
    """R_col: the return collected before this step."""
    step: Count = 0
    snapshot: Any = field(default=None, metadata=UNSTORED)
    """State of the environment, from which rollouts start; None without an environment or if read from JSON."""
    amounts: np.ndarray | None = None
    """The chosen amounts of continuous actions, within the limits of the environment; None if actions are discrete."""

    @property
    def others(self) -> list[int]:
        """The valid actions that were not chosen: the possible foils."""
        return [action for action in self.valid_actions if action != self.action]

    def __repr__(self) -> str:
        action = f"action {self.action} of {list(self.valid_actions)}"
        if self.amounts is not None:
            action = f"amounts {format_numbers(self.amounts)}"
        return f"<Decision at t = {self.step}: {action}, command {format_numbers(self.command)}>"

    def check(self) -> None:
        if np.abs(self.state).max() > LARGEST:
            raise InvalidInput.expected(f"a state of numbers up to {LARGEST:.2g} (float32)", brief(self.state.tolist()))
        if self.collected.size != self.command.size:
            raise InvalidInput.expected(f"a collected return of {self.command.size} numbers", self.collected.size)
        if self.amounts is None and self.action not in self.valid_actions:
            raise InvalidInput.expected(f"an action among the valid ones {list(self.valid_actions)}", self.action)
        object.__setattr__(self, "state", self.state.astype(np.float32))


@dataclass(frozen=True, eq=False, repr=False)
class Episode(Document, Sequence[Decision]):
    """The decisions of one episode, in order, and its return."""

    SCHEMA: ClassVar[str] = "paretofoil/episode/2"
    EARLIER: ClassVar = {"paretofoil/episode/1": {}}

    command: np.ndarray
    """The command that was issued at the start."""
    decisions: tuple[Decision, ...]
    achieved: np.ndarray
    """Return of the whole episode."""
    terminated: bool
    """False if the step limit ended the episode."""
    end: Any = field(default=None, metadata=UNSTORED)
    """State of the environment after the last decision."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", as_vector(self.command, "the command"))

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, step: int) -> Decision:  # type: ignore[override]
        try:
            return self.decisions[step]
        except IndexError:  # which ends an iteration
            raise IndexError(f"expected a step from 0 to {len(self) - 1} of this episode, got {step}") from None

    def __repr__(self) -> str:
        command, achieved = map(format_numbers, (self.command, self.achieved))
        return f"<Episode of {len(self)} decisions: asked for {command}, achieved {achieved}>"

    def check(self) -> None:
        for decision in self.decisions:
            if decision.command.size != self.command.size:
                raise InvalidInput.expected(f"commands of {self.command.size} numbers", decision.command.size)


@dataclass(frozen=True, eq=False, repr=False)
class EpisodeReport(Document):
    """A report on the steps of one episode of an agent."""

    agent: str
    objectives: tuple[Objective, ...]
    """Objectives of the command."""
    actions: tuple[str, ...]
    command: np.ndarray
    """The command that was issued at the start."""
    achieved: np.ndarray
    """Return of the whole episode; a single 0 if only the observations are known."""

    def plot(self, path: Any = None) -> Any:
        """Return a matplotlib figure of the steps; with a path, save it there."""
        return show(self, "plot", path)

    def check(self) -> None:
        if self.command.size != len(self.objectives):
            raise InvalidInput.expected(f"a command for {len(self.objectives)} objectives", self.command.size)
