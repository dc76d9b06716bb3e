"""Actors of MORL-Baselines (CAPQL and GPI-LS with continuous actions), read from their files."""

from collections.abc import Sequence
from itertools import count, takewhile
from pathlib import Path

import numpy as np

from paretofoil.core.errors import InvalidInput

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise InvalidInput.missing("torch", "torch") from None

from paretofoil.agents.checkpoint import read_actor
from paretofoil.agents.torch_policy import TorchActor, from_torch
from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.json import brief_words


def from_morl(
    file: str | Path, objectives: Sequence[str | Objective], actions: ActionSpace | Sequence[str] | None = None
) -> TorchActor:
    """Return the actor of CAPQL, or of GPI-LS or GPI-PD with continuous actions, from a file of MORL-Baselines.

    Its commands are preferences. The file is not executed. Save the agent with `save_replay_buffer=False`.

    Args:
        file: the file that `agent.save(...)` wrote.
        objectives: the objectives, in the order of the rewards.
        actions: the space of the actions, or only their names, because the file has their ranges.
    """
    space, actor = CommandSpace.preferences(objectives), _Actor.read(file)
    inputs = actor.state_dict()["latent_pi.0.weight"].shape[1]
    if inputs <= space.dim:
        expected = f"{file}: expected fewer objectives than the network has inputs (the other inputs are the state)"
        raise InvalidInput(f"{expected}, got {space.dim} objectives and {inputs} inputs")
    if not isinstance(actions, ActionSpace):
        low, high = (actor.action_bias + sign * actor.action_scale for sign in (-1.0, 1.0))
        names = [f"action {i}" for i in range(len(low))] if actions is None else actions
        actions = ActionSpace(names, [], low.numpy(), high.numpy())
    return from_torch(actor, np.zeros(inputs - space.dim), space, actions=actions)


class _Actor(nn.Module):
    """The actor with the names of MORL-Baselines: ReLU layers of state and preferences, tanh, and a range."""

    action_scale: Tensor
    action_bias: Tensor

    def __init__(self, weights: dict[str, Tensor]) -> None:
        super().__init__()
        names = takewhile(weights.__contains__, (f"latent_pi.{2 * i}.weight" for i in count()))
        layers = [part for name in names for part in (nn.Linear(*weights[name].shape[::-1]), nn.ReLU())]
        self.latent_pi = nn.Sequential(*layers)
        self.mean = nn.Linear(*weights["mean.weight"].shape[::-1])
        for name in ("action_scale", "action_bias"):
            self.register_buffer(name, torch.empty(self.mean.out_features))
        self.load_state_dict({name: tensor for name, tensor in weights.items() if "log_std" not in name})

    @classmethod
    def read(cls, file: str | Path) -> "_Actor":
        weights = {name: torch.tensor(numbers) for name, numbers in read_actor(file).items()}
        try:
            return cls(weights).eval().requires_grad_(False)
        except (RuntimeError, KeyError, TypeError) as error:  # wrong names or shapes
            expected = f"{file}: expected the layers of an actor of MORL-Baselines"
            raise InvalidInput(f"{expected}, got {', '.join(weights)} ({brief_words(error)})") from None

    def forward(self, states: Tensor, preferences: Tensor) -> Tensor:
        inputs = torch.cat([states, preferences], dim=1)
        return torch.tanh(self.mean(self.latent_pi(inputs))) * self.action_scale + self.action_bias
