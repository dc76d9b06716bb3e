"""The episode loop of training, rollouts, consequences and studies."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.amounts import Actor, query_amounts
from paretofoil.core.answer import DELIVERED
from paretofoil.core.policy import Policy, greedy_actions, query
from paretofoil.envs.batch import BatchEnv, ResetResult

DECIMALS = 9
"""Returns are rounded to this many decimals, so that sums of the same rewards in different orders are equal."""
Act = Callable[[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(step, rows (n,), observations (n, S), commands (n, c), masks (n, A)) -> actions (n,), or (n, dimensions)."""
EXACT = 1e-6
"""A return reaches its command if it differs by at most this in every objective. If returns are real numbers, it may
differ by the share DELIVERED of the range of commands."""
_EVALUATION_SEEDS = 1_000_000
"""The first seed of an evaluation; the rollouts of training use smaller seeds."""


@dataclass(frozen=True, eq=False)
class Episodes:
    """N episodes of at most T steps. Entries after the end of an episode are padding."""

    observations: np.ndarray  # (N, T, S) float32
    masks: np.ndarray  # (N, T, A) bool
    commands: np.ndarray  # (N, T, c): the remaining command before each step
    actions: np.ndarray  # (N, T) int, or (N, T, dimensions) for continuous actions
    rewards: np.ndarray  # (N, T, d)
    lengths: np.ndarray  # (N,) int
    terminated: np.ndarray  # (N,) bool: False if the step limit ended the episode
    stopped: np.ndarray  # (N,) bool: True if `stop` ended the episode
    end: np.ndarray  # (N, S) float32: the observation after the last step
    snapshots: tuple[tuple[Any, ...], ...] | None = None
    """For each episode, the environment's state before each step and after the last, if they were kept."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def returns(self) -> np.ndarray:
        """The sum of the rewards of each episode: (N, d)."""
        return self.rewards.sum(axis=1)  # padding rewards are zero


def run_episodes(
    env: BatchEnv,
    act: Act,
    commands: np.ndarray,
    seeds: np.ndarray,
    *,
    snapshot: Any = None,
    keep_snapshots: bool = False,
    subtract: bool = True,
    stop: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Episodes:
    """Run one episode per command (N, c) until all have ended.

    Args:
        env: the environment.
        act: chooses the actions.
        commands: one row per episode. A component after the objectives is a horizon, which counts down to 1.
        seeds: one seed per episode.
        snapshot: the state in which the episodes start; the environment's own start if None.
        keep_snapshots: whether to keep the environment's state at each step.
        subtract: whether to subtract each reward from the command. Preferences are not reduced by rewards.
        stop: remaining commands (n, c) -> (n,) bool. An episode ends early where it is True.
    """
    commands = np.array(commands, dtype=np.float64)
    num, objectives = len(commands), env.num_objectives
    start: ResetResult = env.reset(seeds) if snapshot is None else env.restore(snapshot, seeds)
    observations, masks = start.observations.copy(), start.masks.copy()
    steps: list[tuple[np.ndarray, ...]] = []
    snapshots: list[list[Any]] = [[] for _ in range(num)]
    lengths, terminated = np.zeros(num, dtype=np.int64), np.zeros(num, dtype=bool)
    stopped = np.zeros(num, dtype=bool)
    rows = np.arange(num)
    while rows.size:
        if keep_snapshots:
            for row in rows:
                snapshots[row].append(env.snapshot(int(row)))
        chosen = act(len(steps), rows, observations[rows], commands[rows], masks[rows])
        if env.bounds is not None:
            chosen = np.clip(chosen, *env.bounds(observations[rows]))
        step = env.step(rows, chosen)
        actions, rewards = np.zeros((num, *chosen.shape[1:]), dtype=chosen.dtype), np.zeros((num, objectives))
        actions[rows], rewards[rows] = chosen, step.rewards
        steps.append((observations.copy(), masks.copy(), commands.copy(), actions, rewards))
        observations[rows], masks[rows] = step.observations, step.masks
        if subtract:
            commands[:, :objectives] -= rewards
            commands[:, objectives:] = np.maximum(commands[:, objectives:] - 1.0, 1.0)
        lengths[rows] += 1
        terminated[rows] = step.terminated
        rows = rows[~(step.terminated | step.truncated)]
        if stop is not None:
            stopped[rows] = stop(commands[rows])
            rows = rows[~stopped[rows]]
    names = ("observations", "masks", "commands", "actions", "rewards")
    columns = {name: np.stack(column, axis=1) for name, column in zip(names, zip(*steps, strict=True), strict=True)}
    kept = tuple((*s, env.snapshot(row)) for row, s in enumerate(snapshots)) if keep_snapshots else None
    ends = {"lengths": lengths, "terminated": terminated, "stopped": stopped, "end": observations}
    return Episodes(**columns, **ends, snapshots=kept)


def greedy(policy: Policy | Actor) -> Act:
    """Return a function that chooses the most probable valid action (in a tie, the first), or an actor's amounts."""

    def act(
        step: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        if isinstance(policy, Actor):
            return policy.actions.clip(query_amounts(policy, observations, commands))
        return greedy_actions(query(policy, observations, commands), masks)

    return act


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The commands of rollouts, and the returns that these achieved."""

    commands: np.ndarray  # (F, c)
    achieved: np.ndarray  # (F, d) mean returns
    error: np.ndarray  # (F, d) their standard errors; 0 in deterministic environments
    truncated: np.ndarray  # (F,) the share of rollouts that the step limit ended
    steps: int = 0  # of all rollouts

    def reached(self, command_error: np.ndarray | float = 0.0, tolerance: np.ndarray | float = EXACT) -> np.ndarray:
        """Return (F,) bool: whether the achieved return is the command, within three standard errors of both."""
        return is_reached(self.commands, self.achieved, np.hypot(self.error, command_error), tolerance)


def is_reached(
    commands: np.ndarray, achieved: np.ndarray, error: np.ndarray | float, tolerance: np.ndarray | float
) -> np.ndarray:
    """Return (F,) bool: whether achieved returns (F, d) are the commands (F, c), within three standard errors."""
    return (np.abs(achieved - commands[:, : achieved.shape[1]]) <= tolerance + 3.0 * error).all(axis=1)


def tolerance_of(env: BatchEnv, low: np.ndarray, high: np.ndarray) -> np.ndarray | float:
    """Return the largest difference between a return and a command that it reaches; commands lie in low, high (c,)."""
    return DELIVERED * (high - low)[: env.num_objectives] if env.real_returns else EXACT


def evaluate(env: BatchEnv, policy: Policy | Actor, commands: np.ndarray, rollouts: int = 200) -> Evaluation:
    """Roll out the greedy policy under each command (F, c): once, or `rollouts` times in a stochastic environment."""
    repeats = rollouts if env.stochastic else 1
    seeds = np.tile(np.arange(repeats), len(commands)) + _EVALUATION_SEEDS
    episodes = run_episodes(env, greedy(policy), commands.repeat(repeats, axis=0), seeds)
    returns = episodes.returns.reshape(len(commands), repeats, -1)
    return Evaluation(
        commands=commands,
        achieved=returns.mean(axis=1),
        error=returns.std(axis=1) / np.sqrt(repeats),
        truncated=1.0 - episodes.terminated.reshape(len(commands), repeats).mean(axis=1),
        steps=int(episodes.lengths.sum()),
    )
