"""Torch modules whose command includes features of the state."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from paretofoil.core.feature import Features


class FeatureModule(nn.Module):
    """A module of states and free numbers, which include features of the state.

    `call` is called with the observations, or with the observations and the commands if the agent has a command.
    """

    def __init__(self, module: nn.Module, features: Features, call: Callable[..., Any]) -> None:
        super().__init__()
        self.module, self.features, self.call = module, features, call
        self.train(module.training)

    def forward(self, states: Tensor, numbers: Tensor) -> Any:
        command, values = numbers[:, : self.features.num_commands], numbers[:, self.features.num_commands :]
        base = self.features.base(states.detach().cpu().double().numpy())
        matrix = torch.as_tensor(self.features.matrix.T, dtype=states.dtype, device=states.device)
        observations = torch.as_tensor(base, dtype=states.dtype, device=states.device) + values @ matrix
        return self.call(observations, command) if self.features.num_commands else self.call(observations)
