"""Selection of the episodes that enter the replay, by realised returns or by means over repeated rollouts.

In a stochastic environment the return of one lucky episode dominates every mean return that a policy can achieve.
There, plans are rolled out repeatedly, and their mean return is the label.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import DECIMALS, Episodes, run_episodes
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import POLICY, Plans, follow
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.pcn.replay import Demonstration, Ranking, Replay, erase_loops, relabel, trimmed_lengths

RELABELLED = 20
"""The largest number of rollouts of one plan that become samples."""
SHARE_DECIMALS = 3
"""Real-valued returns are rounded to this many decimals of the front's width."""
Plan = tuple[int, ...]


def keep_realised(replay: Replay, episodes: Episodes, config: TrainConfig, real: bool = False) -> None:
    """Keep the episodes with the best realised returns; real-valued returns are rounded to the width of the front."""
    rows, lengths = _usable(episodes, config)
    labels = _rounded_to_front(episodes.returns, replay) if real else _rounded(episodes.returns)
    no_error = np.zeros(labels.shape[1])
    keep, new = replay.choose(Ranking(labels[rows], np.zeros(labels[rows].shape), lengths[rows]))
    demonstrations = []
    for row in rows[new]:
        plan = episodes.actions[row, : lengths[row]].copy()
        horizon = float(lengths[row]) if config.horizon else None
        demonstrations.append(relabel(episodes, np.array([row]), lengths[[row]], labels[row], no_error, plan, horizon))
    replay.replace(keep, demonstrations)


@dataclass(frozen=True, eq=False)
class Estimator:
    """Estimates the mean returns of plans by repeated rollouts."""

    config: TrainConfig
    env: BatchEnv
    policy: PCNPolicy
    rng: np.random.Generator

    def keep_expected(self, replay: Replay, episodes: Episodes, codes: np.ndarray) -> int:
        """Keep the plans with the best mean returns; return how many environment steps their estimates took."""
        rows, lengths = _usable(episodes, self.config)
        returns = _rounded(episodes.returns)
        labels = np.array([d.label for d in replay.demonstrations]).reshape(-1, 1, returns.shape[1])  # (n, 1, d)
        dominated = (labels >= returns[rows]).all(axis=2) & (labels > returns[rows]).any(axis=2)
        promising = rows[~dominated.any(axis=0)]  # no mean dominates their realised return
        plans: dict[Plan, np.ndarray] = {}
        for row in _in_turn(self.rng.permutation(promising), returns):
            plan = _plan(episodes, row, lengths[row], codes[row])
            if plan not in replay.tried:
                plans.setdefault(plan, returns[row])
            if len(plans) == self.config.candidates:
                break
        replay.tried.update(plans)
        demonstrations, steps = self._estimate(plans, self.config.rollouts)
        if demonstrations:
            keep, new = replay.choose(Ranking.of(demonstrations))
            replay.replace(keep, [demonstrations[i] for i in new])
        front = replay.front
        again = [front[self.rng.integers(len(front))]] if front else []
        return steps + self.refresh(replay, again)

    def refresh(self, replay: Replay, numbers: Sequence[int], times: int = 1) -> int:
        """Estimate some labels again, with `times` as many rollouts; return how many environment steps this took.

        New estimates correct lucky ones. They also use the current policy, which acts after the end of a plan.
        """
        total = 0
        for number in numbers:
            old = replay.demonstrations[number]
            plan: Plan = tuple(old.plan.tolist())
            demonstrations, steps = self._estimate({plan: old.label}, times * self.config.rollouts)
            replay.demonstrations[number] = demonstrations[0] if demonstrations else old
            total += steps
        replay.tidy()
        return total

    def _estimate(self, plans: dict[Plan, np.ndarray], repeats: int) -> tuple[list[Demonstration], int]:
        """Roll out each plan repeatedly, all with the same seeds. After a plan, the greedy policy acts."""
        if not plans:
            return [], 0
        config, env = self.config, self.env
        codes = np.full((len(plans), max(map(len, plans))), POLICY, dtype=np.int16)
        commands = np.zeros((len(plans), env.num_objectives + config.horizon))
        for i, (plan, label) in enumerate(plans.items()):
            codes[i, : len(plan)] = plan
            commands[i] = np.append(label, [len(plan)] * config.horizon)  # for the policy after the plan
        no_preference = np.zeros((len(plans) * repeats, env.num_actions))
        batch = Plans(codes.repeat(repeats, axis=0), commands.repeat(repeats, axis=0), no_preference)
        seeds = np.tile(self.rng.integers(2**31, size=repeats), len(plans))
        episodes = run_episodes(env, follow(batch, self.policy, self.rng, sample=False), batch.commands, seeds)
        rows, lengths = _usable(episodes, config)
        returns = episodes.returns.reshape(len(plans), repeats, -1)
        errors = returns.std(axis=1) / np.sqrt(repeats)
        demonstrations: list[Demonstration] = []
        for i, plan in enumerate(plans):
            own = rows[rows // repeats == i][:RELABELLED]
            if own.size:
                label, actions = _rounded(returns[i].mean(axis=0)), np.array(plan, dtype=np.int64)
                horizon = float(lengths[i * repeats : (i + 1) * repeats].mean()) if config.horizon else None
                demonstrations.append(relabel(episodes, own, lengths[own], label, errors[i], actions, horizon))
        return demonstrations, int(episodes.lengths.sum())


def _plan(episodes: Episodes, row: int, length: int, codes: np.ndarray) -> Plan:
    """Return the actions of an episode without loops, and the rest of its plan, which a longer repetition may need."""
    actions = erase_loops(
        episodes.observations[row, :length], episodes.rewards[row, :length], episodes.actions[row, :length]
    )
    unused = codes[length:] if episodes.terminated[row] else codes[:0]
    forced = np.cumprod(unused >= 0).astype(bool)  # up to the first action of the policy or of chance
    return (*actions.tolist(), *unused[forced].tolist())


def _in_turn(rows: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """Return the rows in an order that alternates between returns, so that rare returns are not crowded out."""
    counts: dict[bytes, int] = {}
    turns = []
    for row in rows:
        key = returns[row].tobytes()
        counts[key] = counts.get(key, 0) + 1
        turns.append(counts[key])
    return rows[np.argsort(turns, kind="stable")]


def _usable(episodes: Episodes, config: TrainConfig) -> tuple[np.ndarray, np.ndarray]:
    """Return the usable rows, and the trimmed lengths of all rows. Episodes ended by `episode_steps` are not usable."""
    lengths = trimmed_lengths(episodes)
    if not config.trim:
        lengths = np.where(lengths > 0, episodes.lengths, 0)  # without a reward there is nothing to learn
    usable = lengths > 0
    if config.episode_steps is not None:
        usable &= episodes.terminated | (lengths < episodes.lengths)
    return np.flatnonzero(usable), lengths


def _rounded_to_front(returns: np.ndarray, replay: Replay) -> np.ndarray:
    """Return real-valued returns (N, d), rounded to about a thousandth of the front's width.

    Otherwise, a return that is hardly better in one objective and far worse in all others would be nondominated.
    """
    front = replay.front_commands[:, : returns.shape[1]] if len(replay) else returns
    width = np.ptp(front if len(front) > 1 else returns, axis=0)
    decimals = SHARE_DECIMALS - np.floor(np.log10(np.where(width > 0, width, 1.0))).astype(int)
    columns = [np.round(column, int(n)) for column, n in zip(returns.T, decimals, strict=True)]
    return np.column_stack(columns) + 0.0  # no -0.0


def _rounded(returns: np.ndarray) -> np.ndarray:
    return np.round(returns, DECIMALS) + 0.0  # no -0.0
