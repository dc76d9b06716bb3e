"""Walks within trust regions: from any start to a change that is locally the closest valid one.

One algorithm, two oracles: `AskedMargins` knows a policy by queries alone, and its slopes by finite differences;
`FoldedMargins` looks margins and slopes up in the policy folded at the state.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from paretofoil.core.command import Norm, length
from paretofoil.proof.branch import Claim
from paretofoil.proof.halfspace import nearest
from paretofoil.search.parts.budget import Budget

_SHARES = np.array([1.0, 0.6, 0.25])
"""How far towards the aim of the linearised problem a step is tried."""
_FREE = 1e9
"""The margin of a half-space that does not restrict anything."""

Linear = tuple[np.ndarray, np.ndarray]  # margins (n, K) and their slopes (n, K, d)


class Oracle(ABC):
    """Tells N walks their margins over K rivals, and with how much care to use them."""

    above: ClassVar[float]
    """Linearised margins are asked for this much more than needed, so that the true ones suffice."""
    worth: ClassVar[tuple[float, float]]
    """A step of a valid walk must come closer by this share of its size, and by this much."""
    shortest: ClassVar[float]
    """A walk whose trust region is smaller than this has arrived."""
    sees_ahead: ClassVar[bool]
    """Whether aims are linearised before they are tried, because that costs nothing."""
    memory: ClassVar[tuple[tuple[int, int], ...]]
    """Of each step in turn: the places where the half-spaces before it, or those where it failed, are remembered."""

    def __init__(self, low: np.ndarray, high: np.ndarray, level: np.ndarray, norm: Norm) -> None:
        self.low, self.high = low, high  # (N, d)
        self.level, self.norm = level, norm  # (N,): the margin from which on a change is valid

    def open(self) -> np.ndarray:
        """Which walks (N,) can still be told something."""
        return np.ones(len(self.level), dtype=bool)

    @abstractmethod
    def margins(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Margins (n, K) at changes z (n, d) of the walks rows (n,); -inf where they cannot be told."""

    @abstractmethod
    def linearise(self, rows: np.ndarray, z: np.ndarray, trust: np.ndarray, margins: np.ndarray | None) -> Linear:
        """At changes z (n, d) of walks with trust regions as large as trust (n,); the margins may be known before."""


class AskedMargins(Oracle):
    """The least margin (K = 1) by queries within a budget, and its forward differences."""

    above, worth, shortest, sees_ahead = 1e-6, (1e-9, 0.0), 2e-5, False
    memory = ((1, 1), (2, 2), (3, 3), (4, 4))  # long, to hold the rivals that meet in a corner: each margin shows one

    def __init__(self, budget: Budget, who: np.ndarray) -> None:
        batch, rows = budget.batch, budget.rows[who]
        super().__init__(batch.low[rows], batch.high[rows], batch.kappa[rows], batch.norm)
        self.budget, self.who = budget, who  # (N,): the question of each walk

    def open(self) -> np.ndarray:
        return (self.budget.left[self.who] > 0) & (not self.budget.late)

    def margins(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.budget.ask(self.who[rows], z, "walk")[:, None]

    def linearise(self, rows: np.ndarray, z: np.ndarray, trust: np.ndarray, margins: np.ndarray | None) -> Linear:
        margins = self.margins(rows, z) if margins is None else margins
        dim, reach = z.shape[1], np.clip(0.1 * trust, 2e-4, 2e-3)[:, None]
        up, down = np.minimum(self.high[rows] - z, reach), np.minimum(z - self.low[rows], reach)
        step = np.where(up >= down, up, -down)  # (n, d): stay inside the box
        points, moves = z[:, None, :] + np.eye(dim) * step[:, None, :], np.abs(step) > 1e-9
        who = np.repeat(self.who[rows], dim)
        values = self.budget.ask(who, points.reshape(-1, dim), "walk", moves.reshape(-1)).reshape(z.shape)
        known = np.isfinite(values) & moves
        rise = np.subtract(values, margins, out=np.zeros_like(z), where=known)
        return margins, (rise / np.where(known, step, 1.0))[:, None, :]


class FoldedMargins(Oracle):
    """The margins over each rival and their derivatives, looked up in the network of a claim."""

    above, worth, shortest, sees_ahead = 1e-7, (0.0, 1e-6), 1e-6, True
    memory = ((1, 2),)

    def __init__(self, claim: Claim, num_walks: int) -> None:
        low, high = (np.tile(corner, (num_walks, 1)) for corner in (claim.low, claim.high))
        super().__init__(low, high, np.full(num_walks, claim.level), claim.norm)
        self.claim = claim

    def margins(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.claim.margins(z)

    def linearise(self, rows: np.ndarray, z: np.ndarray, trust: np.ndarray, margins: np.ndarray | None) -> Linear:
        return self.claim.margins_and_slopes(z)


def walk(
    oracle: Oracle, starts: np.ndarray, margins: np.ndarray | None = None, *, steps: int, trust: float
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest valid points (N, d) met from starts (N, d), and their sizes (N,), infinite where none was met."""
    walks = _Walks(oracle, np.clip(starts, oracle.low, oracle.high), margins, trust)
    for step in range(steps):
        walks.step(*oracle.memory[step % len(oracle.memory)])
    return walks.z, walks.size


class _Walks:
    """Walks that project 0 onto linearised half-spaces, within trust regions, and again.

    They remember the half-spaces of where they were and where a step failed: in a corner between rivals, and where a
    hidden unit switches and bends the margins, both sides must be seen to step along it.
    """

    def __init__(self, oracle: Oracle, z: np.ndarray, margins: np.ndarray | None, trust: float) -> None:
        self.oracle, self.trust, rows = oracle, np.full(len(z), trust), np.arange(len(z))
        margins, slopes = oracle.linearise(rows, z, self.trust, margins)
        places = 1 + max(map(max, oracle.memory))  # the first is for the half-spaces here
        self.points = np.zeros((len(z), places, z.shape[1]))
        self.margins = np.full((len(z), places, margins.shape[1]), _FREE)
        self.slopes = np.zeros((*self.margins.shape, z.shape[1]))
        self.z = self.points[:, 0]  # a view
        self._remember(rows, 0, z, margins, slopes)

    @property
    def least(self) -> np.ndarray:
        return self.margins[:, 0].min(axis=1, initial=np.inf)

    @property
    def size(self) -> np.ndarray:
        return np.where(self.least >= self.oracle.level, length(self.z, self.oracle.norm), np.inf)

    def step(self, before: int, failed: int) -> None:
        """Try points on the way to the aims, go to the best, and learn there or, where none is good, at the aim."""
        rows = np.flatnonzero((self.trust > self.oracle.shortest) & self.oracle.open())
        if not len(rows):
            return
        z, trust = self.z[rows], self.trust[rows, None]
        low, high = np.maximum(self.oracle.low[rows], z - trust), np.minimum(self.oracle.high[rows], z + trust)
        aims = self._aim(rows, low, high)
        tries = np.clip(z[:, None] + _SHARES[:, None] * (aims - z)[:, None], low[:, None], high[:, None])  # (n, T, d)
        ahead = self.oracle.linearise(rows, aims, trust[:, 0], None) if self.oracle.sees_ahead else None
        if ahead is not None:
            tries = np.concatenate([self._corrected(rows, aims, *ahead)[:, None, :], tries], axis=1)
        margins = self.oracle.margins(np.repeat(rows, tries.shape[1]), tries.reshape(-1, z.shape[1]))
        margins = margins.reshape(*tries.shape[:2], margins.shape[1])
        pick, moved = self._pick(rows, tries, margins)
        whole = pick <= tries.shape[1] - len(_SHARES)  # to the aim, as it is or corrected
        self.trust[rows] *= np.where(moved, np.where(whole, 2.0, 1.0), 0.35)
        for part in (self.points, self.margins, self.slopes):
            part[rows[moved], before] = part[rows[moved], 0]
        if ahead is not None:
            self._remember(rows[~moved], failed, aims[~moved], ahead[0][~moved], ahead[1][~moved])
        new, place = np.flatnonzero(moved | (ahead is None)), np.where(moved, 0, failed)
        there, told, rows = tries[new, pick[new]], margins[new, pick[new]], rows[new]
        self._remember(rows, place[new], there, *self.oracle.linearise(rows, there, self.trust[rows], told))

    def _aim(self, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """What the linearised problem says: the point (n, d) nearest to 0, or to a walk that is not valid itself."""
        z, slopes, level = self.z[rows], self.slopes[rows], self.oracle.level[rows, None]
        least, trust = self.least[rows, None], self.trust[rows, None]
        here = (slopes * z[:, None, None, :]).sum(axis=3)  # (n, places, K)
        offsets = self.margins[rows] - (slopes * self.points[rows, :, None, :]).sum(axis=3)
        offsets = np.maximum(offsets, self.margins[rows, :1] - here)  # none may contradict what z showed
        lost, steepest = least < level, np.abs(slopes[:, 0]).sum(axis=2).max(axis=1, initial=0.0)[:, None]
        wanted = np.minimum(level + self.oracle.above, np.where(lost, least + 0.5 * trust * steepest, np.inf))
        levels = wanted[:, :, None] - offsets - np.where(lost[:, :, None], here, 0.0)
        levels, base = levels.reshape(len(rows), -1), np.where(lost, z, 0.0)
        slopes = slopes.reshape(*levels.shape, z.shape[1])
        _, aims = nearest(slopes, levels, low - base, high - base, self.oracle.norm)
        return np.clip(aims + base, low, high)

    def _corrected(self, rows: np.ndarray, aims: np.ndarray, margins: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Aims (n, d) with the smallest change that makes them valid, linearised: it follows curved boundaries."""
        low, high, level = self.oracle.low[rows], self.oracle.high[rows], self.oracle.level[rows, None]
        _, change = nearest(slopes, level + self.oracle.above - margins, low - aims, high - aims, self.oracle.norm)
        return np.clip(aims + change, low, high)

    def _pick(self, rows: np.ndarray, tries: np.ndarray, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The closest valid try (n,), or the highest of a walk that has none, and who goes there; else the first."""
        each, level, least = np.arange(len(rows)), self.oracle.level[rows], margins.min(axis=2, initial=np.inf)
        sizes = np.where(least >= level[:, None], length(tries, self.oracle.norm), np.inf)
        closest, highest = sizes.argmin(axis=1), least.argmax(axis=1)
        share, much = self.oracle.worth
        closer = sizes[each, closest] < self.size[rows] * (1 - share) - much
        climbs = (self.least[rows] < level) & ~closer & (least[each, highest] > self.least[rows])
        return np.where(closer, closest, np.where(climbs, highest, 0)), closer | climbs

    def _remember(self, rows: np.ndarray, place: np.ndarray | int, z: np.ndarray, *linear: np.ndarray) -> None:
        self.points[rows, place] = z
        self.margins[rows, place], self.slopes[rows, place] = linear
