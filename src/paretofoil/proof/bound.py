"""Sound linear bounds of the foil's margins over many boxes of commands at once.

Each activation of the margin network is replaced by two lines that hold over its interval (CROWN, Zhang et al.
2018), and the lines are substituted backwards, so that what remains is one half-space per box and rival: where the
line says that the foil loses, it loses. All in float64, pushed outwards by a pad that covers the rounding.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.policy import ACTIVATIONS
from paretofoil.proof.margin import MarginNetwork

CHUNK = 1 << 16
"""Numbers in the largest array of one bounding step: small enough to stay in the cache."""
_SMALL_WIDTH = 1e-6
"""Narrower intervals take the slope at an end: the chord's would be cancellation."""


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
    widths = [weight.shape[0] for weight in network.weights[:-1]] or [1]
    long_way = any(not _behind_parallel_lines(network, layer) for layer in range(1, len(network.activations)))
    columns = max(low.shape[1], network.num_rivals, *(widths if long_way else ()))
    step = max(1, CHUNK // (max(widths) * columns))
    parts = [_upper_bounds(network, low[s : s + step], high[s : s + step]) for s in range(0, max(len(low), 1), step)]
    if len(parts) == 1:
        return parts[0]
    return HalfSpaces(np.concatenate([p.slopes for p in parts]), np.concatenate([p.offsets for p in parts]))


def lower_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """What each margin is at least, over the boxes low, high (B, d): (B, rivals)."""
    return -upper_bounds(network.negated(), low, high).highest(low, high)


def _behind_parallel_lines(network: MarginNetwork, layer: int) -> bool:
    """True for a second layer behind a sigmoid or tanh, the case of a PCN, which is bounded the short way."""
    return layer == 1 and network.activations[0] != "relu"


def _upper_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
    relaxed: list[_Lines] = []
    floor, ceiling = low, high  # the range of each layer's inputs
    for layer, activation in enumerate(network.activations):
        if layer == 0:
            least, most = _interval(network.weights[0], network.biases[0], low, high)
        elif _behind_parallel_lines(network, layer):
            least, most = _short_way(network, relaxed[0], low, high)
        else:
            least, most = _interval(network.weights[layer], network.biases[layer], floor, ceiling)
            line_least, line_most = _long_way(network, layer, relaxed, low, high)
            least, most = np.maximum(least, line_least), np.minimum(most, line_most)
        least, most = least - network.pads[layer], most + network.pads[layer]
        relaxed.append(_LINES[activation](least, most))
        if layer > 0 or not _behind_parallel_lines(network, 1):
            floor, ceiling = ACTIVATIONS[activation](least), ACTIVATIONS[activation](most)
    slopes, offsets = _substitute(network, len(network.activations), network.weights[-1][None], relaxed)
    shape = (len(low), *slopes.shape[1:])
    offsets = np.broadcast_to(offsets + network.biases[-1] + network.pads[-1], shape[:2])
    return HalfSpaces(np.broadcast_to(slopes, shape), offsets)


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


def _short_way(
    network: MarginNetwork, lines: _Lines, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the second layer's outputs, (B, n) each: behind parallel lines one product serves both sides."""
    center, radius = (low + high) / 2, (high - low) / 2
    weight = network.weights[1]
    middle, half = (lines.offset_high + lines.offset_low) / 2, (lines.offset_high - lines.offset_low) / 2
    before = center @ network.weights[0].T + network.biases[0]
    middle = (lines.slope_low * before + middle) @ weight.T + network.biases[1]
    columns = network.weights[0].T * radius[:, :, None] * lines.slope_low[:, None, :]  # (B, d, n)
    spread = half @ np.abs(weight).T + np.abs(_apply(columns, weight.T)).sum(axis=1)
    return middle - spread, middle + spread


def _long_way(
    network: MarginNetwork, layer: int, relaxed: list[_Lines], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of any layer's outputs, (B, n) each: each side by its own substitution, with (B, n, n) slopes."""
    sides = []
    for sign in (-1.0, 1.0):
        slopes, offsets = _substitute(network, layer, sign * network.weights[layer][None], relaxed)
        sides.append(sign * HalfSpaces(slopes, offsets).highest(low, high) + network.biases[layer])
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
