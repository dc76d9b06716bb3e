"""The one episode loop: training, rollouts, consequences and studies all step environments here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy, as_scores
from paretofoil.envs.batch import BatchEnv, Observed

DECIMALS = 9
"""Returns are rounded to so many decimals, so that equal returns that were added up differently are equal."""
Act = Callable[[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(time, rows (n,), observations (n, S), commands (n, c), masks (n, A)) -> actions (n,)."""


@dataclass(frozen=True, eq=False)
class Episodes:
    """Many episodes, column by column; what lies at or behind an episode's length is padding."""

    observations: np.ndarray  # (N, T, S) float32
    masks: np.ndarray  # (N, T, A) bool
    commands: np.ndarray  # (N, T, c): the command that was still to be collected before each step
    actions: np.ndarray  # (N, T) int
    rewards: np.ndarray  # (N, T, d)
    lengths: np.ndarray  # (N,) int
    terminated: np.ndarray  # (N,) bool: False for an episode that was stopped by the step limit
    snapshots: tuple[tuple[Any, ...], ...] | None = None
    """For each episode the environment's state before each step and behind the last, if it was asked for."""
    lost: np.ndarray | None = None
    """(N,) bool: the episodes that were given up on."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def returns(self) -> np.ndarray:
        """(N, d): padding rewards are zero."""
        return self.rewards.sum(axis=1)


def run_episodes(
    env: BatchEnv,
    act: Act,
    commands: np.ndarray,
    seeds: np.ndarray,
    *,
    snapshot: Any = None,
    keep_snapshots: bool = False,
    spent: bool = True,
    lost: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Episodes:
    """Run one episode per command (N, c), from the start or from a snapshot, until all have ended.

    After each step the reward is subtracted from the command, unless that is not spent, as preferences are; a component
    beyond the objectives is a horizon and counts down to 1. An episode is given up on as soon as `lost` says so of what
    is left of its command.
    """
    commands = np.array(commands, dtype=np.float64)
    num, objectives = len(commands), env.num_objectives
    seen: Observed = env.reset(seeds) if snapshot is None else env.restore(snapshot, seeds)
    observations, masks = seen.observations.copy(), seen.masks.copy()
    steps: list[tuple[np.ndarray, ...]] = []
    snapshots: list[list[Any]] = [[] for _ in range(num)]
    lengths, terminated = np.zeros(num, dtype=np.int64), np.zeros(num, dtype=bool)
    given_up = np.zeros(num, dtype=bool)
    rows = np.arange(num)
    while rows.size:
        if keep_snapshots:
            for row in rows:
                snapshots[row].append(env.snapshot(int(row)))
        chosen = act(len(steps), rows, observations[rows], commands[rows], masks[rows])
        step = env.step(rows, chosen)
        actions, rewards = np.zeros(num, dtype=np.int64), np.zeros((num, objectives))
        actions[rows], rewards[rows] = chosen, step.rewards
        steps.append((observations.copy(), masks.copy(), commands.copy(), actions, rewards))
        observations[rows], masks[rows] = step.observations, step.masks
        if spent:
            commands[:, :objectives] -= rewards
            commands[:, objectives:] = np.maximum(commands[:, objectives:] - 1.0, 1.0)
        lengths[rows] += 1
        terminated[rows] = step.terminated
        rows = rows[~(step.terminated | step.truncated)]
        if lost is not None:
            given_up[rows] = lost(commands[rows])
            rows = rows[~given_up[rows]]
    names = ("observations", "masks", "commands", "actions", "rewards")
    columns = {name: np.stack(column, axis=1) for name, column in zip(names, zip(*steps, strict=True), strict=True)}
    kept = tuple((*s, env.snapshot(row)) for row, s in enumerate(snapshots)) if keep_snapshots else None
    return Episodes(**columns, lengths=lengths, terminated=terminated, snapshots=kept, lost=given_up)


def greedy(policy: Policy) -> Act:
    """Act by the most probable valid action (the first one if several tie)."""

    def act(
        time: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        scores = as_scores(policy.log_probs(observations, commands), commands)
        if scores.shape != masks.shape:
            raise InvalidInput.expected(f"log-probabilities of {masks.shape[1]} actions", scores.shape[1])
        return np.where(masks, scores, -np.inf).argmax(axis=1)

    return act


EXACT = 1e-6
"""A return that differs from its command by no more than this in any objective reaches it."""
_SEEDS = 1_000_000
"""Rollouts of an evaluation have seeds from here on; training's repeated rollouts count from 0."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Commanded and achieved, command by command."""

    commands: np.ndarray  # (F, c)
    achieved: np.ndarray  # (F, d) mean returns
    error: np.ndarray  # (F, d) their standard errors; 0 in deterministic environments
    truncated: np.ndarray  # (F,) the share of rollouts that ran into the step limit

    def reached(self, command_error: np.ndarray | float = 0.0) -> np.ndarray:
        """(F,) bool: achieved equals commanded, exactly or within three standard errors of both."""
        gap = np.abs(self.achieved - self.commands[:, : self.achieved.shape[1]])
        return (gap <= EXACT + 3.0 * np.hypot(self.error, command_error)).all(axis=1)


def evaluate(env: BatchEnv, policy: Policy, commands: np.ndarray, rollouts: int = 200) -> Evaluation:
    """Roll the greedy policy out under each command (F, c): once, or repeatedly where chance plays a part."""
    repeats = rollouts if env.stochastic else 1
    seeds = np.tile(np.arange(repeats), len(commands)) + _SEEDS
    episodes = run_episodes(env, greedy(policy), commands.repeat(repeats, axis=0), seeds)
    returns = episodes.returns.reshape(len(commands), repeats, -1)
    return Evaluation(
        commands=commands,
        achieved=returns.mean(axis=1),
        error=returns.std(axis=1) / np.sqrt(repeats),
        truncated=1.0 - episodes.terminated.reshape(len(commands), repeats).mean(axis=1),
    )
