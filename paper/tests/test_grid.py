"""The grid search queries each point of its grid once."""

import numpy as np
import pytest
from policies import LinearPolicy
from recorded import queries_of, recorded_question

from paretofoil_paper.searches import Grid

NEVER_WON = LinearPolicy(np.zeros((2, 2)), np.array([0.0, -1.0]))


@pytest.mark.parametrize("values", range(2, 9))
def test_each_point_is_queried_once_edges_included(values: int) -> None:
    queries = queries_of(Grid(values), recorded_question(NEVER_WON))
    axis = np.linspace(-0.5, 0.5, values)
    assert sorted(map(tuple, queries.round(9))) == sorted((a, b) for a in axis.round(9) for b in axis.round(9))


def test_an_objective_that_may_not_change_has_one_value() -> None:
    fixed = recorded_question(NEVER_WON, low=np.array([-0.5, 0.0]), high=np.array([0.5, 0.0]))
    assert queries_of(Grid(5), fixed)[:, 1].tolist() == [0.0] * 5
