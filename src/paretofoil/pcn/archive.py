"""What enters the replay: returns as they were realised, or means over repeated rollouts.

In a stochastic environment an archive of realised returns collects luck: a single fortunate episode dominates what
any policy can promise. There, plans are rolled out repeatedly and their mean return is the label.
"""

import numpy as np

from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import DECIMALS, Episodes, run_episodes
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import POLICY, Plans, follow
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.pcn.replay import Demonstration, Ranking, Replay, erase_loops, relabel, trimmed_lengths

RELABELLED = 20
"""So many rollouts of one plan become samples."""


def keep_realised(replay: Replay, episodes: Episodes, config: TrainConfig) -> None:
    """Keep the best episodes under the returns that they realised."""
    rows, lengths = _usable(episodes, config)
    labels = _rounded(episodes.returns)
    keep, new = replay.choose(Ranking(labels[rows], np.zeros(labels[rows].shape), lengths[rows]))
    demonstrations = [
        relabel(
            episodes,
            rows=np.array([row]),
            lengths=lengths[[row]],
            label=labels[row],
            error=np.zeros(labels.shape[1]),
            plan=episodes.actions[row, : lengths[row]].copy(),
            horizon=float(lengths[row]) if config.horizon else None,
        )
        for row in rows[new]
    ]
    replay.replace(keep, demonstrations)


def keep_expected(
    replay: Replay,
    episodes: Episodes,
    codes: np.ndarray,
    config: TrainConfig,
    env: BatchEnv,
    policy: PCNPolicy,
    rng: np.random.Generator,
) -> int:
    """Keep the best plans under their mean returns; returns the number of steps that estimating them took."""
    rows, lengths = _usable(episodes, config)
    returns = _rounded(episodes.returns)
    known = np.array([d.label for d in replay.demonstrations]).reshape(-1, 1, returns.shape[1])  # (n, 1, d)
    beaten = (known >= returns[rows]).all(axis=2) & (known > returns[rows]).any(axis=2)
    hopeful = rows[~beaten.any(axis=0)]  # luck included, they are not dominated by any mean
    plans: dict[tuple[int, ...], np.ndarray] = {}
    for row in _in_turn(rng.permutation(hopeful), returns):
        plan = _plan(episodes, row, lengths[row], codes[row])
        if plan not in replay.tried:
            plans.setdefault(plan, returns[row])
        if len(plans) == config.candidates:
            break
    replay.tried.update(plans)
    found, steps = _estimate(plans, config.rollouts, config, env, policy, rng)
    if found:
        keep, new = replay.choose(Ranking.of(found))
        replay.replace(keep, [found[i] for i in new])
    front = replay.front
    again = front[rng.integers(len(front))] if front else 0
    return steps + refresh(replay, [again] if front else [], 1, config, env, policy, rng)


def _plan(episodes: Episodes, row: int, length: int, codes: np.ndarray) -> tuple[int, ...]:
    """What an episode did, without loops, and what its plan held in store had chance made the episode longer."""
    done = erase_loops(
        episodes.observations[row, :length], episodes.rewards[row, :length], episodes.actions[row, :length]
    )
    unused = codes[length:] if episodes.terminated[row] else codes[:0]
    forced = np.cumprod(unused >= 0).astype(bool)  # up to the first action that was left to the policy or to chance
    return (*done.tolist(), *unused[forced].tolist())


def _in_turn(rows: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """The rows in an order that takes turns between different returns, so that a rare one is not overlooked."""
    turn: dict[bytes, int] = {}
    turns = []
    for row in rows:
        key = returns[row].tobytes()
        turn[key] = turn.get(key, 0) + 1
        turns.append(turn[key])
    return rows[np.argsort(turns, kind="stable")]


def refresh(
    replay: Replay,
    numbers: list[int],
    times: int,
    config: TrainConfig,
    env: BatchEnv,
    policy: PCNPolicy,
    rng: np.random.Generator,
) -> int:
    """Estimate some labels anew: luck fades, and the policy that goes on where a plan ends has improved.

    `times` multiplies the number of rollouts; the number of steps that it took is returned.
    """
    steps = 0
    for number in numbers:
        old = replay.demonstrations[number]
        plans = {tuple(old.plan.tolist()): old.label}
        found, spent = _estimate(plans, times * config.rollouts, config, env, policy, rng)
        replay.demonstrations[number] = found[0] if found else old
        steps += spent
    replay.tidy()
    return steps


def _estimate(
    plans: dict[tuple[int, ...], np.ndarray],
    repeats: int,
    config: TrainConfig,
    env: BatchEnv,
    policy: PCNPolicy,
    rng: np.random.Generator,
) -> tuple[list[Demonstration], int]:
    """Roll each plan out repeatedly, all with the same chances; where a plan ends, the greedy policy goes on."""
    if not plans:
        return [], 0
    codes = np.full((len(plans), max(map(len, plans))), POLICY, dtype=np.int16)
    commands = np.zeros((len(plans), env.num_objectives + config.horizon))
    for i, (plan, hoped) in enumerate(plans.items()):
        codes[i, : len(plan)] = plan
        commands[i] = np.append(hoped, [len(plan)] * config.horizon)  # what the policy goes on with
    indifferent = np.zeros((len(plans) * repeats, env.num_actions))
    batch = Plans(codes.repeat(repeats, axis=0), commands.repeat(repeats, axis=0), indifferent)
    seeds = np.tile(rng.integers(2**31, size=repeats), len(plans))
    episodes = run_episodes(env, follow(batch, policy, rng, sample=False), batch.commands, seeds)
    rows, lengths = _usable(episodes, config)
    returns = episodes.returns.reshape(len(plans), repeats, -1)
    errors = returns.std(axis=1) / np.sqrt(repeats)
    found: list[Demonstration] = []
    for i, plan in enumerate(plans):
        mine = rows[rows // repeats == i][:RELABELLED]
        if mine.size:
            label, actions = _rounded(returns[i].mean(axis=0)), np.array(plan, dtype=np.int64)
            horizon = float(lengths[i * repeats : (i + 1) * repeats].mean()) if config.horizon else None
            found.append(relabel(episodes, mine, lengths[mine], label, errors[i], actions, horizon))
    return found, int(episodes.lengths.sum())


def _usable(episodes: Episodes, config: TrainConfig) -> tuple[np.ndarray, np.ndarray]:
    """The rows worth keeping, and all trimmed lengths. A limit of training's own must not cut an episode off."""
    lengths = trimmed_lengths(episodes)
    usable = lengths > 0
    if config.episode_steps is not None:
        usable &= episodes.terminated | (lengths < episodes.lengths)
    return np.flatnonzero(usable), lengths


def _rounded(returns: np.ndarray) -> np.ndarray:
    return np.round(returns, DECIMALS) + 0.0  # no -0.0
