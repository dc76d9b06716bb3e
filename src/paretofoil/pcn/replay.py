"""The replay: the best episodes, relabelled with the commands that they fulfil.

Of episodes with equal returns, the shortest is kept. Steps after the last reward are removed before relabelling (paper,
appendix "Return-Only PCN Adjustment").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paretofoil.core.pareto import crowding_distance, nondominated
from paretofoil.envs.episode import DECIMALS, Episodes

EQUAL = 3.0
"""Mean returns that differ by at most this many standard errors count as equal."""
CROWDED = 0.2
"""A dominated demonstration with a smaller crowding distance counts as twice as far from the front."""


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A plan (actions), its return (`label`), and the samples to learn from."""

    label: np.ndarray  # (d,) the return, or its mean over repeated rollouts
    error: np.ndarray  # (d,) the standard error of the label; 0 if deterministic
    plan: np.ndarray  # (L,) int: the actions; (L, dimensions) of continuous actions
    states: np.ndarray  # (T, S) float32; T = L unless several rollouts were relabelled
    masks: np.ndarray  # (T, A) bool
    commands: np.ndarray  # (T, c) the remaining commands; the first is that of the start
    actions: np.ndarray  # (T,) int, or (T, dimensions)

    @property
    def command(self) -> np.ndarray:
        """The command (c,) that this demonstration fulfils from the start."""
        return self.commands[0]


class Samples(NamedTuple):
    """All samples of the replay."""

    states: np.ndarray  # (T, S)
    masks: np.ndarray  # (T, A)
    commands: np.ndarray  # (T, c)
    actions: np.ndarray  # (T,) or (T, dimensions)
    owners: np.ndarray  # (T,) the index of the demonstration


def trimmed_lengths(episodes: Episodes) -> np.ndarray:
    """Return the number of steps (N,) of each episode up to its last reward."""
    rewarded = (episodes.rewards != 0).any(axis=2)  # (N, T)
    last = rewarded.shape[1] - rewarded[:, ::-1].argmax(axis=1)
    return np.where(rewarded.any(axis=1), last, 0)


def erase_loops(observations: np.ndarray, rewards: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the actions (L,) without those between two visits to a state, if there is no reward between the visits.

    In a stochastic environment such a detour only adds risk.
    """
    kept: list[int] = []
    step, length = 0, len(actions)
    while step < length:
        rewarded = np.flatnonzero((rewards[step:] != 0).any(axis=1))
        end = step + (rewarded[0] if rewarded.size else length - 1 - step)  # the last step without a reward before it
        visits = np.flatnonzero((observations[step : end + 1] == observations[step]).all(axis=1))
        step += int(visits[-1])
        kept.append(step)
        step += 1
    return actions[kept]


def relabel(
    episodes: Episodes,
    rows: np.ndarray,
    lengths: np.ndarray,
    label: np.ndarray,
    error: np.ndarray,
    plan: np.ndarray,
    horizon: float | None,
) -> Demonstration:
    """Return a demonstration of some episodes, cut to the given lengths, under commands for their common label.

    As in deployment, the command at a step is the label minus the rewards so far. A horizon adds the remaining steps.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    for row, length in zip(rows, lengths, strict=True):
        rewards = episodes.rewards[row, :length]
        commands = label - (np.cumsum(rewards, axis=0) - rewards)
        if horizon is not None:
            commands = np.column_stack([commands, np.maximum(horizon - np.arange(length), 1.0)])
        columns = (episodes.observations, episodes.masks, episodes.actions)
        parts.append((commands, *(column[row, :length] for column in columns)))
    commands, states, masks, actions = (np.concatenate(part) for part in zip(*parts, strict=True))
    _, first = np.unique(np.column_stack([states, commands, actions]), axis=0, return_index=True)
    first.sort()  # rollouts of one plan share most samples; each is kept once
    return Demonstration(label, error, plan, states[first], masks[first], commands[first], actions[first])


class Ranking(NamedTuple):
    """Labels of demonstrations to compare."""

    labels: np.ndarray  # (n, d)
    errors: np.ndarray  # (n, d)
    lengths: np.ndarray  # (n,) of the plans

    @classmethod
    def of(cls, demonstrations: Sequence[Demonstration]) -> "Ranking":
        return cls(
            labels=np.array([d.label for d in demonstrations]),
            errors=np.array([d.error for d in demonstrations]),
            lengths=np.array([len(d.plan) for d in demonstrations], dtype=np.int64),
        )

    def unique(self) -> np.ndarray:
        """Return one row per label: that with the smallest error, then the shortest, then the newest.

        Errors within a factor of two count as equal. Preferring new rows helps to leave local optima.
        """
        precision = np.floor(np.log2(self.errors.sum(axis=1) + 1e-9))
        order = np.lexsort((-np.arange(len(self.labels)), self.lengths, precision))
        if not self.errors.any():
            _, first = np.unique(self.labels[order], axis=0, return_index=True)
            return np.sort(order[first])
        not_worse = self._not_worse()
        equal = not_worse & not_worse.T
        kept: list[int] = []
        for row in order:
            if not equal[row, kept].any():
                kept.append(int(row))
        return np.sort(np.array(kept))

    def best(self) -> np.ndarray:
        """Return the nondominated rows; one mean return dominates another only by more than the error."""
        if not self.errors.any():
            return nondominated(self.labels)
        not_worse = self._not_worse()
        return np.flatnonzero(~(not_worse & ~not_worse.T).any(axis=1))

    def _not_worse(self) -> np.ndarray:
        """Return (n, n) bool [i, j]: whether j is at least as good as i in every objective, up to the error."""
        tolerance = EQUAL * np.hypot(self.errors[:, None], self.errors[None]) + 10.0**-DECIMALS
        return (self.labels[None] >= self.labels[:, None] - tolerance).all(axis=2)


class Replay:
    """The nondominated demonstrations, then those closest to them, up to a capacity."""

    def __init__(
        self, capacity: int, demonstrations: Sequence[Demonstration] = (), *, shorter_first: bool = True
    ) -> None:
        self.capacity, self.shorter_first = capacity, shorter_first
        self.demonstrations = list(demonstrations)
        self.tried: set[tuple[int, ...]] = set()  # plans whose mean return was estimated

    def __len__(self) -> int:
        return len(self.demonstrations)

    @property
    def front(self) -> list[int]:
        """The indices of the nondominated demonstrations."""
        return [int(i) for i in Ranking.of(self.demonstrations).best()] if self.demonstrations else []

    @property
    def front_commands(self) -> np.ndarray:
        """The commands (F, c) of the nondominated demonstrations."""
        return np.array([self.demonstrations[i].command for i in self.front])

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest value of all relabelled commands, per component."""
        low = np.min([d.commands.min(axis=0) for d in self.demonstrations], axis=0)
        high = np.max([d.commands.max(axis=0) for d in self.demonstrations], axis=0)
        return low, high

    def samples(self) -> Samples:
        """Return the samples of all demonstrations."""
        ds = self.demonstrations
        columns = {name: np.concatenate([getattr(d, name) for d in ds]) for name in Samples._fields[:-1]}
        return Samples(**columns, owners=np.repeat(np.arange(len(ds)), [len(d.actions) for d in ds]))

    def choose(self, new: Ranking) -> tuple[list[int], list[int]]:
        """Return the indices of the present demonstrations to keep, and of the new ones to add."""
        own = len(self.demonstrations)
        if own:
            new = Ranking(*map(np.concatenate, zip(Ranking.of(self.demonstrations), new, strict=True)))
        selected = self._select(new)
        return [i for i in selected if i < own], [i - own for i in selected if i >= own]

    def tidy(self) -> None:
        """Drop demonstrations whose labels equal those of others, after labels have changed."""
        if self.demonstrations:
            self.replace(self._select(Ranking.of(self.demonstrations)), [])

    def _select(self, ranking: Ranking) -> list[int]:
        if not self.shorter_first:
            ranking = ranking._replace(lengths=np.zeros_like(ranking.lengths))
        return _select(ranking, self.capacity)

    def replace(self, keep: Sequence[int], new: Sequence[Demonstration]) -> None:
        """Keep the demonstrations with these indices, and add new ones."""
        self.demonstrations = [self.demonstrations[i] for i in keep] + list(new)


def _select(ranking: Ranking, capacity: int) -> list[int]:
    """Return the nondominated rows and those closest to them, with a penalty for crowding (Reymond et al. 2022)."""
    if not len(ranking.labels):
        return []
    unique = ranking.unique()
    ranking = Ranking(*(column[unique] for column in ranking))
    points, best = ranking.labels, ranking.best()
    if len(best) >= capacity:
        least_crowded = np.argsort(-crowding_distance(points[best]), kind="stable")[:capacity]
        return [int(i) for i in np.sort(unique[best[least_crowded]])]
    rest = np.setdiff1d(np.arange(len(unique)), best)
    width = np.ptp(points, axis=0)
    width[width == 0] = 1.0
    shortfall = np.maximum(points[best][None] - points[rest][:, None], 0.0) / width  # (rest, best, d)
    distance = np.sqrt(np.square(shortfall).sum(axis=2)).min(axis=1)
    distance = np.where(crowding_distance(points)[rest] < CROWDED, 2.0 * distance, distance)
    nearest = rest[np.argsort(distance, kind="stable")[: capacity - len(best)]]
    return [int(i) for i in np.sort(unique[np.concatenate([best, nearest])])]
