"""Fidelity: what greedy rollouts achieve when they are given a command."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.policy import Policy
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import greedy, run_episodes

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
