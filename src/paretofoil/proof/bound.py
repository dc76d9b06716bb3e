"""Sound linear bounds of the foil's margins over many boxes of commands at once.

Each activation of the margin network is replaced by lines that hold over its interval. The intervals come from a pass
forwards that carries a line in the command and a radius for each unit (B x d x n numbers, where substituting each
layer backwards would need B x n x n); the margins' own lines are substituted backwards through all layers (CROWN,
Zhang et al. 2018), so that what remains is one half-space per box and rival: where the line says that the foil loses,
it loses. All in float64, pushed outwards by a pad that covers the rounding.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from paretofoil.core.policy import Activation
from paretofoil.proof.lines import LINES, Lines, range_of
from paretofoil.proof.margin import MarginNetwork

Layer = tuple[np.ndarray, np.ndarray, Activation, np.ndarray]
"""A weight, a bias, what follows them, and a pad."""
_CHUNK = 1 << 16
"""Numbers in the largest array of one bounding step: small enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """For each box (B) and rival (K): the margin is at most slopes . z + offsets, everywhere in the box."""

    slopes: np.ndarray  # (B, K, d)
    offsets: np.ndarray  # (B, K)

    def highest(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The largest value of each line over boxes low, high (B, d): (B, K)."""
        center, radius = (low + high) / 2, (high - low) / 2
        return self.offsets + _rows(self.slopes, center) + _rows(np.abs(self.slopes), radius)


def upper_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
    """Lines above the margins over the boxes low, high (B, d), inside the region the network was made for.

    If it matters whether they stay below a level, another one is told where only that one does.
    """
    width = max((weight.shape[0] for weight in network.weights[:-1]), default=1)
    numbers = width * max(low.shape[1], network.num_rivals)
    return in_chunks(partial(_upper_bounds, network, level=level), low, high, numbers)


def in_chunks(
    bounds: Callable[[np.ndarray, np.ndarray], HalfSpaces], low: np.ndarray, high: np.ndarray, numbers: int
) -> HalfSpaces:
    """The bounds over boxes low, high (B, d), so many at once that the largest array, of `numbers` each, is small."""
    step = max(1, _CHUNK // numbers)
    places = [slice(s, s + step) for s in range(0, max(len(low), 1), step)]
    parts = [bounds(low[place], high[place]) for place in places]
    if len(parts) == 1:
        return parts[0]
    return HalfSpaces(np.concatenate([p.slopes for p in parts]), np.concatenate([p.offsets for p in parts]))


def lower_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """What each margin is at least, over the boxes low, high (B, d): (B, rivals)."""
    return -upper_bounds(network.negated(), low, high).highest(low, high)


def _upper_bounds(network: MarginNetwork, low: np.ndarray, high: np.ndarray, level: float | None) -> HalfSpaces:
    layers = zip(network.weights, network.biases, network.activations, network.pads, strict=False)
    relaxed, _ = relax(layers, Form.of_boxes(low, high))

    def above(lines: list[Lines]) -> HalfSpaces:
        slopes, offsets = substitute(network.weights, network.biases, lines)
        shape = (len(low), *slopes.shape[1:])
        offsets = np.broadcast_to(offsets + network.biases[-1] + network.pads[-1], shape[:2])
        return HalfSpaces(np.broadcast_to(slopes, shape), offsets)

    return below(level, above, relaxed, low, high)


def below(
    level: float | None,
    above: Callable[[list[Lines]], HalfSpaces],
    relaxed: list[Lines],
    low: np.ndarray,
    high: np.ndarray,
) -> HalfSpaces:
    """What `above` makes of the lines, or of flat ones below the ReLUs where only these stay below the level.

    A line below a ReLU may have any slope from 0 to 1. The closest is best as a rule; but a unit that can only lower a
    margin leaves it at most where it is, and the flat line alone says so. Saturated networks are full of such units.
    """
    lines, flat = above(relaxed), [layer.flat_below() for layer in relaxed]
    if level is None or all(new is old for new, old in zip(flat, relaxed, strict=True)):
        return lines
    others = above(flat)
    settled = (others.highest(low, high) < level) & (lines.highest(low, high) >= level)
    slopes = np.where(settled[:, :, None], others.slopes, lines.slopes)
    return HalfSpaces(slopes, np.where(settled, others.offsets, lines.offsets))


def relax(layers: Iterable[Layer], form: "Form") -> tuple[list[Lines], "Form"]:
    """The lines of each activation, for inputs of a form; and the form of what the last activation is given."""
    relaxed: list[Lines] = []
    floor = ceiling = form.center  # the range of each layer's inputs
    for weight, bias, activation, pad in layers:
        form = (form.between(relaxed[-1]) if relaxed else form).affine(weight, bias)
        least, most = form.interval()
        if relaxed:
            plain_least, plain_most = _interval(weight, bias, floor, ceiling)
            least, most = np.maximum(least, plain_least), np.minimum(most, plain_most)
        least, most = least - pad, most + pad
        relaxed.append(LINES[activation](least, most))
        floor, ceiling = range_of(activation, least, most)
    return relaxed, form


def _interval(weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    center = (low + high) / 2 @ weight.T + bias
    radius = (high - low) / 2 @ np.abs(weight).T
    return center - radius, center + radius


@dataclass(frozen=True, eq=False)
class Form:
    """Each unit is center + slopes . e +- radius, for the place e of the command in its box, from -1 to 1."""

    center: np.ndarray  # (B, n)
    slopes: np.ndarray  # (B, d, n)
    radius: np.ndarray  # (B, n)

    @classmethod
    def of_boxes(cls, low: np.ndarray, high: np.ndarray) -> "Form":
        return cls((low + high) / 2, np.eye(low.shape[1]) * ((high - low) / 2)[:, None, :], np.zeros_like(low))

    def affine(self, weight: np.ndarray, bias: np.ndarray) -> "Form":
        return Form(self.center @ weight.T + bias, _apply(self.slopes, weight.T), self.radius @ np.abs(weight).T)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        reach = np.abs(self.slopes).sum(axis=1) + self.radius
        return self.center - reach, self.center + reach

    def between(self, lines: Lines) -> "Form":
        """Behind an activation, which lies between two lines of the same slope."""
        slope, below = lines.slope_high, lines.parallel_low
        middle, half = (lines.offset_high + below) / 2, (lines.offset_high - below) / 2
        return Form(slope * self.center + middle, slope[:, None, :] * self.slopes, np.abs(slope) * self.radius + half)

    def times(self, other: "Form") -> "Form":
        """The products with units that depend on other places: what is not linear in either is left to the radius."""
        slopes = np.concatenate([other.center[:, None] * self.slopes, self.center[:, None] * other.slopes], axis=1)
        reach, other_reach = (np.abs(form.slopes).sum(axis=1) + form.radius for form in (self, other))
        linear = np.abs(self.center) * other.radius + np.abs(other.center) * self.radius
        return Form(self.center * other.center, slopes, linear + reach * other_reach)


def substitute(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], relaxed: list[Lines], rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Lines above the last layer, without its bias, in terms of the inputs of the first: (B, R, d) and (B, R).

    `rows` (B, R, n) are what the last layer is in each box, where that differs.
    """
    slopes = weights[len(relaxed)][None] if rows is None else rows
    offsets = np.zeros(slopes.shape[:2])
    for k, lines in reversed(list(enumerate(relaxed))):
        if lines.slope_low is lines.slope_high:
            middle, half = (lines.offset_high + lines.offset_low) / 2, (lines.offset_high - lines.offset_low) / 2
            offsets = offsets + _rows(slopes, middle) + _rows(np.abs(slopes), half)
            slopes = slopes * lines.slope_low[:, None, :]
        else:
            up, down = np.maximum(slopes, 0.0), np.minimum(slopes, 0.0)
            offsets = offsets + _rows(up, lines.offset_high) + _rows(down, lines.offset_low)
            slopes = up * lines.slope_high[:, None, :] + down * lines.slope_low[:, None, :]
        offsets = offsets + slopes @ biases[k]
        slopes = _apply(slopes, weights[k])
    return slopes, offsets


def _apply(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(B, R, n) @ (n, m) as one product."""
    return (rows.reshape(-1, rows.shape[-1]) @ weight).reshape(*rows.shape[:2], weight.shape[1])


def _rows(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(B or 1, R, n) times (B, n) -> (B, R)."""
    if rows.shape[0] == 1:
        return vectors @ rows[0].T
    return np.matmul(rows, vectors[:, :, None])[:, :, 0]
