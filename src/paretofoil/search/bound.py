"""Sound linear bounds of the foil's margins over many boxes of commands at once.

With the state fixed, the margins (foil logit minus the logit of each rival) are a small network of the scaled
change z. Each activation is replaced by two lines that hold over its interval (CROWN, Zhang et al. 2018), and the
lines are substituted backwards, so that what remains is one half-space per box and rival: where the line says
that the foil loses, it loses. All in float64, pushed outwards by a pad that covers the rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.policy import ACTIVATIONS, Activation, FoldedPolicy
from paretofoil.question import Question

CHUNK = 1 << 21
"""Numbers in the largest array of one bounding step: small enough to stay near the processor."""
_ROUNDING = 16 * 2.0**-53
_SMALL_WIDTH = 1e-6
"""Narrower intervals take the slope in the middle: the chord's would be cancellation."""


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
            slopes = _apply(slopes * derivative[:, None, :], weight)
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


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """For each box (B) and rival (K): the margin is at most slopes . z + offsets, everywhere in the box."""

    slopes: np.ndarray  # (B, K, d)
    offsets: np.ndarray  # (B, K)

    def highest(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The largest value of each line over boxes low, high (B, d): (B, K)."""
        center, radius = (low + high) / 2, (high - low) / 2
        return self.offsets + _rows(self.slopes, center) + _rows(np.abs(self.slopes), radius)


def upper_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
    """Lines above the margins over the boxes low, high (B, d), inside the region the network was made for."""
    return Relaxation(network, low, high).lines()


def lower_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """What each margin is at least, over the boxes low, high (B, d): (B, rivals)."""
    return -upper_bounds(network.negated(), low, high).highest(low, high)


class Relaxation:
    """A network over boxes, each activation between two lines."""

    def __init__(self, network, low, high):
        self.network, self.low, self.high = network, low, high
        self.intervals = []
        self.relaxed = []
        floor, ceiling = low, high  # the interval of each layer's input
        for layer, activation in enumerate(network.activations):
            if layer == 0:
                before_low, before_high = _interval(network.weights[layer], network.biases[layer], floor, ceiling)
            else:
                before_low, before_high = _intermediate(network, layer, self.relaxed, low, high)
            before_low, before_high = before_low - network.pads[layer], before_high + network.pads[layer]
            self.intervals.append((before_low, before_high))
            self.relaxed.append(_LINES[activation](before_low, before_high))

    def lines(self, focus=None):
        network = self.network
        relaxed = self.relaxed
        if focus is not None:
            relaxed, x = [], focus
            for layer, activation in enumerate(network.activations):
                a = x @ network.weights[layer].T + network.biases[layer]
                relaxed.append(_FOCUS[activation](*self.intervals[layer], self.relaxed[layer], a))
                x = ACTIVATIONS[activation](a)
        slopes, offsets = _substitute(network, len(network.activations), network.weights[-1][None], relaxed)
        slopes = np.broadcast_to(slopes, (len(self.low), *slopes.shape[1:]))
        return HalfSpaces(slopes, offsets + network.biases[-1] + network.pads[-1])


def _interval(weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    center = (low + high) / 2 @ weight.T + bias
    radius = (high - low) / 2 @ np.abs(weight).T
    return center - radius, center + radius


@dataclass(frozen=True, eq=False)
class _Lines:
    """slope_low x + offset_low <= activation(x) <= slope_high x + offset_high, each (B, n)."""

    slope_low: np.ndarray
    offset_low: np.ndarray
    slope_high: np.ndarray
    offset_high: np.ndarray


def _intermediate(
    network: MarginNetwork, layer: int, relaxed: list[_Lines], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the inputs of the activation behind this layer, (B, n) each, from the lines below it."""
    center, radius = (low + high) / 2, (high - low) / 2
    weight, bias, lines = network.weights[layer], network.biases[layer], relaxed[-1]
    if layer == 1 and lines.slope_low is lines.slope_high:  # parallel lines: one product serves both sides
        columns = network.weights[0].T * lines.slope_low[:, None, :]  # (B, d, n0)
        slopes = _apply(columns, weight.T)  # (B, d, n1)
        middle, half = (lines.offset_high + lines.offset_low) / 2, (lines.offset_high - lines.offset_low) / 2
        middle = (lines.slope_low * network.biases[0] + middle) @ weight.T + bias
        middle = middle + _rows(slopes.transpose(0, 2, 1), center)
        spread = half @ np.abs(weight).T + _rows(np.abs(slopes).transpose(0, 2, 1), radius)
        return middle - spread, middle + spread
    sides = []
    for sign in (-1.0, 1.0):
        slopes, offsets = _substitute(network, layer, sign * weight[None], relaxed)
        sides.append(sign * (offsets + _rows(slopes, center) + _rows(np.abs(slopes), radius)) + bias)
    return sides[0], sides[1]


def _substitute(
    network: MarginNetwork, layer: int, slopes: np.ndarray, relaxed: list[_Lines]
) -> tuple[np.ndarray, np.ndarray]:
    """Lines above slopes . (outputs of activation layer - 1), in terms of z: (B, R, n) -> (B, R, d) and (B, R)."""
    offsets: np.ndarray | float = 0.0
    for k in reversed(range(layer)):
        lines = relaxed[k]
        if lines.slope_low is lines.slope_high:
            middle, half = (lines.offset_high + lines.offset_low) / 2, (lines.offset_high - lines.offset_low) / 2
            offsets = offsets + _rows(slopes, middle) + _rows(np.abs(slopes), half)
            slopes = slopes * lines.slope_low[:, None, :]
        else:
            up, down = np.maximum(slopes, 0.0), np.minimum(slopes, 0.0)
            offsets = offsets + _rows(up, lines.offset_high) + _rows(down, lines.offset_low)
            slopes = up * lines.slope_high[:, None, :] + down * lines.slope_low[:, None, :]
        offsets = offsets + slopes @ network.biases[k]
        slopes = _apply(slopes, network.weights[k])
    return slopes, offsets + np.zeros(slopes.shape[:2])


def _apply(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(B, R, n) @ (n, m) as one product."""
    return (rows.reshape(-1, rows.shape[-1]) @ weight).reshape(*rows.shape[:2], weight.shape[1])


def _rows(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(B or 1, R, n) times (B, n) -> (B, R)."""
    if rows.shape[0] == 1:
        return vectors @ rows[0].T
    return np.matmul(rows, vectors[:, :, None])[:, :, 0]


def _sigmoid_lines(low: np.ndarray, high: np.ndarray) -> _Lines:
    """Parallel lines with the slope of the chord; they touch where the derivative is that slope, at +t and -t."""
    at_low, at_high = ACTIVATIONS["sigmoid"](low), ACTIVATIONS["sigmoid"](high)
    width = high - low
    wide = width > _SMALL_WIDTH
    slope = np.where(wide, (at_high - at_low) / np.where(wide, width, 1.0), at_low * (1.0 - at_low))
    slope = np.clip(slope, 1e-300, 0.25)
    value = 0.5 + 0.5 * np.sqrt(1.0 - 4.0 * slope)  # sigmoid(t), where sigmoid' = slope
    t = np.log(value * value / slope)
    touch = value - slope * t
    end_low, end_high = at_low - slope * low, at_high - slope * high
    above, below = np.maximum(end_low, end_high), np.minimum(end_low, end_high)
    above = np.where((low < t) & (t < high), np.maximum(above, touch), above)
    below = np.where((low < -t) & (-t < high), np.minimum(below, 1.0 - touch), below)
    return _Lines(slope, below, slope, above)


def _tanh_lines(low: np.ndarray, high: np.ndarray) -> _Lines:
    """tanh(x) = 2 sigmoid(2 x) - 1."""
    lines = _sigmoid_lines(2.0 * low, 2.0 * high)
    slope = 4.0 * lines.slope_low
    return _Lines(slope, 2.0 * lines.offset_low - 1.0, slope, 2.0 * lines.offset_high - 1.0)


def _relu_lines(low: np.ndarray, high: np.ndarray) -> _Lines:
    """Above: the chord. Below: the steeper of x and 0 (CROWN's adaptive choice)."""
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    slope_high = high / np.maximum(high - low, 1e-300)
    return _Lines((high > -low).astype(np.float64), np.zeros_like(low), slope_high, -slope_high * low)


_LINES = {"sigmoid": _sigmoid_lines, "tanh": _tanh_lines, "relu": _relu_lines}


def _sigmoid_focus(low, high, lines, at):
    at = np.clip(at, low, high)
    value = ACTIVATIONS["sigmoid"](at)
    slope = value * (1.0 - value)
    offset = value - slope * at
    up = (at >= 0.0) & (slope * low + offset >= ACTIVATIONS["sigmoid"](low))
    down = (at <= 0.0) & (slope * high + offset <= ACTIVATIONS["sigmoid"](high))
    return _Lines(np.where(down, slope, lines.slope_low), np.where(down, offset, lines.offset_low),
                  np.where(up, slope, lines.slope_high), np.where(up, offset, lines.offset_high))


def _relu_focus(low, high, lines, at):
    return _Lines((at > 0.0) * 1.0, lines.offset_low, lines.slope_high, lines.offset_high)


_FOCUS = {"sigmoid": _sigmoid_focus, "relu": _relu_focus}
