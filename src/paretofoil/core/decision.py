"""Decisions: what an agent did in a state, under a command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from paretofoil.core.command import LARGEST, as_vector
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import UNSTORED, Count, Document, Unstored, brief, upgrade_each


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Document):
    """One step of an episode: a state, a command, the valid actions and the chosen one."""

    SCHEMA: ClassVar[str] = "paretofoil/decision/2"

    state: np.ndarray
    command: np.ndarray
    """R_t: the return that was still to be collected."""
    valid_actions: tuple[Count, ...]
    action: Count
    """The chosen action."""
    collected: np.ndarray
    """R_col: what had been collected before."""
    step: Count = 0
    snapshot: Unstored = field(default=None, metadata=UNSTORED)
    """State of the environment, from which rollouts start; None without an environment or if read from JSON."""

    @property
    def others(self) -> list[int]:
        """The valid actions that were not chosen: the possible foils."""
        return [action for action in self.valid_actions if action != self.action]

    def __repr__(self) -> str:
        command = ", ".join(f"{number:g}" for number in self.command)
        return f"<Decision at t = {self.step}: action {self.action} of {list(self.valid_actions)}, command ({command})>"

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if values.get("schema") != "paretofoil/decision/1":
            return values
        return {"step" if name == "time" else name: value for name, value in values.items()} | {"schema": cls.SCHEMA}

    def check(self) -> None:
        if np.abs(self.state).max() > LARGEST:
            raise InvalidInput.expected("a state of float32 numbers", brief(self.state.tolist()))
        if self.collected.size != self.command.size:
            raise InvalidInput.expected(f"{self.command.size} numbers in collected", self.collected.size)
        if self.action not in self.valid_actions:
            raise InvalidInput.expected(f"an action among the valid ones {list(self.valid_actions)}", self.action)
        object.__setattr__(self, "state", self.state.astype(np.float32))


@dataclass(frozen=True, eq=False, repr=False)
class Episode(Document, Sequence[Decision]):
    """The decisions of one episode, in order, and its return."""

    SCHEMA: ClassVar[str] = "paretofoil/episode/2"

    command: np.ndarray
    """The command that was issued at the start."""
    decisions: tuple[Decision, ...]
    achieved: np.ndarray
    """Return of the whole episode."""
    terminated: bool
    """False if the step limit ended the episode."""
    end: Unstored = field(default=None, metadata=UNSTORED)
    """State of the environment after the last decision."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", as_vector(self.command, "the command"))

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, step: int) -> Decision:  # type: ignore[override]
        return self.decisions[step]

    def __repr__(self) -> str:
        command, achieved = (
            ", ".join(f"{number:g}" for number in numbers) for numbers in (self.command, self.achieved)
        )
        return f"<Episode of {len(self)} decisions: asked for ({command}), achieved ({achieved})>"

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if values.get("schema") != "paretofoil/episode/1" or not isinstance(values.get("decisions"), list):
            return values
        return {**values, "schema": cls.SCHEMA, "decisions": upgrade_each(Decision, values["decisions"])}

    def check(self) -> None:
        for decision in self.decisions:
            decision.check()
            if decision.command.size != self.command.size:
                raise InvalidInput.expected(f"commands of {self.command.size} numbers", decision.command.size)
