"""The replay: the best episodes so far, relabelled with the commands that they fulfil.

Paper, appendix "Return-Only PCN Adjustment": among episodes with the same return the shorter one is kept, and
reward-neutral suffixes are trimmed before relabelling.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from paretofoil.core.pareto import crowding_distance, nondominated
from paretofoil.envs.episode import DECIMALS, Episodes

EQUAL = 3.0
"""Mean returns that differ by fewer standard errors than this are taken as equal."""
CROWDED = 0.2
"""A dominated demonstration with a crowding distance below this counts as twice as far from the front."""


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A way to fulfil a command: what to do (`plan`), what it yields (`label`), and samples to learn from."""

    label: np.ndarray  # (d,) the return, or its mean over repeated rollouts
    error: np.ndarray  # (d,) the standard error of the label, 0 where nothing is random
    plan: np.ndarray  # (L,) int: the actions
    states: np.ndarray  # (T, S) float32; T = L unless several rollouts were relabelled
    masks: np.ndarray  # (T, A) bool
    commands: (
        np.ndarray
    )  # (T, c) what was still to be collected, and the steps left if there is a horizon; first the start
    actions: np.ndarray  # (T,) int

    @property
    def command(self) -> np.ndarray:
        """(c,) the command that this demonstration fulfils from the start."""
        return self.commands[0]


class Samples(NamedTuple):
    """Everything there is to learn, sample by sample."""

    states: np.ndarray  # (T, S)
    masks: np.ndarray  # (T, A)
    commands: np.ndarray  # (T, c)
    actions: np.ndarray  # (T,)
    owners: np.ndarray  # (T,) the number of the demonstration


def trimmed_lengths(episodes: Episodes) -> np.ndarray:
    """(N,) the length of each episode without its reward-neutral suffix."""
    rewarded = (episodes.rewards != 0).any(axis=2)  # (N, T)
    last = rewarded.shape[1] - rewarded[:, ::-1].argmax(axis=1)
    return np.where(rewarded.any(axis=1), last, 0)


def erase_loops(observations: np.ndarray, rewards: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Leave out the actions between two visits to one state if nothing was received between them.

    (L, S), (L, d), (L,) -> (at most L,): in a stochastic environment a detour may only add risk.
    """
    kept: list[int] = []
    time, length = 0, len(actions)
    while time < length:
        silent = np.flatnonzero((rewards[time:] != 0).any(axis=1))
        end = time + (silent[0] if silent.size else length - 1 - time)  # a state may return up to here
        again = np.flatnonzero((observations[time : end + 1] == observations[time]).all(axis=1))
        time += int(again[-1])
        kept.append(time)
        time += 1
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
    """Samples of some episodes, up to the given lengths, under the command that promised their common label.

    In deployment the command is the label less what was collected, whatever chance brought; so it is here.
    A horizon becomes a further number of the command, the steps left.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    for row, length in zip(rows, lengths, strict=True):
        collected = np.cumsum(episodes.rewards[row, :length], axis=0) - episodes.rewards[row, :length]
        commands = label - collected
        if horizon is not None:
            left = np.maximum(horizon - np.arange(length, dtype=np.float64), 1.0)
            commands = np.concatenate([commands, left[:, None]], axis=1)
        columns = (episodes.observations, episodes.masks, episodes.actions)
        states, masks, actions = (column[row, :length].copy() for column in columns)
        parts.append((states, masks, commands, actions))
    joined = [np.concatenate(part) for part in zip(*parts, strict=True)]
    states, masks, commands, actions = joined
    _, first = np.unique(np.column_stack([states, commands, actions]), axis=0, return_index=True)
    first.sort()  # rollouts of one plan share most samples: each is kept once
    return Demonstration(label, error, plan, states[first], masks[first], commands[first], actions[first])


@dataclass(frozen=True, eq=False)
class Ranking:
    """Labels to be compared, of the replay or of candidates for it."""

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

    def __add__(self, other: "Ranking") -> "Ranking":
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Ranking(*(np.concatenate([a, b]) if len(a) else b for a, b in pairs))

    def __getitem__(self, rows: np.ndarray) -> "Ranking":
        return Ranking(self.labels[rows], self.errors[rows], self.lengths[rows])

    def unique(self) -> np.ndarray:
        """One row per label: the surest (to a factor of two), then the shortest, then the newest.

        Preferring the new among equals is a neutral drift, which lets exploration leave local optima.
        """
        sureness = np.floor(np.log2(self.errors.sum(axis=1) + 1e-9))
        order = np.lexsort((-np.arange(len(self.labels)), self.lengths, sureness))
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
        """The rows that no other dominates; mean returns have to differ clearly for that."""
        if not self.errors.any():
            return nondominated(self.labels)
        not_worse = self._not_worse()
        return np.flatnonzero(~(not_worse & ~not_worse.T).any(axis=1))

    def _not_worse(self) -> np.ndarray:
        """(n, n) [i, j]: j is in no objective clearly worse than i."""
        tolerance = EQUAL * np.hypot(self.errors[:, None], self.errors[None]) + 10.0**-DECIMALS
        return (self.labels[None] >= self.labels[:, None] - tolerance).all(axis=2)


class Replay:
    """The non-dominated demonstrations, then those closest to them, up to a capacity."""

    def __init__(self, capacity: int, demonstrations: Sequence[Demonstration] = ()) -> None:
        self.capacity = capacity
        self.demonstrations = list(demonstrations)
        self.tried: set[tuple[int, ...]] = set()  # plans whose mean return was estimated, kept or not

    def __len__(self) -> int:
        return len(self.demonstrations)

    @property
    def front(self) -> list[int]:
        """The numbers of the non-dominated demonstrations."""
        return [int(i) for i in Ranking.of(self.demonstrations).best()] if self.demonstrations else []

    @property
    def front_commands(self) -> np.ndarray:
        """(F, c)"""
        return np.array([self.demonstrations[i].command for i in self.front])

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """The box of all relabelled commands (design, "Box")."""
        low = np.min([d.commands.min(axis=0) for d in self.demonstrations], axis=0)
        high = np.max([d.commands.max(axis=0) for d in self.demonstrations], axis=0)
        return low, high

    def samples(self) -> Samples:
        ds = self.demonstrations
        return Samples(
            states=np.concatenate([d.states for d in ds]),
            masks=np.concatenate([d.masks for d in ds]),
            commands=np.concatenate([d.commands for d in ds]),
            actions=np.concatenate([d.actions for d in ds]),
            owners=np.repeat(np.arange(len(ds)), [len(d.actions) for d in ds]),
        )

    def choose(self, new: Ranking) -> tuple[list[int], list[int]]:
        """Which of its own demonstrations and which candidates belong into the replay."""
        own = len(self.demonstrations)
        chosen = _select(Ranking.of(self.demonstrations) + new, self.capacity)
        return [i for i in chosen if i < own], [i - own for i in chosen if i >= own]

    def tidy(self) -> None:
        """Drop what has become equal to another demonstration, after labels were estimated anew."""
        if self.demonstrations:
            self.replace(_select(Ranking.of(self.demonstrations), self.capacity), [])

    def replace(self, keep: Sequence[int], new: Sequence[Demonstration]) -> None:
        """Keep some demonstrations and add new ones."""
        self.demonstrations = [self.demonstrations[i] for i in keep] + list(new)


def _select(ranking: Ranking, capacity: int) -> list[int]:
    """The non-dominated rows, then the closest to them; crowded ones come later (Reymond et al. 2022)."""
    if not len(ranking.labels):
        return []
    unique = ranking.unique()
    ranking = ranking[unique]
    points, best = ranking.labels, ranking.best()
    if len(best) >= capacity:
        loneliest = np.argsort(-crowding_distance(points[best]), kind="stable")[:capacity]
        return [int(i) for i in np.sort(unique[best[loneliest]])]
    rest = np.setdiff1d(np.arange(len(unique)), best)
    width = np.ptp(points, axis=0)
    width[width == 0] = 1.0
    behind = np.maximum(points[best][None] - points[rest][:, None], 0.0) / width  # (rest, best, d)
    distance = np.sqrt(np.square(behind).sum(axis=2)).min(axis=1)
    distance = np.where(crowding_distance(points)[rest] < CROWDED, 2.0 * distance, distance)
    nearest = rest[np.argsort(distance, kind="stable")[: capacity - len(best)]]
    return [int(i) for i in np.sort(unique[np.concatenate([best, nearest])])]
