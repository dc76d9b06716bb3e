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


def rollout_from(agent: Agent, decision: Decision, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """What follows if the command is issued at a decision of a rollout: the rest of the episode, with its moments.

    Its decisions count time, and what was collected, from the start of the whole episode, whose return it tells.
    """
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision from a rollout (it carries the environment's state)", "one without")
    issued = as_vector(command, "the command", agent.space.size)
    seeds = np.full(1, seed, dtype=np.uint64)
    act, start = greedy(agent.policy), decision.snapshot
    episodes = run_episodes(agent.batch_env(), act, issued[None], seeds, snapshot=start, keep_snapshots=True)
    return _episode(episodes, 0, decision)


def _episode(episodes: Episodes, row: int, since: Decision | None = None) -> Episode:
    """One of the episodes; since a decision, if they did not begin at the start."""
    length, first = int(episodes.lengths[row]), 0 if since is None else since.time
    before = np.zeros(episodes.commands.shape[2]) if since is None else since.collected
    decisions = tuple(
        Decision(
            state=episodes.observations[row, t],
            command=episodes.commands[row, t],
            valid_actions=tuple(np.flatnonzero(episodes.masks[row, t]).tolist()),
            action=int(episodes.actions[row, t]),
            collected=before + episodes.commands[row, 0] - episodes.commands[row, t],
            time=first + t,
            snapshot=episodes.snapshots[row][t] if episodes.snapshots else None,
        )
        for t in range(length)
    )
    achieved = before[: episodes.rewards.shape[2]] + episodes.returns[row]
    return Episode(episodes.commands[row, 0], decisions, achieved, bool(episodes.terminated[row]))
