"""MO-Gymnasium's water reservoir, stepped in batches, and its variant without chance.

Each step the agent releases water, then inflow arrives. Water above the dam's height floods the shore upstream; a
release below the demand is a deficit.
"""

from typing import Any, TypedDict

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.envs.batch import Observed, Stepped, check_seeds, check_step, uniforms
from paretofoil.envs.catalogue import Bounds

START = 100.0
"""The level at the start."""
FLOODING, DEMAND, CAPACITY = 50.0, 50.0, 100.0
"""The level above which the shore floods, the demand of a step, and the level above which water must be released."""
INFLOW, DEVIATION = 40.0, 10.0
"""The mean of the inflow, and its standard deviation."""
RELEASE = ActionSpace(("release",), ("m³",), np.zeros(1), np.array([150.0]), ("released",))


class ReservoirSnapshot(TypedDict):
    """The state of one reservoir."""

    level: float
    elapsed: int


def bounds(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the most water (N, 1) that can be released at levels (N, 1)."""
    levels = np.asarray(observations, dtype=np.float64)
    return np.maximum(levels - CAPACITY, 0.0), levels


class MeanInflow:
    """A random generator whose normal numbers are their mean, for the environment without chance."""

    def normal(self, mean: float, deviation: float, size: int) -> np.ndarray:
        return np.full(size, mean)


def without_chance(env: Any) -> None:
    """Make MO-Gymnasium's environment receive the mean inflow in each step."""
    env.np_random = MeanInflow()


def locate_reservoir(observation: np.ndarray) -> ReservoirSnapshot:
    """Return a reservoir with this level, at the start of its episode."""
    return ReservoirSnapshot(level=float(observation[0]), elapsed=0)


class BatchReservoir:
    """Reservoirs (implements `BatchEnv`). An observation is the level; a reward is (-flooding, -deficit)."""

    observation_size, num_actions, num_objectives = 1, 1, 2
    real_returns = True

    def __init__(self, stochastic: bool, max_steps: int) -> None:
        self.action_space: ActionSpace | None = RELEASE
        self.bounds: Bounds | None = bounds
        self.stochastic, self.max_steps = stochastic, max_steps
        self.reset(np.zeros(0, dtype=np.int64))

    def reset(self, seeds: np.ndarray) -> Observed:
        return self.restore(ReservoirSnapshot(level=START, elapsed=0), seeds)

    def restore(self, snapshot: ReservoirSnapshot, seeds: np.ndarray) -> Observed:
        self._seeds = check_seeds(seeds)
        self._level = np.full((len(seeds), 1), snapshot["level"], dtype=np.float32)
        self._elapsed = np.full(len(seeds), snapshot["elapsed"], dtype=np.int64)
        return Observed(self._level.copy(), np.ones((len(seeds), 1), dtype=bool))

    def snapshot(self, row: int) -> ReservoirSnapshot:
        return ReservoirSnapshot(level=float(self._level[row, 0]), elapsed=int(self._elapsed[row]))

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        finished = self._elapsed >= self.max_steps
        rows, amounts = check_step(rows, actions, finished, np.ones((len(finished), 1), dtype=bool), RELEASE)
        level = self._level[rows]
        release = np.clip(amounts.astype(np.float32), *bounds(level)).astype(np.float64)
        level = np.maximum(level + self._inflow(rows) - release, 0.0).astype(np.float32)
        self._level[rows] = level
        self._elapsed[rows] += 1
        costs = np.column_stack([level.astype(np.float64) - FLOODING, DEMAND - release])
        truncated = self._elapsed[rows] >= self.max_steps
        never = np.zeros(len(rows), dtype=bool)
        return Stepped(level, np.ones((len(rows), 1), dtype=bool), -np.maximum(costs, 0.0), never, truncated)

    def _inflow(self, rows: np.ndarray) -> np.ndarray:
        """Return the inflow (n, 1) of a step; two uniform numbers give a normal one (Box and Muller 1958)."""
        if not self.stochastic:
            return np.full((len(rows), 1), INFLOW)
        first, second = uniforms(self._seeds[rows], self._elapsed[rows], 2).T
        normal = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
        inflow: np.ndarray = INFLOW + DEVIATION * normal[:, None]
        return inflow
