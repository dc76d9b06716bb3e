"""MO-Gymnasium's water reservoir, stepped in batches, and its variant without chance.

Each step the agent releases water, then inflow arrives. Water above the dam's height floods the shore upstream; a
release below the demand is a deficit.
"""

from typing import Any

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.envs.batch import ArrayBatch, Transition

START = 100.0
"""The level at the start."""
FLOODING, DEMAND, CAPACITY = 50.0, 50.0, 100.0
"""The level above which the shore floods, the demand of a step, and the level above which water must be released."""
INFLOW, DEVIATION = 40.0, 10.0
"""The mean of the inflow, and its standard deviation."""
RELEASE = ActionSpace(("release",), ("m³",), np.zeros(1), np.array([150.0]), ("released",))


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


def locate_reservoir(observation: np.ndarray) -> dict[str, Any]:
    """Return a reservoir with this level, at the start of its episode."""
    return {"level": float(observation[0]), "elapsed": 0}


class BatchReservoir(ArrayBatch):
    """Reservoirs. An observation is the level; a reward is (-flooding, -deficit)."""

    observation_size, num_actions, num_objectives = 1, 1, 2
    real_returns = True
    name = "level"

    def __init__(self, stochastic: bool, max_steps: int) -> None:
        self.stochastic, self.action_space, self.bounds = stochastic, RELEASE, bounds
        super().__init__(START, max_steps)

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        release = np.clip(actions.astype(np.float32), *bounds(states)).astype(np.float64)
        level = np.maximum(states + self._inflow(rows) - release, 0.0).astype(np.float32)
        costs = np.column_stack([level.astype(np.float64) - FLOODING, DEMAND - release])
        return level, -np.maximum(costs, 0.0), np.zeros(len(rows), dtype=bool)

    def _inflow(self, rows: np.ndarray) -> np.ndarray:
        """Return the inflow (n, 1) of a step; two uniform numbers give a normal one (Box and Muller 1958)."""
        if not self.stochastic:
            return np.full((len(rows), 1), INFLOW)
        first, second = self.draw(rows, 2).T
        normal = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
        inflow: np.ndarray = INFLOW + DEVIATION * normal[:, None]
        return inflow
