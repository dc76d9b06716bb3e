"""Exploration with continuous actions: a plan fixes the amounts of some steps; the policy chooses the rest."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.envs.episode import Act
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import new_commands
from paretofoil.pcn.policy import PCNActor
from paretofoil.pcn.replay import Replay

SPREAD = 0.15
"""The largest standard deviation of the random amounts of an episode, as a share of the action's range."""
NOISE = 0.03
"""The standard deviation of noise on the policy's amounts, as a share of the range."""
_SMALLEST, _LARGEST = -6.0, -1.0
"""Exponents of 2 between which the size of an edit lies, as a share of the range."""


@dataclass(frozen=True, eq=False)
class AmountPlans:
    """The plans of a batch of episodes."""

    amounts: np.ndarray  # (N, T, dimensions); NaN where the policy acts
    commands: np.ndarray  # (N, c)

    def __len__(self) -> int:
        return len(self.amounts)


def random_amounts(
    num: int, steps: int, command_size: int, space: ActionSpace, rng: np.random.Generator
) -> AmountPlans:
    """Return random episodes, each with amounts around a mean of its own."""
    width = space.high - space.low
    means = rng.uniform(space.low, space.high, size=(num, 1, space.dim))
    spread = SPREAD * width * rng.random((num, 1, 1))
    amounts = space.clip(means + spread * rng.normal(size=(num, steps, space.dim)))
    return AmountPlans(amounts, np.zeros((num, command_size)))


def explore_amounts(
    config: TrainConfig, replay: Replay, steps: int, command_size: int, space: ActionSpace, rng: np.random.Generator
) -> AmountPlans:
    """Return the plans of one iteration: random episodes, restarts, mutations and new commands.

    With plain exploration, the policy acts in all steps of all episodes.
    """
    amounts = random_amounts(config.episodes, steps, command_size, space, rng).amounts
    commands = new_commands(replay.front_commands, config.episodes, command_size, rng)
    if config.explore == "plain":
        return AmountPlans(np.full_like(amounts, np.nan), commands)
    shares = np.array([config.random_share, config.restart_share, config.mutate_share])
    randoms, restarts, mutants = np.round(np.cumsum(shares) * config.episodes).astype(int)
    front, demonstrations = replay.front, replay.demonstrations
    for row in range(randoms, restarts):
        plan = demonstrations[front[rng.integers(len(front))]].plan
        cut = int(rng.integers(len(plan) + 1))
        amounts[row, :cut] = plan[:cut]
        amounts[row, cut + int(rng.integers(config.burst + 1)) :] = np.nan
    for row in range(restarts, mutants):
        plan, other = (demonstrations[i].plan for i in rng.integers(len(demonstrations), size=2))
        edited = mutate_amounts(config, plan, other, space, rng)
        amounts[row, : len(edited)] = edited
        amounts[row, len(edited) :] = np.nan
    amounts[mutants:] = np.nan
    return AmountPlans(amounts, commands)


def mutate_amounts(
    config: TrainConfig, plan: np.ndarray, other: np.ndarray, space: ActionSpace, rng: np.random.Generator
) -> np.ndarray:
    """Return an edited plan. First, its end may be replaced by that of another plan.

    An edit changes the amounts of some steps, moves an amount to another step, or makes some steps equal.
    """
    plan = plan.copy()
    if rng.random() < config.crossover:
        cut = int(rng.integers(len(plan) + 1))
        plan = np.concatenate([plan[:cut], other[cut:]])
    for kind in rng.integers(3, size=int(rng.integers(1, config.edits + 1))):
        i, j = (int(x) for x in rng.integers(len(plan), size=2))
        first, last = min(i, j), max(i, j) + 1
        size = 2.0 ** rng.uniform(_SMALLEST, _LARGEST) * (space.high - space.low) * rng.normal(size=space.dim)
        if kind == 0:
            plan[first:last] += size
        elif kind == 1:
            plan[i] += size
            plan[j] -= size
        else:
            plan[first:last] = plan[i] + size
    return space.clip(plan)


def follow_amounts(plans: AmountPlans, actor: PCNActor, rng: np.random.Generator) -> Act:
    """Return a function that follows plans; the actor's amounts get noise."""

    def act(
        step: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        chosen = plans.amounts[rows, step]
        free = np.flatnonzero(np.isnan(chosen).any(axis=1))
        if free.size:
            space = actor.actions
            noise = NOISE * (space.high - space.low) * rng.normal(size=(len(free), space.dim))
            chosen[free] = space.clip(actor.amounts(observations[free], commands[free]) + noise)
        return chosen

    return act
