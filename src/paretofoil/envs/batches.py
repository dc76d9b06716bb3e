"""Batches of any environment: vectorised, tabulated, or copies of a Gymnasium environment stepped one by one."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import BatchEnv, Observed, Stepped, check_seeds, check_step
from paretofoil.envs.catalogue import CatalogueEntry, entry, make
from paretofoil.envs.tabular import TabularBatch


def make_batch(name: str | CatalogueEntry, max_steps: int | None = None) -> BatchEnv:
    """Return a batch of an environment in its fastest implementation: vectorised, tabulated, or one by one."""
    item = entry(name)
    limit = item.max_steps if max_steps is None else max_steps
    if limit < 1:
        raise InvalidInput.expected("a step limit of at least 1", limit)
    if item.batch is not None:
        return item.batch(limit)
    return TabularBatch(item, limit) if item.finite else GymnasiumBatch(item, limit)


@dataclass(frozen=True, eq=False)
class GymnasiumSnapshot:
    """A copy of one row's environment, and its last observation."""

    env: Any
    observation: np.ndarray  # (observation size,)
    finished: bool


class GymnasiumBatch:
    """Copies of one Gymnasium environment (implements `BatchEnv`). The seed of a row seeds its environment."""

    def __init__(self, entry: CatalogueEntry, max_steps: int) -> None:
        self._entry = replace(entry, max_steps=max_steps)  # each copy applies the step limit itself
        self.max_steps = max_steps
        self.stochastic = entry.stochastic
        self.observation_size = entry.observation_size
        self.num_actions = len(entry.actions)
        self.num_objectives = len(entry.objectives)
        self._envs: list[Any] = []
        self._allocate(0)

    def _allocate(self, rows: int) -> None:
        self._observations = np.zeros((rows, self.observation_size), dtype=np.float32)
        self._masks = np.zeros((rows, self.num_actions), dtype=bool)
        self._finished = np.zeros(rows, dtype=bool)

    def reset(self, seeds: np.ndarray) -> Observed:
        seeds = check_seeds(seeds)
        self._allocate(len(seeds))
        while len(self._envs) < len(seeds):
            self._envs.append(make(self._entry))
        for row, seed in enumerate(seeds):
            observation, info = self._envs[row].reset(seed=int(seed))
            self._observations[row], self._masks[row] = observation, info["action_mask"]
        return Observed(self._observations.copy(), self._masks.copy())

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        rows, actions = check_step(rows, actions, self._finished, self._masks)
        rewards = np.zeros((len(rows), self.num_objectives))
        terminated, truncated = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
        for i, (row, action) in enumerate(zip(rows, actions, strict=True)):
            observation, rewards[i], terminated[i], truncated[i], info = self._envs[row].step(int(action))
            self._observations[row], self._masks[row] = observation, info["action_mask"]
        self._finished[rows] = terminated | truncated
        return Stepped(self._observations[rows], self._masks[rows], rewards, terminated, truncated)

    def snapshot(self, row: int) -> GymnasiumSnapshot:
        env, observation = self._copy(self._envs[row]), self._observations[row].copy()
        return GymnasiumSnapshot(env, observation, bool(self._finished[row]))

    def restore(self, snapshot: GymnasiumSnapshot, seeds: np.ndarray) -> Observed:
        seeds = check_seeds(seeds)
        self._allocate(len(seeds))
        self._envs = [self._copy(snapshot.env) for _ in seeds]
        for env, seed in zip(self._envs, seeds, strict=True):
            env.unwrapped.np_random = np.random.default_rng(int(seed))
            env.share_generator()
        self._observations[:] = snapshot.observation
        self._masks[:] = snapshot.env.action_masks()
        self._finished[:] = snapshot.finished
        return Observed(self._observations.copy(), self._masks.copy())

    def _copy(self, env: Any) -> Any:
        try:
            return clone(env)
        except TypeError as error:
            raise InvalidInput.expected(f"{self._entry.name} to be an environment that can be copied", error) from None


def clone(env: Any) -> Any:
    """Return a deep copy of an environment in its current state.

    `copy.deepcopy` does not work: many environments inherit Gymnasium's EzPickle, whose copies start anew.
    """
    memo: dict[int, Any] = {}
    twin = object.__new__(type(env))
    memo[id(env)] = twin
    inner = vars(env).get("env")
    if isinstance(inner, gymnasium.Env):
        memo[id(inner)] = clone(inner)
    twin.__dict__.update(copy.deepcopy(vars(env), memo))
    return twin
