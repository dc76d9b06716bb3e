"""Lines that decide what the replay keeps, each with a case that fails without it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_replay import make_episodes

from paretofoil.pcn import archive
from paretofoil.pcn.archive import RELABELLED, _in_turn, _plan, keep_expected
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.replay import Demonstration, Ranking, Replay, relabel


def ranking(labels: Any, errors: float = 0.0, lengths: Any = None) -> Ranking:
    points = np.array(labels, dtype=np.float64)
    counted = np.ones(len(points), dtype=np.int64) if lengths is None else np.array(lengths)
    return Ranking(points, np.full(points.shape, errors), counted)


def chosen(labels: Any, capacity: int) -> list[int]:
    return Replay(capacity).choose(ranking(labels))[1]


def demonstration(label: Any, plan: Any = (0,)) -> Demonstration:
    empty = np.zeros((0, 2))
    return Demonstration(np.array(label, float), np.zeros(2), np.array(plan), empty, empty, empty, np.zeros(0))


# What is kept


def test_of_a_front_that_is_too_large_the_most_crowded_point_goes() -> None:
    front = [(0, 10), (1, 9), (1.1, 8.9), (5, 5), (10, 0)]
    assert chosen(front, 4) == [0, 2, 3, 4]


def test_dominated_points_in_a_crowd_count_as_twice_as_far() -> None:
    points = [(10, 10), (8, 8), (7.9, 7.9), (7.8, 7.8), (7, 7), (0, 0)]
    assert chosen(points, 3) == [0, 1, 4]


def test_the_distance_to_the_front_counts_only_what_is_missing() -> None:
    """(4, 10) lacks 2 of (0, 12), of which it has more of the other objective; (10, 7) lacks 3 of (10, 10)."""
    points = [(10, 10), (0, 12), (4, 10), (10, 7), (0, 2)]
    assert chosen(points, 3) == [0, 1, 2]


@pytest.mark.parametrize("error", [0.0, 0.1])
def test_of_equals_the_shortest_is_kept_and_then_the_newest(error: float) -> None:
    assert ranking([(1, 1), (1, 1), (1, 1)], error).unique().tolist() == [2]
    assert ranking([(1, 1), (1, 1), (1, 1)], error, [2, 1, 2]).unique().tolist() == [1]


@pytest.mark.parametrize(("apart", "kept"), [(2.0, 1), (4.0, 2)])
def test_means_within_three_standard_errors_are_equal(apart: float, kept: int) -> None:
    step = apart * np.hypot(0.1, 0.1)
    assert len(ranking([(0, 0), (step, -step)], 0.1).unique()) == kept
    assert len(ranking([(0, 0), (step, step)], 0.1).best()) == 3 - kept


def test_of_means_that_are_equal_the_surest_is_kept() -> None:
    labels, errors = np.array([(0.0, 0.0), (0.01, 0.01)]), np.array([(0.1, 0.1), (0.4, 0.4)])
    assert Ranking(labels, errors, np.array([5, 1])).unique().tolist() == [0]


# Commands


def test_a_horizon_never_falls_below_one_step() -> None:
    episodes = make_episodes([(0, 0), (0, 0), (0, 0), (1, 1)])
    made = relabel(episodes, np.array([0]), np.array([4]), np.ones(2), np.zeros(2), np.arange(4), horizon=2.5)
    assert made.commands[:, 2].tolist() == [2.5, 1.5, 1.0, 1.0]


# Means over rollouts


@pytest.fixture
def rolled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Estimates a plan by rollouts that are given: their rewards in one step, for each repeat."""

    def estimate(*rewards: tuple[float, float], **settings: Any) -> list[Demonstration]:
        episodes = make_episodes(*([reward] for reward in rewards))
        monkeypatch.setattr(archive, "run_episodes", lambda *_: episodes)
        env = SimpleNamespace(num_objectives=2, num_actions=1)
        config, rng = TrainConfig(**settings), np.random.default_rng(0)
        return archive._estimate({(0,): np.zeros(2)}, len(rewards), config, env, None, rng)[0]  # type: ignore[arg-type]

    return estimate


def test_the_standard_error_of_a_mean_falls_with_the_root_of_the_rollouts(rolled: Any) -> None:
    [found] = rolled((0, 1), (2, 1), (0, 1), (2, 1))
    assert found.label.tolist() == [1.0, 1.0]
    assert found.error.tolist() == [0.5, 0.0]


def test_only_some_rollouts_become_samples_but_all_count_for_the_mean(rolled: Any) -> None:
    [found] = rolled(*((i, 1) for i in range(2 * RELABELLED)))
    assert found.label[0] == RELABELLED - 0.5
    assert len(found.actions) == RELABELLED


def test_a_horizon_is_the_mean_length_of_the_rollouts(rolled: Any) -> None:
    assert rolled((1, 1), (2, 1), horizon=True)[0].commands[:, 2].tolist() == [1.0, 1.0]


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plans that are rolled out for episodes with these rewards, if these labels are known."""

    def plans(known: list[tuple[float, float]], *rewards: Any, tried: Any = (), **settings: Any) -> list[Any]:
        asked: list[Any] = []
        monkeypatch.setattr(archive, "_estimate", lambda plans, *_: (asked.extend(plans), ([], 0))[1])
        monkeypatch.setattr(archive, "refresh", lambda *_: 0)
        replay = Replay(10, [demonstration(label) for label in known])
        replay.tried.update(tried)
        episodes = make_episodes(*rewards)
        codes, rng = np.full((len(rewards), 9), -1), np.random.default_rng(0)
        keep_expected(replay, episodes, codes, TrainConfig(**settings), None, None, rng)  # type: ignore[arg-type]
        return sorted(asked)

    return plans


def test_a_return_that_equals_a_mean_is_not_beaten_by_it(estimated: Any) -> None:
    assert estimated([(1, 1)], [(0, 0), (1, 1)]) == [(0, 1)]
    assert estimated([(1, 1)], [(0, 0), (1, 0)]) == []
    assert estimated([(1, 1)], [(0, 0), (2, 0)]) == [(0, 1)]


def test_no_plan_is_rolled_out_twice_and_no_more_than_there_are_candidates(estimated: Any) -> None:
    long, short = [(0, 0), (1, 1)], [(1, 1)]
    assert estimated([], long, short, short) == [(0,), (0, 1)]
    assert estimated([], long, short, tried=[(0,)]) == [(0, 1)]
    assert len(estimated([], long, short, candidates=1)) == 1


def test_different_returns_take_turns() -> None:
    returns = np.array([(1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (2.0, 0.0)])
    assert _in_turn(np.arange(4), returns).tolist() == [0, 3, 1, 2]


def test_a_plan_goes_on_with_what_was_held_in_store_up_to_the_first_free_action() -> None:
    episodes = make_episodes([(0, 0), (1, 0)])
    codes = np.array([7, 7, 3, 0, -1, 4])
    assert _plan(episodes, 0, 2, codes) == (0, 1, 3, 0)
    episodes.terminated[:] = False
    assert _plan(episodes, 0, 2, codes) == (0, 1)
