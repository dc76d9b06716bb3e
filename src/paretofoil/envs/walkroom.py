"""WalkRoom: walk in 2 to 9 dimensions until a wall; each step costs 1 in the dimension that it moves along.

The environment is one of the authors' code. The wall is random, but the same for everyone.
"""

from functools import cache
from typing import Any, TypedDict

import gymnasium
import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import Observed, Stepped, check_seeds, check_step
from paretofoil.envs.catalogue import Bounds

DIMENSIONS = range(2, 10)
_LOW = 5
"""Dimensions whose places are drawn together; a room of nine dimensions has 10^8 places."""


def size_of(dimensions: int) -> int:
    """Return the number of places along each dimension."""
    return 20 if dimensions < 6 else 10


@cache
def walls(dimensions: int) -> np.ndarray:
    """Return the place along the last dimension at which the walk ends, for the others as one number: (size^(n-1),).

    The number counts the first dimension fastest. The wall falls with the sum of the places, up to random deviations.
    """
    size, rng, others = size_of(dimensions), np.random.default_rng(0), dimensions - 1
    low = min(others, _LOW)  # the sums of these dimensions repeat
    numbers = np.arange(size**low)
    sums = sum((numbers // size**i) % size for i in range(low))
    ends = np.empty((size ** (others - low), len(numbers)), dtype=np.int8)
    for high, row in enumerate(ends):
        rest = sum((high // size**i) % size for i in range(others - low))
        limit = size - 1 - rest - sums - rng.normal(0.0, size / 10, len(numbers))
        row[:] = np.round(np.clip(limit, 0, size - 1))
    return ends.ravel()


class Walk(TypedDict):
    """The state of one walk."""

    place: tuple[int, ...]
    elapsed: int


def locate_walk(dimensions: int, observation: np.ndarray) -> Walk:
    """Return a walk with this observation, at the start of its episode."""
    rows = observation.reshape(dimensions, -1)
    if not (np.sort(rows, axis=1)[:, -2:] == [0.0, 1.0]).all():
        raise InvalidInput.expected(f"a one-hot vector for each of {dimensions} dimensions", observation.tolist())
    return Walk(place=tuple(rows.argmax(axis=1).tolist()), elapsed=0)


class BatchWalkRoom:
    """Walks (implements `BatchEnv`). An observation is one one-hot vector per dimension."""

    action_space: ActionSpace | None = None
    bounds: Bounds | None = None
    stochastic = False

    def __init__(self, dimensions: int, max_steps: int) -> None:
        self.max_steps, self.size, self._dimensions = max_steps, size_of(dimensions), dimensions
        self.observation_size, self.num_actions = dimensions * self.size, 2 * dimensions
        self.num_objectives = dimensions
        self._walls, self._strides = walls(dimensions), self.size ** np.arange(dimensions - 1)
        self.reset(np.zeros(0, dtype=np.int64))

    def reset(self, seeds: np.ndarray) -> Observed:
        return self.restore(Walk(place=(0,) * self._dimensions, elapsed=0), seeds)

    def restore(self, snapshot: Walk, seeds: np.ndarray) -> Observed:
        rows = len(check_seeds(seeds))
        self._place = np.tile(np.array(snapshot["place"], dtype=np.int64), (rows, 1))
        self._elapsed = np.full(rows, snapshot["elapsed"], dtype=np.int64)
        self._finished = self._at_wall(np.arange(rows)) & (self._elapsed > 0)
        return self._observe(np.arange(rows))

    def snapshot(self, row: int) -> Walk:
        return Walk(place=tuple(self._place[row].tolist()), elapsed=int(self._elapsed[row]))

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        rows, actions = check_step(rows, actions, self._finished, self._masks(np.arange(len(self._place))))
        n = self._dimensions
        self._place[rows, actions % n] += np.where(actions < n, 1, -1)
        self._elapsed[rows] += 1
        terminated = self._at_wall(rows)
        truncated = (self._elapsed[rows] >= self.max_steps) & ~terminated
        self._finished[rows] = terminated | truncated
        return Stepped(*self._observe(rows), -np.eye(n)[actions % n], terminated, truncated)

    def _at_wall(self, rows: np.ndarray) -> np.ndarray:
        place = self._place[rows]
        at_wall: np.ndarray = place[:, -1] >= self._walls[place[:, :-1] @ self._strides]
        return at_wall

    def _masks(self, rows: np.ndarray) -> np.ndarray:
        place = self._place[rows]
        return np.concatenate([place < self.size - 1, place > 0], axis=1)

    def _observe(self, rows: np.ndarray) -> Observed:
        flat = np.eye(self.size, dtype=np.float32)[self._place[rows]].reshape(len(rows), self.observation_size)
        return Observed(flat, self._masks(rows))


class WalkRoom(gymnasium.Env):
    """One walk, as a Gymnasium environment. The observation is the place."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's own type)

    def __init__(self, dimensions: int = 2) -> None:
        if dimensions not in DIMENSIONS:
            raise InvalidInput.expected(f"{DIMENSIONS[0]} to {DIMENSIONS[-1]} dimensions", dimensions)
        self.dimensions, self.size = dimensions, size_of(dimensions)
        self.action_names = action_names(dimensions)
        self.observation_space = gymnasium.spaces.MultiDiscrete([self.size] * dimensions)
        self.action_space = gymnasium.spaces.Discrete(2 * dimensions)
        self.reward_space = gymnasium.spaces.Box(-1.0, 0.0, (dimensions,), np.float32)
        self.place = (0,) * dimensions

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = (0,) * self.dimensions
        return np.array(self.place), {}

    def step(self, action: int) -> tuple[np.ndarray, np.ndarray, bool, bool, dict[str, Any]]:
        moved, forward = action % self.dimensions, action < self.dimensions
        place, reward = np.array(self.place), np.zeros(self.dimensions, dtype=np.float32)
        place[moved] = np.clip(place[moved] + (1 if forward else -1), 0, self.size - 1)
        reward[moved] = -1.0
        self.place = tuple(place.tolist())
        number = int(place[:-1] @ self.size ** np.arange(self.dimensions - 1))
        return place, reward, bool(place[-1] >= walls(self.dimensions)[number]), False, {}

    def action_masks(self) -> np.ndarray:
        """Return a (2n,) bool mask of the moves that stay in the room."""
        place = np.array(self.place)
        return np.concatenate([place < self.size - 1, place > 0])


def action_names(dimensions: int) -> tuple[str, ...]:
    """Return the names of the actions: forward in each dimension, then backward."""
    return tuple(f"{way} {i}" for way in ("forward", "back") for i in range(1, dimensions + 1))
