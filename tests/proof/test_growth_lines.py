"""Lines that bounds and proven ranges stand on, each with a case that fails without it."""

from typing import Any

import numpy as np
import pytest
from networks import LayeredPolicy

from paretofoil.core.command import CommandSpace
from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.branch import Claim, Effort, branch_and_bound
from paretofoil.proof.halfspace import _cap, nearest
from paretofoil.proof.margin import MarginNetwork, margin_network
from paretofoil.proof.widen import _Growth, _prefix, widen


@pytest.mark.parametrize(("norm", "size"), [("l1", 0.5), ("l2", np.sqrt(0.29)), ("linf", 0.5)])
def test_of_two_half_spaces_the_hardest_bounds_the_distance(norm: Any, size: float) -> None:
    """z_1 >= 0.2 and z_2 >= 0.5; in l2 both together."""
    slopes, box = np.eye(2)[None], (np.full((1, 2), -1.0), np.ones((1, 2)))
    for order in ([0, 1], [1, 0]):
        bound, _ = nearest(slopes[:, order], np.array([[0.2, 0.5]])[:, order], *box, norm)
        assert bound == pytest.approx([size], abs=1e-9)


def test_a_proof_ends_as_soon_as_an_answer_within_the_gap_is_found() -> None:
    line = MarginNetwork((np.ones((1, 1)),), (np.zeros(1),), (), (np.zeros(1),))
    claim = Claim(line, np.array([-1.0]), np.array([1.0]), 0.3, "l2")
    proof = branch_and_bound(claim, Effort(0.01, 10_000), improve=lambda points: 0.305)
    assert (proof.lower, proof.boxes, proof.closed) == (pytest.approx(0.295), 1, True)


def layered(*layers: tuple[Any, Any]) -> LayeredPolicy:
    """Action 0 has the score 0, action 1 what the layers of (weight, bias) make of the command, with relu between."""
    weights, biases = ([np.array(part, dtype=np.float64) for part in parts] for parts in zip(*layers, strict=True))
    weights[-1], biases[-1] = np.vstack([0 * weights[-1], weights[-1]]), np.append(0.0, biases[-1])
    return LayeredPolicy(FoldedPolicy(tuple(weights), tuple(biases), ("relu",) * (len(layers) - 1)))


def question(policy: LayeredPolicy, command: Any, **changes: Any) -> Question:
    """In a space of width 1 around 0."""
    space = CommandSpace(np.full(len(command), -0.5), np.full(len(command), 0.5))
    return Question(policy, np.zeros(1), np.array(command), 1, (0, 1), space, **changes)


@pytest.mark.parametrize("width", [2, 100, 10_000])
def test_pads_cover_the_rounding_of_sums_of_any_length(width: int) -> None:
    """The classical bound: as many roundings as there are terms, each of the size of them all."""
    policy = layered((np.ones((width, 1)), np.zeros(width)), (np.ones((1, width)), [0.0]))
    network = margin_network(policy.folded, question(policy, (0.0,)))
    terms = width * 0.5  # the command is at most 0.5
    assert network.pads[-1][0] >= width * 2.0**-53 * terms


def test_a_single_command_is_no_range() -> None:
    flat = layered((np.zeros((1, 1)), [1.0]))
    fixed = question(flat, (0.25,), low=np.array([0.25]), high=np.array([0.25]))
    assert widen(QuestionBatch([fixed]), 0, fixed.command) is None
    free = question(flat, (0.25,))
    assert widen(QuestionBatch([free]), 0, free.command) is not None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_range_first_grows_to_where_margins_rise(sign: float) -> None:
    rising = MarginNetwork((np.array([[sign]]),), (np.zeros(1),), (), (np.zeros(1),))
    box = _Growth(rising, 0.05, np.array([-1.0]), np.array([1.0]), np.zeros(1)).from_corner(np.array([0.3 * sign]))
    assert sorted([*(sign * box.low), *(sign * box.high)]) == pytest.approx([0.3, 1.0])


def test_slices_beyond_the_first_that_fails_do_not_count() -> None:
    assert [_prefix(np.array(flags, dtype=bool)) for flags in ([], [0, 1], [1, 0, 1, 1], [1, 1])] == [0, 0, 1, 2]


def test_an_answer_that_wins_narrowly_gets_a_range_with_less_slack() -> None:
    """It has 0.00005 to spare, which is less than the usual slack of 0.0001."""
    rising = layered((np.ones((1, 1)), [0.0]))
    asked = question(rising, (0.0,), kappa=0.05)
    found = widen(QuestionBatch([asked]), 0, np.array([0.05 + 5e-5]))
    assert found is not None
    assert found.high == pytest.approx([0.5])


@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_a_cap_loses_none_of_its_own_poles(radius: float) -> None:
    """Half of the ball: it reaches the radius to one side, and to both sides along its edge."""
    low, high = _cap(np.array([[[1.0, 0.0]]]), np.zeros((1, 1)), radius)
    assert high[0, 0, 0] >= radius
    assert high[0, 0, 1] >= radius
    assert low[0, 0, 1] <= -radius
