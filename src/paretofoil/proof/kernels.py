"""Margins, bounds, walks and easy proofs of chains of layers, compiled by numba (extra `[fast]`).

The functions do what the NumPy form does in `MarginNetwork`, `elementwise`, `bounds`, `curvature`, `halfspace`,
`branch_and_bound.bound_boxes` and `trust_region.walk`; `prove` is the loop of `Exact` over them. Sums have the same
terms in another order, which the pads cover. Fast-math is off. The result of a question does not depend on other
questions.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from paretofoil.proof.bounds import CAP_DIM

_SMALL_WIDTH = 1e-6
_TOGETHER = 32
"""Number of boxes that share matrix products."""

F = TypeVar("F", bound=Callable[..., Any])
Chain = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Sizes of the layers' inputs and of the outputs (L + 1,); activations (L - 1,), see `KINDS`; numbers: of each layer
the weight (outputs, inputs), its absolute values, bias and pad."""
KINDS = {"sigmoid": 0, "tanh": 1, "relu": 2}


def compiled(function: F) -> F:
    """Compile a function when it is first called, and store the result for other processes."""
    return cast(F, numba.njit(cache=True, error_model="numpy", nogil=True)(function))


@compiled
def _layer(chain: Chain, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return weight, absolute weight, bias and pad of a layer."""
    sizes, _, numbers = chain
    start = 0
    for k in range(number):
        start += 2 * sizes[k] * sizes[k + 1] + 2 * sizes[k + 1]
    n, m = sizes[number], sizes[number + 1]
    weight = numbers[start : start + n * m].reshape((m, n))
    absolute = numbers[start + n * m : start + 2 * n * m].reshape((m, n))
    start += 2 * n * m
    return weight, absolute, numbers[start : start + m], numbers[start + m : start + 2 * m]


@compiled
def _sigmoid(x: float) -> float:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)


@compiled
def _activate(kind: int, x: float) -> float:
    if kind == 0:
        return _sigmoid(x)
    if kind == 1:
        return float(np.tanh(x))
    return max(x, 0.0)


@compiled
def _sigmoids(x: np.ndarray, scale: float) -> None:
    """Replace the numbers x (n,) by the sigmoids of scale x, with errors of a few units in the last place.

    The loops are vectorised. exp(y) is 2^k exp(r): adding a large number rounds y / log(2) to the whole number k, which
    the last bits of the sum then hold.
    """
    whole = np.empty_like(x)
    bits = whole.view(np.int64)
    for i in range(len(x)):
        x[i] = min(max(-scale * x[i], -700.0), 700.0)
        whole[i] = x[i] * 1.4426950408889634 + 6755399441055744.0
    for i in range(len(x)):
        k = whole[i] - 6755399441055744.0
        r = (x[i] - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        series = 1.0 / 39916800.0
        series = series * r + 1.0 / 3628800.0
        series = series * r + 1.0 / 362880.0
        series = series * r + 1.0 / 40320.0
        series = series * r + 1.0 / 5040.0
        series = series * r + 1.0 / 720.0
        series = series * r + 1.0 / 120.0
        series = series * r + 1.0 / 24.0
        series = series * r + 1.0 / 6.0
        series = series * r + 0.5
        series = series * r + 1.0
        x[i] = series * r + 1.0
    for i in range(len(x)):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(len(x)):
        x[i] = 1.0 / (1.0 + x[i] * whole[i])


@compiled
def _activate_all(kind: int, x: np.ndarray) -> None:
    """Apply an activation to numbers (n,), for walks: bounds use `_activate`."""
    if kind == 2:
        for i in range(len(x)):
            x[i] = max(x[i], 0.0)
    else:
        _sigmoids(x, 1.0 + kind)
        if kind == 1:
            for i in range(len(x)):
                x[i] = 2.0 * x[i] - 1.0


@compiled
def _margins(chain: Chain, points: np.ndarray, margins: np.ndarray, units: np.ndarray) -> None:
    """Write the margins (N, K) at points (N, d), and the hidden units (L - 1, N, width) if there is room for them."""
    sizes, kinds, _ = chain
    hidden, last = points, len(sizes) - 2
    for k in range(last + 1):
        weight, _, bias, _ = _layer(chain, k)
        out = np.dot(hidden, weight.T)
        for n in range(len(out)):
            for i in range(len(bias)):
                out[n, i] += bias[i]
        if k == last:
            margins[:] = out
        else:
            _activate_all(kinds[k], out.ravel())
            if units.size:
                units[k, :, : len(bias)] = out
        hidden = out


@compiled
def _slopes(chain: Chain, units: np.ndarray, slopes: np.ndarray) -> None:
    """Write the derivatives (K, d) of the margins, given the hidden units (L - 1, width)."""
    sizes, kinds, _ = chain
    last = len(sizes) - 2
    rows = _layer(chain, last)[0].copy()
    for k in range(last - 1, -1, -1):
        for r in range(rows.shape[0]):
            if kinds[k] == 0:
                for i in range(rows.shape[1]):
                    rows[r, i] *= units[k, i] * (1.0 - units[k, i])
            elif kinds[k] == 1:
                for i in range(rows.shape[1]):
                    rows[r, i] *= 1.0 - units[k, i] * units[k, i]
            else:
                for i in range(rows.shape[1]):
                    rows[r, i] *= 1.0 if units[k, i] > 0.0 else 0.0
        rows = np.dot(rows, _layer(chain, k)[0])
    slopes[:] = rows


@compiled
def _relax_sigmoid(low: float, high: float, at_low: float, at_high: float) -> tuple[float, float, float]:
    """Return the common slope and the offsets of the lines below and above; see `elementwise._relax_sigmoid`."""
    width = high - low
    slope = (at_high - at_low) / width if width > _SMALL_WIDTH else at_low * (1.0 - at_low)
    slope = min(max(slope, 1e-300), 0.25)
    value = 0.5 + 0.5 * np.sqrt(1.0 - 4.0 * slope)
    t = np.log(value * value / slope)
    touch = value - slope * t
    end_low, end_high = at_low - slope * low, at_high - slope * high
    above, below = max(end_low, end_high), min(end_low, end_high)
    if low < t < high:
        above = max(above, touch)
    if low < -t < high:
        below = min(below, 1.0 - touch)
    return slope, below, above


@compiled
def _substitute(chain: Chain, lines: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Write upper bounds of the outputs as functions of the inputs of N boxes: slopes (N, K, d), offsets (N, K).

    `lines` (L - 1, 4, N, n) are the slope and the offset of the line below each unit, and of the line above it. Returns
    the slopes (N K, n) of the same bounds as functions of the outputs of the first layer.
    """
    count, num_outputs, last = len(offsets), chain[0][-1], len(chain[0]) - 2
    weight, _, bias, pad = _layer(chain, last)
    rows = np.empty((count * num_outputs, weight.shape[1]))
    for b in range(count):
        rows[b * num_outputs : (b + 1) * num_outputs] = weight
        offsets[b] = bias + pad
    first = rows
    for k in range(last - 1, -1, -1):
        weight, _, bias, _ = _layer(chain, k)
        if k == 0:
            first = rows.copy()
        for n in range(len(rows)):
            b, total = n // num_outputs, 0.0
            for i in range(rows.shape[1]):
                row = rows[n, i]
                side = 2 if row > 0.0 else 0
                rows[n, i] = row * lines[k, side, b, i]
                total += row * lines[k, side + 1, b, i] + rows[n, i] * bias[i]
            offsets[b, n - b * num_outputs] += total
        rows = np.dot(rows, weight)
    for n in range(len(rows)):
        slopes[n // num_outputs, n % num_outputs] = rows[n]
    return first


@compiled
def _highest(slopes: np.ndarray, offset: float, low: np.ndarray, high: np.ndarray) -> float:
    """Return the largest value of a bound (d,) over a box."""
    value = offset
    for j in range(len(low)):
        value += slopes[j] * ((low[j] + high[j]) / 2) + abs(slopes[j]) * ((high[j] - low[j]) / 2)
    return value


@compiled
def _reach_in_cap(
    rows: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    radius: float,
    normal: np.ndarray,
    height: float,
    reach: np.ndarray,
) -> None:
    """Reduce bounds (2, n) of -slopes . e and of slopes . e to the part of a box in the cap; see `bounds.Cap.reach`.

    The loops over units are the inner ones, so that they are vectorised.
    """
    dim, count = len(low), rows.shape[1]
    square, along, middle = np.zeros(count), np.zeros(count), np.zeros(count)
    w, pull, share, value = np.empty((dim, count)), np.empty(count), np.empty(count), np.empty(count)
    for j in range(dim):
        half, center = (high[j] - low[j]) / 2, (low[j] + high[j]) / 2
        inverse = 1.0 / half if half > 0.0 else 1.0
        for i in range(count):
            w[j, i] = rows[j, i] * inverse
            square[i] += w[j, i] * w[j, i]
            along[i] += w[j, i] * normal[j]
            middle[i] += w[j, i] * center
    rim = 1.0 / np.sqrt(max(radius * radius - height * height, (1e-6 * radius) ** 2))
    for side in range(2):
        sign = 2.0 * side - 1.0
        for i in range(count):
            size = np.sqrt(square[i])
            flat = size / radius
            across = max(np.sqrt(max(square[i] - along[i] * along[i], 0.0)) * rim, 1e-6 * flat) + 1e-100
            on_ball = sign * radius * along[i] >= height * size
            pull[i] = flat + 1e-100 if on_ball else across
            share[i] = 0.0 if on_ball else max(across * height - sign * along[i], 0.0)
            value[i] = radius * radius * pull[i] / 2 - share[i] * height - sign * middle[i]
            value[i] += 1e-12 * (radius * (size + share[i]) + abs(middle[i]))
        for j in range(dim):
            first, last, direction = low[j], high[j], normal[j]
            for i in range(count):
                v = sign * w[j, i] + share[i] * direction
                z = min(max(v / pull[i], first), last)
                value[i] += z * (v - pull[i] / 2 * z)
        for i in range(count):
            reach[side, i] = min(reach[side, i], value[i])


@compiled
def _relax(
    chain: Chain, low: np.ndarray, high: np.ndarray, radius: float, normal: np.ndarray, height: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lines (L - 1, 4, N, n) of all units over boxes, ranges (4, N, n), and whether flat lines may help (N,).

    The ranges are those of the first layer: the least and the largest input of each unit, and the outputs at these two.
    Flat lines may help if a ReLU whose input changes its sign in the box has a lower line that is not flat.
    """
    sizes, kinds, _ = chain
    num_layers, (count, dim) = len(sizes) - 1, low.shape
    lines, ranges = np.zeros((num_layers - 1, 4, count, sizes.max())), np.zeros((4, count, sizes[1]))
    unstable = np.zeros(count, dtype=np.bool_)
    # `rows` has of each box the center and the slopes of the affine form, and the middle of the range; `radii` has the
    # radius of the form, and half of the range.
    step = dim + 2
    rows, radii, reach = np.zeros((count * step, dim)), np.zeros((2 * count, dim)), np.empty((2, sizes.max()))
    for b in range(count):
        for j in range(dim):
            rows[b * step, j], rows[b * step + j + 1, j] = (low[b, j] + high[b, j]) / 2, (high[b, j] - low[b, j]) / 2
    for k in range(num_layers - 1):
        weight, absolute, bias, pad = _layer(chain, k)
        rows, radii = np.dot(rows, weight.T), np.dot(radii, absolute.T)
        for b in range(count):
            part, spread = rows[b * step : (b + 1) * step], radii[2 * b : 2 * b + 2]
            for i in range(len(bias)):
                reach[0, i] = 0.0
            for j in range(dim):
                for i in range(len(bias)):
                    reach[0, i] += abs(part[j + 1, i])
            for i in range(len(bias)):
                reach[1, i] = reach[0, i]
            if dim >= CAP_DIM and 0.0 < radius < np.inf:
                _reach_in_cap(part[1 : dim + 1], low[b], high[b], radius, normal[b], height[b], reach)
            for i in range(len(bias)):
                part[0, i] += bias[i]
                rest = spread[0, i] + pad[i]
                least, most = part[0, i] - (reach[0, i] + rest), part[0, i] + (reach[1, i] + rest)
                if least > most:  # the cap is outside the box
                    least, most = most, least
                if k > 0:
                    middle, half = part[dim + 1, i] + bias[i], spread[1, i] + pad[i]
                    least, most = max(least, middle - half), min(most, middle + half)
                floor, ceiling = _activate(kinds[k], least), _activate(kinds[k], most)
                if k == 0:
                    ranges[0, b, i], ranges[1, b, i], ranges[2, b, i], ranges[3, b, i] = least, most, floor, ceiling
                if kinds[k] == 2:
                    at_low, at_high = min(least, 0.0), max(most, 0.0)
                    slope = at_high / max(at_high - at_low, 1e-300)
                    above, below = -slope * at_low, 0.0
                    lines[k, 0, b, i] = 1.0 if at_high > -at_low else 0.0
                    unstable[b] = unstable[b] or (lines[k, 0, b, i] > 0.0 and slope < 1.0)
                else:
                    if kinds[k] == 1:  # tanh(x) = 2 sigmoid(2 x) - 1
                        ends = (floor + 1.0) / 2, (ceiling + 1.0) / 2
                        slope, below, above = _relax_sigmoid(2.0 * least, 2.0 * most, ends[0], ends[1])
                        slope, below, above = 4.0 * slope, 2.0 * below - 1.0, 2.0 * above - 1.0
                    else:
                        slope, below, above = _relax_sigmoid(least, most, floor, ceiling)
                    lines[k, 0, b, i] = slope
                lines[k, 1, b, i], lines[k, 2, b, i], lines[k, 3, b, i] = below, slope, above
                part[0, i] = slope * part[0, i] + (above + below) / 2
                spread[0, i] = abs(slope) * spread[0, i] + (above - below) / 2
                for j in range(dim):
                    part[j + 1, i] *= slope
                part[dim + 1, i], spread[1, i] = (floor + ceiling) / 2, (ceiling - floor) / 2
    return lines, ranges, unstable


@compiled
def _bound(
    chain: Chain,
    low: np.ndarray,
    high: np.ndarray,
    level: float,
    radius: float,
    normal: np.ndarray,
    height: np.ndarray,
    slopes: np.ndarray,
    offsets: np.ndarray,
) -> np.ndarray:
    """Write upper bounds of the margins over N boxes: slopes (N, R, d), offsets (N, R).

    Returns whether all reach the level. R is K, or twice K for bounds with curvature.
    """
    sizes, kinds, _ = chain
    count, num_outputs = len(low), sizes[-1]
    lines, ranges, unstable = _relax(chain, low, high, radius, normal, height)
    linear, plain = np.empty((count, num_outputs, low.shape[1])), np.empty((count, num_outputs))
    rows = _substitute(chain, lines, linear, plain)
    alive = np.ones(count, dtype=np.bool_)
    for b in range(count):
        for r in range(num_outputs):
            alive[b] = alive[b] and _highest(linear[b, r], plain[b, r], low[b], high[b]) >= level
    if (unstable & alive).any():
        for k in range(len(kinds)):  # flat lines below ReLUs, where only these show that a margin stays below the level
            if kinds[k] == 2:
                lines[k, 0] = np.where(lines[k, 2] < 1.0, 0.0, lines[k, 0])
        other_slopes, other_offsets = np.empty_like(linear), np.empty_like(plain)
        _substitute(chain, lines, other_slopes, other_offsets)
        for b in range(count):
            if unstable[b] and alive[b]:
                for r in range(num_outputs):
                    if _highest(other_slopes[b, r], other_offsets[b, r], low[b], high[b]) < level:
                        linear[b, r], plain[b, r], alive[b] = other_slopes[b, r], other_offsets[b, r], False
    slopes[:, :num_outputs], offsets[:, :num_outputs] = linear, plain
    if offsets.shape[1] == num_outputs:
        return alive
    slopes[:, num_outputs:], offsets[:, num_outputs:] = linear, plain
    point = np.empty(low.shape[1])
    for b in range(count):
        if alive[b] and _nearest(linear[b], level - plain[b], low[b], high[b], point) < radius:
            parts = rows[b * num_outputs : (b + 1) * num_outputs], ranges[:, b], low[b], high[b], radius, point
            _bend(chain, lines[0, :, b], *parts, slopes[b], offsets[b])
            for r in range(num_outputs, 2 * num_outputs):
                alive[b] = alive[b] and _highest(slopes[b, r], offsets[b, r], low[b], high[b]) >= level
    return alive


@compiled
def _bend(
    chain: Chain,
    lines: np.ndarray,
    rows: np.ndarray,
    ranges: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    radius: float,
    point: np.ndarray,
    slopes: np.ndarray,
    offsets: np.ndarray,
) -> None:
    """Write bounds of one box by the first layer's curvature, after its linear bounds; see `curvature.upper_bounds`.

    `lines` (4, n) and `ranges` (4, n) are those of the first layer, `rows` (K, n) the bounds' slopes in its outputs.
    """
    weight, _, bias, pad = _layer(chain, 0)
    num_units, dim, count = len(bias), len(low), len(rows)
    scale, node = 2.0 if chain[1][0] == 1 else 1.0, np.sqrt(3.0) / 2
    bends, values, tilts = np.empty(num_units), np.empty(num_units), np.empty(num_units)
    errors = np.empty(num_units)
    inputs = np.dot(weight, point) + bias
    for i in range(num_units):
        middle, half = (ranges[0, i] + ranges[1, i]) / 2, max((ranges[1, i] - ranges[0, i]) / 2, 1e-9)
        below, above = _activate(chain[1][0], middle - node * half), _activate(chain[1][0], middle + node * half)
        center = _activate(chain[1][0], middle)
        slope, bend = (above - below) / (2 * node), (above + below - 2 * center) / (2 * node * node)
        third, left, right = 0.0, scale * (middle - half), scale * (middle + half)
        for side in range(2):
            value = ranges[2 + side, i] if scale == 1.0 else (ranges[2 + side, i] + 1.0) / 2
            third = max(third, abs(value * (1 - value) * (1 - 6 * value * (1 - value))))
        if (left < 2.29244 and right > 2.29243) or (left < -2.29243 and right > -2.29244):
            third = max(third, 1 / 24 + 1e-12)
        if left < 0.0 < right:
            third = 0.125
        e = (inputs[i] - middle) / half
        values[i], tilts[i], bends[i] = center + e * (slope + e * bend), (slope + 2 * e * bend) / half, bend / half**2
        errors[i] = scale**4 * third * half**3 / 24 + 1e-12 * (1.0 + abs(bias[i]))
        errors[i] += (abs(slope) + 2 * abs(bend)) / half * pad[i]
    square, chord_there, chord, halves = 0.0, 0.0, np.empty(dim), np.empty(dim)
    for j in range(dim):
        halves[j] = max((high[j] - low[j]) / 2, 1e-9)
        square += point[j] * point[j]
        chord_there += (point[j] - low[j]) * (high[j] - point[j]) / halves[j] ** 2
        chord[j] = (low[j] + high[j] - 2 * point[j]) / halves[j] ** 2
    for r in range(count):
        # The offset of the linear bound, with the values at the point in place of the lines of the first layer.
        value, slack = offsets[r], 0.0
        curvature, stretched = np.zeros((dim, dim)), np.empty((dim, dim))
        tilt = np.zeros(dim)
        for i in range(num_units):
            row = rows[r, i]
            side = 2 if row > 0.0 else 0
            value += row * (values[i] - lines[side + 1, i] - lines[side, i] * bias[i]) + abs(row) * errors[i]
            for j in range(dim):
                tilt[j] += row * tilts[i] * weight[i, j]
                product = row * bends[i] * weight[i, j]
                slack += abs(product * weight[i, j])
                for m in range(j + 1):
                    curvature[j, m] += product * weight[i, m]
        for j in range(dim):
            for m in range(j + 1):
                curvature[m, j] = curvature[j, m]
                stretched[j, m] = stretched[m, j] = curvature[j, m] * halves[j] * halves[m]
        most = max(np.linalg.eigvalsh(curvature)[-1], 0.0) + 1e-12 * slack
        in_ball = most * (radius * radius - square) if np.isfinite(radius) else np.inf
        most_in_box = max(np.linalg.eigvalsh(stretched)[-1], 0.0) + 1e-12 * slack * halves.max() ** 2
        in_box = most_in_box * chord_there
        value += min(in_ball, in_box)
        there = 0.0
        for j in range(dim):
            tilt[j] += -2 * most * point[j] if in_ball < in_box else most_in_box * chord[j]
            there += abs(tilt[j] * point[j])
        value += 1e-12 * (abs(value) + there)
        slopes[count + r] = tilt
        offsets[count + r] = value - np.dot(tilt, point)


@compiled
def _num_rows(chain: Chain, dim: int) -> int:
    """Return the number of bounds of each box: twice the outputs if the first layer's curvature is used."""
    bends = dim >= CAP_DIM and len(chain[1]) > 0 and chain[1][0] != 2
    return int(chain[0][-1]) * (2 if bends else 1)


@compiled
def _step(slope: np.ndarray, level: float, low: np.ndarray, high: np.ndarray, start: np.ndarray) -> float:
    """Return the least t >= 0 with slope . clip(start + t slope, low, high) >= level, or the largest breakpoint."""
    dim = len(slope)
    breaks = np.zeros(2 * dim + 1)
    for j in range(dim):
        if abs(slope[j]) > 1e-12:
            breaks[2 * j + 1] = max((low[j] - start[j]) / slope[j], 0.0)
            breaks[2 * j + 2] = max((high[j] - start[j]) / slope[j], 0.0)
    breaks.sort()
    before, left = 0.0, 0.0
    for n in range(len(breaks)):
        value = 0.0
        for j in range(dim):
            value += slope[j] * min(max(start[j] + breaks[n] * slope[j], low[j]), high[j])
        if value >= level or n == len(breaks) - 1:
            if n == 0:
                return 0.0
            rise = value - before
            share = (level - before) / rise if rise > 1e-30 else 1.0
            return left + min(max(share, 0.0), 1.0) * (breaks[n] - left)
        before, left = value, breaks[n]
    return 0.0


@compiled
def _solve(matrix: np.ndarray, right: np.ndarray) -> None:
    """Solve matrix . x = right in place, by elimination with pivots; `right` becomes x."""
    size = len(right)
    for c in range(size):
        best = c
        for r in range(c + 1, size):
            if abs(matrix[r, c]) > abs(matrix[best, c]):
                best = r
        for j in range(size):
            matrix[c, j], matrix[best, j] = matrix[best, j], matrix[c, j]
        right[c], right[best] = right[best], right[c]
        for r in range(c + 1, size):
            factor = matrix[r, c] / matrix[c, c]
            for j in range(c, size):
                matrix[r, j] -= factor * matrix[c, j]
            right[r] -= factor * right[c]
    for c in range(size - 1, -1, -1):
        for j in range(c + 1, size):
            right[c] -= matrix[c, j] * right[j]
        right[c] /= matrix[c, c]


@compiled
def _newton(
    slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, mu: np.ndarray, z: np.ndarray
) -> float:
    """Write the point z (d,) of an active-set method, and return its dual value; see `halfspace._newton`."""
    count, dim = slopes.shape
    missing, pull, slope, best = np.empty(count), np.empty(dim), np.empty(dim), 0.0
    for step in range(9):
        pull[:] = 0.0
        for r in range(count):
            if mu[r] > 0.0:
                for j in range(dim):
                    pull[j] += mu[r] * slopes[r, j]
        dual, size_of_z = 0.0, 0.0
        for j in range(dim):
            z[j] = min(max(pull[j], low[j]), high[j])
            dual += 0.5 * z[j] * z[j]
            size_of_z += abs(z[j])
        worst, off, size = 0, 0.0, 0
        for r in range(count):
            missing[r] = levels[r]
            for j in range(dim):
                missing[r] -= slopes[r, j] * z[j]
            dual += mu[r] * (missing[r] - 1e-13 * (abs(levels[r]) + size_of_z))
            off = max(off, abs(missing[r]) if mu[r] > 0.0 else missing[r])
            if missing[r] > missing[worst]:
                worst = r
        best = max(best, dual)
        if step == 8 or not off > 1e-9 or best == np.inf:
            break
        active = np.empty(count, dtype=np.int64)
        for r in range(count):
            if mu[r] > 0.0 or (r == worst and missing[r] > 1e-9):
                active[size] = r
                size += 1
        matrix, ascent = np.zeros((size, size)), np.empty(size)
        for a in range(size):
            ascent[a] = missing[active[a]]
            for b in range(size):
                for j in range(dim):
                    if low[j] < pull[j] < high[j]:
                        matrix[a, b] += slopes[active[a], j] * slopes[active[b], j]
            matrix[a, a] += 1e-6
        _solve(matrix, ascent)
        slope[:] = 0.0
        level, rounding, rising, end, reach = 0.0, 0.0, True, np.inf, 0.0
        for j in range(dim):
            reach += max(abs(low[j]), abs(high[j]))
        for a in range(size):
            r = active[a]
            if mu[r] <= 0.0 and ascent[a] < 0.0:
                ascent[a] = 0.0
            if ascent[a] < 0.0:
                rising, end = False, min(end, mu[r] / -ascent[a])
            level += ascent[a] * levels[r]
            rounding += 1e-9 * abs(ascent[a]) * (1.0 + reach + abs(levels[r]))
            for j in range(dim):
                slope[j] += ascent[a] * slopes[r, j]
        highest = 0.0
        for j in range(dim):
            highest += max(slope[j] * low[j], slope[j] * high[j])
        if rising and highest < level - rounding:  # this sum of half-spaces excludes the box
            best = np.inf
        end = min(end, _step(slope, level, low, high, pull))
        for a in range(size):
            value = mu[active[a]] + end * ascent[a]
            mu[active[a]] = value if value > 1e-9 * mu[active[a]] else 0.0
    return best


@compiled
def _nearest(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, z: np.ndarray) -> float:
    """Write the point z (d,) of a box nearest to 0 with slopes @ z >= levels; return a lower bound of its distance."""
    count, dim = slopes.shape
    bound = 0.0
    for j in range(dim):
        z[j] = min(max(0.0, low[j]), high[j])
        bound += z[j] * z[j]
    bound = np.sqrt(bound)
    if count == 0:
        return bound
    norms, hardest = np.empty(count), 0
    for r in range(count):
        total = 0.0
        for j in range(dim):
            total += slopes[r, j] * slopes[r, j]
        norms[r] = max(np.sqrt(total), 1e-12)
        if levels[r] / norms[r] > levels[hardest] / norms[hardest]:
            hardest = r
    t = _step(slopes[hardest], levels[hardest], low, high, np.zeros(dim))
    dual, value = 0.0, 0.0
    for j in range(dim):
        z[j] = min(max(t * slopes[hardest, j], low[j]), high[j])
        dual += 0.5 * z[j] * z[j]
        value += slopes[hardest, j] * z[j]
    dual += t * (levels[hardest] - value)
    several = False
    for r in range(count):
        missing = levels[r]
        for j in range(dim):
            missing -= slopes[r, j] * z[j]
        several = several or missing > 1e-9 * norms[r]
    if several and count > 1:
        unit, scaled, mu = np.empty_like(slopes), levels / norms, np.zeros(count)
        for r in range(count):
            unit[r] = slopes[r] / norms[r]
        mu[hardest] = t * norms[hardest]
        joint = _newton(unit, scaled, low, high, mu, z)
        if joint > dual:
            dual = joint
    if dual > 0.0:
        bound = max(bound, np.sqrt(2.0 * dual) - 1e-12)
    return bound


@compiled
def _cut(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, radius: float) -> bool:
    """Shrink a box around its points in all half-spaces and within the radius; return whether it has such points."""
    count, dim = slopes.shape
    if np.isfinite(radius):
        least = np.empty(dim)
        total = 0.0
        for j in range(dim):
            least[j] = min(max(0.0, low[j]), high[j]) ** 2
            total += least[j]
        for j in range(dim):
            reach = np.sqrt(max(radius * radius - (total - least[j]), 0.0)) + 1e-12
            low[j], high[j] = max(low[j], -reach), min(high[j], reach)
    first, last = low.copy(), high.copy()
    for r in range(count):
        spare, norm = -levels[r], 0.0
        for j in range(dim):
            spare += slopes[r, j] * (last[j] if slopes[r, j] > 0.0 else first[j])
            norm += slopes[r, j] * slopes[r, j]
        norm = max(np.sqrt(norm), 1e-150)
        height = min(max(levels[r] / norm, -2.0 * radius), 2.0 * radius)
        for j in range(dim):
            slope = slopes[r, j]
            step = max(spare, 0.0) / max(abs(slope), 1e-150) + 1e-12
            if slope > 0.0:
                low[j] = max(low[j], last[j] - step)
            elif slope < 0.0:
                high[j] = min(high[j], first[j] + step)
            if np.isfinite(radius):
                normal = slope / norm
                rim = np.sqrt(max(radius * radius - height * height, 0.0)) * np.sqrt(max(1.0 - normal * normal, 0.0))
                most = radius if normal * radius >= height else height * normal + rim
                lowest = -radius if -normal * radius >= height else height * normal - rim
                low[j], high[j] = max(low[j], lowest - 5e-8 * radius), min(high[j], most + 5e-8 * radius)
    return bool((low <= high).all())


@compiled
def bound_boxes(
    chain: Chain,
    low: np.ndarray,
    high: np.ndarray,
    level: float,
    radius: float,
    points: np.ndarray,
    normal: np.ndarray,
    height: np.ndarray,
) -> np.ndarray:
    """Bound and contract boxes low, high (B, d) in place, and return their bounds; infinite if no closer point is left.

    Writes the nearest points (B, d), and the planes (B, d), (B,) beyond which closer points are.
    """
    bounds = np.full(len(low), np.inf)
    for start in range(0, len(low), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        _bound_part(chain, low[part], high[part], level, radius, points[part], normal[part], height[part], bounds[part])
    return bounds


@compiled
def _bound_part(
    chain: Chain,
    low: np.ndarray,
    high: np.ndarray,
    level: float,
    radius: float,
    points: np.ndarray,
    normal: np.ndarray,
    height: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """Bound a few boxes, which share matrix products; see `bound_boxes`."""
    (count, dim), rows = low.shape, _num_rows(chain, low.shape[1])
    none, zero = np.empty((0, dim)), np.empty(0)
    going = np.empty(count, dtype=np.bool_)
    for b in range(count):
        going[b] = _cut(none, zero, low[b], high[b], radius)
    for again in range(2):
        which = np.flatnonzero(going)
        if not len(which):
            break
        slopes, offsets = np.empty((len(which), rows, dim)), np.empty((len(which), rows))
        planes = normal[which], np.minimum(height[which], radius)
        alive = _bound(chain, low[which], high[which], level, radius, planes[0], planes[1], slopes, offsets)
        for n in range(len(which)):
            b = which[n]
            width = (high[b] - low[b]).max()
            levels = level - offsets[n]
            _plane(slopes[n], levels, normal[b], height[b : b + 1])
            going[b] = alive[n] and _cut(slopes[n], levels, low[b], high[b], radius)
            if going[b] and (again or (high[b] - low[b]).max() > 0.7 * width):
                bounds[b] = _nearest(slopes[n], levels, low[b], high[b], points[b])
                going[b] = False


@compiled
def _plane(slopes: np.ndarray, levels: np.ndarray, normal: np.ndarray, height: np.ndarray) -> None:
    """Write the farthest of the half-spaces slopes @ z >= levels as normal (d,) and height (1,)."""
    farthest = -np.inf
    for r in range(len(levels)):
        size = max(_length(slopes[r]), 1e-100)
        if levels[r] / size > farthest:
            farthest = levels[r] / size
            normal[:] = slopes[r] / size
            height[0] = farthest


@compiled
def _length(z: np.ndarray) -> float:
    total = 0.0
    for j in range(len(z)):
        total += z[j] * z[j]
    return float(np.sqrt(total))


@compiled
def walk(
    chain: Chain, low: np.ndarray, high: np.ndarray, level: float, starts: np.ndarray, steps: int, trust: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the closest valid points (N, d) of walks from starts (N, d), and their distances; see `trust_region`.

    A walk also stops near the valid end of an earlier walk, if no further step could make that end closer.
    """
    ends, distances, done = starts.copy(), np.full(len(starts), np.inf), np.zeros(len(starts), dtype=np.bool_)
    for n in range(len(starts)):
        distances[n], done[n] = _walk(chain, low, high, level, ends[n], steps, trust, ends[:n][done[:n]])
    return ends, distances


@compiled
def _walk(
    chain: Chain,
    low: np.ndarray,
    high: np.ndarray,
    level: float,
    z: np.ndarray,
    steps: int,
    trust: float,
    known: np.ndarray,
) -> tuple[float, bool]:
    """Walk from z (d,), which becomes the end; return its distance, infinite if it is not valid.

    Also return whether the end is valid and cannot be made closer by another step. The walk stops near the `known`
    points (N, d).
    """
    above, share, much, shortest, free = 1e-7, 1e-3, 1e-6, 1e-4, 1e9
    dim, count, num_layers = len(z), chain[0][-1], len(chain[0]) - 1
    points, values, slopes = np.zeros((3, dim)), np.full((3, count), free), np.zeros((3, count, dim))
    tries, results, units = np.empty((4, dim)), np.empty((4, count)), np.empty((num_layers - 1, 4, chain[0].max()))
    ahead, aim, near, far = np.empty((count, dim)), np.empty(dim), np.empty(dim), np.empty(dim)
    for j in range(dim):
        z[j] = min(max(z[j], low[j]), high[j])
    points[0] = tries[0] = z
    _margins(chain, tries[:1], values[:1], units[:, :1])
    _slopes(chain, units[:, 0], slopes[0])
    least = values[0].min() if count else np.inf
    distance = _length(z) if least >= level else np.inf
    for _ in range(steps):
        if trust <= shortest:
            break
        lost, steepest = least < level, 0.0
        for r in range(count):
            steepest = max(steepest, np.abs(slopes[0, r]).sum())
        target = min(level + above, least + 0.5 * trust * steepest) if lost else level + above
        levels = np.empty(3 * count)
        for s in range(3):
            for r in range(count):
                here, there = 0.0, 0.0
                for j in range(dim):
                    here += slopes[s, r, j] * z[j]
                    there += slopes[s, r, j] * points[s, j]
                offset = max(values[s, r] - there, values[0, r] - here)
                levels[s * count + r] = target - offset - (here if lost else 0.0)
        for j in range(dim):
            base = z[j] if lost else 0.0
            near[j], far[j] = max(low[j], z[j] - trust) - base, min(high[j], z[j] + trust) - base
        _nearest(slopes.reshape((3 * count, dim)), levels, near, far, aim)
        for j in range(dim):
            base = z[j] if lost else 0.0
            near[j], far[j] = max(low[j], z[j] - trust), min(high[j], z[j] + trust)
            aim[j] = min(max(aim[j] + base, near[j]), far[j])
        if not _length(aim) <= distance * (1.0 - share) - much:
            trust *= 0.0 if (values[1:] == free).all() else 0.2
            values[1:], slopes[1:] = free, 0.0
            continue
        tries[1] = aim
        _margins(chain, tries[1:2], results[1:2], units[:, 1:2])
        _slopes(chain, units[:, 1], ahead)
        tries[0] = aim
        if count:
            lowest = results[1].argmin()
            factor = (level + above - results[1, lowest]) / max((ahead[lowest] * ahead[lowest]).sum(), 1e-12)
            for j in range(dim):
                tries[0, j] = min(max(aim[j] + factor * ahead[lowest, j], low[j]), high[j])
        for j in range(dim):
            tries[2, j] = min(max(z[j] + 0.6 * (aim[j] - z[j]), near[j]), far[j])
            tries[3, j] = min(max(z[j] + 0.25 * (aim[j] - z[j]), near[j]), far[j])
        pick, climb, closest, highest = -1, -1, distance * (1.0 - share) - much, least
        for t in range(4):
            if t == 2 and pick >= 0 and not lost:
                break  # the points before the aim are farther
            if t != 1:
                _margins(chain, tries[t : t + 1], results[t : t + 1], units[:, t : t + 1])
            lowest_here = results[t].min() if count else np.inf
            if lowest_here >= level and _length(tries[t]) < closest:
                pick, closest = t, _length(tries[t])
            if lowest_here > highest:
                climb, highest = t, lowest_here
        if pick < 0 and lost:
            pick = climb
        if pick < 0:
            trust *= 0.35
            points[2], values[2], slopes[2] = aim, results[1], ahead
            continue
        trust *= 2.0 if pick <= 1 else 1.0
        points[1], values[1], slopes[1] = points[0], values[0], slopes[0]
        z[:] = tries[pick]
        points[0], values[0] = z, results[pick]
        if pick == 1:
            slopes[0] = ahead
        else:
            _slopes(chain, units[:, pick], slopes[0])
        least = values[0].min() if count else np.inf
        distance = _length(z) if least >= level else np.inf
        for other in known:
            if _length(z - other) < 0.1 * _length(other):
                return distance, False
    return distance, trust <= shortest and distance < np.inf


@compiled
def _least_margins(chain: Chain, points: np.ndarray) -> np.ndarray:
    """Return the least margin (N,) at points (N, d)."""
    margins, least = np.empty((len(points), chain[0][-1])), np.full(len(points), np.inf)
    _margins(chain, points, margins, np.empty((0, 0, 0)))
    for n in range(len(points)):
        for margin in margins[n]:
            least[n] = min(least[n], margin)
    return least


@compiled
def _take_closest(points: np.ndarray, distances: np.ndarray, best: float, z: np.ndarray) -> float:
    """Write the closest of the points (N, d) to z (d,) if it is closer than the best; return the distance of z."""
    for n in range(len(points)):
        if distances[n] < best:
            best = distances[n]
            z[:] = points[n]
    return best


@compiled
def _split(
    low: np.ndarray, high: np.ndarray, order: np.ndarray, count: int, stretch: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the halves (2 count, d) of the first boxes of an order, along the axes that move the network most."""
    lows, highs = np.empty((2 * count, low.shape[1])), np.empty((2 * count, low.shape[1]))
    for b in range(count):
        axis = np.argmax((high[order[b]] - low[order[b]]) * stretch)
        for half in range(2):
            lows[b + half * count], highs[b + half * count] = low[order[b]], high[order[b]]
        highs[b, axis] = lows[b + count, axis] = (low[order[b], axis] + high[order[b], axis]) / 2
    return lows, highs


@compiled
def _goal(best: float, gaps: np.ndarray) -> float:
    """Return the lower bound to reach; see `Effort.goal`. The gaps are `gap`, `share` and `allowance`."""
    if not np.isfinite(best):
        return np.inf
    gap = min(gaps[0], gaps[1] * best)
    return best - max(gap - gaps[2], gap / 2)


@compiled
def prove(
    chain: Chain,
    stretch: np.ndarray,
    region: np.ndarray,
    box: np.ndarray,
    levels: np.ndarray,
    gaps: np.ndarray,
    starts: np.ndarray,
    directions: np.ndarray,
    limits: np.ndarray,
    z: np.ndarray,
) -> tuple[float, float, int]:
    """Search and prove as `Exact` does, and return the distance of the answer z (d,), its lower bound and the boxes.

    The bound is NaN if the limits (batches, boxes, boxes at once) do not suffice. Answers are in the `region` (2, d)
    and reach the first of the `levels`. Proofs hold in the `box` (2, d) for the second level.
    """
    dim, best, num_boxes, take, undecided = len(z), np.inf, 0, 1, np.inf
    ends, distances = walk(chain, region[0], region[1], levels[0], starts, 6, 0.3)
    best = _take_closest(ends, distances, best, z)
    low, high = box[:1].copy(), box[1:].copy()
    pool_low, pool_high, pool_bound = np.empty((0, dim)), np.empty((0, dim)), np.empty(0)
    normal, height, pool_normal, pool_height = np.zeros((1, dim)), np.zeros(1), np.empty((0, dim)), np.empty(0)
    for batch in range(1, limits[0] + 1):
        goal, near = _goal(best, gaps), np.empty_like(low)
        bounds = bound_boxes(chain, low, high, levels[1], goal, near, normal, height)
        num_boxes += len(low)
        alive = np.flatnonzero(bounds < goal)
        low, high, bounds, normal, height = low[alive], high[alive], bounds[alive], normal[alive], height[alive]
        if len(alive):
            points = np.concatenate((near[alive], (low + high) / 2))
            best = _improve(chain, region, levels[0], gaps, batch, points, best, z)
        large = np.zeros(len(low), dtype=np.bool_)
        for b in range(len(low)):
            large[b] = (high[b] - low[b]).max() >= 1e-8
            if not large[b]:
                undecided = min(undecided, bounds[b])
        pool_low, pool_high = np.concatenate((pool_low, low[large])), np.concatenate((pool_high, high[large]))
        pool_bound = np.concatenate((pool_bound, bounds[large]))
        pool_normal = np.concatenate((pool_normal, normal[large]))
        pool_height = np.concatenate((pool_height, height[large]))
        goal = _goal(best, gaps)
        alive = np.flatnonzero(pool_bound < goal)
        if not len(alive):
            lower = goal if undecided >= goal else np.nan
            return _polish(chain, region, levels[0], directions, best, z), lower, num_boxes
        if num_boxes >= limits[1]:
            break
        pool_low, pool_high, pool_bound = pool_low[alive], pool_high[alive], pool_bound[alive]
        pool_normal, pool_height = pool_normal[alive], pool_height[alive]
        take = min(2 * take, limits[2])
        order, count = np.argsort(pool_bound), min(take, len(pool_bound))
        low, high = _split(pool_low, pool_high, order, count, stretch)
        twice = np.concatenate((order[:count], order[:count]))
        normal, height, rest = pool_normal[twice], pool_height[twice], order[count:]
        pool_low, pool_high, pool_bound = pool_low[rest], pool_high[rest], pool_bound[rest]
        pool_normal, pool_height = pool_normal[rest], pool_height[rest]
    return best, np.nan, num_boxes


@compiled
def _improve(
    chain: Chain,
    region: np.ndarray,
    level: float,
    gaps: np.ndarray,
    batch: int,
    points: np.ndarray,
    best: float,
    z: np.ndarray,
) -> float:
    """Take closer points (N, d) of boxes as the answer z, and sometimes walk from some; see `_Incumbent.improve`."""
    for n in range(len(points)):
        for j in range(len(z)):
            points[n, j] = min(max(points[n, j], region[0, j]), region[1, j])
    least, distances, scores = _least_margins(chain, points), np.empty(len(points)), np.empty(len(points))
    for n in range(len(points)):
        distance, missing = _length(points[n]), max(level - least[n], 0.0)
        distances[n], scores[n] = distance if missing == 0.0 else np.inf, distance + 0.1 * missing
    needed = best - (best - _goal(best, gaps)) / 4 if np.isfinite(best) else np.inf
    best = _take_closest(points, distances, best, z)
    if best < needed or batch in (4, 12, 32):
        spread = np.linspace(0, len(points) - 1, 4).astype(np.int64)
        picks = np.concatenate((np.argsort(scores, kind="mergesort")[:4], spread))
        ends, distances = walk(chain, region[0], region[1], level, points[picks], 6, 0.05)
        best = _take_closest(ends, distances, best, z)
    return best


@compiled
def _polish(
    chain: Chain, region: np.ndarray, level: float, directions: np.ndarray, best: float, z: np.ndarray
) -> float:
    """Try closer random changes (S, d) around the answer z (d,); see `_Incumbent.polish`."""
    if not (0.0 < best < np.inf):
        return best
    for _ in range(6):
        near, sizes = z + best * directions, np.empty(len(directions))
        for n in range(len(near)):
            share = (1 - 5e-5) * best / max(_length(near[n]), best)
            for j in range(len(z)):
                near[n, j] = min(max(near[n, j] * share, region[0, j]), region[1, j])
        least = _least_margins(chain, near)
        for n in range(len(near)):
            sizes[n] = _length(near[n]) if least[n] >= level else np.inf
        before = best
        best = _take_closest(near, sizes, best, z)
        if not best < before:
            break
    return best
