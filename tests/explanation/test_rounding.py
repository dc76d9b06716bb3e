"""Short numbers: inside the region, the same way, hardly farther, and the foil still wins."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.command import CommandSpace
from paretofoil.core.policy import CallablePolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.ask import ask
from paretofoil.explanation.verify import _round_each, first_that_flips, round_command
from paretofoil.search import Boundary


def line(threshold: float) -> LinearPolicy:
    """The foil, action 1, wins where the first number is above the threshold."""
    return LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.0, -threshold]))


def question(policy: Any, command: Any = (0.5, 0.5), space: CommandSpace | None = None, **changes: Any) -> Question:
    """The foil need only win: by how much is a matter of one test."""
    box = space or CommandSpace([0.0, 0.0], [1.0, 1.0])
    wanted = {"kappa": 0.0} | changes
    return Question(policy, np.zeros(1), np.array(command, dtype=np.float64), 1, (0, 1), box, **wanted)


def rounded(asked: Question, command: Any) -> list[float]:
    valid = partial(first_that_flips, QuestionBatch([asked]), 0)
    return round_command(asked, np.array(command, dtype=np.float64), valid).tolist()


@pytest.mark.parametrize("scale", [(1.0, 1.0), (3.0, 0.7), (39.0, 123.0)])
@pytest.mark.parametrize("seed", [0, 2, 5, 6, 8, 9, 11, 17, 20, 23])  # each has a counterfactual
def test_a_rounded_command_is_inside_the_same_way_hardly_farther_and_flips(
    seed: int, scale: tuple[float, float]
) -> None:
    base = random_pcn(seed % 3)
    policy = CallablePolicy(lambda states, commands: base.log_probs(states, commands / scale))
    unit = random_question(base, seed)
    space = CommandSpace([0.0, 0.0], scale)
    asked = Question(policy, unit.state, unit.command * scale, unit.foil, unit.valid_actions, space)
    batch = QuestionBatch([asked])
    [finding] = Boundary(max_queries=600).run(batch)
    assert finding.scaled_change is not None
    command = np.clip(asked.command + finding.scaled_change * space.scale, asked.low, asked.high)
    told = round_command(batch.questions[0], command, partial(first_that_flips, batch, 0))
    assert (told >= asked.low).all()
    assert (told <= asked.high).all()
    assert ((told - asked.command) * (command - asked.command) >= 0).all()
    assert space.distance(told, asked.command) <= 1.1 * space.distance(command, asked.command) + 1e-12
    assert policy.log_probs(asked.state[None], told[None])[0].argmax() == asked.foil


def test_the_shortest_numbers_that_flip_are_told() -> None:
    assert rounded(question(line(0.78)), [0.7934, 0.5]) == [0.8, 0.5]
    assert rounded(question(line(0.792)), [0.79213, 0.5]) == [0.8, 0.5]


def test_numbers_under_which_the_foil_wins_by_less_than_kappa_are_not_told() -> None:
    assert rounded(question(line(0.762), kappa=0.05), [0.8134, 0.5]) == [0.82, 0.5]


def test_a_rounded_command_that_the_policy_refuses_alone_is_not_told() -> None:
    class Unsteady:
        """Promises rows that do not depend on the batch, and breaks the promise at the rounded command."""

        exact_rows = True

        def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
            scores = line(0.78).log_probs(states, commands)
            return -scores if len(commands) == 1 and commands[0, 0] == 0.8 else scores

    [steady] = ask([question(line(0.78))], Boundary(max_queries=300))
    [refused] = ask([question(Unsteady())], Boundary(max_queries=300))
    assert steady.command.tolist() == [0.8, 0.5]
    assert refused.command.tolist() == refused.closest.command.tolist() != [0.8, 0.5]


def test_where_kappa_is_zero_a_draw_is_not_told() -> None:
    halves = question(line(0.75), command=(0.5, 0.5))
    assert rounded(halves, [0.7512, 0.5]) == [0.76, 0.5]  # 0.75 is nearer, and as good for both actions


def test_numbers_are_rounded_away_from_where_the_foil_loses() -> None:
    down = LinearPolicy(np.array([[0.0, 0.0], [-1.0, 0.0]]), np.array([0.0, 0.238]))  # wins below 0.238
    assert rounded(question(down), [0.2379, 0.5]) == [0.23, 0.5]


def test_a_number_that_would_be_much_farther_is_not_told() -> None:
    assert rounded(question(line(0.5)), [0.5512, 0.5]) == [0.55, 0.5]  # 0.6 is short, but twice as far


def test_a_number_outside_the_region_is_not_told() -> None:
    asked = question(line(0.728), high=np.array([0.7304, 1.0]))
    assert rounded(asked, [0.7302, 0.5]) == [0.73, 0.5]
    narrow = question(line(0.73), high=np.array([0.7304, 1.0]))
    assert rounded(narrow, [0.7302, 0.5]) == [0.7302, 0.5]


def test_a_wish_for_a_little_more_is_not_told_as_one_for_less() -> None:
    asked = question(line(0.78), command=(0.5, 0.53))
    assert rounded(asked, [0.7934, 0.54]) == [0.8, 0.6]  # 0.5 is nearer to 0.54, but below what was asked for


def test_what_did_not_change_keeps_all_its_digits() -> None:
    assert rounded(question(line(0.78), command=(0.5, 0.123456789)), [0.7934, 0.123456789])[1] == 0.123456789


def test_a_number_that_is_rounded_back_has_not_changed() -> None:
    almost = 0.5399999999999999  # 0.54, but for its last bits
    asked = question(line(0.78), command=(0.5, almost), high=np.array([1.0, 0.545]))
    assert rounded(asked, [0.7934, 0.5402]) == [0.79, almost]


def test_resolution_follows_the_range_of_each_objective() -> None:
    wide = CommandSpace([0.0, 0.0], [700.0, 0.03])
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 10000.0]]), np.array([0.0, -600.0]))
    told = rounded(question(policy, command=(350.0, 0.015), space=wide), [444.4, 0.01666])
    assert told == [440.0, 0.017]


def test_where_nothing_rounded_flips_the_command_itself_is_told() -> None:
    exact = 0.7 + np.pi * 1e-8

    def needle(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        hit = np.abs(np.asarray(commands)[:, 0] - exact) < 1e-12
        return np.stack([np.zeros(len(hit)), np.where(hit, 1.0, -1.0)], axis=1)

    assert rounded(question(CallablePolicy(needle)), [exact, 0.5]) == [exact, 0.5]


def test_of_many_objectives_only_those_that_lie_most_between_two_numbers_are_rounded_both_ways():
    command = np.array([0.01, *np.linspace(0.3, 0.7, 10), 0.99])
    ways = _round_each(command, np.arange(12), np.zeros(12, dtype=int))
    assert len(ways) == len(np.unique(ways, axis=0)) == 2**10
    assert (set(ways[:, 0]), set(ways[:, 5]), set(ways[:, 11])) == ({0.0}, {0.0, 1.0}, {1.0})
