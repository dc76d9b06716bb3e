"""Distances to half-spaces within boxes are those of an independent solver, and cuts lose nothing."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from paretofoil.core.command import length
from paretofoil.proof.halfspace import cut, nearest


def random_problem(rng: np.random.Generator, num_rivals: int) -> tuple:
    dim = int(rng.integers(1, 7))
    low = rng.uniform(-1, 0.3, dim)
    high = low + rng.random(dim) * (rng.random(dim) < 0.9)  # some sides have no width
    return rng.normal(size=(num_rivals, dim)), rng.uniform(-0.5, 1, num_rivals), low, high


def solve(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, norm: str) -> float | None:
    """The distance by SciPy, None if the half-spaces miss the box."""
    rows, dim = slopes.shape
    bounds, eye = list(zip(low, high, strict=True)), np.eye(dim)
    if norm == "l2":
        constraint = {"type": "ineq", "fun": lambda z: slopes @ z - levels, "jac": lambda z: slopes}
        feasible = linprog(np.zeros(dim), -slopes, -levels, bounds=bounds)
        if feasible.status != 0:
            return None
        start = feasible.x
        found = minimize(
            lambda z: z @ z / 2, start, jac=lambda z: z, bounds=bounds, constraints=constraint, method="SLSQP"
        )
        return float(np.linalg.norm(found.x)) if found.success else None
    extra = dim if norm == "l1" else 1
    spread = eye if norm == "l1" else np.ones((dim, 1))
    matrix = np.block([[-slopes, np.zeros((rows, extra))], [eye, -spread], [-eye, -spread]])
    limits = np.concatenate([-levels, np.zeros(2 * dim)])
    found = linprog(np.r_[np.zeros(dim), np.ones(extra)], matrix, limits, bounds=bounds + [(0, None)] * extra)
    return float(found.fun) if found.status == 0 else None


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_one_half_space_is_exact(norm: str) -> None:
    rng, solved = np.random.default_rng(0), 0
    for _ in range(150):
        slopes, levels, low, high = random_problem(rng, 1)
        bound, point = nearest(slopes[None], levels[None], low[None], high[None], norm)
        expected = solve(slopes, levels, low, high, norm)
        if expected is None:
            continue
        solved += 1
        assert bound[0] == pytest.approx(expected, abs=1e-6)
        assert length(point[0], norm) == pytest.approx(expected, abs=1e-6)
        assert ((point[0] >= low) & (point[0] <= high)).all()
        assert slopes[0] @ point[0] >= levels[0] - 1e-6
    assert solved > 50


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_several_half_spaces_are_never_overestimated_and_exact_for_l2(norm: str) -> None:
    rng, shortfalls = np.random.default_rng(1), []
    for _ in range(300):
        slopes, levels, low, high = random_problem(rng, int(rng.integers(2, 6)))
        expected = solve(slopes, levels, low, high, norm)
        if expected is None:
            continue
        bound, _ = nearest(slopes[None], levels[None], low[None], high[None], norm)
        assert bound[0] <= expected + 1e-6
        shortfalls.append(expected - bound[0])
    assert len(shortfalls) > 50
    if norm == "l2":
        assert np.mean(np.array(shortfalls) < 1e-6) > 0.99


def test_nearly_parallel_pairs_of_half_spaces_are_exact_for_l2() -> None:
    """Bounds with curvature come in such pairs."""
    rng, shortfalls = np.random.default_rng(3), []
    for _ in range(300):
        slopes, levels, low, high = random_problem(rng, 3)
        slopes = np.concatenate([slopes, slopes + 0.05 * rng.normal(size=slopes.shape)])
        levels = np.concatenate([levels, levels + 0.05 * rng.normal(size=levels.shape)])
        expected = solve(slopes, levels, low, high, "l2")
        if expected is None:
            continue
        bound, _ = nearest(slopes[None], levels[None], low[None], high[None], "l2")
        assert bound[0] <= expected + 1e-6
        shortfalls.append(expected - bound[0])
    assert len(shortfalls) > 50
    assert np.mean(np.array(shortfalls) < 1e-5) > 0.99


def test_boxes_outside_a_sum_of_half_spaces_are_excluded() -> None:
    """No linear program has a solution where the bound is infinite, and it is infinite for nearly all such boxes."""
    rng, excluded, empty = np.random.default_rng(4), 0, 0
    for _ in range(300):
        slopes, levels, low, high = random_problem(rng, 4)
        bound, _ = nearest(slopes[None], levels[None], low[None], high[None], "l2")
        possible = linprog(np.zeros(len(low)), -slopes, -levels, bounds=list(zip(low, high, strict=True))).status == 0
        assert not (possible and np.isinf(bound[0]))
        excluded, empty = excluded + np.isinf(bound[0]), empty + (not possible)
    assert empty > 50
    assert excluded > 0.9 * empty


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_cuts_keep_every_point_of_the_half_spaces_and_the_ball(norm: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        slopes, levels, low, high = random_problem(rng, 2)
        radius = rng.uniform(0.1, 1.5)
        new_low, new_high = cut(slopes[None], levels[None], low[None], high[None], radius, norm)
        z = rng.uniform(low, high, size=(400, len(low)))
        kept = z[(z @ slopes.T >= levels).all(axis=1) & (length(z, norm) <= radius)]
        assert (kept >= new_low[0] - 1e-12).all()
        assert (kept <= new_high[0] + 1e-12).all()


@pytest.mark.parametrize(("norm", "distance"), [("l1", 0.5), ("l2", np.sqrt(0.29)), ("linf", 0.5)])
def test_of_two_half_spaces_the_farthest_bounds_the_distance(norm: Any, distance: float) -> None:
    """z_1 >= 0.2 and z_2 >= 0.5; the bound of l2 is that of both together."""
    slopes, box = np.eye(2)[None], (np.full((1, 2), -1.0), np.ones((1, 2)))
    for order in ([0, 1], [1, 0]):
        bound, _ = nearest(slopes[:, order], np.array([[0.2, 0.5]])[:, order], *box, norm)
        assert bound == pytest.approx([distance], abs=1e-9)


def test_a_cut_ends_where_the_half_space_leaves_the_box() -> None:
    low, high = cut(np.ones((1, 1, 2)), np.ones((1, 1)), np.zeros((1, 2)), np.full((1, 2), 0.8), np.inf, "l2")
    assert low[0] == pytest.approx([0.2, 0.2], abs=1e-9)
    assert high[0] == pytest.approx([0.8, 0.8])
    low, high = cut(-np.ones((1, 1, 2)), -np.ones((1, 1)), np.full((1, 2), 0.3), np.ones((1, 2)), np.inf, "l2")
    assert low[0] == pytest.approx([0.3, 0.3])
    assert high[0] == pytest.approx([0.7, 0.7], abs=1e-9)


@pytest.mark.parametrize(("norm", "reach"), [("l1", 0.4), ("l2", 0.8), ("linf", 1.0)])
def test_a_ball_cuts_a_box_at_its_surface(norm: Any, reach: float) -> None:
    nothing = np.zeros((1, 0, 2)), np.zeros((1, 0))
    low, high = cut(*nothing, np.array([[0.6, -2.0]]), np.array([[2.0, 2.0]]), 1.0, norm)
    assert low[0] == pytest.approx([0.6, -reach], abs=1e-9)
    assert high[0] == pytest.approx([1.0, reach], abs=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_cap_of_the_ball_is_cut_at_its_rim(sign: float) -> None:
    wide = np.full((1, 2), -2.0), np.full((1, 2), 2.0)
    low, high = cut(np.full((1, 1, 2), sign), np.full((1, 1), 1.2), *wide, 1.0, "l2")
    ends = np.sort(sign * (0.6 + np.array([-1, 1]) * np.sqrt(0.5 - 0.36)))  # x + y = 1.2 meets the unit circle
    assert low[0] == pytest.approx([ends[0]] * 2, abs=1e-7)
    assert high[0] == pytest.approx([ends[1]] * 2, abs=1e-7)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_half_of_the_ball_keeps_its_poles(radius: float) -> None:
    wide = np.full((1, 2), -2.0 * radius), np.full((1, 2), 2.0 * radius)
    low, high = cut(np.array([[[1.0, 0.0]]]), np.zeros((1, 1)), *wide, radius, "l2")
    assert (high[0] >= radius).all()
    assert low[0, 1] <= -radius


def test_of_several_half_spaces_the_tightest_cuts() -> None:
    box = np.full((1, 2), -2.0), np.full((1, 2), 2.0)
    slopes, levels = np.array([[[1.0, 0.0], [2.0, 0.0]]]), np.array([[0.3, 1.0]])
    for radius, rim in ((np.inf, 2.0), (1.0, np.sqrt(0.75))):
        low, high = cut(slopes, levels, *box, radius, "l2")
        assert low[0] == pytest.approx([0.5, -rim], abs=1e-7)
        assert high[0] == pytest.approx([min(radius, 2.0), rim], abs=1e-7)
        low, high = cut(-slopes, levels, *box, radius, "l2")
        assert low[0] == pytest.approx([-min(radius, 2.0), -rim], abs=1e-7)
        assert high[0] == pytest.approx([-0.5, rim], abs=1e-7)
