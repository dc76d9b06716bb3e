"""Second-order bounds of programs that begin with sigmoids or tanhs of the input, as Pareto Conditioned Networks do.

Linear bounds add up the curvatures of all units, but units bend in opposite directions, and most of the sum cancels.
Here each unit is a parabola up to an error. The sum of the parabolas is a quadratic function of the input. It is
bounded by its tangent plane at a point, plus its largest curvature times a linear bound of the squared distance from
the point.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.core.program import ACTIVATIONS, Elementwise, Program
from paretofoil.proof.bounds import HalfSpaces, rows_times, spread
from paretofoil.proof.linear import Lines, RelaxedNode, substitute

_NODE = np.sqrt(3.0) / 2
"""A parabola meets its function in the middle and at this share of half the width to both sides (Chebyshev nodes)."""
_PEAK, _THIRD_AT_PEAK, _THIRD_AT_0 = 2.29243, 1 / 24 + 1e-12, 0.125
"""The third derivative of the sigmoid has peaks at 0 and, with the other sign, within 1e-5 beyond -2.29243 and 2.29243.
The other two numbers are its absolute values there."""
_NARROWEST = 1e-9
"""Smallest half width of intervals and boxes, to divide by."""
_ROUNDING = 1e-12
"""Upper bound of the relative rounding error of a sum over units and coordinates."""


def is_covered(program: Program) -> bool:
    """Return whether the first node of a program is a sigmoid or a tanh of the input."""
    if not program.nodes:
        return False
    first = program.nodes[0]
    smooth = isinstance(first.kind, Elementwise) and first.kind.function in ("sigmoid", "tanh")
    reads = first.operands[0].weights
    return smooth and list(reads) == [0] and reads[0].ndim == 2 and not np.isfinite(first.limit)


@dataclass(frozen=True, eq=False)
class Parabolas:
    """center + slope e + bend e^2 +- error for e = (x - middle) / half from -1 to 1: (B, n) each."""

    middle: np.ndarray
    half: np.ndarray
    center: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    error: np.ndarray

    @classmethod
    def over(cls, function: str, least: np.ndarray, most: np.ndarray) -> "Parabolas":
        """Return parabolas near a sigmoid or tanh over intervals (B, n).

        The error of the interpolation is at most the largest third derivative times half^3 / 24.
        """
        middle, half = (least + most) / 2, np.maximum((most - least) / 2, _NARROWEST)
        value = ACTIVATIONS[function]  # type: ignore[index]
        below, center, above = value(middle - _NODE * half), value(middle), value(middle + _NODE * half)
        slope, bend = (above - below) / (2 * _NODE), (above + below - 2 * center) / (2 * _NODE**2)
        scale = 2.0 if function == "tanh" else 1.0  # tanh(x) = 2 sigmoid(2 x) - 1
        third = scale**4 * _largest_third(scale * (middle - half), scale * (middle + half))
        return cls(middle, half, center, slope, bend, third * half**3 / 24 + _ROUNDING)

    @property
    def steepest(self) -> np.ndarray:
        """The largest slope in x."""
        return (np.abs(self.slope) + 2 * np.abs(self.bend)) / self.half


def _largest_third(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of the sigmoid's third derivative over intervals (B, n)."""
    at_low, at_high = ACTIVATIONS["sigmoid"](low), ACTIVATIONS["sigmoid"](high)
    largest = np.maximum(*(np.abs(v * (1 - v) * (1 - 6 * v * (1 - v))) for v in (at_low, at_high)))
    has_peak = ((low < _PEAK + 1e-5) & (high > _PEAK)) | ((low < -_PEAK) & (high > -_PEAK - 1e-5))
    largest = np.where(has_peak, np.maximum(largest, _THIRD_AT_PEAK), largest)
    return np.where((low < 0.0) & (high > 0.0), _THIRD_AT_0, largest)


def upper_bounds(
    program: Program,
    nodes: Sequence[RelaxedNode],
    lines: Sequence[Lines],
    low: np.ndarray,
    high: np.ndarray,
    radius: float,
    point: np.ndarray,
    which: np.ndarray,
    rounded: bool,
) -> HalfSpaces:
    """Return upper bounds of the outputs, without their bias, in boxes low, high (B, d), within the radius of 0.

    They are tightest at the given points (B, d) of the boxes. The nodes and the lines may be relaxed over more boxes;
    `which` (B,) has the indices of the boxes low, high among these.
    """
    rows, offsets = substitute(program, nodes, lines, rounded, down_to=1)
    operand, weight = nodes[0].operands[0], program.nodes[0].operands[0].weights[0]
    num_outputs, (num_units, dim) = program.num_outputs, weight.shape
    rows, offsets = {k: _at(part, which) for k, part in rows.items()}, _at(offsets, which)
    rows_of_units = spread(rows.get(1, np.zeros((1, num_outputs, num_units))), (len(low), num_outputs, num_units))
    function = program.nodes[0].kind.function  # type: ignore[union-attr]
    units = Parabolas.over(function, operand.least[which], operand.most[which])
    e = (point @ weight.T + program.nodes[0].operands[0].bias - units.middle) / units.half
    values = units.center + e * (units.slope + e * units.bend)
    off = _at(operand.pad, which) + _at(operand.error, which)
    errors = units.error + units.steepest * off + _at(nodes[0].slip, which)
    values_there = rows_times(rows_of_units, values) + rows_times(np.abs(rows_of_units), errors) + offsets
    slopes = (rows_of_units * ((units.slope + 2 * e * units.bend) / units.half)[:, None, :]) @ weight
    if 0 in rows:
        slopes = slopes + rows[0]
        values_there = values_there + rows_times(spread(rows[0], slopes.shape), point)
    bends = rows_of_units * (units.bend / units.half**2)[:, None, :]
    pairs = (weight[:, :, None] * weight[:, None, :]).reshape(num_units, -1)
    curvature = (bends @ pairs).reshape(*bends.shape[:2], dim, dim)
    # The slack also covers the rounding of values and slopes where the point is far outside the range of a unit.
    slack = _ROUNDING * (np.abs(bends) @ (weight**2).sum(axis=1))
    half = np.maximum((high - low) / 2, _NARROWEST)
    stretched = curvature * half[:, None, :, None] * half[:, None, None, :]
    most = np.maximum(np.linalg.eigvalsh(curvature)[..., -1], 0.0) + slack
    most_in_box = np.maximum(np.linalg.eigvalsh(stretched)[..., -1], 0.0) + slack * (half**2).max(axis=1)[:, None]
    # |z - p|^2 <= radius^2 + p^2 - 2 p . z in the ball; in the box, each square lies below its chord.
    in_ball = (
        most * (radius**2 - (point**2).sum(axis=1))[:, None] if np.isfinite(radius) else np.full_like(most, np.inf)
    )
    in_box = most_in_box * ((point - low) * (high - point) / half**2).sum(axis=1)[:, None]
    ball = (in_ball < in_box)[:, :, None]
    chords = ((low + high - 2 * point) / half**2)[:, None, :]
    slopes = slopes + np.where(ball, -2 * most[:, :, None] * point[:, None, :], most_in_box[:, :, None] * chords)
    there = np.abs(slopes) @ np.abs(point)[:, :, None]
    values_there = values_there + np.minimum(in_ball, in_box) + _ROUNDING * (np.abs(values_there) + there[:, :, 0])
    return HalfSpaces(slopes, values_there - rows_times(slopes, point))


def _at(numbers: np.ndarray | float, which: np.ndarray) -> np.ndarray:
    """Return the rows of some boxes. Arrays with a first axis of 1, or without one, hold for all boxes."""
    numbers = np.asarray(numbers)
    return numbers[which] if numbers.ndim > 1 and len(numbers) > 1 else numbers
