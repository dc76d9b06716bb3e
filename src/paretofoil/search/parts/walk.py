"""Walks along the decision boundary towards the smallest change, by queries alone."""

import numpy as np

from paretofoil.proof.halfspace import nearest
from paretofoil.search.parts.budget import Budget

_SHARES = np.array([1.0, 0.6, 0.25])
"""How far towards the aim of the linearised problem a step is tried."""
_MEMORY = 5
"""Half-spaces that a walk remembers: its own, and those of rivals it ran into."""
_SHORTEST = 2e-5
"""A walk whose trust region is smaller than this has arrived."""
_FREE = 1e9
"""The offset of a half-space that does not restrict anything."""


class Walks:
    """One walk per start: project 0 onto the linearised boundary, within a trust region, and again.

    The margin is the least of several (one per rival), so a walk that steps out of the valid commands learns the
    half-space there too and keeps the last few: in a corner between two rivals it then sees both.
    """

    def __init__(self, budget: Budget, who: np.ndarray, starts: np.ndarray, margins: np.ndarray, trust: np.ndarray):
        batch, rows = budget.batch, budget.rows[who]
        self.budget, self.who, self.norm = budget, who, batch.norm
        self.low, self.high, self.kappa = batch.low[rows], batch.high[rows], batch.kappa[rows]
        self.z, self.margin = starts.copy(), margins.copy()  # (N, d), (N,)
        self.trust = trust.copy()  # (N,)
        self.valid = margins >= self.kappa
        self.slopes = np.zeros((len(who), _MEMORY, batch.dim))
        self.offsets = np.full((len(who), _MEMORY), _FREE)

    def run(self, steps: int) -> None:
        active = np.isfinite(self.margin)
        self._learn(active, self.z, self.margin, np.zeros(len(self.who), dtype=np.int64))
        for step in range(steps):
            active = np.isfinite(self.margin) & (self.trust > _SHORTEST) & (self.budget.left[self.who] > 0)
            if not active.any() or self.budget.late:
                return
            moved, aim, at_aim = self._step(active)
            slot = np.full(len(self.who), 1 + step % (_MEMORY - 1))
            rows = np.arange(len(self.who))
            self.slopes[rows[moved], slot[moved]] = self.slopes[moved, 0]
            self.offsets[rows[moved], slot[moved]] = self.offsets[moved, 0]
            where, value = np.where(moved[:, None], self.z, aim), np.where(moved, self.margin, at_aim)
            self._learn(active & np.isfinite(value), where, value, np.where(moved, 0, slot))

    def _step(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Try points on the way to the aim and take the best: which walks moved, their aims, the margins there."""
        index = np.flatnonzero(active)
        z, rows = self.z[index], np.arange(len(index))
        trust = self.trust[index, None]
        low, high = np.maximum(self.low[index], z - trust), np.minimum(self.high[index], z + trust)
        here = (self.slopes[index] * z[:, None, :]).sum(axis=2)  # (n, memory)
        offsets = np.maximum(self.offsets[index], self.margin[index, None] - here)  # none may contradict what z showed
        # A valid walk aims at the point nearest to 0; a lost one at the nearest point that gains some margin.
        lost = ~self.valid[index, None]
        slope = np.abs(self.slopes[index, 0]).sum(axis=1)[:, None]
        wanted = np.where(lost, self.margin[index, None] + 0.5 * trust * slope, np.inf)
        levels = np.minimum(self.kappa[index, None] + 1e-6, wanted) - offsets
        base = np.where(lost, z, 0.0)
        levels = levels - np.where(lost, here, 0.0)
        _, aims = nearest(self.slopes[index], levels, low - base, high - base, self.norm)
        aims = aims + base
        tries = np.clip(z[:, None, :] + _SHARES[:, None] * (aims - z)[:, None, :], low[:, None, :], high[:, None, :])
        who = np.repeat(self.who[index], len(_SHARES))
        margins = self.budget.ask(who, tries.reshape(-1, z.shape[1]), "walk").reshape(len(index), -1)  # (n, T)
        valid = margins >= self.kappa[index, None]
        sizes = np.where(valid, self.budget.batch.distances(tries), np.inf)
        own = np.where(self.valid[index], self.budget.batch.distances(z), np.inf)
        closest, highest = sizes.argmin(axis=1), margins.argmax(axis=1)
        closer = sizes[rows, closest] < own * (1 - 1e-9)
        climbs = ~self.valid[index] & ~closer & (margins[rows, highest] > self.margin[index])
        pick = np.where(closer, closest, highest)
        moved = closer | climbs
        grow = np.where(moved & (pick == 0), 2.0, np.where(moved, 1.0, 0.35))
        self.trust[index] *= grow
        self.z[index[moved]] = tries[rows, pick][moved]
        self.margin[index[moved]] = margins[rows, pick][moved]
        self.valid[index] |= closer
        all_moved = np.zeros(len(self.who), dtype=bool)
        all_moved[index] = moved
        all_aims, at_aims = self.z.copy(), np.full(len(self.who), -np.inf)
        all_aims[index], at_aims[index] = tries[:, 0], margins[:, 0]
        return all_moved, all_aims, at_aims

    def _learn(self, active: np.ndarray, where: np.ndarray, margin: np.ndarray, slot: np.ndarray) -> None:
        """Linearise the margin at points where (N, d) by forward differences, into a slot (N,) of the memory."""
        index = np.flatnonzero(active)
        if not len(index):
            return
        dim = where.shape[1]
        z, reach = where[index], np.clip(0.1 * self.trust[index], 2e-4, 2e-3)[:, None]
        up, down = np.minimum(self.high[index] - z, reach), np.minimum(z - self.low[index], reach)
        step = np.where(up >= down, up, -down)  # (n, d): stay inside the box
        points = z[:, None, :] + np.eye(dim) * step[:, None, :]
        moves = np.abs(step) > 1e-9
        who = np.repeat(self.who[index], dim)
        values = self.budget.ask(who, points.reshape(-1, dim), "walk", moves.reshape(-1)).reshape(len(index), dim)
        known = np.isfinite(values) & moves
        slope = np.where(known, values - margin[index, None], 0.0) / np.where(known, step, 1.0)
        self.slopes[index, slot[index]] = slope
        self.offsets[index, slot[index]] = margin[index] - (slope * z).sum(axis=1)
