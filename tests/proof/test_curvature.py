"""Second-order bounds: parabolas near sigmoids, and margins whose curvatures cancel."""

import numpy as np
import pytest

from paretofoil.core.program import ACTIVATIONS, Program
from paretofoil.proof.bounds import Cap
from paretofoil.proof.curvature import Parabolas
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
