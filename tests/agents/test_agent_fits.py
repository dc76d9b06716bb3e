"""An agent whose parts do not fit together is refused when it is made, or when its policy is first asked."""

from typing import Any

import numpy as np
import pytest

import paretofoil as pf

SPACE = pf.CommandSpace([0, -20], [20, 0], ["treasure", "time"])


def agent(policy: Any = None, space: pf.CommandSpace = SPACE, **parts: Any) -> pf.Agent:
    front = parts.pop("front", np.zeros((0, space.dim)))
    return pf.Agent("mine", policy or (lambda s, c: np.zeros((len(s), 4))), "deep-sea-treasure", space, front, **parts)


def always(row: Any) -> Any:
    return lambda states, commands: np.tile(np.array(row, dtype=float), (len(states), 1))


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (always([0, 0, 1]), "log-probabilities of 4 actions, got 3"),
        (always([0, 0, 0, 0, 1]), "log-probabilities of 4 actions, got 5"),
        (lambda s, c: np.zeros(4), r"log-probabilities of shape \(1, actions\), got shape \(4,\)"),
        (always([0, np.nan, 0, 0]), r"NaN or infinity under the command \(8, -8\)"),
        (always([0, np.inf, 0, 0]), r"NaN or infinity under the command \(8, -8\)"),
    ],
    ids=["too few actions", "too many", "no rows", "NaN", "infinity"],
)
def test_a_policy_that_gives_no_score_for_each_action_is_refused(policy: Any, words: str) -> None:
    mine = agent(policy)
    with pytest.raises(pf.InvalidInput, match=words):
        pf.rollout(mine, [8, -8])
    with pytest.raises(pf.InvalidInput, match=words):
        mine.decision_at([0, 0], [8, -8])


def test_of_valid_actions_that_are_all_impossible_the_first_is_taken() -> None:
    for decision in pf.rollout(agent(always([-np.inf] * 4)), [8, -8]):
        assert decision.action == decision.valid_actions[0]


@pytest.mark.parametrize(
    "space",
    [
        pf.CommandSpace([0], [20], ["treasure"]),
        pf.CommandSpace([0] * 4, [20] * 4),
        pf.CommandSpace.preferences(list("abc")),
    ],
    ids=["too few", "too many", "preferences have no horizon"],
)
def test_commands_for_other_objectives_than_the_environments_are_refused(space: pf.CommandSpace) -> None:
    with pytest.raises(pf.InvalidInput, match=f"2 objectives of deep-sea-treasure.*, got {space.dim}: "):
        agent(space=space)


def test_one_number_more_is_a_horizon() -> None:
    assert agent(space=pf.CommandSpace([0, -20, 1], [20, 0, 50])).horizon


@pytest.mark.parametrize("name", ["achieved", "error"])
@pytest.mark.parametrize("measured", [np.zeros((3, 2)), np.zeros((1, 3)), [1.0], "none", [[1.0, np.nan]]], ids=str)
def test_measurements_that_do_not_fit_the_front_are_refused(name: str, measured: Any) -> None:
    with pytest.raises(pf.InvalidInput, match=rf"{name} for each point of the front \(1\) with 2 finite numbers"):
        agent(front=[[1, -1]], **{name: measured})


def test_lists_are_as_good_as_arrays() -> None:
    mine = agent(front=[[1, -1], [2, -3]], achieved=[[1, -1], [2, -4]], error=[[0, 0], [0, 0.1]])
    assert mine.reached().tolist() == [True, False]


def test_probabilities_and_act_query_the_policy_over_the_valid_actions() -> None:
    mine = agent(always(np.log([0.4, 0.1, 0.3, 0.2])))  # up, down, left, right; at the start up and left are invalid
    assert mine.probabilities([0, 0], [8, -8]) == pytest.approx([0, 1 / 3, 0, 2 / 3])
    assert mine.act([0, 0], [8, -8]) == 3
    decision = mine.decision_at([0, 0], [8, -8])
    assert (decision.action, decision.valid_actions) == (3, (1, 3))


def test_act_is_what_a_rollout_does() -> None:
    trained = pf.load_agent("deep-sea-treasure")
    for decision in pf.rollout(trained, [8, -8]):
        assert trained.act(decision.state, decision.command) == decision.action
        probabilities = trained.probabilities(decision.state, decision.command)
        assert probabilities.argmax() == decision.action
        assert probabilities.sum() == pytest.approx(1.0)
        assert set(probabilities.nonzero()[0]) <= set(decision.valid_actions)
