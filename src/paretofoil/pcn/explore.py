"""Exploration: a plan fixes the actions of some steps. Chance or the policy chooses the others."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.policy import Policy
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import Act
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.policy import PCNActor
from paretofoil.pcn.replay import Replay

POLICY, RANDOM = -1, -2
"""Codes in plans of discrete actions: the policy acts, or a random action is drawn. Other codes are actions."""
SPREAD = 0.15
"""The largest standard deviation of the random amounts of an episode, as a share of the action's range."""
NOISE = 0.03
"""The standard deviation of noise on the policy's amounts, as a share of the range."""
_SMALLEST, _LARGEST = -6.0, -1.0
"""Exponents of 2 between which the size of an edit of amounts lies, as a share of the range."""


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of a batch of episodes. The policy acts after the end of a plan."""

    actions: np.ndarray
    """(N, T) int: actions, POLICY or RANDOM. For continuous actions (N, T, dimensions): amounts; NaN where the policy
    acts."""
    commands: np.ndarray  # (N, c)
    preferences: np.ndarray | None = None  # (N, A) log-probabilities of random actions, if they are discrete

    def __len__(self) -> int:
        return len(self.actions)


def random_plans(config: TrainConfig, num: int, env: BatchEnv, rng: np.random.Generator) -> Plans:
    """Return random episodes, each with its own action probabilities, or with amounts around its own mean.

    With plain exploration, discrete actions are uniform.
    """
    commands, space = np.zeros((num, env.num_objectives + config.horizon)), env.action_space
    if space is not None:
        means = rng.uniform(space.low, space.high, size=(num, 1, space.dim))
        spread = SPREAD * (space.high - space.low) * rng.random((num, 1, 1))
        return Plans(space.clip(means + spread * rng.normal(size=(num, env.max_steps, space.dim))), commands)
    preferences = np.zeros((num, env.num_actions))
    if config.explore != "plain":
        preferences = np.log(rng.dirichlet(np.full(env.num_actions, config.preference), size=num) + 1e-9)
    return Plans(np.full((num, env.max_steps), RANDOM, dtype=np.int16), commands, preferences)


def explore_plans(config: TrainConfig, replay: Replay, env: BatchEnv, rng: np.random.Generator) -> Plans:
    """Return the plans of one iteration: random episodes, restarts, mutations and new commands.

    With plain exploration of continuous actions, the policy acts in all steps.
    """
    plans, space = random_plans(config, config.episodes, env, rng), env.action_space
    by_policy = POLICY if space is None else np.nan
    commands = new_commands(replay.front_commands, config.episodes, rng)
    shares = np.array([config.random_share, config.restart_share, config.mutate_share]) * (config.explore != "plain")
    randoms, restarts, mutants = np.round(np.cumsum(shares) * config.episodes).astype(int)
    front, demonstrations = replay.front, replay.demonstrations
    for row in range(randoms, restarts):
        plan = demonstrations[front[rng.integers(len(front))]].plan
        cut = int(rng.integers(len(plan) + 1))
        burst = cut + int(rng.integers(config.burst + 1))
        plans.actions[row, :cut] = plan[:cut]
        plans.actions[row, burst:] = by_policy
    for row in range(restarts, mutants):
        plan, other = (demonstrations[i].plan for i in rng.integers(len(demonstrations), size=2))
        if space is None:
            edited = np.array(mutate(config, plan.tolist(), other.tolist(), env.num_actions, rng)[: env.max_steps])
        else:
            edited = mutate_amounts(config, plan, other, space, rng)
        plans.actions[row] = by_policy
        plans.actions[row, : len(edited)] = edited
    plans.actions[mutants:] = by_policy
    return Plans(plans.actions, commands, plans.preferences)


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


def mutate_amounts(
    config: TrainConfig, plan: np.ndarray, other: np.ndarray, space: ActionSpace, rng: np.random.Generator
) -> np.ndarray:
    """Return an edited plan of amounts. First, its end may be replaced by that of another plan.

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


def follow(plans: Plans, policy: Policy | PCNActor, rng: np.random.Generator, sample: bool = True) -> Act:
    """Return a function that follows plans.

    The policy's actions are sampled (Gumbel trick), unless `sample` is False. An actor's amounts get noise.
    """

    def act(
        step: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        inside = step < plans.actions.shape[1]
        if isinstance(policy, PCNActor):
            amounts, space = plans.actions[rows, step], policy.actions
            free = np.flatnonzero(np.isnan(amounts).any(axis=1))
            if free.size:
                noise = NOISE * (space.high - space.low) * rng.normal(size=(len(free), space.dim))
                amounts[free] = space.clip(policy.amounts(observations[free], commands[free]) + noise)
            return amounts
        assert plans.preferences is not None
        codes = plans.actions[rows, step].astype(np.int64) if inside else np.full(len(rows), POLICY)
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


def new_commands(front: np.ndarray, num: int, rng: np.random.Generator) -> np.ndarray:
    """Return commands (num, c): half on lines through two front points, half with more of one objective."""
    pairs = rng.integers(len(front), size=(num, 2))
    start, end = front[pairs[:, 0]], front[pairs[:, 1]]
    between = start + rng.uniform(-0.2, 1.2, size=(num, 1)) * (end - start)
    size = front.shape[1]
    more = np.eye(size)[rng.integers(size, size=num)] * front.std(axis=0) * rng.random((num, 1))
    return np.where(rng.random((num, 1)) < 0.5, between, start + more)


def plain_plans(config: TrainConfig, replay: Replay, env: BatchEnv, rng: np.random.Generator) -> Plans:
    """Return the authors' exploration, a baseline: episodes under a front command with one objective raised.

    The objective is raised by at most its standard deviation over the replay. After the warm-up the policy chooses all
    actions: no plan is replayed. The paper does not describe its exploration.
    """
    front, returns = replay.front_commands, np.array([d.label for d in replay.demonstrations])
    command = front[rng.integers(len(front))].copy()
    raised = int(rng.integers(returns.shape[1]))  # never the horizon
    command[raised] += rng.uniform(0.0, returns[:, raised].std())
    num = config.episodes
    actions = np.full((num, env.max_steps), POLICY)
    return Plans(actions, np.tile(command, (num, 1)), np.zeros((num, env.num_actions)))
