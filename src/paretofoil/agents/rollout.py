"""Rollouts: an agent acts greedily under a command, and what it decided is kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.command import as_vector
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.core.whole_number import as_seed
from paretofoil.envs.episode import Episodes, greedy, run_episodes


def rollout(agent: Agent, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """The episode of the greedy policy under a command; `episode[6]` is its seventh decision."""
    return rollouts(agent, [command], seed=seed)[0]


def decision_in(agent: Agent, command: Sequence[float] | np.ndarray, step: int, *, seed: int = 0) -> Decision:
    """The decision at one moment of the episode under a command."""
    episode = rollout(agent, command, seed=seed)
    if not 0 <= step < len(episode):
        raise InvalidInput.expected(f"a step from 0 to {len(episode) - 1} of this episode", step)
    return episode[step]


def rollouts(agent: Agent, commands: Sequence[Any] | np.ndarray, *, seed: int = 0) -> list[Episode]:
    """One greedy episode for each command, all stepped together; each is the same as alone."""
    if not len(commands):
        return []
    checked = np.stack([as_command(agent, command) for command in commands])
    episodes = _run(agent, checked, seed)
    return [_episode(agent, episodes, row) for row in range(len(episodes))]


def rollout_from(agent: Agent, decision: Decision, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """What follows if the command is issued at a decision of a rollout: the rest of the episode, with its moments.

    Its decisions count time, and what was collected, from the start of the whole episode, whose return it tells.
    """
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision from a rollout (it carries the environment's state)", "one without")
    episodes = _run(agent, as_command(agent, command)[None], seed, decision.snapshot)
    return _episode(agent, episodes, 0, decision)


def as_command(agent: Agent, command: Any) -> np.ndarray:
    """A command that the agent's policy can be asked with, or an error that says what is wrong with it."""
    return agent.space.checked(as_vector(command, "the command", agent.space.dim), "the command")


def _run(agent: Agent, commands: np.ndarray, seed: int, snapshot: Any = None) -> Episodes:
    seeds, subtract = np.full(len(commands), as_seed(seed), dtype=np.uint64), not agent.space.simplex
    act = greedy(agent.policy)
    return run_episodes(
        agent.batch_env(), act, commands, seeds, snapshot=snapshot, keep_snapshots=True, subtract=subtract
    )


def _episode(agent: Agent, episodes: Episodes, row: int, since: Decision | None = None) -> Episode:
    """One of the episodes; since a decision, if they did not begin at the start."""
    length, first = int(episodes.lengths[row]), 0 if since is None else since.step
    before = np.zeros(episodes.commands.shape[2]) if since is None else since.collected
    commands, rewards = episodes.commands[row], episodes.rewards[row]
    # What was collected is what the command has lost; preferences lose nothing.
    collected = np.cumsum(rewards, axis=0) - rewards if agent.space.simplex else commands[0] - commands
    decisions = tuple(
        Decision(
            state=episodes.observations[row, t],
            command=commands[t],
            valid_actions=tuple(np.flatnonzero(episodes.masks[row, t]).tolist()),
            action=int(episodes.actions[row, t]),
            collected=before + collected[t],
            step=first + t,
            snapshot=episodes.snapshots[row][t] if episodes.snapshots else None,
        )
        for t in range(length)
    )
    achieved = before[: rewards.shape[1]] + episodes.returns[row]
    end = episodes.snapshots[row][length] if episodes.snapshots else None
    return Episode(commands[0], decisions, achieved, bool(episodes.terminated[row]), end)
