"""Our network with the authors' embeddings or scaling of commands, for the study of factors."""

from typing import Any

import numpy as np
import torch
from torch import nn

from paretofoil.pcn.network import Learner, PCNNetwork
from paretofoil.pcn.policy import Layer, PCNPolicy

__all__ = ["AuthorsNetwork", "Learner"]


class AuthorsNetwork(PCNNetwork):
    """A network whose embeddings may have two layers, and whose commands may have a fixed factor."""

    def __init__(
        self,
        state_size: int,
        command_size: int,
        num_actions: int,
        hidden: int,
        seed: int,
        two_layers: bool,
        factor: float | None,
    ) -> None:
        super().__init__(state_size, command_size, num_actions, hidden, seed)
        self.factor = factor
        self.second: dict[str, nn.Linear] = {}
        if two_layers:
            with torch.random.fork_rng():
                torch.manual_seed(seed + 1)
                self.state_2, self.command_2 = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
            self.second = {"state": self.state_2, "command": self.command_2}

    def rescale(self, name: str, shift: np.ndarray, scale: np.ndarray) -> None:
        """Set the scaling of an input; a fixed factor replaces that of commands."""
        if name == "command" and self.factor is not None:
            shift, scale = np.zeros_like(shift), np.full_like(scale, self.factor)
        super().rescale(name, shift, scale)

    def forward(self, states: torch.Tensor, commands: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        hidden = self._embed("state", states) * self._embed("command", commands)
        logits = self.output(torch.relu(self.hidden(hidden)))
        return torch.log_softmax(logits.masked_fill(~masks, float("-inf")), dim=1)

    def _embed(self, name: str, inputs: torch.Tensor) -> torch.Tensor:
        first: Any = getattr(self, name)(inputs)
        return torch.sigmoid(self.second[name](torch.relu(first)) if name in self.second else first)

    def export(self) -> PCNPolicy:
        policy = super().export()
        if not self.second:
            return policy
        state, command = (_layer(self.second[name]) for name in ("state", "command"))
        return PCNPolicy(state=(*policy.state, state), command=(*policy.command, command), head=policy.head)


def _layer(layer: nn.Linear) -> Layer:
    return layer.weight.detach().numpy(), layer.bias.detach().numpy()
