"""Random folded policies of any depth, as white-box policies: queries in float32, proofs in float64."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.program import ACTIVATIONS, Activation, Program
from paretofoil.core.question import Question


@dataclass(frozen=True, eq=False)
class LayeredPolicy:
    """Affine layers with activations, independent of the state; deployed in float32 by default."""

    folded: Program
    precision: type[np.floating] = np.float32

    @cached_property
    def _deployed(self) -> list[tuple[np.ndarray, np.ndarray]]:
        layers = zip(*self.folded.layers[:2], strict=True)
        return [(w.astype(self.precision), b.astype(self.precision)) for w, b in layers]

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        hidden = np.asarray(commands, dtype=self.precision)
        for (weight, bias), activation in zip(self._deployed, (*self.folded.layers.activations, None), strict=True):
            with np.errstate(invalid="ignore"):  # OpenBLAS computes with unused parts of vectors, too
                hidden = hidden @ weight.T + bias
            assert not np.isnan(hidden).any()
            hidden = hidden if activation is None else ACTIVATIONS[activation](hidden)
        return hidden

    def fold(self, state: np.ndarray) -> Program:
        return self.folded


def random_layers(
    seed: int, widths: tuple[int, ...], activations: tuple[Activation, ...], gain: float = 3.0
) -> LayeredPolicy:
    """Return a random network with float32 weights and kinks in the middle of the unit box."""
    rng = np.random.default_rng(seed)
    weights: list[np.ndarray] = []
    biases: list[np.ndarray] = []
    for inputs, outputs in itertools.pairwise(widths):
        weight = rng.normal(size=(outputs, inputs)) * gain / np.sqrt(inputs)
        center = 0.5 * weight.sum(axis=1) if not weights else np.zeros(outputs)
        weights.append(weight.astype(np.float32).astype(np.float64))
        biases.append((rng.normal(size=outputs) * 0.5 - center).astype(np.float32).astype(np.float64))
    return LayeredPolicy(Program.of_layers(tuple(weights), tuple(biases), activations))


def layered_question(policy: LayeredPolicy, seed: int, **changes: object) -> Question:
    """Return a question with a random command of the unit box and a foil that is not chosen there."""
    rng = np.random.default_rng(seed)
    dim, num_actions = policy.folded.dim, policy.folded.num_outputs
    command = rng.random(dim)
    greedy = int(policy.log_probs(np.zeros((1, 1)), command[None])[0].argmax())
    foil = int(rng.choice([a for a in range(num_actions) if a != greedy]))
    space = CommandSpace(np.zeros(dim), np.ones(dim))
    return Question(policy, np.zeros(1), command, foil, tuple(range(num_actions)), space, **changes)  # type: ignore[arg-type]
