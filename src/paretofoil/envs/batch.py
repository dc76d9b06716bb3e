"""Many copies of one environment, stepped together."""

from typing import Any, NamedTuple, Protocol

import numpy as np


class Observed(NamedTuple):
    """What is seen of some rows."""

    observations: np.ndarray  # (rows, observation size) float32
    masks: np.ndarray  # (rows, num_actions) bool: the valid actions


class Stepped(NamedTuple):
    """What one step of some rows gave."""

    observations: np.ndarray  # (rows, observation size) float32
    masks: np.ndarray  # (rows, num_actions) bool
    rewards: np.ndarray  # (rows, num_objectives) float64
    terminated: np.ndarray  # (rows,) bool: the task ended
    truncated: np.ndarray  # (rows,) bool: the step limit was reached (and the task had not ended)


class BatchEnv(Protocol):
    """Row i is an episode of its own, whose randomness depends on its seed alone, not on its neighbours."""

    observation_size: int
    num_actions: int
    num_objectives: int
    max_steps: int
    stochastic: bool

    def reset(self, seeds: np.ndarray) -> Observed:
        """Start one episode per seed."""
        ...

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        """Step these rows only; an invalid action or a finished row is an InvalidInput."""
        ...

    def snapshot(self, row: int) -> Any:
        """The whole state of one row (randomness aside), to be restored later."""
        ...

    def restore(self, snapshot: Any, seeds: np.ndarray) -> Observed:
        """Start one episode per seed from a snapshot."""
        ...
