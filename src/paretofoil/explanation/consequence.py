"""What follows: issue a command in the very state of a decision and roll on."""

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.consequence import Consequence
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.episode import greedy, run_episodes

REPEATS = 200
"""Runs from a state in a stochastic environment."""


def consequence(
    agent: Agent, decision: Decision, command: np.ndarray, *, repeats: int = REPEATS, seed: int = 0
) -> Consequence:
    """What the agent achieves if the command is issued there; repeated where the environment is stochastic."""
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision from a rollout (it carries the environment's state)", "one without")
    env = agent.batch_env()
    repeats = repeats if env.stochastic else 1
    seeds = np.random.default_rng(seed).integers(2**63, size=repeats, dtype=np.uint64)
    commands = np.repeat(command[None], repeats, axis=0)
    episodes = run_episodes(env, greedy(agent.policy), commands, seeds, snapshot=decision.snapshot)
    totals = decision.collected[: env.num_objectives] + episodes.returns  # (repeats, d)
    spread = totals.std(axis=0, ddof=1) if repeats > 1 else np.zeros(totals.shape[1])
    return Consequence(
        achieved=totals.mean(axis=0),
        error=spread / np.sqrt(repeats),
        steps=float(episodes.lengths.mean()),
        finished=float(episodes.terminated.mean()),
        repeats=repeats,
    )
