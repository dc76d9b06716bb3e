"""The margins of an action as a function of state and command together, for proofs about whole sets of states."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from paretofoil.core.policy import ACTIVATIONS, Activation, Branch, UnfoldedPolicy
from paretofoil.proof.bound import Form, HalfSpaces, below, in_chunks, relax, substitute
from paretofoil.proof.lines import Lines
from paretofoil.proof.margin import behind_lines, rounding_pads

_ROUNDING = 2.0**-40
"""More than rounding can do to the place of a line, relatively."""


@dataclass(frozen=True, eq=False)
class JointNetwork:
    """The margins of an action over each rival: a head of the product of a branch of the state and one of the command.

    Points and boxes are states and commands side by side, in their own units.
    """

    state: Branch
    command: Branch
    head_weights: tuple[np.ndarray, ...]
    head_biases: tuple[np.ndarray, ...]
    head_activations: tuple[Activation, ...]
    pads: tuple[tuple[np.ndarray, ...], ...]
    """Of the layers of the state, of the command, and of the head: more than rounding can do to their bounds."""

    @property
    def state_size(self) -> int:
        return self.state.weights[0].shape[1]

    @property
    def num_rivals(self) -> int:
        return len(self.head_weights[-1])

    @property
    def work(self) -> int:
        """Products that bounding it over one box takes, nearly."""
        weights = (*self.state.weights, *self.command.weights, *self.head_weights)
        return (len(self.stretch) + self.num_rivals) * sum(weight.size for weight in weights)

    @property
    def stretch(self) -> np.ndarray:
        """(S + d,): how much each coordinate moves the first layers."""
        return np.concatenate([np.linalg.norm(branch.weights[0], axis=0) for branch in (self.state, self.command)])

    def margins(self, points: np.ndarray) -> np.ndarray:
        """(N, S + d) -> (N, rivals)."""
        states, commands = points[:, : self.state_size], points[:, self.state_size :]
        hidden = self.state(states) * self.command(commands)
        for weight, bias, activation in zip(self.head_weights, self.head_biases, self.head_activations, strict=False):
            hidden = ACTIVATIONS[activation](hidden @ weight.T + bias)
        return hidden @ self.head_weights[-1].T + self.head_biases[-1]

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Lines above the margins over boxes low, high (B, S + d)."""
        width = max(weight.shape[0] for weight in (*self.state.weights, *self.command.weights))
        return in_chunks(partial(self._upper_bounds, level=level), low, high, width * low.shape[1])

    def _upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None) -> HalfSpaces:
        size = self.state_size
        product = self._embed(self.state, 0, low[:, :size], high[:, :size]).times(
            self._embed(self.command, 1, low[:, size:], high[:, size:])
        )
        pads = self.pads[2]
        hidden = zip(self.head_weights, self.head_biases, self.head_activations, pads, strict=False)
        relaxed, _ = relax(hidden, product)

        def above(lines: list[Lines]) -> HalfSpaces:
            rows, offsets = substitute(self.head_weights, self.head_biases, lines)
            rows = np.broadcast_to(rows, (len(low), *rows.shape[1:]))
            offsets = offsets + self.head_biases[-1] + pads[-1]
            offsets = offsets + (rows @ product.center[:, :, None] + np.abs(rows) @ product.radius[:, :, None])[:, :, 0]
            return _in_own_units(rows @ product.slopes.transpose(0, 2, 1), offsets, low, high)

        return below(level, above, relaxed, low, high)

    def _embed(self, branch: Branch, number: int, low: np.ndarray, high: np.ndarray) -> Form:
        layers = zip(branch.weights, branch.biases, branch.activations, self.pads[number], strict=True)
        relaxed, form = relax(layers, Form.of_boxes(low, high))
        return form.between(relaxed[-1])


def joint_network(
    policy: UnfoldedPolicy, action: int, rivals: Sequence[int], low: np.ndarray, high: np.ndarray
) -> JointNetwork:
    """The network of the margins of an action over its rivals, for states and commands within low, high (S + d,)."""
    size = policy.state.weights[0].shape[1]
    reach = np.maximum(np.abs(low), np.abs(high))
    pads, spans = [], []
    for branch, part in ((policy.state, reach[:size]), (policy.command, reach[size:])):
        pads.append(rounding_pads(branch.weights, branch.biases, part))
        terms = part
        for weight, bias in zip(branch.weights, branch.biases, strict=True):
            terms = behind_lines(np.abs(weight) @ terms + np.abs(bias))
        spans.append(terms)
    rows = list(rivals)
    weights = (*policy.head.weights[:-1], policy.head.weights[-1][action] - policy.head.weights[-1][rows])
    biases = (*policy.head.biases[:-1], policy.head.biases[-1][action] - policy.head.biases[-1][rows])
    pads.append(rounding_pads(weights, biases, spans[0] * spans[1]))
    return JointNetwork(policy.state, policy.command, weights, biases, policy.head.activations, tuple(pads))


def _in_own_units(slopes: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
    """From lines in the place -1 to 1 within each box to lines in the coordinates themselves."""
    center, radius = (low + high) / 2, (high - low) / 2
    flat = radius == 0.0
    own = np.where(flat[:, None, :], 0.0, slopes / np.where(flat, 1.0, radius)[:, None, :])
    moved = own * center[:, None, :]
    return HalfSpaces(own, offsets - moved.sum(axis=2) + _ROUNDING * np.abs(moved).sum(axis=2))
