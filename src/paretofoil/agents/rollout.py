"""Rollouts: episodes of the greedy policy under a command."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.command import as_vector
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput, as_seed
from paretofoil.envs.episode import Episodes, greedy, run_episodes


def rollout(agent: Agent, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """Return the episode of the greedy policy under a command; `episode[6]` is its seventh decision."""
    return rollouts(agent, [command], seed=seed)[0]


def decision_in(agent: Agent, command: Sequence[float] | np.ndarray, step: int, *, seed: int = 0) -> Decision:
    """Return the decision at one step of the episode under a command."""
    episode = rollout(agent, command, seed=seed)
    if not 0 <= step < len(episode):
        raise InvalidInput.expected(f"a step from 0 to {len(episode) - 1} of this episode", step)
    return episode[step]


def rollouts(agent: Agent, commands: Sequence[Any] | np.ndarray, *, seed: int = 0) -> list[Episode]:
    """Return one greedy episode per command. They are stepped together; each is the same as alone."""
    if not len(commands):
        return []
    episodes = _run(agent, np.stack([as_command(agent, command) for command in commands]), seed)
    return [_episode(agent, episodes, row) for row in range(len(episodes))]


def rollout_from(agent: Agent, decision: Decision, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """Return the rest of the episode if a command is issued at a decision of a rollout.

    Its steps, collected rewards and return are counted from the start of the whole episode.
    """
    if decision.snapshot is None:
        raise InvalidInput.expected(
            "a decision of a rollout, with the state of its environment", "a decision without it"
        )
    episodes = _run(agent, as_command(agent, command)[None], seed, decision.snapshot)
    return _episode(agent, episodes, 0, decision)


def as_command(agent: Agent, command: Any) -> np.ndarray:
    """Return the command as an array, or raise an error if the agent cannot be given it."""
    return agent.space.checked(as_vector(command, "the command", agent.space.dim), "the command")


def _run(agent: Agent, commands: np.ndarray, seed: int, snapshot: Any = None) -> Episodes:
    return run_episodes(
        agent.batch_env(),
        greedy(agent.policy),
        commands,
        np.full(len(commands), as_seed(seed), dtype=np.uint64),
        snapshot=snapshot,
        keep_snapshots=True,
        subtract=not agent.space.simplex,
    )


def _episode(agent: Agent, episodes: Episodes, row: int, since: Decision | None = None) -> Episode:
    """Return one of the episodes; `since` is the decision at which they began, if it was not the start."""
    length, first = int(episodes.lengths[row]), 0 if since is None else since.step
    before = np.zeros(episodes.commands.shape[2]) if since is None else since.collected
    commands, rewards = episodes.commands[row], episodes.rewards[row]
    # The collected return is the decrease of the command; preferences do not decrease.
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
