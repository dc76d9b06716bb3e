"""Local refinement with derivatives: from any start to a change that is locally the closest valid one."""

import numpy as np

from paretofoil.core.command import length
from paretofoil.proof.branch import Claim
from paretofoil.proof.halfspace import nearest

_SHARES = np.array([1.0, 0.6, 0.25])
"""How far towards the aim of the linearised problem a step is tried."""
_ABOVE = 1e-7
"""Linearised margins are asked for this much more than needed, so that the true ones suffice."""
_ARRIVED = 1e-6
"""No step is worth its time when all trust regions are smaller than this."""
_FREE = 1e9
"""The offset of a half-space that does not restrict anything."""


def polish(claim: Claim, starts: np.ndarray, steps: int = 8, trust: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Go from starts (N, d) to the nearest points with all margins at least claim.level that are met.

    Gives points (N, d) and their sizes (N,), infinite where no valid point was met.
    """
    climbers = _Climbers(claim, np.clip(starts, claim.low, claim.high), trust)
    for _ in range(steps):
        if (climbers.trust < _ARRIVED).all():
            break
        climbers.step()
    return climbers.z, np.where(climbers.valid, length(climbers.z, claim.norm), np.inf)


class _Climbers:
    """Points that project 0 onto linearised half-spaces, within trust regions, and again.

    They remember the half-spaces of the point before and of the last failure: the margins bend sharply where a
    hidden unit switches, and both sides of the bend must be seen to step along it. Points that are not valid yet
    step to the nearest point that gains some margin.
    """

    def __init__(self, claim: Claim, z: np.ndarray, trust: float) -> None:
        self.claim, self.z = claim, z
        self.trust = np.full(len(z), trust)
        self.margins, slopes = claim.network.margins_and_slopes(z)  # (N, K), (N, K, d)
        num_rivals = slopes.shape[1]
        self.slopes = np.zeros((len(z), 3 * num_rivals, z.shape[1]))  # here, before, and where a step failed
        self.offsets = np.full((len(z), 3 * num_rivals), _FREE)
        self._here, self._before, self._failed = (slice(i * num_rivals, (i + 1) * num_rivals) for i in range(3))
        self._remember(np.arange(len(z)), self._here, z, self.margins, slopes)

    @property
    def valid(self) -> np.ndarray:
        return self.margins.min(axis=1, initial=np.inf) >= self.claim.level

    def _remember(self, rows: np.ndarray, slot: slice, z: np.ndarray, margins: np.ndarray, slopes: np.ndarray) -> None:
        self.slopes[rows, slot] = slopes
        self.offsets[rows, slot] = margins - (slopes * z[:, None, :]).sum(axis=2)

    def step(self) -> None:
        claim, rows, valid = self.claim, np.arange(len(self.z)), self.valid
        aim = self._aim(valid)
        at_aim, slopes_at_aim = claim.network.margins_and_slopes(aim)
        tries = self.z[:, None, :] + _SHARES[:, None] * (aim - self.z)[:, None, :]  # (N, T, d)
        tries = np.concatenate([self._repaired(aim, at_aim, slopes_at_aim)[:, None, :], tries], axis=1)
        tried = claim.network.margins(tries.reshape(-1, aim.shape[1])).reshape(*tries.shape[:2], -1)
        least = tried.min(axis=2, initial=np.inf)  # (N, T)
        sizes = np.where(least >= claim.level, length(tries, claim.norm), np.inf)
        own = np.where(valid, length(self.z, claim.norm), np.inf)
        closest, highest = sizes.argmin(axis=1), least.argmax(axis=1)
        closer = sizes[rows, closest] < own - _ARRIVED
        climbs = ~valid & ~closer & (least[rows, highest] > self.margins.min(axis=1, initial=np.inf))
        pick, moved = np.where(closer, closest, highest), closer | climbs
        self.trust *= np.where(moved & (pick <= 1), 2.0, np.where(moved, 1.0, 0.35))
        self._move(np.flatnonzero(moved), tries[rows, pick])
        failed = np.flatnonzero(~moved)
        self._remember(failed, self._failed, aim[failed], at_aim[failed], slopes_at_aim[failed])

    def _move(self, rows: np.ndarray, tries: np.ndarray) -> None:
        self.slopes[rows, self._before], self.offsets[rows, self._before] = (
            self.slopes[rows, self._here],
            self.offsets[rows, self._here],
        )
        self.z[rows] = tries[rows]
        self.margins[rows], slopes = self.claim.network.margins_and_slopes(self.z[rows])
        self._remember(rows, self._here, self.z[rows], self.margins[rows], slopes)

    def _aim(self, valid: np.ndarray) -> np.ndarray:
        """What the linearised problem says: the point nearest to 0, or to a point that is not valid itself."""
        claim, z, trust, lost = self.claim, self.z, self.trust[:, None], ~valid[:, None]
        here = (self.slopes * z[:, None, :]).sum(axis=2)
        offsets = np.maximum(self.offsets, np.tile(self.margins, 3) - here)  # none may contradict what z showed
        steepest = np.abs(self.slopes[:, self._here]).sum(axis=2).max(axis=1, initial=0.0)[:, None]
        gain = self.margins.min(axis=1, initial=np.inf)[:, None] + 0.5 * trust * steepest
        levels = np.minimum(claim.level + _ABOVE, np.where(lost, gain, np.inf)) - offsets - np.where(lost, here, 0.0)
        base = np.where(lost, z, 0.0)
        low, high = np.maximum(claim.low, z - trust), np.minimum(claim.high, z + trust)
        _, aim = nearest(self.slopes, levels, low - base, high - base, claim.norm)
        return np.clip(aim + base, low, high)

    def _repaired(self, points: np.ndarray, margins: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The smallest correction of points (N, d) that makes them valid, linearised: it follows curved boundaries."""
        low, high = self.claim.low - points, self.claim.high - points
        _, correction = nearest(slopes, self.claim.level + _ABOVE - margins, low, high, self.claim.norm)
        return np.clip(points + correction, self.claim.low, self.claim.high)
