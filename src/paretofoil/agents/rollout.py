"""Rollouts: an agent acts greedily under a command, and what it decided is kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.command import as_vector
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.episode import Episodes, greedy, run_episodes


def rollout(agent: Agent, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """The episode of the greedy policy under a command; `episode[6]` is its seventh decision."""
    return rollouts(agent, [command], seed=seed)[0]


def decision_in(agent: Agent, command: Sequence[float] | np.ndarray, time: int, *, seed: int = 0) -> Decision:
    """The decision at one moment of the episode under a command."""
    episode = rollout(agent, command, seed=seed)
    if not 0 <= time < len(episode):
        raise InvalidInput.expected(f"a moment from 0 to {len(episode) - 1} of this episode", time)
    return episode[time]


def rollouts(agent: Agent, commands: Sequence[Any] | np.ndarray, *, seed: int = 0) -> list[Episode]:
    """One greedy episode for each command, all stepped together; each is the same as alone."""
    checked = np.stack([as_vector(command, "the command", agent.space.size) for command in commands])
    seeds = np.full(len(checked), seed, dtype=np.uint64)
    episodes = run_episodes(agent.batch_env(), greedy(agent.policy), checked, seeds, keep_snapshots=True)
    return [_episode(episodes, row) for row in range(len(episodes))]


def _episode(episodes: Episodes, row: int) -> Episode:
    length = int(episodes.lengths[row])
    decisions = tuple(
        Decision(
            state=episodes.observations[row, t],
            command=episodes.commands[row, t],
            valid_actions=tuple(np.flatnonzero(episodes.masks[row, t]).tolist()),
            action=int(episodes.actions[row, t]),
            collected=episodes.commands[row, 0] - episodes.commands[row, t],
            time=t,
            snapshot=episodes.snapshots[row][t] if episodes.snapshots else None,
        )
        for t in range(length)
    )
    return Episode(episodes.commands[row, 0], decisions, episodes.returns[row], bool(episodes.terminated[row]))
