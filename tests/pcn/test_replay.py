"""The demonstrations that the replay keeps, and their commands."""

from typing import Any

import numpy as np
import pytest

from paretofoil.envs.episode import Episodes
from paretofoil.pcn.archive import keep_realised
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.replay import Demonstration, Ranking, Replay, erase_loops, relabel, trimmed_lengths


def make_episodes(*rewards: list[tuple[float, float]]) -> Episodes:
    """Episodes with these rewards; the observation of a step is (episode, time), the action is the time."""
    num, steps = len(rewards), max(map(len, rewards))
    padded = np.zeros((num, steps, 2))
    for row, given in enumerate(rewards):
        padded[row, : len(given)] = given
    times = np.tile(np.arange(steps), (num, 1))
    rows = np.repeat(np.arange(num)[:, None], steps, axis=1)
    return Episodes(
        observations=np.stack([rows, times], axis=2).astype(np.float32),
        masks=np.ones((num, steps, steps), dtype=bool),
        commands=np.zeros((num, steps, 2)),
        actions=times,
        rewards=padded,
        lengths=np.array([len(given) for given in rewards]),
        terminated=np.ones(num, dtype=bool),
        stopped=np.zeros(num, dtype=bool),
        end=np.zeros((num, 2), dtype=np.float32),
    )


def kept(replay: Replay) -> set[tuple[float, ...]]:
    return {tuple(d.label) for d in replay.demonstrations}


def test_reward_neutral_suffixes_are_trimmed():
    episodes = make_episodes([(1, 0), (0, 0), (0, 1), (0, 0), (0, 0)], [(0, 0), (0, 0)])
    assert trimmed_lengths(episodes).tolist() == [3, 0]
    replay = Replay(10)
    keep_realised(replay, episodes, TrainConfig())
    assert kept(replay) == {(1.0, 1.0)}
    assert replay.demonstrations[0].plan.tolist() == [0, 1, 2]


def test_trimming_can_be_switched_off():
    episodes = make_episodes([(1, 0), (0, 0), (0, 1), (0, 0), (0, 0)], [(0, 0), (0, 0)])
    replay = Replay(10)
    keep_realised(replay, episodes, TrainConfig(trim=False))
    assert [d.plan.tolist() for d in replay.demonstrations] == [[0, 1, 2, 3, 4]]


def test_without_shorter_first_the_newest_of_equal_returns_is_kept():
    replay = Replay(10, shorter_first=False)
    keep_realised(replay, make_episodes([(1, 1)], [(0, 0), (1, 1)]), TrainConfig())
    assert [len(d.plan) for d in replay.demonstrations] == [2]


def test_commands_are_what_is_still_to_be_collected():
    replay = Replay(10)
    keep_realised(replay, make_episodes([(1, 0), (0, -2), (3, 0)]), TrainConfig())
    assert replay.demonstrations[0].commands.tolist() == [[4, -2], [3, -2], [3, 0]]
    assert replay.demonstrations[0].command.tolist() == [4, -2]
    low, high = replay.extremes()
    assert (low.tolist(), high.tolist()) == ([3, -2], [4, 0])


def test_a_horizon_counts_the_steps_left():
    replay = Replay(10)
    keep_realised(replay, make_episodes([(1, 0), (0, -2), (3, 0)]), TrainConfig(horizon=True))
    assert replay.demonstrations[0].commands.tolist() == [[4, -2, 3], [3, -2, 2], [3, 0, 1]]
    assert replay.demonstrations[0].command.tolist() == [4, -2, 3]


def test_the_shorter_of_two_equal_returns_is_kept():
    replay = Replay(10)
    keep_realised(replay, make_episodes([(0, 0), (1, 1)], [(1, 1)], [(0, 0), (0, 0), (1, 1)]), TrainConfig())
    assert [len(d.plan) for d in replay.demonstrations] == [1]
    keep_realised(replay, make_episodes([(0, 0), (1, 1)]), TrainConfig())
    assert [len(d.plan) for d in replay.demonstrations] == [1]


def test_the_front_stays_when_the_replay_is_full():
    replay = Replay(4)
    keep_realised(
        replay, make_episodes(*([(x, y)] for x in range(1, 5) for y in range(1, 5) if x + y <= 5)), TrainConfig()
    )
    assert kept(replay) == {(1.0, 4.0), (2.0, 3.0), (3.0, 2.0), (4.0, 1.0)}
    assert len(replay.front) == 4


def test_an_episode_that_trainings_own_limit_cut_off_is_dropped():
    episodes = make_episodes([(0, -1), (0, -1)])
    episodes.terminated[:] = False
    for limit, size in ((None, 1), (2, 0)):
        replay = Replay(10)
        keep_realised(replay, episodes, TrainConfig(episode_steps=limit))
        assert len(replay) == size


def test_zero_reward_loops_are_erased():
    observations = np.array([[0], [1], [2], [1], [3], [0], [4]])
    rewards = np.zeros((7, 1))
    rewards[6] = 1
    actions = np.arange(7)
    assert erase_loops(observations, rewards, actions).tolist() == [5, 6]
    rewards[2] = 1  # now 0 -> ... -> 0 earns something, and so does 1 -> 2 -> 1
    assert erase_loops(observations, rewards, actions).tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_samples_of_several_rollouts_share_one_label():
    episodes = make_episodes([(0, 0), (1, 0)], [(0, 0), (0, 1)])
    label = np.array([0.5, 0.5])
    demonstration = relabel(episodes, np.arange(2), np.array([2, 2]), label, 0.1 * label, np.arange(2), horizon=None)
    assert (demonstration.commands == label).all()  # nothing was collected before the last step
    assert len(demonstration.actions) == 4
    twice = relabel(episodes, np.array([0, 0]), np.array([2, 2]), label, 0.1 * label, np.arange(2), horizon=None)
    assert len(twice.actions) == 2


def test_means_that_cannot_be_told_apart_are_one_point():
    def demonstration(label: list[float], error: float, length: int) -> Demonstration:
        empty = np.zeros((0, 2))
        return Demonstration(np.array(label), np.full(2, error), np.arange(length), empty, empty, empty, np.zeros(0))

    found = [
        demonstration([-0.10, 0.90], 0.010, 14),
        demonstration([-0.09, 0.91], 0.010, 16),  # the same, luckier and longer
        demonstration([-0.30, 0.70], 0.010, 12),  # clearly worse
        demonstration([0.00, 0.50], 0.000, 10),
    ]
    keep, new = Replay(10).choose(Ranking.of(found))
    assert (keep, new) == ([], [0, 2, 3])
    replay = Replay(10, [found[i] for i in new])
    assert replay.front == [0, 2]


def ranking(labels: Any, errors: float = 0.0, lengths: Any = None) -> Ranking:
    points = np.array(labels, dtype=np.float64)
    counts = np.ones(len(points), dtype=np.int64) if lengths is None else np.array(lengths)
    return Ranking(points, np.full(points.shape, errors), counts)


def chosen(labels: Any, capacity: int) -> list[int]:
    return Replay(capacity).choose(ranking(labels))[1]


def test_the_most_crowded_point_of_a_large_front_is_dropped() -> None:
    front = [(0, 10), (1, 9), (1.1, 8.9), (5, 5), (10, 0)]
    assert chosen(front, 4) == [0, 2, 3, 4]


def test_the_distance_of_crowded_dominated_points_is_doubled() -> None:
    points = [(10, 10), (8, 8), (7.9, 7.9), (7.8, 7.8), (7, 7), (0, 0)]
    assert chosen(points, 3) == [0, 1, 4]


def test_the_distance_to_the_front_counts_only_the_shortfall() -> None:
    """(4, 10) is 2 below (0, 12) in one objective and above it in the other; (10, 7) is 3 below (10, 10)."""
    points = [(10, 10), (0, 12), (4, 10), (10, 7), (0, 2)]
    assert chosen(points, 3) == [0, 1, 2]


def test_an_objective_in_which_all_returns_are_equal_is_ignored() -> None:
    assert chosen([(3, 1), (2, 1), (0, 1)], 2) == [0, 1]


@pytest.mark.parametrize("error", [0.0, 0.1])
def test_of_equal_labels_the_shortest_is_kept_then_the_newest(error: float) -> None:
    assert ranking([(1, 1), (1, 1), (1, 1)], error).unique().tolist() == [2]
    assert ranking([(1, 1), (1, 1), (1, 1)], error, [2, 1, 2]).unique().tolist() == [1]


@pytest.mark.parametrize(("errors_apart", "count"), [(2.0, 1), (4.0, 2)])
def test_means_within_three_standard_errors_are_equal(errors_apart: float, count: int) -> None:
    gap = errors_apart * np.hypot(0.1, 0.1)
    assert len(ranking([(0, 0), (gap, -gap)], 0.1).unique()) == count
    assert len(ranking([(0, 0), (gap, gap)], 0.1).best()) == 3 - count


def test_of_equal_means_that_with_the_smallest_error_is_kept() -> None:
    labels, errors = np.array([(0.0, 0.0), (0.01, 0.01)]), np.array([(0.1, 0.1), (0.4, 0.4)])
    assert Ranking(labels, errors, np.array([5, 1])).unique().tolist() == [0]


def test_a_horizon_is_at_least_one_step() -> None:
    episodes = make_episodes([(0, 0), (0, 0), (0, 0), (1, 1)])
    demonstration = relabel(episodes, np.array([0]), np.array([4]), np.ones(2), np.zeros(2), np.arange(4), horizon=2.5)
    assert demonstration.commands[:, 2].tolist() == [2.5, 1.5, 1.0, 1.0]


def test_samples_stay_in_the_order_of_the_episode() -> None:
    episodes = make_episodes([(1, 0), (0, -2), (3, 0)])
    episodes.observations[0, :, 1] = [2, 1, 0]
    replay = Replay(10)
    keep_realised(replay, episodes, TrainConfig())
    [only] = replay.demonstrations
    assert only.commands.tolist() == [[4, -2], [3, -2], [3, 0]]
    assert only.actions.tolist() == [0, 1, 2]


def test_an_episode_that_was_cut_off_after_its_last_reward_is_kept() -> None:
    episodes = make_episodes([(0, -1), (0, 0)])
    episodes.terminated[:] = False
    replay = Replay(10)
    keep_realised(replay, episodes, TrainConfig(episode_steps=2))
    assert kept(replay) == {(0.0, -1.0)}


def test_returns_that_differ_by_rounding_errors_are_equal() -> None:
    replay = Replay(10)
    keep_realised(replay, make_episodes([(0.1, 0), (0.2, 0)], [(0.3, 0)]), TrainConfig())
    assert kept(replay) == {(0.3, 0.0)}
    assert replay.demonstrations[0].plan.tolist() == [0]
