"""What enters the replay: returns as they were realised, or means over repeated rollouts.

In a stochastic environment an archive of realised returns collects luck: a single fortunate episode dominates what
any policy can promise. There, plans are rolled out repeatedly and their mean return is the label.
"""

import numpy as np

from paretofoil.envs.batch import BatchEnv
from paretofoil.episode import Episodes, run_episodes
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import POLICY, Plans, follow
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.pcn.replay import DECIMALS, Candidates, Demonstration, Replay, erase_loops, relabel, trimmed_lengths

EQUAL = 3.0
"""Means that differ by fewer standard errors than this are taken as equal."""
RELABELLED = 20
"""So many rollouts of one plan become samples."""


def keep_realised(replay: Replay, episodes: Episodes, config: TrainConfig) -> None:
    """Keep the best episodes under the returns that they realised."""
    rows, lengths = _usable(episodes, config)
    labels = _rounded(episodes.returns)
    keep, new = replay.choose(Candidates(labels[rows], lengths[rows]))
    exact = np.zeros(labels.shape[1])
    demonstrations = [
        relabel(
            episodes,
            rows=np.array([row]),
            lengths=lengths[[row]],
            label=labels[row],
            error=exact,
            plan=episodes.actions[row, : lengths[row]].copy(),
            horizon=config.horizon,
        )
        for row in rows[new]
    ]
    replay.replace(keep, demonstrations)


def keep_expected(
    replay: Replay,
    episodes: Episodes,
    config: TrainConfig,
    env: BatchEnv,
    policy: PCNPolicy,
    rng: np.random.Generator,
) -> int:
    """Keep the best plans under their mean returns; returns the number of steps that estimating them took."""
    rows, lengths = _usable(episodes, config)
    returns = _rounded(episodes.returns)
    known = replay.labels.reshape(-1, 1, returns.shape[1])  # (n, 1, d)
    beaten = (known >= returns[rows]).all(axis=2) & (known > returns[rows]).any(axis=2)
    hopeful = rows[~beaten.any(axis=0)]  # luck included, they are not dominated by any mean
    plans: dict[tuple[int, ...], np.ndarray] = {}
    tried = {tuple(d.plan.tolist()) for d in replay.demonstrations}
    for row in rng.permutation(hopeful):
        seen = slice(0, lengths[row])
        plan = erase_loops(episodes.observations[row, seen], episodes.rewards[row, seen], episodes.actions[row, seen])
        if tuple(plan.tolist()) not in tried:
            plans.setdefault(tuple(plan.tolist()), returns[row])
        if len(plans) == config.candidates:
            break
    if not plans:
        return 0
    found, steps = _estimate(plans, replay, config, env, policy, rng)
    labels = np.array([d.label for d in found]).reshape(len(found), -1)
    keep, new = replay.choose(Candidates(labels, np.array([len(d.plan) for d in found], dtype=np.int64)))
    replay.replace(keep, [found[i] for i in new])
    return steps


def _estimate(
    plans: dict[tuple[int, ...], np.ndarray],
    replay: Replay,
    config: TrainConfig,
    env: BatchEnv,
    policy: PCNPolicy,
    rng: np.random.Generator,
) -> tuple[list[Demonstration], int]:
    """Roll each plan out repeatedly, all with the same chances; where a plan ends, the policy goes on."""
    repeats, longest = config.rollouts, max(map(len, plans))
    codes = np.full((len(plans), longest), POLICY, dtype=np.int16)
    commands = np.zeros((len(plans), env.num_objectives + config.horizon))
    for i, (plan, hoped) in enumerate(plans.items()):
        codes[i, : len(plan)] = plan
        commands[i] = np.append(hoped, [len(plan)] * config.horizon)
    indifferent = np.zeros((len(plans) * repeats, env.num_actions))
    batch = Plans(codes.repeat(repeats, axis=0), commands.repeat(repeats, axis=0), indifferent)
    episodes = run_episodes(env, follow(batch, policy, rng), batch.commands, np.tile(np.arange(repeats), len(plans)))
    rows, lengths = _usable(episodes, config)
    returns = episodes.returns.reshape(len(plans), repeats, -1)
    errors = returns.std(axis=1) / np.sqrt(repeats)
    found: list[Demonstration] = []
    for i, plan in enumerate(plans):
        mine = rows[rows // repeats == i][:RELABELLED]
        if mine.size:
            label = _snap(returns[i].mean(axis=0), errors[i], [*replay.demonstrations, *found])
            actions = np.array(plan, dtype=np.int64)
            found.append(relabel(episodes, mine, lengths[mine], label, errors[i], actions, config.horizon))
    return found, int(episodes.lengths.sum())


def _snap(mean: np.ndarray, error: np.ndarray, others: list[Demonstration]) -> np.ndarray:
    """Replace each component by the closest known one if the two cannot be told apart."""
    label = _rounded(mean)
    if others:
        known = np.array([d.label for d in others])
        errors = np.array([d.error for d in others])
        gap = np.abs(known - mean)
        gap[gap > EQUAL * np.sqrt(np.square(errors) + np.square(error)) + 10.0**-DECIMALS] = np.inf
        closest = gap.argmin(axis=0)
        component = np.arange(len(mean))
        label = np.where(np.isfinite(gap[closest, component]), known[closest, component], label)
    return label


def _usable(episodes: Episodes, config: TrainConfig) -> tuple[np.ndarray, np.ndarray]:
    """The rows worth keeping, and all trimmed lengths. A limit of training's own must not cut an episode off."""
    lengths = trimmed_lengths(episodes)
    usable = lengths > 0
    if config.episode_steps is not None:
        usable &= episodes.terminated | (lengths < episodes.lengths)
    return np.flatnonzero(usable), lengths


def _rounded(returns: np.ndarray) -> np.ndarray:
    return np.round(returns, DECIMALS) + 0.0  # no -0.0
