"""The foil's margins at one state, as a small network of the scaled change z."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.policy import ACTIVATIONS, Activation, FoldedPolicy
from paretofoil.question import Question

_ROUNDING = 16 * 2.0**-53
"""More than one float64 operation can err, relatively."""


@dataclass(frozen=True, eq=False)
class MarginNetwork:
    """The margins over each rival, as a function of the scaled change z: affine layers, activations between."""

    weights: tuple[np.ndarray, ...]  # each (outputs, inputs); the last has one output per rival
    biases: tuple[np.ndarray, ...]
    activations: tuple[Activation, ...]
    pads: tuple[np.ndarray, ...]  # for each layer (outputs,): more than rounding can do to its bounds

    @property
    def num_rivals(self) -> int:
        return self.weights[-1].shape[0]

    def margins(self, z: np.ndarray) -> np.ndarray:
        """(N, d) -> (N, rivals)."""
        return FoldedPolicy(self.weights, self.biases, self.activations).logits(z)

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N, d) -> margins (N, rivals) and their derivatives (N, rivals, d)."""
        hidden, derivatives = z, []
        for weight, bias, activation in zip(self.weights, self.biases, self.activations, strict=False):
            hidden = ACTIVATIONS[activation](hidden @ weight.T + bias)
            derivatives.append(_DERIVATIVES[activation](hidden))
        margins = hidden @ self.weights[-1].T + self.biases[-1]
        slopes = np.broadcast_to(self.weights[-1], (len(z), *self.weights[-1].shape))
        for weight, derivative in zip(self.weights[-2::-1], derivatives[::-1], strict=True):
            slopes = (slopes * derivative[:, None, :]) @ weight
        return margins, slopes

    def negated(self) -> "MarginNetwork":
        """The network whose upper bounds are the lower bounds of this one, with the sign changed."""
        weights, biases = (*self.weights[:-1], -self.weights[-1]), (*self.biases[:-1], -self.biases[-1])
        return replace(self, weights=weights, biases=biases)


_DERIVATIVES = {
    "sigmoid": lambda y: y * (1.0 - y),
    "tanh": lambda y: 1.0 - y * y,
    "relu": lambda y: (y > 0.0).astype(np.float64),
}


def margin_network(folded: FoldedPolicy, question: Question) -> MarginNetwork:
    """Fold the command, the scale, the foil and its valid rivals into a policy at the question's state."""
    scale, foil = question.space.scale, question.foil
    rivals = [a for a in question.valid_actions if a != foil]
    weights, biases = list(folded.weights), list(folded.biases)
    biases[0] = weights[0] @ question.command + biases[0]
    weights[0] = weights[0] * scale
    weights[-1] = weights[-1][foil] - weights[-1][rivals]
    biases[-1] = biases[-1][foil] - biases[-1][rivals]
    reach = np.maximum(question.command - question.low, question.high - question.command) / scale
    pads = _pads(weights, biases, reach)
    return MarginNetwork(tuple(weights), tuple(biases), folded.activations, pads)


def _pads(weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], reach: np.ndarray) -> tuple[np.ndarray, ...]:
    """The classical bound on rounding, operations times the sum of the sizes of all terms, with a factor to spare."""
    pads, size, operations = [], reach, 8
    for weight, bias in zip(weights, biases, strict=True):
        size = np.abs(weight) @ (size + 2.0) + np.abs(bias)  # lines have slopes up to 1 and offsets up to 1 + size
        operations += weight.shape[1] + 8
        pads.append(_ROUNDING * operations * size)
    return tuple(pads)
