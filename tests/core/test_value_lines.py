"""Lines that stored values stand on, each with a case that fails without it."""

import json

import numpy as np
import pytest
from answers import answer, certificate

from paretofoil.core.certificate import Certificate
from paretofoil.core.errors import InvalidInput
from paretofoil.core.proven_range import ProvenRange


def test_where_there_is_no_answer_there_is_no_gap() -> None:
    assert certificate("infeasible", np.inf, np.inf).gap == 0.0
    assert certificate("gap", 0.25, np.inf).gap == np.inf
    assert certificate("optimal", 0.25, 0.5).gap == 0.25


@pytest.mark.parametrize(("lower", "upper"), [(0.25, 0.5), (0.25, np.inf), (np.inf, np.inf)])
def test_infinite_bounds_are_stored_as_null_and_read_as_infinite(lower: float, upper: float) -> None:
    stored = json.loads(json.dumps(certificate("gap", lower, upper).to_dict(), allow_nan=False))
    assert [stored["lower"], stored["upper"]] == [None if np.isinf(b) else b for b in (lower, upper)]
    read = Certificate.from_dict(stored)
    assert (read.lower, read.upper) == (lower, upper)


def test_a_proven_range_holds_what_is_inside_on_both_sides_of_every_objective() -> None:
    proven = ProvenRange(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
    commands = np.array([[0.0, 0.0], [1.0, 2.0], [1.1, 1.0], [0.5, 2.1], [-0.1, 1.0], [0.5, -0.1]])
    assert proven.holds(commands).tolist() == [True, True, False, False, False, False]


def test_a_proven_range_has_its_sides_in_order_in_every_objective() -> None:
    with pytest.raises(InvalidInput, match="a proven range with low <= high"):
        ProvenRange(np.array([0.0, 1.0]), np.array([1.0, 0.0]))


def test_a_change_is_what_is_quoted_less_what_was_asked() -> None:
    found = answer([9.0, -4.0], original=[8.0, -2.0])
    assert found.change is not None
    assert found.change.tolist() == [1.0, -2.0]
    assert answer().change is None
