"""MO-Gymnasium's Four-Room, stepped in batches: collect shapes in four rooms, then leave by the goal."""

from typing import Any

import numpy as np

from paretofoil.envs.batch import ArrayBatch, Transition
from paretofoil.envs.gridworld import Item, Layout

MOVES = ("left", "up", "right", "down")
_OFFSETS = np.array([(0, -1), (-1, 0), (0, 1), (1, 0)])
_MAP = (
    "1    2X     G",
    "      X      ",
    "      1      ",
    "             ",
    "      X      ",
    "2    3X      ",
    "XX3 XXXXX 1XX",
    "      X2    3",
    "      X      ",
    "             ",
    "      2      ",
    "      X      ",
    "_     X3    1",
)
"""X is a wall, _ the start, G the goal, and a digit an item of the objective with this number."""
_CELLS = {(row, column): _MAP[row][column] for column in range(13) for row in range(13)}  # in the order of the items
LAYOUT = Layout(
    rows=13,
    columns=13,
    start=next(cell for cell, mark in _CELLS.items() if mark == "_"),
    objectives=("squares", "triangles", "circles"),
    walls=frozenset(cell for cell, mark in _CELLS.items() if mark == "X"),
    items=tuple(Item(cell, int(mark) - 1) for cell, mark in _CELLS.items() if mark in "123"),
    exits={cell: (1.0, 1.0, 1.0) for cell, mark in _CELLS.items() if mark == "G"},
    shapes=("square", "triangle", "circle"),
)


def valid_moves(cells: np.ndarray) -> np.ndarray:
    """Return the moves (n, 4) from cells (n, 2) that stay on the map and off the walls."""
    free = np.zeros((15, 15), dtype=bool)  # with a border
    free[1:-1, 1:-1] = [[LAYOUT.is_free((row, column)) for column in range(13)] for row in range(13)]
    rows, columns = np.moveaxis(cells[:, None, :] + _OFFSETS + 1, 2, 0)
    return free[rows, columns]


def mask_room(env: Any) -> np.ndarray:
    """Return the valid actions of MO-Gymnasium's environment."""
    return valid_moves(np.array([env.state[0]]))[0]


def locate_room(observation: np.ndarray) -> dict[str, Any]:
    """Return a snapshot with this observation, at the start of its episode."""
    row, column, taken = observation[:13].argmax(), observation[13:26].argmax(), observation[26:]
    return {"state": (int(row), int(column), *taken.astype(int).tolist()), "elapsed": 0, "ended": False}


class BatchFourRoom(ArrayBatch):
    """Episodes in the four rooms. A state is (row, column, one flag per item)."""

    num_actions, num_objectives = len(MOVES), len(LAYOUT.objectives)
    observation_size = LAYOUT.rows + LAYOUT.columns + len(LAYOUT.items)

    def __init__(self, max_steps: int) -> None:
        self._items = np.array([item.cell for item in LAYOUT.items])
        self._pays = np.eye(self.num_objectives)[[item.objective for item in LAYOUT.items]]
        [(self._goal, self._payment)] = LAYOUT.exits.items()
        super().__init__((*LAYOUT.start, *(0 for _ in LAYOUT.items)), max_steps)

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        cells, taken = states[:, :2] + _OFFSETS[actions], states[:, 2:]
        new = (cells[:, None, :] == self._items).all(axis=2) & (taken == 0)  # (n, items)
        ended = (cells == self._goal).all(axis=1)
        rewards = new @ self._pays + ended[:, None] * np.array(self._payment)
        return np.concatenate([cells, taken + new], axis=1), rewards, ended

    def valid(self, states: np.ndarray) -> np.ndarray:
        return valid_moves(states[:, :2])

    def observe(self, states: np.ndarray) -> np.ndarray:
        place = np.eye(13, dtype=np.float32)[states[:, :2]].reshape(len(states), 26)
        return np.concatenate([place, states[:, 2:].astype(np.float32)], axis=1)
