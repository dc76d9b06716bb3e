"""Commands, limits, policies, decisions and questions."""

from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy

from paretofoil.core.command import CommandSpace, Objective, length
from paretofoil.core.decision import Decision
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.policy import CallablePolicy, greedy_action, greedy_actions, probabilities, query
from paretofoil.core.program import ACTIVATIONS
from paretofoil.core.question import Question, QuestionBatch

# Commands


@pytest.mark.parametrize(("norm", "size"), [("l1", 7.0), ("l2", 5.0), ("linf", 4.0)])
def test_the_size_of_a_change_in_each_norm(norm: Any, size: float) -> None:
    assert length(np.array([3.0, -4.0]), norm) == size


def test_distances_are_shares_of_each_objectives_range() -> None:
    space = CommandSpace([0.0, 0.0, 5.0], [2.0, 0.5, 5.0])
    assert space.scale.tolist() == [2.0, 0.5, 1.0]  # no range to take a share of
    far = np.array([[1.0, 0.0, 5.0], [0.0, 0.5, 5.0], [0.0, 0.0, 5.0]])
    assert space.distance(far, np.array([0.0, 0.0, 5.0])).tolist() == [0.5, 1.0, 0.0]


def test_a_command_is_outside_above_and_below_the_box() -> None:
    space = CommandSpace([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    assert space.outside(np.array([-0.1, 0.5, 1.1])).tolist() == [True, False, True]


def test_what_no_episode_returns_is_cut_off_on_both_sides() -> None:
    cut = CommandSpace([-2.0], [12.0], [Objective("gold", natural_low=0.0, natural_high=10.0)]).possible()
    assert (cut.low.tolist(), cut.high.tolist()) == ([0.0], [10.0])


# Limits


def test_of_two_limits_of_queries_the_smaller_holds() -> None:
    pairs = [(5, 3), (3, 5), (None, 3), (3, None), (None, None)]
    assert [Limits(queries=one).fewer_queries(other) for one, other in pairs] == [3, 3, 3, 3, None]


def test_questions_that_are_searched_together_have_the_time_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretofoil.core.options.now", lambda: 100.0)
    assert [Limits(seconds=2.0).deadline(count) for count in (1, 3)] == [102.0, 106.0]
    assert NO_LIMITS.deadline(3) == np.inf


# Policies


def test_probabilities_of_the_valid_actions_add_up_whatever_the_size_of_the_scores() -> None:
    scores = np.array([1000.0, 1000.0, 2000.0, 1000.0 + np.log(2.0)])
    policy = LinearPolicy(np.zeros((4, 1)), np.zeros(4))
    assert probabilities(policy, scores, (0, 1, 3)) == pytest.approx([0.25, 0.25, 0.0, 0.5])


def test_the_greedy_action_is_the_first_of_equal_valid_actions() -> None:
    scores = np.array([1.0, 3.0, 3.0, 9.0])
    assert greedy_action(scores, (0, 1, 2)) == 1
    assert greedy_actions(scores[None], np.array([[True, True, True, False]])).tolist() == [1]


def test_a_query_leaves_the_arrays_of_the_caller_as_they_are() -> None:
    def scaling(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        commands *= 2.0
        return np.stack([commands[:, 0], -commands[:, 0]], axis=1)

    commands = np.ones((3, 1))
    assert query(CallablePolicy(scaling), np.zeros((3, 1)), commands).tolist() == [[2.0, -2.0]] * 3
    assert commands.tolist() == [[1.0]] * 3


def test_a_sigmoid_is_a_sigmoid() -> None:
    x = np.array([-1000.0, -2.0, 0.0, 0.5, 1000.0])
    assert ACTIVATIONS["sigmoid"](x) == pytest.approx([0.0, 1 / (1 + np.exp(2.0)), 0.5, 1 / (1 + np.exp(-0.5)), 1.0])


# Decisions and questions


def test_what_was_not_chosen_may_be_asked_about_and_what_is_asked_about_has_the_others_as_rivals() -> None:
    decision = Decision(np.zeros(1), np.zeros(1), (0, 2, 3), 2, np.zeros(1))
    assert decision.others == [0, 3]
    policy = LinearPolicy(np.zeros((4, 1)), np.zeros(4))
    question = Question(policy, decision.state, decision.command, 3, (0, 2, 3), CommandSpace([0.0], [1.0]))
    assert question.rivals == [0, 2]


def batch() -> QuestionBatch:
    """Two questions at commands of their own; the foil leads by the first number."""
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2))
    space = CommandSpace([0.0, 0.0], [2.0, 4.0])
    commands = np.array([[0.5, 1.0], [1.5, 1.0]])
    return QuestionBatch([Question(policy, np.zeros(1), command, 1, (0, 1), space) for command in commands])


def test_queries_are_counted_for_each_question_and_phase() -> None:
    asked, rows = batch(), np.array([0, 1, 1])
    for phase in ("first", "second", "second"):
        asked.margins(rows, np.zeros((3, 2)), phase)
    assert [dict(asked.queries(row)) for row in (0, 1)] == [{"first": 1, "second": 2}, {"first": 2, "second": 4}]


def test_a_region_and_a_change_are_seen_from_the_questions_own_command() -> None:
    asked = batch()
    assert asked.low.tolist() == [[-0.25, -0.25], [-0.75, -0.25]]
    assert asked.high.tolist() == [[0.75, 0.75], [0.25, 0.75]]
    assert asked.margins(np.array([0, 1]), np.array([[0.5, 0.0], [0.25, 0.0]]), "test").tolist() == [1.5, 2.0]
