"""Forms: what a unit can be, as a line in the place of the command and a radius, through layers and products."""

import numpy as np
import pytest

from paretofoil.core.program import ACTIVATIONS, STEEPEST, Function
from paretofoil.proof.bounds import AffineForm, reach_in_ball
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
def test_the_reach_in_a_ball_holds_for_all_points_of_box_and_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(-0.6, 0.6, (2, 30, 9)), axis=0)
    ends[:, :, 0] = ends[0, :, 0]  # no width
    low, high, slopes, radius = ends[0], ends[1], rng.normal(size=(30, 9, 7)) ** 3, 1.0
    slopes[:, 0] = 0.0
    down, up = reach_in_ball(slopes, low, high, radius)
    e = rng.uniform(-1, 1, (30, 4000, 9))
    e = np.where(rng.random(e.shape) < 0.3, np.sign(e), e)
    z = (low + high)[:, None] / 2 + e * (high - low)[:, None] / 2
    inside = np.linalg.norm(z, axis=2) <= radius
    assert inside.any(axis=1).sum() > 10
    values = e @ slopes
    assert (values.max(axis=1, where=inside[:, :, None], initial=-np.inf) <= up).all()
    assert (values.min(axis=1, where=inside[:, :, None], initial=np.inf) >= -down).all()


def test_the_reach_in_a_ball_is_that_of_the_ball_alone_or_of_the_box_alone() -> None:
    slopes, low, high = np.random.default_rng(0).normal(size=(1, 9, 5)), -np.ones((1, 9)), np.ones((1, 9))
    for radius, reach in ((0.1, 0.1 * np.linalg.norm(slopes, axis=1)), (3.0, np.abs(slopes).sum(axis=1))):
        for side in reach_in_ball(slopes, low, high, radius):
            np.testing.assert_allclose(side, reach, rtol=0.05 if radius > 1 else 1e-9)
