"""A policy at one state as a torch classifier on the unit box, as ART wants it. Imported only where torch is needed."""

from typing import Any

import numpy as np
import torch
from torch import nn

from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question
from paretofoil.search.parts.budget import Budget

_ACTIVATIONS: dict[str, type[nn.Module]] = {"sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "relu": nn.ReLU}


class AttackStoppedError(Exception):
    """A limit came before the attack's own end."""


class ArtClassifier(nn.Module):
    """Unit-box inputs of the objectives that can move -> logits of the valid actions.

    Invalid actions are sliced away: infinite logits would make ART fail silently. With padding the unit box stands
    for a wider box, and commands are clamped to the region here. It counts its evaluations, stops the attack at the
    budget's limits, and remembers the closest valid command that it was asked about.
    """

    def __init__(self, question: Question, folded: FoldedPolicy, padding: float, level: float, budget: Budget) -> None:
        super().__init__()
        self.question, self.level, self.budget = question, level, budget
        self.command = self.closest = question.command
        self.target = question.valid_actions.index(question.foil)
        self.movable = question.high > question.low
        self.floor, self.ceiling = question.low[self.movable], question.high[self.movable]
        width = self.ceiling - self.floor
        self.low, self.width = self.floor - padding * width, (1 + 2 * padding) * width
        self.layers = self._layers(folded, list(question.valid_actions))

    def _layers(self, folded: FoldedPolicy, valid: list[int]) -> nn.Sequential:
        weights, biases = list(folded.weights), list(folded.biases)
        weights[-1], biases[-1] = weights[-1][valid], biases[-1][valid]
        biases[0] = biases[0] + weights[0][:, ~self.movable] @ self.command[~self.movable]
        weights[0] = weights[0][:, self.movable]
        modules: list[nn.Module] = []
        for weight, bias, activation in zip(weights, biases, (*folded.activations, None), strict=True):
            layer = nn.Linear(weight.shape[1], weight.shape[0])
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weight))
                layer.bias.copy_(torch.from_numpy(bias))
            modules += [layer] if activation is None else [layer, _ACTIVATIONS[activation]()]
        return nn.Sequential(*modules)

    def forward(self, x: torch.Tensor) -> Any:
        if not self.budget.spend("white-box", len(x)):
            raise AttackStoppedError
        low, width, floor, ceiling = (
            torch.from_numpy(v.astype(np.float32)) for v in (self.low, self.width, self.floor, self.ceiling)
        )
        logits = self.layers(torch.clamp(low + x * width, floor, ceiling))
        self._remember(x.detach().numpy().astype(np.float64), logits.detach().numpy().astype(np.float64))
        return logits

    def _remember(self, x: np.ndarray, logits: np.ndarray) -> None:
        """Inputs (N, movable) and logits (N, valid): ART itself forgets them when it is stopped."""
        margins = logits[:, self.target] - np.delete(logits, self.target, axis=1).max(axis=1, initial=-np.inf)
        for one in x[margins >= self.level]:
            command = self.to_command(one)
            self.closest = min(self.closest, command, key=self._distance)

    def _distance(self, command: np.ndarray) -> float:
        """Of a command that was met; the original itself is no answer."""
        size = float(self.question.space.distance(command, self.command, self.question.norm))
        return size if size > 0 else np.inf

    def to_unit(self, command: np.ndarray) -> np.ndarray:
        """The input that stands for a command."""
        return (command[self.movable] - self.low) / self.width

    def to_command(self, x: np.ndarray) -> np.ndarray:
        """The command that an input stands for."""
        command = self.command.copy()
        command[self.movable] = np.clip(self.low + x * self.width, self.floor, self.ceiling)
        return command
