"""Three-Tree: four choices among P, S and E, whose rewards depend on the earlier choices.

The environment comes from the authors' code, which lists its rewards; the rules below give the same numbers.
"""

from typing import Any

import gymnasium
import numpy as np

from paretofoil.core.errors import InvalidInput

NAMES = ("P", "S", "E")
DEPTH = 4
"""The number of choices."""
P, S, E = range(3)


def reward_of(counts: tuple[int, ...], recovery: bool, action: int) -> np.ndarray:
    """Return the reward (3,) of a choice after these counts of earlier choices.

    The first choice pays 1 of its own kind. A second choice of the same kind pays a little more; another pays less of
    its own kind, and some of the first. From the third on, the first kind that was not chosen yet pays best (P, if all
    were). After two P, only S pays well: it recovers from them.
    """
    depth = sum(counts)
    if recovery:
        if action == S:
            return np.array([1.2, 1.8, 1.2] if depth == 2 else [1.2, 1.2, 1.2])
        if depth == 2:
            return np.array([0.1, 0.0, 0.05] if action == P else [0.05, 0.2, 0.1])
        return np.full(3, 0.05)
    best = counts.index(0) if 0 in counts else P
    if depth == 0:
        own, rest = 1.0, 0.1
    elif depth == 1:
        own, rest = (1.1, 0.05) if counts[action] else (0.8, 0.05)
    elif action == best:
        own, rest = (1.4, 0.15) if depth == 2 else (1.3, 0.15)
    else:
        own, rest = (0.7, 0.05) if depth == 2 else (1.0, 0.1)
    reward = np.full(3, rest)
    if depth == 1:
        reward[np.argmax(counts)] = 0.45
    elif depth == 2 and action != best:
        reward[best] = 0.1
    reward[action] = own
    return reward


class ThreeTree(gymnasium.Env):
    """The observation is (depth, number of P, of S, of E) / 4, and whether the path must recover from two P."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's own type)
    action_names = tuple(name.lower() for name in NAMES)

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (5,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3)
        self.reward_space = gymnasium.spaces.Box(0.0, 5.0, (3,), np.float32)
        self._start()

    def _start(self) -> None:
        self.counts: tuple[int, ...] = (0, 0, 0)
        self.recovery = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._start()
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, np.ndarray, bool, bool, dict[str, Any]]:
        if sum(self.counts) == DEPTH:
            raise InvalidInput.expected("a running episode", "a step after its end; call reset() first")
        reward = reward_of(self.counts, self.recovery, action)
        self.counts = tuple(count + (kind == action) for kind, count in enumerate(self.counts))
        self.recovery = self.counts == (2, 0, 0) or (self.recovery and action != S and sum(self.counts) < DEPTH)
        return self._observe(), reward.astype(np.float32), sum(self.counts) == DEPTH, False, {}

    def _observe(self) -> np.ndarray:
        return np.array([sum(self.counts) / DEPTH, *(c / DEPTH for c in self.counts), self.recovery], np.float32)
