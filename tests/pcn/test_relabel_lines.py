"""Lines that decide which episodes are learned from, and in which order, each with a case that fails without it."""

import numpy as np
from test_replay import kept, make_episodes

from paretofoil.pcn.archive import keep_realised
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.replay import Replay


def test_an_objective_in_which_all_returns_agree_does_not_count() -> None:
    replay = Replay(2)
    keep_realised(replay, make_episodes([(3, 1)], [(2, 1)], [(0, 1)]), TrainConfig())
    assert kept(replay) == {(3.0, 1.0), (2.0, 1.0)}


def test_the_first_sample_is_the_start_whatever_its_state_looks_like() -> None:
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


def test_returns_that_differ_by_the_rounding_of_their_sums_are_one() -> None:
    replay = Replay(10)
    keep_realised(replay, make_episodes([(0.1, 0), (0.2, 0)], [(0.3, 0)]), TrainConfig())
    assert kept(replay) == {(0.3, 0.0)}
    assert np.array(replay.demonstrations[0].plan).tolist() == [0]
