"""Consequences: the map's own numbers where nothing is random, a plain loop where something is."""

import statistics
from typing import Any

import numpy as np
import pytest

import paretofoil as pf
from paretofoil import envs
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import plain
from paretofoil.explanation.attainable import consequence

RICH = np.array([100.0, -50.0])
POOR = np.array([1.0, -1.0])
PUBLISHED = [(1, -1), (2, -3), (3, -5), (5, -7), (8, -8), (16, -9)]
"""Concave Deep Sea Treasure: swim right so many times, then dive (front of MO-Gymnasium)."""


def diver(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Right while much treasure is asked for, else down (up, down, left, right)."""
    rich = np.asarray(commands)[:, 0] > 10
    return np.where(rich[:, None], [-9.0, 0.0, -9.0, 5.0], [-9.0, 5.0, -9.0, 0.0])


def ditherer(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Left, or right where left is a wall, for ever."""
    return np.tile([-9.0, -5.0, 5.0, 0.0], (len(commands), 1))


def sea(policy: Any) -> pf.Agent:
    entry = envs.entry("deep-sea-treasure")
    return pf.Agent("sea", policy, entry, CommandSpace([1, -50], [124, -1], entry.objectives), np.zeros((0, 2)))


@pytest.mark.parametrize("time", range(len(PUBLISHED)))
def test_diving_from_a_moment_gives_the_treasure_below_it_and_the_whole_way(time: int) -> None:
    agent = sea(diver)
    result = consequence(agent, pf.rollout(agent, RICH)[time], POOR)
    assert tuple(result.achieved) == PUBLISHED[time]
    assert result.steps == -PUBLISHED[time][1] - time
    assert (result.finished, result.repeats) == (1.0, 1)
    assert result.error.tolist() == [0.0, 0.0]


def test_the_original_command_leads_to_what_the_episode_achieved() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    episode = pf.rollout(agent, agent.front[0])
    for decision in episode:
        assert consequence(agent, decision, decision.command).achieved.tolist() == episode.achieved.tolist()


def test_a_run_that_the_step_limit_stops_has_not_finished() -> None:
    agent = sea(ditherer)
    result = consequence(agent, pf.rollout(agent, RICH)[0], POOR)
    assert result.finished == 0.0
    assert result.achieved.tolist() == [0.0, -200.0]


def plain_loop(agent: pf.Agent, decision: pf.Decision, command: np.ndarray, seed: int) -> tuple[list[float], int]:
    """One run, step by step: the whole return, and how many steps it took."""
    env = agent.batch_env()
    seen = env.restore(decision.snapshot, np.array([seed], dtype=np.uint64))
    observation, mask, remaining = seen.observations, seen.masks, np.array(command, dtype=np.float64)
    total, steps = decision.collected.copy(), 0
    while True:
        scores = agent.policy.log_probs(observation, remaining[None])[0]
        action = max(np.flatnonzero(mask[0]), key=lambda a: scores[a])
        step = env.step(np.array([0]), np.array([action]))
        total, remaining, steps = total + step.rewards[0], remaining - step.rewards[0], steps + 1
        if step.terminated[0] or step.truncated[0]:
            return total.tolist(), steps
        observation, mask = step.observations, step.masks


def test_means_and_standard_errors_are_those_of_a_plain_loop() -> None:
    agent = pf.load_agent("breakable-bottles")
    decision = pf.rollout(agent, agent.front[1])[3]
    result = consequence(agent, decision, decision.command, repeats=60, seed=5)
    seeds = np.random.default_rng(5).integers(2**63, size=60, dtype=np.uint64)
    runs = [plain_loop(agent, decision, decision.command, int(seed)) for seed in seeds]
    columns = list(zip(*(total for total, _ in runs), strict=True))
    assert len(set(columns[0])) > 1, "the runs must differ for their spread to say anything"
    assert result.repeats == 60
    assert result.achieved == pytest.approx([statistics.mean(column) for column in columns])
    assert result.error == pytest.approx([statistics.stdev(column) / 60**0.5 for column in columns])
    assert result.steps == pytest.approx(statistics.mean(steps for _, steps in runs))


def test_the_same_seed_gives_the_same_runs_and_another_gives_others() -> None:
    agent = pf.load_agent("breakable-bottles")
    decision = pf.rollout(agent, agent.front[1])[3]
    first, again, other = (consequence(agent, decision, decision.command, repeats=60, seed=s) for s in (1, 1, 2))
    assert plain(first) == plain(again)
    assert first.achieved.tolist() != other.achieved.tolist()


def test_a_decision_without_an_environment_has_no_consequence() -> None:
    agent = sea(diver)
    read = pf.Decision.from_json(pf.rollout(agent, RICH)[0].to_json())
    with pytest.raises(InvalidInput, match="expected a decision of a rollout"):
        consequence(agent, read, POOR)


def test_a_command_is_checked_as_that_of_a_rollout_is() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    listed = consequence(agent, decision, (8, -2.6))
    assert listed.achieved.tolist() == consequence(agent, decision, np.array([8, -2.6])).achieved.tolist()
    for command in [(8,), (8, float("nan")), "much"]:
        with pytest.raises(InvalidInput) as rolled:
            pf.rollout(agent, command)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput) as issued:
            consequence(agent, decision, command)  # type: ignore[arg-type]
        assert str(issued.value) == str(rolled.value)
