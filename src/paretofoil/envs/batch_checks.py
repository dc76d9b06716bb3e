"""Checks of what a batch is asked to do, the same for every batch."""

import numpy as np

from paretofoil.core.errors import InvalidInput


def check_seeds(seeds: np.ndarray) -> np.ndarray:
    """(rows,) whole numbers, not negative."""
    array = np.asarray(seeds)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or (array < 0).any():
        raise InvalidInput.expected("one seed per row, whole numbers that are not negative", repr(seeds))
    return array


def check_step(
    rows: np.ndarray, actions: np.ndarray, finished: np.ndarray, masks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n,), (n,), (rows,) bool, (rows, num_actions) bool -> rows and actions as arrays, or an error."""
    rows, actions = np.asarray(rows), np.asarray(actions)
    if rows.shape != actions.shape or rows.ndim != 1:
        raise InvalidInput.expected("one action per row", f"shapes {rows.shape} and {actions.shape}")
    if rows.size == 0:
        return rows.astype(np.int64), actions.astype(np.int64)
    if not np.issubdtype(actions.dtype, np.integer):
        raise InvalidInput.expected("whole numbers as actions", f"dtype {actions.dtype}")
    if rows.min() < 0 or rows.max() >= len(finished):
        raise InvalidInput.expected(f"rows from 0 to {len(finished) - 1} (call reset() first)", rows.tolist())
    if finished[rows].any():
        raise InvalidInput.expected("rows whose episode runs", f"row {rows[finished[rows]][0]}, which ended")
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
