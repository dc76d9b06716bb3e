"""What a flip map says about the steps of an episode."""

from typing import Any

import numpy as np
from answers import answer

from paretofoil.core.answer import Answer, Status
from paretofoil.explanation.flip_map import FlipMap

INFEASIBLE = answer(status=Status.PROVEN_INFEASIBLE)
UNKNOWN = answer(foil=0)


def at(distance: float, **changes: Any) -> Answer:
    return answer([9.0, -2.0], distance=distance, **changes)


def flip_map(*answers: tuple[int, Answer]) -> FlipMap:
    times, given = zip(*answers, strict=True)
    first = given[0].question
    taken = (3,) * (max(times) + 1)
    return FlipMap("mine", first.objectives, first.actions, first.command, first.command, taken, times, given)


def test_moments_are_told_the_smallest_change_first_and_the_earliest_of_equals() -> None:
    flips = flip_map((0, at(0.5)), (1, at(0.25)), (2, UNKNOWN), (3, at(0.125)), (4, at(0.25)))
    assert [time for time, _ in flips.easiest()] == [3, 1, 4]
    assert [time for time, _ in flips.easiest(9)] == [3, 1, 4, 0]


def test_a_moment_is_unsteerable_if_no_foil_is_reached_and_proven_so_if_each_is_proven() -> None:
    flips = flip_map((0, at(0.5)), (0, INFEASIBLE), (1, INFEASIBLE), (1, UNKNOWN), (3, INFEASIBLE))
    assert flips.unsteerable() == [1, 3]
    assert flips.proven_unsteerable() == [3]


def test_distances_tell_what_was_not_found_from_what_was_not_asked() -> None:
    distances = flip_map((0, at(0.5)), (1, UNKNOWN)).distances()
    expected = np.full((2, 4), np.nan)
    expected[0, 1], expected[1, 0] = 0.5, np.inf
    assert np.array_equal(distances, expected, equal_nan=True)
