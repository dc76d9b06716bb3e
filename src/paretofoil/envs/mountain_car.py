"""MO-Gymnasium's Mountain-Car with the objectives time and speed, stepped in batches from one start."""

from typing import Any

import numpy as np

from paretofoil.envs.batch import ArrayBatch, Transition

START = float(np.random.default_rng(0).uniform(-0.6, -0.4))
"""The position at the start: that of MO-Gymnasium's environment with seed 0."""
LEFTMOST, GOAL, RIGHTMOST = -1.2, 0.5, 0.6
"""Positions. The car stops at the leftmost position; the episode ends at the goal."""
TOP_SPEED, FORCE, GRAVITY = 0.07, 0.001, 0.0025
SPEED_REWARD = 15.0
"""The reward for a speed of 1."""


def locate_car(observation: np.ndarray) -> dict[str, Any]:
    """Return a snapshot with this observation, at the start of its episode."""
    return {"state": tuple(map(float, observation)), "elapsed": 0, "ended": False}


class BatchMountainCar(ArrayBatch):
    """Cars. A state is (position, velocity); a reward is (-1, 15 |velocity|), and the last step takes no time."""

    observation_size, num_actions, num_objectives = 2, 3, 2
    real_returns = True

    def __init__(self, max_steps: int) -> None:
        super().__init__((START, 0.0), max_steps)

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        position, velocity = states.T
        velocity = velocity + (actions - 1) * FORCE - np.cos(3 * position) * GRAVITY
        velocity = np.clip(velocity, -TOP_SPEED, TOP_SPEED)
        position = np.clip(position + velocity, LEFTMOST, RIGHTMOST)
        velocity[(position == LEFTMOST) & (velocity < 0)] = 0.0
        ended = (position >= GOAL) & (velocity >= 0.0)
        rewards = np.column_stack([ended - 1.0, SPEED_REWARD * np.abs(velocity)])
        return np.column_stack([position, velocity]), rewards, ended
