"""Decisions: what an agent did in a state, under a command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.command import as_vector


@dataclass(frozen=True, eq=False)
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
    time: int = 0
    snapshot: Any = None
    """The environment's state, from which consequences are rolled out; None if there is no environment."""


@dataclass(frozen=True, eq=False)
class Episode(Sequence[Decision]):
    """The decisions of one episode, in order, and what they led to."""

    command: np.ndarray
    """The command that was issued at the start."""
    decisions: tuple[Decision, ...]
    achieved: np.ndarray
    """The return of the whole episode."""
    terminated: bool
    """False if the step limit ended it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", as_vector(self.command, "the command"))

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, time: int) -> Decision:  # type: ignore[override]
        return self.decisions[time]
