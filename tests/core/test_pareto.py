"""Dominance, hypervolume and crowding against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretofoil.core import pareto
from paretofoil.core.errors import InvalidInput
from paretofoil.core.pareto import crowding_distance, hypervolume, nondominated

small_points = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(0, 4), min_size=d, max_size=d), min_size=1, max_size=9)
)


def cells_covered(points: list[list[int]]) -> int:
    """Volume by counting unit cells: exact for whole numbers."""
    size = len(points[0])
    cells = itertools.product(range(4), repeat=size)
    return sum(any(all(c < x for c, x in zip(cell, p, strict=True)) for p in points) for cell in cells)


@settings(max_examples=150, deadline=None)
@given(small_points)
def test_hypervolume_counts_the_cells_below_the_points(points):
    assert hypervolume(points, [0] * len(points[0])) == cells_covered(points)


@settings(max_examples=150, deadline=None)
@given(small_points)
def test_nondominated_keeps_the_first_of_all_points_that_nothing_beats(points):
    def beaten(i):
        p = points[i]
        worse = (all(a <= b for a, b in zip(p, q, strict=True)) and p != q for q in points)
        return any(worse) or p in points[:i]

    assert nondominated(points).tolist() == [i for i in range(len(points)) if not beaten(i)]


@pytest.mark.parametrize("pairwise", [0, 10**9])
def test_both_ways_of_finding_the_best_points_agree(monkeypatch, pairwise):
    points = np.random.default_rng(0).integers(0, 8, size=(400, 3)) * 0.1
    expected = nondominated(points)
    monkeypatch.setattr(pareto, "PAIRWISE", pairwise)
    assert nondominated(points).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_hypervolume_agrees_with_random_sampling(size):
    rng = np.random.default_rng(size)
    points = np.abs(rng.normal(size=(40, size)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    samples = rng.random((200_000, size))
    covered = np.zeros(len(samples), dtype=bool)
    for point in points:
        covered |= (samples < point).all(axis=1)
    error = np.sqrt(covered.mean() / len(samples))
    assert hypervolume(points - 3.0, np.full(size, -3.0)) == pytest.approx(covered.mean(), abs=5 * error)


def test_hypervolume_of_known_cases():
    assert hypervolume([[1, 2]], [0, 0]) == 2
    assert hypervolume([[3, 1], [2, 2], [1, 3]], [0, 0]) == 6
    assert hypervolume([[1, 1, 1]] * 3, [0, 0, 0]) == 1
    assert hypervolume([[-1, 5], [5, -1]], [0, 0]) == 0
    assert hypervolume([], [0, 0]) == 0


def test_a_reference_of_the_wrong_length_is_an_error():
    with pytest.raises(InvalidInput, match="expected a reference point of 2 numbers, got"):
        hypervolume([[1, 2]], [0, 0, 0])


def test_points_that_are_not_numbers_are_an_error():
    with pytest.raises(InvalidInput, match="expected points of finite numbers"):
        nondominated([[1, np.nan]])


def test_crowding_is_infinite_at_the_ends_and_measures_the_gap_between_neighbours():
    distance = crowding_distance([[0, 4], [1, 3], [2, 2], [4, 0]])
    assert distance.tolist() == [np.inf, 1.0, 1.5, np.inf]
    assert crowding_distance([[0, 1], [1, 0]]).tolist() == [np.inf, np.inf]
