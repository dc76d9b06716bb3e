"""Elementwise nodes: pairs of lines between which a function lies over an interval of its input."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from paretofoil.core.command import clip
from paretofoil.core.program import ACTIVATIONS, GATED, Elementwise, Function
from paretofoil.proof.bounds import AffineForm, rows_times

Touch = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Slope -> the x where f(x) - slope x is smallest, and the smallest value."""
_SMALL_WIDTH = 1e-6
"""For narrower intervals, the slope is that of the curve near an end, because the chord would be inexact."""
_LEAST_SLOPE = 2.0**-52
"""Least distance of slopes from 0 and 1: lines with these slopes touch convex activations nowhere."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """slope_low x + offset_low <= function(x) <= slope_high x + offset_high, each (B, n).

    The lines are parallel, with one array of slopes, except for ReLUs.
    """

    slope_low: np.ndarray
    offset_low: np.ndarray
    slope_high: np.ndarray
    offset_high: np.ndarray

    @property
    def parallel(self) -> bool:
        return self.slope_low is self.slope_high

    def widened(self, error: np.ndarray) -> "Relaxation":
        """Return the relaxation of the function with an error of at most (B, n); a ReLU has no error."""
        if not self.parallel:
            return self
        return replace(self, offset_low=self.offset_low - error, offset_high=self.offset_high + error)

    def flat(self) -> "Relaxation":
        """Return the relaxation with slope 0 below each unstable ReLU; the same object if nothing changes."""
        if self.parallel:
            return self
        unstable = (self.slope_low > 0.0) & (self.slope_high < 1.0)
        if not unstable.any():
            return self
        return replace(self, slope_low=np.where(unstable, 0.0, self.slope_low))

    def form(self, x: AffineForm) -> AffineForm:
        """Return the affine form of the outputs. The lower line of a ReLU is then the upper line moved down to 0."""
        slope, below = self.slope_high, self.offset_low if self.parallel else np.zeros_like(self.offset_low)
        middle, half = (self.offset_high + below) / 2, (self.offset_high - below) / 2
        return AffineForm(slope * x.center + middle, slope[:, None, :] * x.slopes, np.abs(slope) * x.radius + half)

    def back(self, rows: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return upper bounds (offsets (B, R), rows (B, R, n)) in which the operand replaces the output."""
        if self.parallel:
            middle, half = (self.offset_high + self.offset_low) / 2, (self.offset_high - self.offset_low) / 2
            offsets = offsets + rows_times(rows, middle) + rows_times(np.abs(rows), half)
            return offsets, (rows * self.slope_low[:, None, :],)
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        offsets = offsets + rows_times(up, self.offset_high) + rows_times(down, self.offset_low)
        return offsets, (up * self.slope_high[:, None, :] + down * self.slope_low[:, None, :],)

    def terms(self, terms: np.ndarray) -> np.ndarray:
        """Return bounds (B, n) of the sums of absolute terms when the lines are evaluated, given those of the input."""
        slope = np.maximum(np.abs(self.slope_low), np.abs(self.slope_high))
        return slope * terms + np.maximum(np.abs(self.offset_low), np.abs(self.offset_high))


def relax_elementwise(
    kind: Elementwise, least: np.ndarray, most: np.ndarray
) -> tuple[Relaxation, np.ndarray, np.ndarray]:
    """Return the relaxation over intervals (B, n) of the input, and the smallest and the largest outputs."""
    return RELAXATIONS[kind.function](least, most), *output_range(kind.function, least, most)


def output_range(function: Function, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest output over intervals of the input."""
    at_least, at_most = ACTIVATIONS[function](least), ACTIVATIONS[function](most)
    if function in GATED:
        lowest = ACTIVATIONS[function](np.clip(_MINIMA[function], least, most))
        return lowest, np.maximum(at_least, at_most)
    return (at_most, at_least) if function in ("reciprocal", "rsqrt") else (at_least, at_most)


def _relax_identity(low: np.ndarray, high: np.ndarray) -> Relaxation:
    one, nothing = np.ones_like(low), np.zeros_like(low)
    return Relaxation(one, nothing, one, nothing)


def _relax_sigmoid(low: np.ndarray, high: np.ndarray) -> Relaxation:
    """Relax by lines with the slope of the chord. Such lines touch the curve at +t and -t."""
    at_low, at_high = ACTIVATIONS["sigmoid"](low), ACTIVATIONS["sigmoid"](high)
    width = high - low
    wide = width > _SMALL_WIDTH
    slope = np.where(wide, (at_high - at_low) / np.where(wide, width, 1.0), at_low * (1.0 - at_low))
    slope = clip(slope, 1e-300, 0.25)
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


def _relax_convex(
    low: np.ndarray,
    high: np.ndarray,
    function: Function,
    touch: Touch,
    slopes: tuple[float, float] = (_LEAST_SLOPE, 1.0 - _LEAST_SLOPE),
) -> Relaxation:
    """Relax a convex function: the upper line passes through an end, and the lower line is a tangent."""
    slope, ends = _chord(low, high, function, slopes)
    x, bottom = touch(slope)
    below = np.where((low < x) & (x < high), np.minimum(ends.min(axis=0), bottom), ends.min(axis=0))
    return Relaxation(slope, below, slope, ends.max(axis=0))


def _chord(
    low: np.ndarray, high: np.ndarray, function: Function, slopes: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope of the chord, clipped to `slopes`, and the offsets of lines of this slope through both ends."""
    width = np.maximum(high - low, _SMALL_WIDTH)
    at_low, at_high, beyond = (ACTIVATIONS[function](x) for x in (low, high, low + width))
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


def _exp_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = np.log(slope)
    return x, slope - slope * x


def _reciprocal_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve -1 / x^2 = slope."""
    root = np.sqrt(-slope)
    return 1.0 / root, 2.0 * root


def _rsqrt_touch(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve -1 / (2 x^(3/2)) = slope."""
    root = np.cbrt(-2.0 * slope)
    return 1.0 / (root * root), 1.5 * root


class _Tangents:
    """The points where tangents of many slopes touch a gated function, and their offsets.

    The function is convex between its inflections and concave on both sides. Far out it is 0 or x. Tables are
    interpolated linearly, which is sound. Where the function is convex, the minimum of f(x) - slope x is concave in the
    slope, so that it lies above its chords. Where the function is concave, the maximum is convex in the slope, so that
    it lies below its chords.
    """

    step = 0.01
    """Larger than the distance of neighbours in the tables."""

    def __init__(self, function: Function, inflections: tuple[float, float], far: float) -> None:
        self.function, (left, right) = function, inflections
        self.middle = self._table(np.linspace(left, right, 4097))
        # Beyond the far ends, the offsets of tangents lie between those there and 0.
        low, high = self._table(np.linspace(left, -far, 8193)), self._table(np.linspace(far, right, 8193))
        self.left = [np.append(column, end) for column, end in zip(low, (0.0, -far, 0.0), strict=True)]
        self.right = [np.append(end, column) for column, end in zip(high, (1.0, far, 0.0), strict=True)]
        self.slopes = float(self.middle[0][0]), float(self.middle[0][-1])

    def _table(self, x: np.ndarray) -> list[np.ndarray]:
        """Return slopes, points and offsets, sorted by slope."""
        kind = Elementwise(self.function)
        y = kind.points(x)
        slope = kind.pull(np.ones_like(x), [x], y)[0]
        return [slope, x, y - slope * x]

    def relax(self, low: np.ndarray, high: np.ndarray) -> Relaxation:
        slope, ends = _chord(low, high, self.function, self.slopes)
        below, above = ends.min(axis=0), ends.max(axis=0)
        at, offset = (np.interp(slope, self.middle[0], column) for column in self.middle[1:])
        touches = (low < at + self.step) & (at - self.step < high)
        below = np.where(touches, np.minimum(below, offset), below)
        for tail, applies, side in ((self.left, slope < 0.0, 1.0), (self.right, slope > 1.0, -1.0)):
            at, offset = (np.interp(slope, tail[0], column) for column in tail[1:])
            nearest = low if side > 0 else -high
            touches = applies & (nearest < side * at + self.step)
            above = np.where(touches, np.maximum(above, offset), above)
        return Relaxation(slope, below, slope, above)


_MINIMA: dict[Function, float] = {
    "silu": -1.2784645427610738, "gelu": -0.7517915246935645, "gelu-tanh": -0.7524614220710163,
    "mish": -1.1924312145154952,
}  # fmt: skip
_INFLECTIONS: dict[Function, tuple[float, float, float]] = {
    "silu": (-2.3993572805154677, 2.3993572805154677, 40.0),
    "gelu": (-1.4142135623730951, 1.4142135623730951, 8.0),
    "gelu-tanh": (-1.4185040087908284, 1.4185040087908284, 7.0),
    "mish": (-2.2563763963607931, 1.4905711794854285, 36.0),
}
"""Both inflections, and the distance from which the function equals 0 or x up to rounding."""


@cache
def _tangents(function: Function) -> _Tangents:
    left, right, far = _INFLECTIONS[function]
    return _Tangents(function, (left, right), far)


RELAXATIONS: dict[Function, Callable[[np.ndarray, np.ndarray], Relaxation]] = {
    "identity": _relax_identity,
    "sigmoid": _relax_sigmoid,
    "tanh": _relax_tanh,
    "relu": _relax_relu,
    "elu": lambda low, high: _relax_convex(low, high, "elu", _elu_touch),
    "softplus": lambda low, high: _relax_convex(low, high, "softplus", _softplus_touch),
    "exp": lambda low, high: _relax_convex(low, high, "exp", _exp_touch, (1e-300, 1e300)),
    "reciprocal": lambda low, high: _relax_convex(low, high, "reciprocal", _reciprocal_touch, (-1e300, -1e-300)),
    "rsqrt": lambda low, high: _relax_convex(low, high, "rsqrt", _rsqrt_touch, (-1e300, -1e-300)),
    **{name: partial(lambda low, high, name: _tangents(name).relax(low, high), name=name) for name in _INFLECTIONS},
}
