"""Exploration: a plan says for each step whether the action is given, random, or chosen by the policy."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.policy import Policy
from paretofoil.envs.episode import Act
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.replay import Replay

POLICY, RANDOM = -1, -2
"""Codes of a plan. A code >= 0 is an action. After the end of a plan the policy acts."""


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of a batch of episodes."""

    codes: np.ndarray  # (N, T) int: actions, POLICY or RANDOM
    commands: np.ndarray  # (N, c)
    preferences: np.ndarray  # (N, A) log-probabilities of random actions

    def __len__(self) -> int:
        return len(self.codes)


def random_plans(config: TrainConfig, num: int, shape: tuple[int, int, int], rng: np.random.Generator) -> Plans:
    """Return random episodes, each with its own action probabilities; with plain exploration they are uniform.

    The shape is (steps, command size, actions).
    """
    steps, command_size, actions = shape
    preferences = np.zeros((num, actions))
    if config.explore != "plain":
        preferences = np.log(rng.dirichlet(np.full(actions, config.preference), size=num) + 1e-9)
    return Plans(np.full((num, steps), RANDOM, dtype=np.int16), np.zeros((num, command_size)), preferences)


def explore_plans(config: TrainConfig, replay: Replay, shape: tuple[int, int, int], rng: np.random.Generator) -> Plans:
    """Return the plans of one iteration: random episodes, restarts, mutations and new commands."""
    plans = random_plans(config, config.episodes, shape, rng)
    front = [replay.demonstrations[i] for i in replay.front]
    demonstrations = replay.demonstrations
    commands = new_commands(replay.front_commands, config.episodes, shape[1], rng)
    shares = np.array([config.random_share, config.restart_share, config.mutate_share])
    randoms, restarts, mutants = np.round(np.cumsum(shares) * config.episodes).astype(int)
    for row in range(randoms, restarts):
        plan = front[rng.integers(len(front))].plan
        cut = int(rng.integers(len(plan) + 1))
        burst = cut + int(rng.integers(config.burst + 1))
        plans.codes[row, :cut] = plan[:cut]
        plans.codes[row, burst:] = POLICY
    for row in range(restarts, mutants):
        plan = demonstrations[rng.integers(len(demonstrations))].plan.tolist()
        other = demonstrations[rng.integers(len(demonstrations))].plan.tolist()
        edited = mutate(config, plan, other, shape[2], rng)[: shape[0]]
        plans.codes[row] = POLICY
        plans.codes[row, : len(edited)] = edited
    plans.codes[mutants:] = POLICY
    return Plans(plans.codes, commands, plans.preferences)


def mutate(config: TrainConfig, plan: list[int], other: list[int], actions: int, rng: np.random.Generator) -> list[int]:
    """Return an edited plan: replace, insert, delete, swap or move actions, possibly after a crossover."""
    plan = list(plan)
    if rng.random() < config.crossover:
        cut = int(rng.integers(len(plan) + 1))
        start = int(rng.integers(len(other) + 1)) if rng.random() < 0.5 else cut
        plan = plan[:cut] + other[start:]
        if rng.random() < config.crossover:
            return plan
    for kind in rng.integers(5, size=int(rng.integers(1, config.edits + 1))):
        if not plan:
            return [int(rng.integers(actions))]
        i, j, action = (int(x) for x in rng.integers((len(plan), len(plan), actions)))
        if kind == 0:
            plan[i] = action
        elif kind == 1:
            plan.insert(i, action)
        elif kind == 2:
            del plan[i]
        elif kind == 3:
            plan[i], plan[j] = plan[j], plan[i]
        else:
            plan.insert(j, plan.pop(i))
    return plan


def follow(plans: Plans, policy: Policy, rng: np.random.Generator, sample: bool = True) -> Act:
    """Return a function that follows plans. The policy's actions are sampled (Gumbel trick) or greedy."""

    def act(
        step: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        inside = step < plans.codes.shape[1]
        codes = plans.codes[rows, step].astype(np.int64) if inside else np.full(len(rows), POLICY)
        forced = codes >= 0
        forced &= masks[np.arange(len(rows)), np.where(forced, codes, 0)]
        free = np.flatnonzero(~forced)  # an invalid action of the plan is replaced by a random one
        if free.size:
            scores = plans.preferences[rows[free]]
            by_policy = codes[free] == POLICY
            noise = rng.gumbel(size=scores.shape)
            if by_policy.any():
                queried = free[by_policy]
                scores[by_policy] = policy.log_probs(observations[queried], commands[queried])
                noise[by_policy] *= sample
            scores += noise
            codes[free] = np.where(masks[free], scores, -np.inf).argmax(axis=1)
        return codes

    return act


def new_commands(front: np.ndarray, num: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return commands (num, c): half on lines through two front points, half with more of one objective."""
    pairs = rng.integers(len(front), size=(num, 2))
    start, end = front[pairs[:, 0]], front[pairs[:, 1]]
    between = start + rng.uniform(-0.2, 1.2, size=(num, 1)) * (end - start)
    more = np.eye(size)[rng.integers(size, size=num)] * front.std(axis=0) * rng.random((num, 1))
    return np.where(rng.random((num, 1)) < 0.5, between, start + more)


def plain_plans(config: TrainConfig, replay: Replay, shape: tuple[int, int, int], rng: np.random.Generator) -> Plans:
    """Return the authors' exploration, a baseline: episodes under a front command with one objective raised.

    The objective is raised by at most its standard deviation over the replay. After the warm-up the policy chooses all
    actions: no plan is replayed. The paper does not describe its exploration.
    """
    steps, _, actions = shape
    front, returns = replay.front_commands, np.array([d.label for d in replay.demonstrations])
    command = front[rng.integers(len(front))].copy()
    raised = int(rng.integers(returns.shape[1]))  # never the horizon
    command[raised] += rng.uniform(0.0, returns[:, raised].std())
    num = config.episodes
    return Plans(np.full((num, steps), POLICY), np.tile(command, (num, 1)), np.zeros((num, actions)))
