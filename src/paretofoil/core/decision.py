"""Decisions: what an agent did in a state, under a command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import LARGEST, as_vector
from paretofoil.core.document import (
    MAX_INTEGER,
    Reader,
    brief,
    flag,
    integer,
    plain,
    read_document,
    record,
    renamed,
    several,
    sized,
    whole,
    within,
    write_document,
)
from paretofoil.core.errors import InvalidInput

DECISION_SCHEMA = "paretofoil/decision/1"
EPISODE_SCHEMA = "paretofoil/episode/1"


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """One moment of an episode."""

    state: np.ndarray
    command: np.ndarray
    """R_t: the return that was still to be collected."""
    valid_actions: tuple[int, ...]
    action: int
    """The chosen action."""
    collected: np.ndarray
    """R_col: what had been collected before."""
    step: int = 0
    snapshot: Any = None
    """The environment's state, from which consequences are rolled out; None if there is no environment.
    It is not stored: a decision that was read from JSON has none."""

    @property
    def others(self) -> list[int]:
        """The valid actions that were not chosen: its foils."""
        return [action for action in self.valid_actions if action != self.action]

    def __repr__(self) -> str:
        command = ", ".join(f"{number:g}" for number in self.command)
        return f"<Decision at t = {self.step}: action {self.action} of {list(self.valid_actions)}, command ({command})>"

    def to_dict(self) -> dict[str, Any]:
        names = ("state", "command", "valid_actions", "action", "collected", "step")
        return {"schema": DECISION_SCHEMA, **{name: plain(getattr(self, name)) for name in names}}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Decision":
        with whole(values, DECISION_SCHEMA, "decision"):
            read = record(_DECISION)(renamed(values, time="step"))
            if read["collected"].size != read["command"].size:
                raise InvalidInput.expected(f"{read['command'].size} numbers collected", read["collected"].size)
            if read["action"] not in read["valid_actions"]:
                raise InvalidInput.expected("a valid action", read["action"])
            return cls(**{**read, "state": read["state"].astype(np.float32)})

    @classmethod
    def from_json(cls, text: str) -> "Decision":
        return cls.from_dict(read_document(text, "a decision"))


def _state(value: Any) -> np.ndarray:
    state: np.ndarray = sized(None)(value)
    if np.abs(state).max() > LARGEST:
        raise InvalidInput.expected("a state of float32 numbers", brief(value))
    return state


_DECISION: dict[str, Reader] = {
    "state": _state,
    **dict.fromkeys(("command", "collected"), sized(None)),
    "valid_actions": several(within(integer, 0, 1_000_000)),
    "action": integer,
    "step": within(integer, 0, MAX_INTEGER),
}


@dataclass(frozen=True, eq=False, repr=False)
class Episode(Sequence[Decision]):
    """The decisions of one episode, in order, and what they led to."""

    command: np.ndarray
    """The command that was issued at the start."""
    decisions: tuple[Decision, ...]
    achieved: np.ndarray
    """The return of the whole episode."""
    terminated: bool
    """False if the step limit ended it."""
    end: Any = None
    """The environment's state behind the last decision; as the decisions' own, it is not stored."""

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

    def to_dict(self) -> dict[str, Any]:
        names = ("command", "decisions", "achieved", "terminated")
        return {"schema": EPISODE_SCHEMA, **{name: plain(getattr(self, name)) for name in names}}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_json(cls, text: str) -> "Episode":
        values = read_document(text, "an episode")
        with whole(values, EPISODE_SCHEMA, "episode"):
            read = cls(**record(_EPISODE)(values))
            for decision in read.decisions:
                if decision.command.size != read.command.size:
                    raise InvalidInput.expected(f"commands of {read.command.size} numbers", decision.command.size)
            return read


_EPISODE: dict[str, Reader] = {
    **dict.fromkeys(("command", "achieved"), sized(None)),
    "decisions": several(Decision.from_dict),
    "terminated": flag,
}
