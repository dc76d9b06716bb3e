"""Stand-ins for what only the reader has: small untrained networks, agents and environments."""

from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from goals import Plane, trained
from torch import Tensor, nn

__all__ = ["agent", "behaviour", "env", "front", "model"]


class Behaviour(nn.Module):
    """A behaviour function of upside-down RL: states, desired returns and desired horizons."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(4, 32), nn.Linear(32, 3)

    def forward(self, states: Tensor, returns: Tensor, horizons: Tensor) -> Tensor:
        return self.output(torch.relu(self.hidden(torch.cat([states, returns, horizons], dim=1))))


class Values(nn.Module):
    """A network of MORL-Baselines: states and weights to a vector of values per action."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, states: Tensor, weights: Tensor) -> Tensor:
        return self.layer(torch.cat([states, weights], dim=1)).reshape(-1, 3, 2)


class Mine(gym.Env):
    """Digging pays ore; every step costs fuel."""

    observation_space, action_space = gym.spaces.Box(-1.0, 1.0, (2,)), gym.spaces.Discrete(3)
    reward_space = gym.spaces.Box(-1.0, 1.0, (2,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps, self.place = 0, np.zeros(2, dtype=np.float32)
        return self.place, {}

    def step(self, action: int) -> tuple[np.ndarray, np.ndarray, bool, bool, dict[str, Any]]:  # type: ignore[override]
        self.steps += 1
        self.place = np.clip(self.place + np.array([[0, 0], [-0.1, 0], [0.1, 0]])[action], -1, 1).astype(np.float32)
        reward = np.array([1.0 if action == 0 else 0.0, -1.0], dtype=np.float32)
        return self.place, reward, self.steps >= 10, False, {}


gym.register("my-env-v0", Mine)
front = [[4.0, -10.0], [8.0, -10.0]]
with torch.random.fork_rng():
    torch.manual_seed(7)
    behaviour, values = Behaviour(), Values()
agent = SimpleNamespace(
    q_nets=[values], q_net=values, weight_support=[torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])]
)
env = Plane()
model = trained("PPO", env)
