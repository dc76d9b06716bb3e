"""Second-order bounds: parabolas near sigmoids, and margins whose curvatures cancel."""

from dataclasses import replace

import numpy as np
import pytest

from paretofoil.core.program import ACTIVATIONS, Affine, Program
from paretofoil.proof.bounds import Cap
from paretofoil.proof.curvature import Parabolas, upper_bounds
from paretofoil.proof.networks import MarginNetwork, rounding_pads


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_parabolas_hold_over_any_interval_and_their_error_is_cubic(function: str) -> None:
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-9, 2.5, size=(4000, 1)), axis=1)
    ends = np.concatenate(
        [ends, [[0, 0], [2.2924, 2.2925], [-2.2925, -2.2924], [1.1462, 1.1463], [-700, 700], [2, 2.6]]]
    )
    least, most = ends[:, :1], ends[:, 1:]
    near = Parabolas.over(function, least, most)
    e = np.linspace(-1, 1, 401)
    off = np.abs(ACTIVATIONS[function](near.middle + near.half * e) - near.center - e * (near.slope + e * near.bend))
    assert (off <= near.error).all()
    wide = (near.half > 0.01)[:, 0] & (near.half < 0.2)[:, 0]
    assert (near.error <= near.half**3 / 8)[wide].all()
    assert (off.max(axis=1) >= 0.2 * near.error[:, 0])[wide].mean() > 0.8  # and it is not much larger than needed


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_curvatures_of_opposite_units_cancel(function: str) -> None:
    """f(x) + f(-x) is constant, which the linear bounds of f(x) and f(-x) alone do not show."""
    direction = np.array([[2.0, -1.0, 0.5, 1.0]])
    weights = (np.concatenate([direction, -direction]), np.array([[1.0, 1.0]]))
    program = Program.of_layers(weights, (np.array([0.7, -0.7]), np.zeros(1)), (function,))  # type: ignore[arg-type]
    network = MarginNetwork(program, rounding_pads(program, np.ones(4)))
    low, high = np.full((1, 4), -0.05), np.full((1, 4), 0.05)
    cap = Cap(np.inf, np.zeros((1, 4)), np.zeros(1))
    linear, bent = network.upper_bounds(low, high, 0.0, cap).highest(low, high)[0]
    constant = 1.0 if function == "sigmoid" else 0.0
    assert linear > constant + 1e-3
    assert constant <= bent < constant + 0.15 * (linear - constant)


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
@pytest.mark.parametrize("share", [np.inf, 0.9])
def test_bounds_with_curvature_hold_on_an_interval_and_touch_it(function: str, share: float) -> None:
    """The interval is a box, or the part of a box within a radius, which is a share of the box."""
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(3, 6))
    weights, biases = (rng.normal(size=(6, 1)), np.concatenate([outputs, -outputs])), (rng.normal(size=6), np.zeros(6))
    program = Program.of_layers(weights, biases, (function,))  # type: ignore[arg-type]
    direct = Affine(biases[1], {0: rng.normal(size=(6, 1)), 1: weights[1]})  # the outputs read the input, too
    program = replace(program, output=direct)
    network = MarginNetwork(program, rounding_pads(program, np.ones(1)))
    for width in (0.03, 0.3):
        high = np.full((50, 1), width)
        low = rng.uniform(-1.0, 0.9, (50, 1)) if share == np.inf else -high
        high = low + width if share == np.inf else high
        relaxed, radius = network.relax(low, high), share * width
        first, last = np.maximum(low, -radius), np.minimum(high, radius)
        point = low + rng.uniform(-0.2, 1.2, (50, 1)) * (high - low)
        lines = [node.lines for node in relaxed.nodes]
        bounds = upper_bounds(program, relaxed.nodes, lines, low, high, radius, point, np.arange(50), False)
        z = first + np.linspace(0.0, 1.0, 21)[:, None, None] * (last - first)  # (21, 50, 1)
        above = z * bounds.slopes[:, :, 0] + bounds.offsets - network.margins(z.reshape(-1, 1)).reshape(21, 50, 6)
        assert (above >= 0.0).all()
        assert (above.min(axis=0) <= 4 * (high - low) ** 3).all()  # at the point, or at both ends


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_bounds_with_curvature_hold_for_the_worst_rounding_of_the_deployed_policy(function: str) -> None:
    rng, unit, dim = np.random.default_rng(0), 2.0**-11, 4
    weights, biases = (rng.normal(size=(8, dim)), rng.normal(size=(2, 8))), (rng.normal(size=8), rng.normal(size=2))
    program = Program.of_layers(weights, biases, (function,), unit=unit)  # type: ignore[arg-type]
    network = MarginNetwork(program, rounding_pads(program, np.ones(dim)), np.zeros(dim), np.eye(dim))
    low = rng.uniform(-1, 0.9, (40, dim))
    high, z = low + 0.01, low + 0.01 * rng.random((200, 40, dim))
    bounds = network.upper_bounds(low, high, -1e3, Cap(np.inf, np.zeros((40, dim)), np.zeros(40)))
    first, second = ((n + 8) * unit / (1.0 - (n + 8) * unit) for n in (dim, 8))
    margins = np.empty((200, 40, 2))
    for k in range(2):  # each error has the sign that raises the margin
        up = np.sign(weights[1][k])
        error = first * (np.abs(z) @ np.abs(weights[0]).T + np.abs(biases[0]))
        hidden = ACTIVATIONS[function](z @ weights[0].T + biases[0] + up * error)  # type: ignore[index]
        hidden = hidden + up * 32 * unit
        margins[:, :, k] = hidden @ weights[1][k] + biases[1][k]
        margins[:, :, k] += second * (np.abs(hidden) @ np.abs(weights[1][k]) + np.abs(biases[1][k]))
    above = (z[:, :, None, :] * bounds.slopes).sum(axis=3) + bounds.offsets
    assert above.shape[2] == 4
    assert (margins <= above[:, :, 2:]).all()
    assert (above[:, :, 2:] - margins).min() < 0.02  # and the bounds are about as large as these errors
