"""The lines between which each activation lies, over intervals of what it is given."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.policy import ACTIVATIONS, Activation

Touch = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Slope -> the x where f(x) - slope x is smallest, and what it is there."""
_SMALL_WIDTH = 1e-6
"""Narrower intervals take the slope at an end, or of so much from there on: the chord's would be cancellation."""


@dataclass(frozen=True, eq=False)
class Lines:
    """slope_low x + offset_low <= activation(x) <= slope_high x + offset_high, each (B, n).

    The two are parallel, with one array of slopes, but for ReLUs.
    """

    slope_low: np.ndarray
    offset_low: np.ndarray
    slope_high: np.ndarray
    offset_high: np.ndarray

    @property
    def parallel_low(self) -> np.ndarray:
        """The offset of the line below that is parallel to the one above: a ReLU's goes through 0."""
        return self.offset_low if self.slope_low is self.slope_high else np.zeros_like(self.offset_low)

    def flat_below(self) -> "Lines":
        """With the slope 0 below each ReLU that bends; the lines themselves if that changes nothing."""
        bends = (self.slope_low > 0.0) & (self.slope_high < 1.0)
        if self.slope_low is self.slope_high or not bends.any():
            return self
        return replace(self, slope_low=np.where(bends, 0.0, self.slope_low))


def range_of(activation: Activation, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest output over intervals: those of the ends, unless it falls before it rises."""
    at_least, at_most = ACTIVATIONS[activation](least), ACTIVATIONS[activation](most)
    if activation != "silu":
        return at_least, at_most
    return ACTIVATIONS[activation](np.clip(-_SILU.turn, least, most)), np.maximum(at_least, at_most)


def _sigmoid_lines(low: np.ndarray, high: np.ndarray) -> Lines:
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
    return Lines(slope, below, slope, above)


def _tanh_lines(low: np.ndarray, high: np.ndarray) -> Lines:
    """tanh(x) = 2 sigmoid(2 x) - 1."""
    lines = _sigmoid_lines(2.0 * low, 2.0 * high)
    slope = 4.0 * lines.slope_low
    return Lines(slope, 2.0 * lines.offset_low - 1.0, slope, 2.0 * lines.offset_high - 1.0)


def _relu_lines(low: np.ndarray, high: np.ndarray) -> Lines:
    """Above: the chord. Below: that of x and 0 which is closer (CROWN's adaptive choice)."""
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    slope_high = high / np.maximum(high - low, 1e-300)
    return Lines((high > -low).astype(np.float64), np.zeros_like(low), slope_high, -slope_high * low)


def _bowl_lines(low: np.ndarray, high: np.ndarray, activation: Activation, touch: Touch) -> Lines:
    """Parallel lines of a convex activation: above through an end, below where its slope is theirs, or as above."""
    slope, ends = _chord(low, high, activation, (_LEAST_SLOPE, 1.0 - _LEAST_SLOPE))
    x, bottom = touch(slope)
    below = np.where((low < x) & (x < high), np.minimum(ends.min(axis=0), bottom), ends.min(axis=0))
    return Lines(slope, below, slope, ends.max(axis=0))


def _chord(
    low: np.ndarray, high: np.ndarray, activation: Activation, slopes: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """The slope of the chord, within what slopes there are, and where lines of this slope through the ends begin."""
    width = np.maximum(high - low, _SMALL_WIDTH)
    at_low, at_high, beyond = (ACTIVATIONS[activation](x) for x in (low, high, low + width))
    slope = np.clip((beyond - at_low) / width, *slopes)
    return slope, np.stack([at_low - slope * low, at_high - slope * high])


def _elu_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp(x) = slope."""
    x = np.log(slope)
    return x, slope - 1.0 - slope * x


def _softplus_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sigmoid(x) = slope."""
    less, more = np.log(slope), np.log1p(-slope)
    return less - more, -slope * less - (1.0 - slope) * more


def _silu_lines(low: np.ndarray, high: np.ndarray) -> Lines:
    """Parallel lines, which touch where a table says.

    silu(-x) = silu(x) - x: what a slope is at x, 1 minus the slope is at -x, so that slopes up to 1/2 are enough. Of
    silu(x) - slope x, the least over the middle, where silu is convex, is concave in the slope, so that it lies above
    its chords; the most over what is left of the middle, where silu is concave, is convex, and lies below them.
    """
    slope, ends = _chord(low, high, "silu", (_SILU.middle_slopes[0], _SILU.middle_slopes[-1]))
    turned = slope > 0.5
    less = np.where(turned, 1.0 - slope, slope)
    first, last = np.where(turned, -high, low), np.where(turned, -low, high)
    at, bottom = _SILU.middle(less)
    below = np.where((first < at + _SILU.step) & (at - _SILU.step < last), np.minimum(ends.min(axis=0), bottom), np.inf)
    at, top = _SILU.left(less)
    above = np.where((less < 0) & (first < at + _SILU.step), np.maximum(ends.max(axis=0), top), -np.inf)
    return Lines(slope, np.minimum(below, ends.min(axis=0)), slope, np.maximum(above, ends.max(axis=0)))


class _SiluTable:
    """Where lines of many slopes touch silu, and where they begin: in the middle below it, left of that above it."""

    turn = 1.2784645427610738
    """It is smallest at minus this."""
    bend = 2.3993572805154677
    """It is convex from minus this to this, and concave on both sides."""
    step = 0.01
    """More than places in the tables are apart."""

    def __init__(self) -> None:
        self.middle_places = np.linspace(-self.bend, self.bend, 4097)
        self.middle_slopes, self.middle_bottoms = self._touched(self.middle_places)
        places = np.linspace(-self.bend, -40.0, 8193)
        slopes, tops = self._touched(places)
        # Further left it comes so close to 0 that its tangents begin between those at -40 and 0.
        self.left_places, self.left_slopes, self.left_tops = (
            np.append(table, end) for table, end in ((places, -40.0), (slopes, 0.0), (tops, 0.0))
        )

    def middle(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.interp(slope, self.middle_slopes, self.middle_places)
        return x, np.interp(slope, self.middle_slopes, self.middle_bottoms)

    def left(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tuple(np.interp(slope, self.left_slopes, table) for table in (self.left_places, self.left_tops))

    @staticmethod
    def _touched(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gate = ACTIVATIONS["sigmoid"](x)
        slope = gate * (1.0 + x * (1.0 - gate))
        return slope, x * gate - slope * x


_LEAST_SLOPE = 2.0**-52
"""Slopes keep so far from 0 and from 1, where convex activations touch their lines nowhere."""
_SILU = _SiluTable()

LINES: dict[Activation, Callable[[np.ndarray, np.ndarray], Lines]] = {
    "sigmoid": _sigmoid_lines,
    "tanh": _tanh_lines,
    "relu": _relu_lines,
    "elu": lambda low, high: _bowl_lines(low, high, "elu", _elu_touch),
    "softplus": lambda low, high: _bowl_lines(low, high, "softplus", _softplus_touch),
    "silu": _silu_lines,
}
