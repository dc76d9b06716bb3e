"""Trust-region walks: from any start to a valid change that is locally the closest one.

The walks are the same for both kinds of policy. `QueriedMargins` queries a black-box policy and estimates slopes by
finite differences; `NetworkMargins` evaluates the margin network of a white-box policy.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from paretofoil.core.command import Norm, clip, length
from paretofoil.proof import compiled
from paretofoil.proof.branch_and_bound import Claim
from paretofoil.proof.halfspace import nearest
from paretofoil.search.budget import Budget

_SHARES = np.array([1.0, 0.6, 0.25])
"""Shares of the step towards the solution of the linearised problem that are tried."""
_STEEP = 1e-12
"""Squares of slopes below this are too small to divide by."""
_FREE = 1e9
"""The margin of a half-space that restricts nothing."""

Linear = tuple[np.ndarray, np.ndarray]  # margins (n, K) and their slopes (n, K, d)


class Oracle(ABC):
    """The margins over K rivals at the points of N walks, and the settings of these walks."""

    above: ClassVar[float]
    """Added to the level in linearised problems, so that the true margins reach the level."""
    worth: ClassVar[tuple[float, float]]
    """A step of a valid walk must reduce the distance by this share plus this amount."""
    shortest: ClassVar[float]
    """A walk ends when its trust region is smaller than this."""
    sees_ahead: ClassVar[bool]
    """Whether margins are linearised at an aim before it is tried, because evaluations cost no queries."""
    memory: ClassVar[tuple[tuple[int, int], ...]]
    """For each step, in rotation: the slots for the half-spaces of the previous point and of a failed aim."""

    def __init__(self, low: np.ndarray, high: np.ndarray, level: np.ndarray, norm: Norm) -> None:
        self.low, self.high = low, high  # (N, d)
        self.level, self.norm = level, norm  # (N,): the smallest margin of a valid change

    def open(self) -> np.ndarray:
        """Return which walks (N,) may go on."""
        return np.ones(len(self.level), dtype=bool)

    @abstractmethod
    def margins(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the margins (n, K) of the walks `rows` (n,) at changes z (n, d); -inf where no query is left."""

    @abstractmethod
    def linearise(self, rows: np.ndarray, z: np.ndarray, trust: np.ndarray, margins: np.ndarray | None) -> Linear:
        """Return margins and slopes at changes z (n, d), given trust radii (n,) and the margins, if known."""


class QueriedMargins(Oracle):
    """The least margin (K = 1) and its forward differences, by queries within a budget."""

    above, worth, shortest, sees_ahead = 1e-6, (1e-9, 0.0), 2e-5, False
    memory = ((1, 1), (2, 2), (3, 3), (4, 4))  # long, since each query shows only one of the rivals of a corner

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
        step = np.where(up >= down, up, -down)  # (n, d): stay inside the region
        points, moves = z[:, None, :] + np.eye(dim) * step[:, None, :], np.abs(step) > 1e-9
        who = np.repeat(self.who[rows], dim)
        values = self.budget.ask(who, points.reshape(-1, dim), "walk", moves.reshape(-1)).reshape(z.shape)
        usable = np.isfinite(values) & moves
        rise = np.subtract(values, margins, out=np.zeros_like(z), where=usable)
        return margins, (rise / np.where(usable, step, 1.0))[:, None, :]


class NetworkMargins(Oracle):
    """The margins over each rival and their derivatives, by the network of a claim."""

    above, worth, shortest, sees_ahead = 1e-7, (1e-3, 1e-6), 1e-4, True
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
    """Return the closest valid points (N, d) of walks from starts (N, d), and their distances, infinite if invalid."""
    if isinstance(oracle, NetworkMargins) and oracle.claim.chain is not None:
        claim = oracle.claim
        points, distances = compiled.kernels.walk(claim.chain, claim.low, claim.high, claim.level, starts, steps, trust)
        return points, distances
    walks = _Walks(oracle, np.clip(starts, oracle.low, oracle.high), margins, trust)
    for step in range(steps):
        if not walks.step(*oracle.memory[step % len(oracle.memory)]):
            break
    return walks.z, walks.distance


class _Walks:
    """Walks that repeatedly project 0 onto linearised half-spaces, within trust regions.

    They remember the half-spaces of earlier points and of failed steps. In a corner between rivals, and at a kink of
    the margins, a step along the boundary needs the half-spaces of both sides.
    """

    def __init__(self, oracle: Oracle, z: np.ndarray, margins: np.ndarray | None, trust: float) -> None:
        self.oracle, self.trust, rows = oracle, np.full(len(z), trust), np.arange(len(z))
        margins, slopes = oracle.linearise(rows, z, self.trust, margins)
        slots = 1 + max(map(max, oracle.memory))  # slot 0 holds the half-spaces of the current point
        self.points = np.zeros((len(z), slots, z.shape[1]))
        self.margins = np.full((len(z), slots, margins.shape[1]), _FREE)
        self.slopes = np.zeros((*self.margins.shape, z.shape[1]))
        self.z = self.points[:, 0]  # a view
        self._remember(rows, 0, z, margins, slopes)

    @property
    def least(self) -> np.ndarray:
        return self.margins[:, 0].min(axis=1, initial=np.inf)

    @property
    def distance(self) -> np.ndarray:
        return np.where(self.least >= self.oracle.level, length(self.z, self.oracle.norm), np.inf)

    def step(self, before: int, failed: int) -> bool:
        """Try points on the way to the aims and move to the best. Linearise there or, if none is better, at the aim.

        Return False if all walks have ended.
        """
        rows = ((self.trust > self.oracle.shortest) & self.oracle.open()).nonzero()[0]
        if not len(rows):
            return False
        z, trust = self.z[rows], self.trust[rows, None]
        low, high = np.maximum(self.oracle.low[rows], z - trust), np.minimum(self.oracle.high[rows], z + trust)
        aims = self._aim(rows, low, high)
        if self.oracle.sees_ahead:
            going = self._going(rows, aims)
            rows, aims, z, low, high, trust = (part[going] for part in (rows, aims, z, low, high, trust))
            if not len(rows):
                return True
        tries = clip(z[:, None] + _SHARES[:, None] * (aims - z)[:, None], low[:, None], high[:, None])  # (n, T, d)
        ahead = self.oracle.linearise(rows, aims, trust[:, 0], None) if self.oracle.sees_ahead else None
        if ahead is not None:
            tries = np.concatenate([self._corrected(rows, aims, *ahead)[:, None, :], tries], axis=1)
        margins = self.oracle.margins(np.repeat(rows, tries.shape[1]), tries.reshape(-1, z.shape[1]))
        margins = margins.reshape(*tries.shape[:2], margins.shape[1])
        pick, moved = self._pick(rows, tries, margins)
        whole = pick <= tries.shape[1] - len(_SHARES)  # all the way to the aim, corrected or not
        self.trust[rows] *= np.where(moved, np.where(whole, 2.0, 1.0), 0.35)
        for part in (self.points, self.margins, self.slopes):
            part[rows[moved], before] = part[rows[moved], 0]
        if ahead is not None:
            self._remember(rows[~moved], failed, aims[~moved], ahead[0][~moved], ahead[1][~moved])
        new, slot = (moved | (ahead is None)).nonzero()[0], np.where(moved, 0, failed)
        if len(new):
            there, values, rows = tries[new, pick[new]], margins[new, pick[new]], rows[new]
            self._remember(rows, slot[new], there, *self.oracle.linearise(rows, there, self.trust[rows], values))
        return True

    def _going(self, rows: np.ndarray, aims: np.ndarray) -> np.ndarray:
        """Return which walks have an aim (n, d) that is closer.

        The other walks discard their stored half-spaces. A walk that has none left to discard ends.
        """
        share, much = self.oracle.worth
        going: np.ndarray = length(aims, self.oracle.norm) <= self.distance[rows] * (1 - share) - much
        stuck = rows[~going]
        forgotten = (self.margins[stuck, 1:] == _FREE).all(axis=(1, 2))
        self.trust[stuck] *= np.where(forgotten, 0.0, 0.2)
        self.margins[stuck, 1:], self.slopes[stuck, 1:] = _FREE, 0.0
        return going

    def _aim(self, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the solutions (n, d) of the linearised problems: nearest to 0, or to the walk if it is not valid."""
        z, slopes, level = self.z[rows], self.slopes[rows], self.oracle.level[rows, None]
        least, trust = self.least[rows, None], self.trust[rows, None]
        here = (slopes * z[:, None, None, :]).sum(axis=3)  # (n, slots, K)
        offsets = self.margins[rows] - (slopes * self.points[rows, :, None, :]).sum(axis=3)
        offsets = np.maximum(offsets, self.margins[rows, :1] - here)  # no half-space may contradict the margins at z
        lost, steepest = least < level, np.abs(slopes[:, 0]).sum(axis=2).max(axis=1, initial=0.0)[:, None]
        target = np.minimum(level + self.oracle.above, np.where(lost, least + 0.5 * trust * steepest, np.inf))
        levels = target[:, :, None] - offsets - np.where(lost[:, :, None], here, 0.0)
        levels, base = levels.reshape(len(rows), -1), np.where(lost, z, 0.0)
        slopes = slopes.reshape(*levels.shape, z.shape[1])
        _, aims = nearest(slopes, levels, low - base, high - base, self.oracle.norm)
        return clip(aims + base, low, high)

    def _corrected(self, rows: np.ndarray, aims: np.ndarray, margins: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return the aims (n, d), each moved along the slope of its lowest margin until that reaches the level."""
        if not margins.shape[1]:
            return aims
        each, lowest = np.arange(len(rows)), margins.argmin(axis=1)
        slope, missing = slopes[each, lowest], self.oracle.level[rows] + self.oracle.above - margins[each, lowest]
        share = missing / np.maximum((slope * slope).sum(axis=1), _STEEP)
        return clip(aims + share[:, None] * slope, self.oracle.low[rows], self.oracle.high[rows])

    def _pick(self, rows: np.ndarray, tries: np.ndarray, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which try (n,) each walk moves to (closest valid, else largest margin), and which walks move."""
        each, level, least = np.arange(len(rows)), self.oracle.level[rows], margins.min(axis=2, initial=np.inf)
        distances = np.where(least >= level[:, None], length(tries, self.oracle.norm), np.inf)
        closest, highest = distances.argmin(axis=1), least.argmax(axis=1)
        share, much = self.oracle.worth
        closer = distances[each, closest] < self.distance[rows] * (1 - share) - much
        climbs = (self.least[rows] < level) & ~closer & (least[each, highest] > self.least[rows])
        return np.where(closer, closest, np.where(climbs, highest, 0)), closer | climbs

    def _remember(self, rows: np.ndarray, slot: np.ndarray | int, z: np.ndarray, *linear: np.ndarray) -> None:
        self.points[rows, slot] = z
        self.margins[rows, slot], self.slopes[rows, slot] = linear
