"""What users keep or hold to a range bounds the searched region on both sides."""

from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy

from paretofoil.core.command import CommandSpace
from paretofoil.core.question import Question
from paretofoil.explanation.pose import restrict


def restricted(keep: Any = (), **ranges: tuple[float, float]) -> Question:
    space = CommandSpace([0.0, 0.0], [1.0, 1.0], ["gold", "time"])
    asked = Question(LinearPolicy(np.eye(2), np.zeros(2)), np.zeros(1), np.array([0.6, 0.3]), 1, (0, 1), space)
    return restrict(asked, keep, ranges)


def test_a_kept_objective_may_neither_fall_nor_grow() -> None:
    asked = restricted(keep=["time"])
    assert (asked.low.tolist(), asked.high.tolist()) == ([0.0, 0.3], [1.0, 0.3])
    assert (asked.kept, asked.held) == ((1,), ())


@pytest.mark.parametrize(
    ("wanted", "searched"), [((0.5, 0.7), (0.5, 0.7)), ((-3.0, 0.7), (0.0, 0.7)), ((0.5, 9.0), (0.5, 1.0))]
)
def test_a_range_is_searched_as_far_as_the_region_goes(wanted: Any, searched: Any) -> None:
    asked = restricted(gold=wanted)
    assert (asked.low[0], asked.high[0]) == searched
    assert (asked.low[1], asked.high[1]) == (0.0, 1.0)
    assert (asked.kept, asked.held) == ((), (0,))
