"""A goal-conditioned environment, and models of Stable-Baselines3 trained in it."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

FAR = 3.0


class Plane(gym.Env):
    """Walk to a goal on a plane with four actions: right, up, left and down."""

    MOVES = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.float32)

    def __init__(self, **parts: spaces.Space) -> None:
        place = spaces.Box(-FAR, FAR, (2,))
        self.more = parts
        self.observation_space = spaces.Dict(
            {"achieved_goal": place, "desired_goal": place, "observation": place, **parts}
        )
        self.action_space = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.goal = self.np_random.uniform(-2, 2, size=(2, 2)).astype(np.float32)
        self.steps = 0
        return self._seen(), {}

    def _seen(self) -> dict[str, Any]:
        seen = {"achieved_goal": self.place, "desired_goal": self.goal, "observation": self.place / 2}
        return seen | {name: np.zeros(part.shape or (), part.dtype) for name, part in self.more.items()}

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + 0.25 * self.MOVES[action], -FAR, FAR).astype(np.float32)
        self.steps += 1
        return self._seen(), -float(np.abs(self.place - self.goal).sum()), False, self.steps >= 16, {}


class OpenPlane(Plane):
    """Walk to a goal on a plane with continuous moves; the second is in other units."""

    def __init__(self, **parts: spaces.Space) -> None:
        super().__init__(**parts)
        self.action_space = spaces.Box(np.float32([-1, -20]), np.float32([1, 20]))  # type: ignore[assignment]

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        move = 0.25 * np.asarray(action) * np.array([1.0, 0.05])
        self.place = np.clip(self.place + move, -FAR, FAR).astype(np.float32)
        self.steps += 1
        return self._seen(), -float(np.abs(self.place - self.goal).sum()), False, self.steps >= 16, {}


def trained(kind: str, env: Any, steps: int = 0, **options: Any) -> Any:
    """Return a small model, trained for some steps or initialised so that its actions differ."""
    import stable_baselines3

    settings: dict[str, dict[str, Any]] = {
        "PPO": {"n_steps": 256, "batch_size": 64, "learning_rate": 3e-3, "gamma": 0.5},
        "A2C": {},
        **{name: {"learning_starts": 100, "learning_rate": 3e-3, "gamma": 0.5} for name in ("SAC", "TD3", "DDPG")},
        "DQN": {"learning_starts": 100, "learning_rate": 3e-3, "gamma": 0.5, "train_freq": 2},
    }
    shape = {"net_arch": [16, 16], **options}
    model = getattr(stable_baselines3, kind)(
        "MultiInputPolicy", env, seed=0, device="cpu", policy_kwargs=shape, **settings[kind]
    )
    if steps:
        return model.learn(steps)
    if hasattr(model.policy, "action_net"):
        model.policy.action_net.weight.data *= 100.0  # they begin near zero, where all actions are alike
    return model
