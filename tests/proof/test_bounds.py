"""Linear bounds hold for any network, and become tight as boxes shrink."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from margins import PLATEAU, network
from networks import layered_question, random_layers

from paretofoil.core.program import ACTIVATIONS, STEEPEST, Program
from paretofoil.proof.elementwise import RELAXATIONS, output_range
from paretofoil.proof.networks import MarginNetwork, margin_network

ARCHITECTURES = {
    "pcn": ("sigmoid", "relu"),
    "tanh": ("tanh", "tanh"),
    "relu": ("relu", "relu"),
    "one hidden layer": ("sigmoid",),
    "deep": ("relu", "tanh", "sigmoid"),
    "elu": ("elu", "elu"),
    "softplus": ("softplus", "softplus"),
    "silu": ("silu", "silu"),
    "linear": (),
}
architectures = pytest.mark.parametrize("activations", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())


def random_network(seed: int, activations: tuple, hidden: int, dim: int, num_actions: int) -> tuple:
    policy = random_layers(seed, (dim, *[hidden] * len(activations), num_actions), activations)
    question = layered_question(policy, seed)
    scale = question.space.scale
    limits = (question.low - question.command) / scale, (question.high - question.command) / scale
    return margin_network(policy.folded, question), *limits


def random_boxes(rng: np.random.Generator, low: np.ndarray, high: np.ndarray, width: float, count: int = 24) -> tuple:
    center = rng.uniform(low, high, size=(count, len(low)))
    radius = width * rng.random((count, len(low))) / 2
    radius[rng.random(radius.shape) < 0.15] = 0.0  # some objectives are locked
    return np.maximum(center - radius, low), np.minimum(center + radius, high)


def samples_of(rng: np.random.Generator, low: np.ndarray, high: np.ndarray, count: int = 64) -> np.ndarray:
    """(count, B, d): points inside each box, half of them corners."""
    share = rng.random((count, *low.shape))
    share[: count // 2] = np.round(share[: count // 2])
    return low + share * (high - low)


def margins_at(network: MarginNetwork, points: np.ndarray) -> np.ndarray:
    return network.margins(points.reshape(-1, points.shape[-1])).reshape(*points.shape[:-1], -1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(list(ARCHITECTURES.values())),
    st.sampled_from([16, 64, 256]),
    st.integers(2, 6),
    st.integers(2, 6),
    st.sampled_from([1.0, 0.3, 0.03, 1e-4, 0.0]),
)
def test_no_sample_is_ever_outside_the_bounds(
    seed: int, activations: tuple, hidden: int, dim: int, num_actions: int, width: float
) -> None:
    hidden = min(hidden, 64) if len(activations) > 2 else hidden
    network, limit_low, limit_high = random_network(seed, activations, hidden, dim, num_actions)
    rng = np.random.default_rng(seed)
    low, high = random_boxes(rng, limit_low, limit_high, width, count=8)
    points = samples_of(rng, low, high)
    margins = margins_at(network, points)  # (S, B, K)
    for level in (None, float(np.quantile(margins, 0.9)), float(margins.max()) + 0.01):
        lines = network.upper_bounds(low, high, level)
        values = np.einsum("bkd,sbd->sbk", lines.slopes, points) + lines.offsets
        assert (margins <= values).all()
        assert (margins <= lines.highest(low, high)).all()
    assert (margins >= network.lower_bounds(low, high)).all()


@pytest.mark.parametrize("activation", STEEPEST)
def test_the_lines_of_each_activation_hold_over_any_interval(activation: str) -> None:
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-9, 2.5, size=(4000, 1)), axis=1)
    ends = np.concatenate([ends, [[0, 0], [-1e-300, 1e-300], [-700, 700], [30, 31], [-900, -800], [5, 5 + 1e-7]]])
    ends = np.concatenate([ends, [[-9, -1], [-3, -1.3], [-1.3, 1.3], [0.2, 1.2], [1.3, 9], [-1e9, 1e9], [37, 40]]])
    low, high = ends[:, :1], ends[:, 1:]
    lines = RELAXATIONS[activation](low, high)
    x = np.clip(low + np.linspace(0, 1, 401) * (high - low), low, high)
    y = ACTIVATIONS[activation](x)
    rounding = 1e-15 * (1 + np.maximum(np.abs(low), np.abs(high)))
    assert (lines.slope_low * x + lines.offset_low <= y + rounding).all()
    assert (lines.slope_high * x + lines.offset_high >= y - rounding).all()


@pytest.mark.parametrize("activation", STEEPEST)
def test_the_range_of_an_activation_holds_all_its_outputs_and_no_more(activation: str) -> None:
    ends = np.sort(3.0 * np.random.default_rng(0).normal(size=(2000, 2)), axis=1)
    low, high = ends[:, :1], ends[:, 1:]
    least, most = output_range(activation, low, high)
    outputs = ACTIVATIONS[activation](low + np.linspace(0, 1, 401) * (high - low))
    rounding = 1e-15 * (1 + np.abs(ends).max(axis=1, keepdims=True))
    assert (outputs >= least - rounding).all()
    assert (outputs <= most + rounding).all()
    np.testing.assert_allclose(outputs.min(axis=1), least[:, 0], atol=1e-3)
    np.testing.assert_allclose(outputs.max(axis=1), most[:, 0], atol=1e-3)


@architectures
def test_the_error_shrinks_with_the_square_of_the_width(activations: tuple) -> None:
    network, limit_low, limit_high = random_network(1, activations, 32, 3, 4)
    rng = np.random.default_rng(1)
    center = rng.uniform(limit_low + 0.05, limit_high - 0.05, size=(200, 3))
    errors = []
    for width in (0.08, 0.02):
        low, high = center - width / 2, center + width / 2
        lines = network.upper_bounds(low, high)
        at_center = np.einsum("bkd,bd->bk", lines.slopes, center) + lines.offsets
        errors.append((at_center - network.margins(center)).mean())
    assert errors[1] <= errors[0] / 10 + 1e-9


@architectures
def test_linear_bounds_are_tighter_than_intervals(activations: tuple) -> None:
    network, limit_low, limit_high = random_network(2, activations, 48, 3, 3)
    low, high = random_boxes(np.random.default_rng(2), limit_low, limit_high, 0.2, count=100)
    floor, ceiling = low, high
    for layer, (weight, bias) in enumerate(zip(*network.program.layers[:2], strict=True)):
        center, radius = (floor + ceiling) / 2 @ weight.T + bias, (ceiling - floor) / 2 @ np.abs(weight).T
        floor, ceiling = center - radius, center + radius
        if layer < len(activations):
            floor, ceiling = ACTIVATIONS[activations[layer]](floor), ACTIVATIONS[activations[layer]](ceiling)
    highest = network.upper_bounds(low, high).highest(low, high)
    least = network.lower_bounds(low, high)
    factor = 1.0 + 1e-9 if not activations else 0.8
    assert (highest - least).mean() <= factor * (ceiling - floor).mean()


@architectures
def test_a_box_is_bounded_the_same_alone_and_among_thousands(activations: tuple) -> None:
    network, limit_low, limit_high = random_network(3, activations, 64, 4, 3)
    low, high = random_boxes(np.random.default_rng(3), limit_low, limit_high, 0.3, count=1500)
    together = network.upper_bounds(low, high)
    alone = network.upper_bounds(low[1234:1235], high[1234:1235])
    assert np.allclose(together.slopes[1234], alone.slopes[0], atol=1e-9)
    assert np.allclose(together.offsets[1234], alone.offsets[0], atol=1e-9)


@architectures
def test_slopes_are_the_derivatives_of_the_margins(activations: tuple) -> None:
    network, limit_low, limit_high = random_network(4, activations, 32, 3, 4)
    z = np.random.default_rng(4).uniform(limit_low, limit_high, size=(20, 3))
    margins, slopes = network.margins_and_slopes(z)
    assert np.allclose(margins, network.margins(z))
    for axis in range(3):
        step = np.zeros(3)
        step[axis] = 1e-6
        numeric = (network.margins(z + step) - network.margins(z - step)) / 2e-6
        assert np.allclose(numeric, slopes[:, :, axis], atol=1e-4)


def test_the_pad_covers_the_rounding_of_the_margins_themselves() -> None:
    network, limit_low, limit_high = random_network(5, ("sigmoid", "relu"), 128, 4, 4)
    z = np.random.default_rng(5).uniform(limit_low, limit_high, size=(500, 4))
    one_by_one = np.concatenate([network.margins(point[None]) for point in z])
    assert np.abs(one_by_one - network.margins(z)).max() < network.pads[-1].min()
    assert network.pads[-1].max() < 1e-6


def test_the_pad_of_a_hidden_layer_widens_the_interval_of_its_relaxation() -> None:
    padded = network(([[1.0]], [0.0]), ([[1.0]], [0.0]), pads=[0.5, 0.0])
    point = np.array([[-0.2]])
    assert padded.upper_bounds(point, point).highest(point, point) == pytest.approx(0.15)  # the chord of -0.7 to 0.3


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
@pytest.mark.parametrize("width", [1e-14, 1e-11, 1e-8, 1e-5])
def test_over_a_tiny_interval_the_relaxation_has_the_slope_of_the_curve(activation: Any, width: float) -> None:
    low = np.linspace(-6, 6, 1001)[:, None]
    value = ACTIVATIONS[activation](low)
    slope = value * (1 - value) if activation == "sigmoid" else 1 - value * value
    assert np.abs(RELAXATIONS[activation](low, low + width).slope_low - slope).max() < max(1e-8, width)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_curves_that_cancel_are_bounded_by_their_difference(activation: Any) -> None:
    bump = network(([[8.0], [8.0]], [2.0, -2.0]), ([[1.0, -1.0]], [-0.5]), ([[1.0]], [0.0]), activation=activation)
    weights, biases, _ = bump.program.layers
    bump = replace(bump, program=Program.of_layers(weights, biases, (activation, "relu")))
    low, high = np.array([[-1.0]]), np.array([[1.0]])
    z = np.linspace(-1, 1, 101)[:, None]
    assert bump.margins(z).max() > 0.2
    assert bump.upper_bounds(low, high).highest(low, high)[0, 0] >= bump.margins(z).max()


def test_flat_lower_lines_are_used_only_where_they_exclude_the_level() -> None:
    low, high = np.array([[-1.0]]), np.array([[1.0]])
    closest = PLATEAU.upper_bounds(low, high)
    for level, expected in ((0.03, closest.slopes), (0.05, np.zeros((1, 1, 1)))):
        np.testing.assert_array_equal(PLATEAU.upper_bounds(low, high, level).slopes, expected)
