"""Policies that maximise values under preferences, where the values are a network of the preferences."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from folded import KINDS, _folded, _Place
from networks import random_layers

from paretofoil.core.command import CommandSpace
from paretofoil.core.policy import FoldedValues, Policy
from paretofoil.core.program import ACTIVATIONS, Activation
from paretofoil.core.question import Question


@dataclass(frozen=True, eq=False)
class EnvelopePolicy:
    """Maximises w . values(w), independent of the state; deployed in float32, row by row."""

    folded: FoldedValues

    tells_values: ClassVar[bool] = True
    exact_rows: ClassVar[bool] = True

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        network, hidden = self.folded.network.layers, np.asarray(commands, dtype=np.float32)
        for weight, bias, activation in zip(network.weights, network.biases, (*network.activations, None), strict=True):
            hidden = (hidden[:, None, :] * weight.astype(np.float32)).sum(axis=2) + bias.astype(np.float32)
            hidden = hidden if activation is None else ACTIVATIONS[activation](hidden)
        told = hidden.astype(np.float64).reshape(len(commands), -1, np.shape(commands)[1])
        worth: np.ndarray = (told * np.asarray(commands)[:, None, :]).sum(axis=2)
        return worth

    def fold_values(self, state: np.ndarray) -> FoldedValues:
        return self.folded


def random_envelope(
    seed: int, dim: int, hidden: tuple[int, ...] = (24, 24), actions: int = 4, activation: Activation = "relu"
) -> EnvelopePolicy:
    layers = random_layers(seed, (dim, *hidden, actions * dim), (activation,) * len(hidden), gain=2.5)
    return EnvelopePolicy(FoldedValues(layers.folded))


def envelope_question(policy: EnvelopePolicy, seed: int, share: float = 0.01, **changes: object) -> Question:
    """Return a question with random preferences and a foil that is not chosen under them."""
    return value_question(policy, policy.folded.network.dim, seed, share, **changes)


def value_question(policy: Policy, dim: int, seed: int, share: float = 0.01, **changes: object) -> Question:
    """Return the same for any policy with values."""
    rng = np.random.default_rng(seed)
    space = CommandSpace.preferences([f"objective {i}" for i in range(dim)])
    command = rng.dirichlet(np.ones(space.dim))
    worth = policy.log_probs(np.zeros((1, 1)), command[None])[0]
    foil = int(rng.choice([a for a in range(len(worth)) if a != worth.argmax()]))
    front = rng.dirichlet(np.ones(space.dim), size=4)
    valid = tuple(range(len(worth)))
    options = {"front": front, "kappa": share * float(np.ptp(worth)), **changes}
    return Question(policy, np.zeros(1), command, foil, valid, space, **options)  # type: ignore[arg-type]


def hard_question(seed: int) -> Question:
    """Values from a network that is hard to bound; kappa is almost the largest margin of the foil."""
    rng = np.random.default_rng(seed)
    dim, actions = (int(n) for n in rng.integers(2, 5, size=2))
    anchor = rng.dirichlet(np.ones(dim)).astype(np.float32).astype(np.float64)
    place = _Place(anchor, np.ones(dim), rng.uniform(0.05, 0.95, dim), np.float32)
    design = list(KINDS.values())[seed % len(KINDS)](rng, place, actions * dim)
    policy = EnvelopePolicy(FoldedValues(_folded(design, place)))
    space = CommandSpace.preferences([f"objective {i}" for i in range(dim)])
    command, foil = rng.dirichlet(np.ones(dim)), int(rng.integers(actions))
    worth = policy.log_probs(np.zeros((2000, 1)), rng.dirichlet(np.ones(dim), size=2000))
    lead = worth[:, foil] - np.delete(worth, foil, axis=1).max(axis=1)
    kappa = max(0.0, float(np.sort(lead)[rng.choice([-1, -2, -50])] + rng.choice([-1e-3, 0.0, 1e-6]) * np.ptp(lead)))
    return Question(policy, np.zeros(1), command, foil, tuple(range(actions)), space, kappa=kappa)
