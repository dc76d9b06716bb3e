"""What an agent achieves from a decision on, under one command or another."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from paretofoil.decision import Decision
from paretofoil.episode import greedy, run_episodes
from paretofoil.errors import InvalidInput

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent


@dataclass(frozen=True, eq=False)
class Outlook:
    """What an agent achieves from a decision on, under one command; means over the repeats."""

    achieved: np.ndarray
    """The return of the whole episode: what had been collected before, and what came after."""
    error: np.ndarray
    """The standard error of each mean; 0 in deterministic environments."""
    steps: float
    """How many further steps the episode took."""
    finished: float
    """The share of repeats that ended by themselves, not by the step limit."""
    repeats: int


@dataclass(frozen=True, eq=False)
class Consequence:
    """What the counterfactual command would have led to, beside what the original command led to."""

    original: Outlook
    counterfactual: Outlook


def consequence(
    agent: "Agent", decision: Decision, command: np.ndarray, *, repeats: int = 200, seed: int = 0
) -> Consequence:
    """Issue the command in that very state and roll on; repeated where the environment is stochastic."""
    return Consequence(
        _outlook(agent, decision, decision.command, repeats, seed), _outlook(agent, decision, command, repeats, seed)
    )


def _outlook(agent: "Agent", decision: Decision, command: np.ndarray, repeats: int, seed: int) -> Outlook:
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision from a rollout (it carries the environment's state)", "one without")
    env = agent.batch_env()
    repeats = repeats if env.stochastic else 1
    seeds = np.random.default_rng(seed).integers(2**63, size=repeats, dtype=np.uint64)
    commands = np.repeat(command[None], repeats, axis=0)
    episodes = run_episodes(env, greedy(agent.policy), commands, seeds, snapshot=decision.snapshot)
    totals = decision.collected[: env.num_objectives] + episodes.returns  # (repeats, d)
    spread = totals.std(axis=0, ddof=1) if repeats > 1 else np.zeros(totals.shape[1])
    return Outlook(
        achieved=totals.mean(axis=0),
        error=spread / np.sqrt(repeats),
        steps=float(episodes.lengths.mean()),
        finished=float(episodes.terminated.mean()),
        repeats=repeats,
    )
