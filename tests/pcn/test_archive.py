"""Mean returns of plans in a stochastic environment, estimated by rollouts of a scripted environment."""

from typing import Any

import numpy as np
from test_replay import make_episodes

from paretofoil.envs.batch import ResetResult, StepResult
from paretofoil.pcn.archive import RELABELLED, Estimator
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.replay import Demonstration, Replay

ACTIONS = 9


class Scripted:
    """A batch in which row i receives the rewards of script i (modulo their number), whatever the actions are."""

    observation_size, num_actions, num_objectives, max_steps, stochastic = 2, ACTIONS, 2, ACTIONS, True
    action_space = bounds = None

    def __init__(self, *scripts: list[tuple[float, float]]) -> None:
        self.scripts = scripts

    def _observe(self, rows: np.ndarray) -> ResetResult:
        seen = np.stack([rows, self.elapsed[rows]], axis=1).astype(np.float32)
        return ResetResult(seen, np.ones((len(rows), ACTIONS), dtype=bool))

    def reset(self, seeds: np.ndarray) -> ResetResult:
        self.elapsed = np.zeros(len(seeds), dtype=int)
        return self._observe(np.arange(len(seeds)))

    def step(self, rows: np.ndarray, actions: np.ndarray) -> StepResult:
        scripts = [self.scripts[row % len(self.scripts)] for row in rows]
        rewards = np.array([script[self.elapsed[row]] for row, script in zip(rows, scripts, strict=True)], dtype=float)
        self.elapsed[rows] += 1
        ended = np.array([self.elapsed[row] == len(script) for row, script in zip(rows, scripts, strict=True)])
        return StepResult(*self._observe(rows), rewards, ended, np.zeros(len(rows), dtype=bool))


class Indifferent:
    """A policy that always takes action 0."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.tile(-np.arange(ACTIONS, dtype=float), (len(states), 1))


def estimator(*scripts: list[tuple[float, float]], **settings: Any) -> Estimator:
    config = TrainConfig(**{"rollouts": len(scripts), **settings})
    return Estimator(config, Scripted(*scripts), Indifferent(), np.random.default_rng(0))  # type: ignore[arg-type]


def demonstration(*label: float) -> Demonstration:
    empty = np.zeros((0, 2))
    return Demonstration(np.array(label), np.zeros(2), np.array([0]), empty, empty, empty, np.zeros(0))


def estimate(*scripts: list[tuple[float, float]], **settings: Any) -> Demonstration:
    """Estimate the label of the plan (0,) again, by rollouts with these rewards."""
    replay = Replay(10, [demonstration(0, 0)])
    steps = estimator(*scripts, **settings).refresh(replay, [0])
    assert steps == sum(map(len, scripts))
    [result] = replay.demonstrations
    return result


def test_the_label_is_the_mean_with_its_standard_error() -> None:
    result = estimate([(0, 1)], [(2, 1)], [(0, 1)], [(2, 1)])
    assert result.label.tolist() == [1.0, 1.0]
    assert result.error.tolist() == [0.5, 0.0]


def test_all_rollouts_count_for_the_mean_but_only_some_become_samples() -> None:
    result = estimate(*([(i, 1)] for i in range(2 * RELABELLED)))
    assert result.label[0] == RELABELLED - 0.5
    assert len(result.actions) == RELABELLED


def test_the_horizon_is_the_mean_length_of_the_rollouts() -> None:
    result = estimate([(1, 1)], [(0, 0), (0, 0), (1, 1)], horizon=True)
    assert result.command[2] == 2.0


def tried(
    labels: list[tuple[float, float]], *rewards: Any, before: Any = (), codes: Any = None, **settings: Any
) -> Any:
    """Return the plans that are rolled out for episodes with these rewards, if the replay has these labels."""
    replay = Replay(10, [demonstration(*label) for label in labels])
    replay.tried.update(before)
    codes = np.full((len(rewards), ACTIONS), -1) if codes is None else np.array([codes])
    estimator([(1, 1)], **settings).keep_expected(replay, make_episodes(*rewards), codes)
    return replay.tried - set(before)


def test_a_plan_is_tried_unless_a_mean_dominates_its_return() -> None:
    assert tried([(1, 1)], [(0, 0), (1, 1)]) == {(0, 1)}
    assert tried([(1, 1)], [(0, 0), (1, 0)]) == set()
    assert tried([(1, 1)], [(0, 0), (2, 0)]) == {(0, 1)}


def test_a_plan_is_tried_once_and_the_number_of_candidates_is_limited() -> None:
    long, short = [(0, 0), (1, 1)], [(1, 1)]
    assert tried([], long, short, short) == {(0,), (0, 1)}
    assert tried([], long, short, before=[(0,)]) == {(0, 1)}
    assert len(tried([], long, short, candidates=1)) == 1


def test_a_rare_return_is_among_the_candidates() -> None:
    """Nine plans with the return (1, 1), and one with (2, 2): two candidates include the latter."""
    common = [[(0, 0)] * steps + [(1, 1)] for steps in range(8)]
    rare = [(0, 0)] * 8 + [(2, 2)]
    assert tuple(range(9)) in tried([], *common, rare, candidates=2)


def test_a_plan_includes_its_unused_actions_up_to_the_first_free_one() -> None:
    codes = [7, 7, 3, 0, -1, 4]
    assert tried([], [(0, 0), (1, 0)], codes=codes) == {(0, 1, 3, 0)}


def test_the_unused_actions_of_a_truncated_episode_are_dropped() -> None:
    episodes = make_episodes([(0, 0), (1, 0)])
    episodes.terminated[:] = False
    replay = Replay(10)
    estimator([(1, 1)]).keep_expected(replay, episodes, np.array([[7, 7, 3, 0, -1, 4]]))
    assert replay.tried == {(0, 1)}
