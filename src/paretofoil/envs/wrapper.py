"""Gymnasium wrappers: strict about actions, and the catalogue's view of an environment."""

from typing import Any

import gymnasium
import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.catalogue_entry import CatalogueEntry, reward_vector


def check_action(action: Any, valid: np.ndarray, names: tuple[str, ...] | None = None) -> int:
    """The action as an int, or an error that lists the valid ones."""
    if not isinstance(action, int | np.integer | np.ndarray) or np.ndim(action) or not 0 <= action < len(valid):
        raise InvalidInput.expected(f"an action number from 0 to {len(valid) - 1}", repr(action))
    if not valid[action]:
        words = names or tuple(str(i) for i in range(len(valid)))
        choices = ", ".join(f"{words[i]} ({i})" for i in np.flatnonzero(valid))
        raise InvalidInput.expected(f"one of the valid actions {choices}", f"{words[int(action)]} ({int(action)})")
    return int(action)


class Strict(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """Raises on an action that is out of range or masked, and on a step after the end of an episode."""

    def __init__(self, env: gymnasium.Env) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)  # so that `gymnasium.make(env.spec)` works
        gymnasium.Wrapper.__init__(self, env)
        self._running = False

    def action_masks(self) -> np.ndarray:
        """(num_actions,) bool: the valid actions."""
        masks: np.ndarray = self.unwrapped.action_masks()  # type: ignore[attr-defined]
        return masks

    @property
    def action_names(self) -> tuple[str, ...] | None:
        return getattr(self.unwrapped, "action_names", None)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._running = True
        return observation, {**info, "action_mask": self.action_masks()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if not self._running:
            raise InvalidInput.expected("a running episode (call reset() first)", "a step outside of one")
        action = check_action(action, self.action_masks(), self.action_names)
        observation, reward, terminated, truncated, info = self.env.step(action)
        truncated = bool(truncated and not terminated)
        self._running = not (terminated or truncated)
        return observation, reward, bool(terminated), truncated, {**info, "action_mask": self.action_masks()}


class Catalogued(Strict):
    """An environment as the catalogue describes it: flat observations, float64 reward vectors, masks."""

    def __init__(self, env: gymnasium.Env, entry: CatalogueEntry) -> None:
        super().__init__(env)
        self.entry = entry
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (entry.observation_size,), np.float32)

    def action_masks(self) -> np.ndarray:
        return self.entry.valid_actions(self.unwrapped)

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.entry.actions

    @property
    def reward_space(self) -> gymnasium.spaces.Box:
        space: gymnasium.spaces.Box = self.unwrapped.reward_space  # type: ignore[attr-defined]
        return space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        self.share_generator()
        return self.entry.encode(observation), info

    def share_generator(self) -> None:
        """Make the whole environment draw from its one seeded generator."""
        if self.entry.share_generator is not None:
            self.entry.share_generator(self.unwrapped)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        vector = reward_vector(reward, self.entry.name)
        if vector.shape != (len(self.entry.objectives),):
            raise InvalidInput.expected(f"a reward of {len(self.entry.objectives)} numbers", f"shape {vector.shape}")
        return self.entry.encode(observation), vector, terminated, truncated, info
