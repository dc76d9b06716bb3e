"""What users keep or hold to a range bounds the searched region on both sides."""

from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Options
from paretofoil.core.question import Question
from paretofoil.explanation.questions import restrict


def restricted(keep: Any = (), **ranges: tuple[float, float]) -> Question:
    space = CommandSpace([0.0, 0.0], [1.0, 1.0], ["gold", "time"])
    asked = Question(LinearPolicy(np.eye(2), np.zeros(2)), np.zeros(1), np.array([0.6, 0.3]), 1, (0, 1), space)
    options = Options(keep=keep, ranges=ranges)
    return restrict(asked, options.keep, options.ranges)


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


@pytest.mark.parametrize("wanted", [-2, (1, 2, 3), "ab", None])
def test_a_range_that_is_no_pair_of_numbers_is_refused(wanted: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a range of gold as \(lowest, highest\), got "):
        restricted(gold=wanted)


def test_a_range_with_its_ends_swapped_is_refused_as_such() -> None:
    with pytest.raises(InvalidInput, match=r"a range of gold with the lowest value first, got 0\.7 to 0\.5"):
        restricted(gold=(0.7, 0.5))


def test_an_objective_may_be_named_by_a_number_of_numpys() -> None:
    assert restricted(keep=[np.int64(1)]).kept == (1,)


@pytest.mark.parametrize("name", [2, -1, 0.5, None])
def test_an_objective_that_there_is_not_is_refused(name: Any) -> None:
    with pytest.raises(InvalidInput, match="an objective among gold, time, got "):
        restricted(keep=[name])
