"""Forms: what a unit can be, as a line in the place of the command and a radius, through layers and products."""

import numpy as np
import pytest

from paretofoil.core.program import ACTIVATIONS, STEEPEST, Function
from paretofoil.proof.bounds import AffineForm, Cap
from paretofoil.proof.elementwise import RELAXATIONS

UNITS, PLACES = 6, 3


def random_form(seed: int, places: int = PLACES) -> AffineForm:
    generator = np.random.default_rng(seed)
    return AffineForm(
        generator.normal(size=(1, UNITS)), generator.normal(size=(1, places, UNITS)), generator.random((1, UNITS))
    )


def corners(form: AffineForm, seed: int, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Places (N, d) on corners of the box, and units (N, n) with every radius used up, to one side or the other."""
    generator = np.random.default_rng(seed)
    places = generator.choice([-1.0, 1.0], size=(count, form.slopes.shape[1]))
    sides = generator.choice([-1.0, 1.0], size=(count, form.radius.shape[1]))
    return places, form.center + places @ form.slopes[0] + sides * form.radius


def holds(form: AffineForm, places: np.ndarray, units: np.ndarray) -> bool:
    """Whether units (N, n) at places (N, d) are as the form says."""
    off = np.abs(units - form.center - places @ form.slopes[0])
    return bool((off <= form.radius + 1e-12).all())


@pytest.mark.parametrize("activation", STEEPEST)
@pytest.mark.parametrize("seed", range(5))
def test_a_form_holds_behind_an_activation(activation: Function, seed: int) -> None:
    form = random_form(seed)
    behind = RELAXATIONS[activation](*form.interval()).form(form)
    places, units = corners(form, seed)
    for share in np.linspace(0.0, 1.0, 11):  # from the corners to the middle, where activations bend
        inner = form.center + share * (units - form.center)
        assert holds(behind, share * places, ACTIVATIONS[activation](inner))


def test_a_form_holds_where_an_activation_falls() -> None:
    wide = random_form(0)
    form = AffineForm(-2.5 + 0.1 * wide.center, 0.1 * wide.slopes, 0.2 + 0.1 * wide.radius)  # a SiLU falls here
    lines = RELAXATIONS["silu"](*form.interval())
    assert (lines.slope_high < 0).all()
    places, units = corners(form, 0)
    assert holds(lines.form(form), places, ACTIVATIONS["silu"](units))


def test_a_form_holds_behind_a_layer() -> None:
    form, generator = random_form(0), np.random.default_rng(1)
    weight, bias = generator.normal(size=(4, UNITS)), generator.normal(size=4)
    behind = form.affine(weight, bias)
    places, units = corners(form, 2)
    assert holds(behind, places, units @ weight.T + bias)
    reached = np.abs(units @ weight.T + bias - behind.center).max(axis=0)
    assert (reached >= 0.6 * (behind.interval()[1] - behind.center)[0]).all()  # and it is not much wider than that


def test_an_interval_is_what_a_form_can_reach() -> None:
    form = random_form(3)
    least, most = form.interval()
    _, units = corners(form, 4, count=20_000)
    np.testing.assert_allclose(units.min(axis=0), least[0], atol=1e-9)
    np.testing.assert_allclose(units.max(axis=0), most[0], atol=1e-9)


def test_a_form_of_boxes_is_the_boxes() -> None:
    low, high = np.array([[-1.0, 0.0, 2.0]]), np.array([[1.0, 0.5, 2.0]])
    least, most = AffineForm.of_boxes(low, high).interval()
    np.testing.assert_array_equal(least, low)
    np.testing.assert_array_equal(most, high)


@pytest.mark.parametrize("seed", range(5))
def test_the_reach_in_a_cap_holds_for_all_points_of_box_and_cap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(-0.6, 0.6, (2, 30, 5)), axis=0)
    ends[:, :, 0] = ends[0, :, 0]  # no width
    low, high, slopes, radius = ends[0], ends[1], rng.normal(size=(30, 5, 7)) ** 3, 0.6
    slopes[:, 0] = 0.0
    normal = rng.normal(size=(30, 5))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    height = rng.uniform(-0.7, 0.4, 30)
    down, up = Cap(radius, normal, height).reach(slopes, low, high)
    e = rng.uniform(-1, 1, (30, 8000, 5))
    e = np.where(rng.random(e.shape) < 0.3, np.sign(e), e)
    z = (low + high)[:, None] / 2 + e * (high - low)[:, None] / 2
    inside = (np.linalg.norm(z, axis=2) <= radius) & ((z @ normal[:, :, None])[:, :, 0] >= height[:, None])
    assert inside.any(axis=1).sum() > 10
    values = e @ slopes
    assert (values.max(axis=1, where=inside[:, :, None], initial=-np.inf) <= up).all()
    assert (values.min(axis=1, where=inside[:, :, None], initial=np.inf) >= -down).all()


def test_the_reach_in_a_cap_is_reached_by_the_ball_and_by_its_rim() -> None:
    low, high = -np.ones((1, 2)), np.ones((1, 2))
    slopes = np.array([[[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]])  # right, left, up
    cap = Cap(0.5, np.array([[1.0, 0.0]]), np.array([0.3]))  # from 0.3 to 0.5 on the right; the rim reaches 0.4 up
    down, up = cap.reach(slopes, low, high)
    np.testing.assert_allclose(up, [[0.5, -0.3, 0.4]], atol=1e-6)
    np.testing.assert_allclose(down, [[-0.3, 0.5, 0.4]], atol=1e-6)


def test_a_cap_lies_beyond_the_farthest_half_space() -> None:
    slopes = np.array([[[3.0, 4.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]])
    cap = Cap.beyond(0.45, slopes, np.array([[1.0, 0.5], [0.1, 2.0]]))
    np.testing.assert_allclose(cap.normal, [[0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(cap.height, [0.25, 0.45])  # at most the radius
