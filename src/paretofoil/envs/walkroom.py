"""WalkRoom: walk in 2 to 9 dimensions until a wall; each step costs 1 in the dimension that it moves along.

The environment comes from the authors' code. The wall is drawn at random with a fixed seed.
"""

from functools import cache
from typing import Any

import gymnasium
import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import ArrayBatch, Transition

DIMENSIONS = range(2, 10)
_LOW = 5
"""The number of dimensions whose places are drawn in one call, because a wall in nine dimensions has 10^8 places."""


def size_of(dimensions: int) -> int:
    """Return the number of places along each dimension."""
    return 20 if dimensions < 6 else 10


@cache
def walls(dimensions: int) -> np.ndarray:
    """Return the wall (size^(n-1),): the place along the last dimension where the walk ends, by place in the others.

    The first dimension changes slowest. The wall falls with the sum of a place's coordinates, up to random deviations.
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


def locate_walk(dimensions: int, observation: np.ndarray) -> dict[str, Any]:
    """Return a snapshot of a walk with this observation, at the start of its episode."""
    rows = observation.reshape(dimensions, -1)
    if not (np.sort(rows, axis=1)[:, -2:] == [0.0, 1.0]).all():
        raise InvalidInput.expected(f"a one-hot vector for each of {dimensions} dimensions", observation.tolist())
    return {"place": tuple(rows.argmax(axis=1).tolist()), "elapsed": 0, "ended": False}


class BatchWalkRoom(ArrayBatch):
    """Walks. An observation is one one-hot vector per dimension."""

    name = "place"

    def __init__(self, dimensions: int, max_steps: int) -> None:
        self.size = size_of(dimensions)
        self.observation_size, self.num_actions = dimensions * self.size, 2 * dimensions
        self.num_objectives = dimensions
        self._walls, self._strides = walls(dimensions), self.size ** np.arange(dimensions - 1)[::-1]
        super().__init__((0,) * dimensions, max_steps)

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        n = self.num_objectives
        rewards, forward = -np.eye(n)[actions % n], np.where(actions < n, 1, -1)
        places = states - (rewards * forward[:, None]).astype(np.int64)
        return places, rewards, places[:, -1] >= self._walls[places[:, :-1] @ self._strides]

    def valid(self, states: np.ndarray) -> np.ndarray:
        return np.concatenate([states < self.size - 1, states > 0], axis=1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return np.eye(self.size, dtype=np.float32)[states].reshape(len(states), self.observation_size)


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
        number = int(place[:-1] @ self.size ** np.arange(self.dimensions - 1)[::-1])
        return place, reward, bool(place[-1] >= walls(self.dimensions)[number]), False, {}

    def action_masks(self) -> np.ndarray:
        """Return a (2n,) bool mask of the moves that stay in the room."""
        place = np.array(self.place)
        return np.concatenate([place < self.size - 1, place > 0])


def action_names(dimensions: int) -> tuple[str, ...]:
    """Return the names of the actions: forward in each dimension, then backward."""
    return tuple(f"{way} {i}" for way in ("forward", "back") for i in range(1, dimensions + 1))
