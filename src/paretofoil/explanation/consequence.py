"""What follows: issue a command in the very state of a decision and roll on."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import as_command
from paretofoil.core.answer import Consequence
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.episode import Episodes, greedy, run_episodes

REPEATS = 200
"""Runs from a state in a stochastic environment."""
TOGETHER = 4096
"""Runs that are stepped together: hundreds of steps of so many fit into any memory."""


class Issued(NamedTuple):
    """A command that was issued in a state, and what became of it."""

    command: np.ndarray
    action: int
    """The first action under it."""
    consequence: Consequence
    lost: bool
    """Whether some run was given up on: the consequence is then that of a part of it."""


def consequence(
    agent: Agent,
    decision: Decision,
    command: Sequence[float] | np.ndarray,
    *,
    repeats: int = REPEATS,
    seed: int = 0,
) -> Consequence:
    """What the agent achieves if the command is issued there; repeated where the environment is stochastic."""
    [issued] = issue(agent, decision, as_command(agent, command)[None], repeats=repeats, seed=seed)
    return issued.consequence


def issue(
    agent: Agent,
    decision: Decision,
    commands: np.ndarray,
    *,
    repeats: int = REPEATS,
    seed: int = 0,
    lost: Callable[[np.ndarray], np.ndarray] | None = None,
) -> list[Issued]:
    """The same for many commands (N, d), all stepped together, with the same chance for each.

    `lost` says of what is left of commands (n, d) which of them are given up on.
    """
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision from a rollout (it carries the environment's state)", "one without")
    env = agent.batch_env()
    repeats = repeats if env.stochastic else 1
    seeds = np.random.default_rng(seed).integers(2**63, size=repeats, dtype=np.uint64)
    each, act, spent = max(1, TOGETHER // repeats), greedy(agent.policy), not agent.space.simplex
    issued: list[Issued] = []
    for start in range(0, len(commands), each):
        some = commands[start : start + each]
        runs = np.repeat(some, repeats, axis=0), np.tile(seeds, len(some))
        episodes = run_episodes(env, act, *runs, snapshot=decision.snapshot, subtract=spent, stop=lost)
        issued += _issued(decision, some, episodes)
    return issued


def _issued(decision: Decision, commands: np.ndarray, episodes: Episodes) -> list[Issued]:
    """What episodes gave, of which each command (N, d) has as many, one after the other."""
    count = len(commands)
    totals = decision.collected[: episodes.rewards.shape[2]] + episodes.returns
    totals = totals.reshape(count, -1, totals.shape[1])  # (N, repeats, d)
    repeats = totals.shape[1]
    spread = totals.std(axis=1, ddof=1) if repeats > 1 else np.zeros((count, totals.shape[2]))
    means, errors = totals.mean(axis=1), spread / np.sqrt(repeats)
    steps, finished = (column.reshape(count, -1).mean(axis=1) for column in (episodes.lengths, episodes.terminated))
    actions = episodes.actions[::repeats, 0]
    given_up = episodes.stopped
    lost = given_up.reshape(count, -1).max(axis=1)
    return [
        Issued(
            commands[i],
            int(actions[i]),
            Consequence(means[i], errors[i], float(steps[i]), float(finished[i]), repeats),
            bool(lost[i]),
        )
        for i in range(count)
    ]
