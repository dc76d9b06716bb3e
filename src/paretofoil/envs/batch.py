"""The contract of a batch: many copies of one environment, stepped together."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from paretofoil.core.errors import InvalidInput


class Observed(NamedTuple):
    """The observations and valid actions of some rows."""

    observations: np.ndarray  # (rows, observation size) float32
    masks: np.ndarray  # (rows, num_actions) bool: the valid actions


class Stepped(NamedTuple):
    """The result of one step of some rows."""

    observations: np.ndarray  # (rows, observation size) float32
    masks: np.ndarray  # (rows, num_actions) bool
    rewards: np.ndarray  # (rows, num_objectives) float64
    terminated: np.ndarray  # (rows,) bool: the task ended
    truncated: np.ndarray  # (rows,) bool: the step limit was reached and the task had not ended


class BatchEnv(Protocol):
    """Many episodes of one environment. The randomness of a row depends on its seed only, not on other rows."""

    observation_size: int
    num_actions: int
    num_objectives: int
    max_steps: int
    stochastic: bool

    def reset(self, seeds: np.ndarray) -> Observed:
        """Start one episode per seed."""
        ...

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        """Step these rows only. An invalid action or a finished row is an `InvalidInput`."""
        ...

    def snapshot(self, row: int) -> Any:
        """Return the state of one row, without its random generator."""
        ...

    def restore(self, snapshot: Any, seeds: np.ndarray) -> Observed:
        """Start one episode per seed from a snapshot."""
        ...


def check_seeds(seeds: np.ndarray) -> np.ndarray:
    """Return the seeds as an array (rows,), or raise an error if one is not a natural number."""
    array = np.asarray(seeds)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or (array < 0).any():
        raise InvalidInput.expected("one seed per row, each an integer of at least 0", repr(seeds))
    return array


def check_step(
    rows: np.ndarray, actions: np.ndarray, finished: np.ndarray, masks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n,) and actions (n,) as arrays, or raise an error.

    Args:
        rows: the rows to step.
        actions: one action for each.
        finished: (all rows,) bool.
        masks: (all rows, num_actions) bool.
    """
    rows, actions = np.asarray(rows), np.asarray(actions)
    if rows.shape != actions.shape or rows.ndim != 1:
        raise InvalidInput.expected("one action per row", f"shapes {rows.shape} and {actions.shape}")
    if rows.size == 0:
        return rows.astype(np.int64), actions.astype(np.int64)
    if not np.issubdtype(actions.dtype, np.integer):
        raise InvalidInput.expected("integers as actions", f"dtype {actions.dtype}")
    if rows.min() < 0 or rows.max() >= len(finished):
        raise InvalidInput.expected(f"rows from 0 to {len(finished) - 1} (call reset() first)", rows.tolist())
    if finished[rows].any():
        raise InvalidInput.expected("rows with a running episode", f"row {rows[finished[rows]][0]}, which has ended")
    num_actions = masks.shape[1]
    wrong = (actions < 0) | (actions >= num_actions)
    if wrong.any():
        raise InvalidInput.expected(f"actions from 0 to {num_actions - 1}", actions[wrong][0])
    invalid = ~masks[rows, actions]
    if invalid.any():
        row, action = rows[invalid][0], actions[invalid][0]
        valid = np.flatnonzero(masks[row]).tolist()
        raise InvalidInput.expected(f"one of the valid actions {valid} in row {row}", action)
    return rows, actions


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: np.ndarray) -> np.ndarray:
    """Return the finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(seeds: np.ndarray, steps: np.ndarray, draws: int) -> np.ndarray:
    """Return (rows, draws) random numbers in the open interval (0, 1) that depend only on the row's (seed, step).

    A hash of a counter draws for many seeds in one call, which NumPy's generators cannot do.
    """
    with np.errstate(over="ignore"):
        key = _mix(seeds.astype(np.uint64) * _GOLDEN + np.uint64(1))
        key = _mix(key + steps.astype(np.uint64) * _GOLDEN)
        bits = _mix(key[:, None] + (np.arange(draws, dtype=np.uint64) + np.uint64(1)) * _GOLDEN)
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
