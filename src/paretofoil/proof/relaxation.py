"""Linear relaxations of activations: two lines between which an activation lies over an interval of its input."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.policy import ACTIVATIONS, Activation

Touch = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Slope -> the x where f(x) - slope x is smallest, and its value there."""
_SMALL_WIDTH = 1e-6
"""Narrower intervals take the slope of the curve near an end, since the slope of the chord would cancel."""
_LEAST_SLOPE = 2.0**-52
"""Distance of slopes from 0 and 1, where lines touch convex activations nowhere."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """slope_low x + offset_low <= activation(x) <= slope_high x + offset_high, each (B, n).

    The lines are parallel, with one array of slopes, except for ReLUs.
    """

    slope_low: np.ndarray
    offset_low: np.ndarray
    slope_high: np.ndarray
    offset_high: np.ndarray

    @property
    def parallel(self) -> bool:
        return self.slope_low is self.slope_high

    @property
    def parallel_low(self) -> np.ndarray:
        """The offset of the lower line that is parallel to the upper one; that of a ReLU passes through 0."""
        return self.offset_low if self.parallel else np.zeros_like(self.offset_low)

    def widened(self, error: np.ndarray) -> "Relaxation":
        """Return the relaxation of an activation with an error of at most (B, n); a ReLU has none."""
        if not self.parallel:
            return self
        return replace(self, offset_low=self.offset_low - error, offset_high=self.offset_high + error)

    def flat_below(self) -> "Relaxation":
        """Return the relaxation with slope 0 below each unstable ReLU; the same object if nothing changes."""
        unstable = (self.slope_low > 0.0) & (self.slope_high < 1.0)
        if self.parallel or not unstable.any():
            return self
        return replace(self, slope_low=np.where(unstable, 0.0, self.slope_low))


def output_range(activation: Activation, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest output over intervals of the input."""
    at_least, at_most = ACTIVATIONS[activation](least), ACTIVATIONS[activation](most)
    if activation != "silu":
        return at_least, at_most
    return ACTIVATIONS[activation](np.clip(-_SILU.minimum, least, most)), np.maximum(at_least, at_most)


def _relax_sigmoid(low: np.ndarray, high: np.ndarray) -> Relaxation:
    """Relax with the slope of the chord. Lines of this slope touch the curve at +t and -t."""
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
    return Relaxation(slope, below, slope, above)


def _relax_tanh(low: np.ndarray, high: np.ndarray) -> Relaxation:
    """Relax tanh(x) = 2 sigmoid(2 x) - 1."""
    lines = _relax_sigmoid(2.0 * low, 2.0 * high)
    slope = 4.0 * lines.slope_low
    return Relaxation(slope, 2.0 * lines.offset_low - 1.0, slope, 2.0 * lines.offset_high - 1.0)


def _relax_relu(low: np.ndarray, high: np.ndarray) -> Relaxation:
    """Relax by the chord above, and by x or 0 below, whichever is closer (CROWN's adaptive choice)."""
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    slope_high = high / np.maximum(high - low, 1e-300)
    return Relaxation((high > -low).astype(np.float64), np.zeros_like(low), slope_high, -slope_high * low)


def _relax_convex(low: np.ndarray, high: np.ndarray, activation: Activation, touch: Touch) -> Relaxation:
    """Relax a convex activation: the upper line passes through an end, the lower line is a tangent."""
    slope, ends = _chord(low, high, activation, (_LEAST_SLOPE, 1.0 - _LEAST_SLOPE))
    x, bottom = touch(slope)
    below = np.where((low < x) & (x < high), np.minimum(ends.min(axis=0), bottom), ends.min(axis=0))
    return Relaxation(slope, below, slope, ends.max(axis=0))


def _chord(
    low: np.ndarray, high: np.ndarray, activation: Activation, slopes: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope of the chord, clipped to `slopes`, and the offsets of lines of this slope through both ends."""
    width = np.maximum(high - low, _SMALL_WIDTH)
    at_low, at_high, beyond = (ACTIVATIONS[activation](x) for x in (low, high, low + width))
    slope = np.clip((beyond - at_low) / width, *slopes)
    return slope, np.stack([at_low - slope * low, at_high - slope * high])


def _elu_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve exp(x) = slope."""
    x = np.log(slope)
    return x, slope - 1.0 - slope * x


def _softplus_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve sigmoid(x) = slope."""
    less, more = np.log(slope), np.log1p(-slope)
    return less - more, -slope * less - (1.0 - slope) * more


def _relax_silu(low: np.ndarray, high: np.ndarray) -> Relaxation:
    """Relax by tables of the points where lines of a slope touch.

    silu(-x) = silu(x) - x: the derivative at -x is 1 minus the derivative at x, and slopes up to 1/2 suffice. Both
    tables are interpolated linearly, on the sound side. In the middle silu is convex, and the minimum of
    silu(x) - slope x is concave in the slope: it lies above its chords. Left of it silu is concave, and the maximum is
    convex in the slope: it lies below its chords.
    """
    slope, ends = _chord(low, high, "silu", (_SILU.middle_slopes[0], _SILU.middle_slopes[-1]))
    mirrored = slope > 0.5
    less = np.where(mirrored, 1.0 - slope, slope)
    first, last = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    at, bottom = _SILU.middle(less)
    below = np.where((first < at + _SILU.step) & (at - _SILU.step < last), np.minimum(ends.min(axis=0), bottom), np.inf)
    at, top = _SILU.left(less)
    above = np.where((less < 0) & (first < at + _SILU.step), np.maximum(ends.max(axis=0), top), -np.inf)
    return Relaxation(slope, np.minimum(below, ends.min(axis=0)), slope, np.maximum(above, ends.max(axis=0)))


class _SiluTable:
    """The points where tangents of many slopes touch silu, and their offsets: of lower and of upper tangents."""

    minimum = 1.2784645427610738
    """silu is smallest at minus this."""
    inflection = 2.3993572805154677
    """silu is convex between minus this and this, and concave on both sides."""
    step = 0.01
    """Larger than the distance of neighbours in the tables."""

    def __init__(self) -> None:
        self.middle_x = np.linspace(-self.inflection, self.inflection, 4097)
        self.middle_slopes, self.middle_offsets = self._tangents(self.middle_x)
        x = np.linspace(-self.inflection, -40.0, 8193)
        slopes, offsets = self._tangents(x)
        # Left of -40, the offsets of tangents lie between that at -40 and 0.
        self.left_x, self.left_slopes, self.left_offsets = (
            np.append(table, end) for table, end in ((x, -40.0), (slopes, 0.0), (offsets, 0.0))
        )

    def middle(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.interp(slope, self.middle_slopes, self.middle_x)
        return x, np.interp(slope, self.middle_slopes, self.middle_offsets)

    def left(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tuple(np.interp(slope, self.left_slopes, table) for table in (self.left_x, self.left_offsets))

    @staticmethod
    def _tangents(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gate = ACTIVATIONS["sigmoid"](x)
        slope = gate * (1.0 + x * (1.0 - gate))
        return slope, x * gate - slope * x


_SILU = _SiluTable()

RELAXATIONS: dict[Activation, Callable[[np.ndarray, np.ndarray], Relaxation]] = {
    "sigmoid": _relax_sigmoid,
    "tanh": _relax_tanh,
    "relu": _relax_relu,
    "elu": lambda low, high: _relax_convex(low, high, "elu", _elu_touch),
    "softplus": lambda low, high: _relax_convex(low, high, "softplus", _softplus_touch),
    "silu": _relax_silu,
}
