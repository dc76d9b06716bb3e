"""The foil's margins at one state, as a small network of the scaled change z."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import ACTIVATIONS, Activation, FoldedPolicy, Policy, WhiteBoxPolicy
from paretofoil.core.question import Question

_ROUNDING = 16 * 2.0**-53
"""More than one float64 operation can err, relatively."""
_LARGEST = 1e80
"""The products and squares of larger numbers could be infinite, and nothing is proven by infinities."""


@dataclass(frozen=True, eq=False)
class MarginNetwork:
    """The margins over each rival, as a function of the scaled change z: affine layers, activations between.

    Networks of several questions can be stacked: arrays then have an axis of questions in front, and so has z.
    """

    weights: tuple[np.ndarray, ...]  # each (outputs, inputs); the last has one output per rival
    biases: tuple[np.ndarray, ...]
    activations: tuple[Activation, ...]
    pads: tuple[np.ndarray, ...]  # for each layer (outputs,): more than rounding can do to its bounds

    @property
    def num_rivals(self) -> int:
        return self.weights[-1].shape[-2]

    @property
    def stretch(self) -> np.ndarray:
        """(d,): how much each coordinate moves the first layer."""
        return np.linalg.norm(self.weights[0], axis=0)

    @property
    def work(self) -> int:
        """Products that bounding it over one box takes, nearly."""
        lines = self.weights[0].shape[-1] + self.num_rivals
        return lines * sum(weight.shape[-1] * weight.shape[-2] for weight in self.weights)

    def margins(self, z: np.ndarray) -> np.ndarray:
        """(N, d) -> (N, rivals)."""
        return self._forward(z)[0]

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N, d) -> margins (N, rivals) and their derivatives (N, rivals, d)."""
        margins, passed = self._forward(z)
        slopes = self.weights[-1][..., None, :, :]
        for weight, derivative in zip(self.weights[-2::-1], self._derivatives(passed)[::-1], strict=True):
            slopes = (slopes * derivative[..., None, :]) @ weight[..., None, :, :]
        return margins, np.broadcast_to(slopes, (*margins.shape, z.shape[-1]))

    def smallest_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N, d) -> the smallest margin (N,) and its derivative (N, d), which costs less than all of them."""
        margins, passed = self._forward(z)
        rival = margins.argmin(axis=-1)[..., None]
        slopes = np.take_along_axis(self.weights[-1], rival, axis=-2)
        for weight, derivative in zip(self.weights[-2::-1], self._derivatives(passed)[::-1], strict=True):
            slopes = (slopes * derivative) @ weight
        return np.take_along_axis(margins, rival, axis=-1)[..., 0], slopes

    def _forward(self, z: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """The margins, and what each activation was given and gave."""
        hidden, passed = z, []
        for weight, bias, activation in zip(self.weights, self.biases, self.activations, strict=False):
            given = hidden @ weight.swapaxes(-1, -2) + bias[..., None, :]
            hidden = ACTIVATIONS[activation](given)
            passed.append((given, hidden))
        return hidden @ self.weights[-1].swapaxes(-1, -2) + self.biases[-1][..., None, :], passed

    def _derivatives(self, passed: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
        """Of each activation, where it was."""
        return [_DERIVATIVES[kind](x, y) for kind, (x, y) in zip(self.activations, passed, strict=True)]

    def only(self, rivals: int | slice) -> "MarginNetwork":
        """The network of the margins over one rival, or several in a row."""
        keep = slice(rivals, rivals + 1) if isinstance(rivals, int) else rivals
        parts = ((*layers[:-1], layers[-1][keep]) for layers in (self.weights, self.biases, self.pads))
        weights, biases, pads = parts
        return replace(self, weights=weights, biases=biases, pads=pads)

    def negated(self) -> "MarginNetwork":
        """The network whose upper bounds are the lower bounds of this one, with the sign changed."""
        weights, biases = (*self.weights[:-1], -self.weights[-1]), (*self.biases[:-1], -self.biases[-1])
        return replace(self, weights=weights, biases=biases)


def require_white_box(policy: Policy, wanted: str) -> WhiteBoxPolicy:
    """The policy itself, if it lets us look inside; `wanted` says who wants to, and what to do for a black box."""
    if not isinstance(policy, WhiteBoxPolicy):
        why = getattr(policy, "why_not", None)
        got = f"{type(policy).__name__}{f' ({why})' if why else ''}"
        raise InvalidInput.expected(f"a policy with fold(state){wanted}", got)
    return policy


def stack_networks(networks: Sequence[MarginNetwork], num_rivals: int) -> MarginNetwork:
    """One network of many questions on one policy. Fewer rivals are filled up with the last, which changes no minimum.

    Give the same number of rivals for every batch, and a question's margins do not depend on its neighbours.
    """
    rivals = [np.minimum(np.arange(num_rivals), network.num_rivals - 1) for network in networks]

    def stacked(layers: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        *inner, last = zip(*layers, strict=True)
        return (*map(np.stack, inner), np.stack([part[keep] for part, keep in zip(last, rivals, strict=True)]))

    return MarginNetwork(
        stacked([network.weights for network in networks]),
        stacked([network.biases for network in networks]),
        networks[0].activations,
        stacked([network.pads for network in networks]),
    )


_DERIVATIVES = {
    "sigmoid": lambda x, y: y * (1.0 - y),
    "tanh": lambda x, y: 1.0 - y * y,
    "relu": lambda x, y: (y > 0.0).astype(np.float64),
    "elu": lambda x, y: np.minimum(y + 1.0, 1.0),
    "softplus": lambda x, y: -np.expm1(-y),
    "silu": lambda x, y: y + ACTIVATIONS["sigmoid"](x) * (1.0 - y),
}
"""Of what an activation was given, x, and gave, y."""


def margin_network(folded: FoldedPolicy, question: Question, each: int = 1) -> MarginNetwork:
    """Fold the command, the scale, the foil and its valid rivals into a policy at the question's state.

    `each` is how many outputs an action has: 1 for logits, d for values of each objective.
    """
    rivals, weights, biases = question.rivals, list(folded.weights), list(folded.biases)
    for parts in (weights, biases):
        rest = parts[-1].shape[1:]
        actions = parts[-1].reshape(-1, each, *rest)
        parts[-1] = (actions[question.foil] - actions[rivals]).reshape(len(rivals) * each, *rest)
    pads = rounding_pads(weights, biases, reach_of(question))
    biases[0] = weights[0] @ question.command + biases[0]
    weights[0] = weights[0] @ question.basis if question.space.simplex else weights[0] * question.space.scale
    return MarginNetwork(tuple(weights), tuple(biases), folded.activations, pads)


def reach_of(question: Question) -> np.ndarray:
    """The size of each number (d,) of a command of the region, term by term: the original, and what is added to it."""
    size = np.abs(question.command)
    if not question.space.simplex:
        return size + np.maximum(question.command - question.low, question.high - question.command)
    # Beside the turned change, what its box is widened by; d terms are summed where a box has one.
    most = np.maximum(-question.room[0], question.room[1]) + 1e-3
    return size + len(question.command) * (np.abs(question.basis) @ most)


def rounding_pads(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], reach: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The classical bound on rounding, operations times the sum of the sizes of all terms, with a factor to spare.

    These are the terms before the command is folded in: far from 0 they cancel, but what rounding did to them stays.
    """
    pads, terms, operations = [], reach, 8
    for weight, bias in zip(weights, biases, strict=True):
        size = np.abs(weight) @ terms + np.abs(bias)
        terms = behind_lines(size)
        operations += weight.shape[1] + 8
        pads.append(_ROUNDING * operations * size)
        if not (size < _LARGEST).all():
            raise InvalidInput.expected(f"a policy whose numbers stay below {_LARGEST:g}", f"up to {size.max():g}")
    return tuple(pads)


def behind_lines(size: np.ndarray) -> np.ndarray:
    """What lines with slopes up to 1, and offsets up to 2 and half the size, make of terms of a size.

    A SiLU has lines that are up to 1.1 steep, where their offsets are small.
    """
    return 1.5 * size + 2.0
