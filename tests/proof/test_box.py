"""How boxes are split."""

import numpy as np
import pytest

from paretofoil.proof.box import AT_ONCE, at_once, halves, too_small


def test_halves_meet_in_the_middle_of_their_axis_and_nowhere_else_changes() -> None:
    low, high = np.array([[0.0, 0.0], [1.0, -2.0]]), np.array([[4.0, 1.0], [3.0, 6.0]])
    lows, highs = halves(low, high, np.array([0, 1]))
    assert lows.tolist() == [[0.0, 0.0], [1.0, -2.0], [2.0, 0.0], [1.0, 2.0]]
    assert highs.tolist() == [[2.0, 1.0], [3.0, 2.0], [4.0, 1.0], [3.0, 6.0]]
    assert low.tolist() == [[0.0, 0.0], [1.0, -2.0]]


@pytest.mark.parametrize(("work", "boxes"), [(1, AT_ONCE), (1 << 24, 64), (1 << 40, 1)])
def test_wide_networks_take_fewer_boxes_at_once_but_never_none(work: int, boxes: int) -> None:
    assert at_once(work) == boxes


def test_a_box_is_too_small_only_if_it_is_on_every_side() -> None:
    high = np.array([[1e-9, 1e-9], [1e-9, 1e-3], [0.0, 0.0]])
    assert too_small(np.zeros((3, 2)), high).tolist() == [True, False, True]
