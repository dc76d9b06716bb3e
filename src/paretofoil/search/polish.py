"""Local refinement with derivatives: from any start to a change that is locally the closest valid one."""

import numpy as np

from paretofoil.command import length
from paretofoil.search.branch import Claim
from paretofoil.search.halfspace import nearest

_SHARES = np.array([1.0, 0.6, 0.25])
"""How far towards the aim of the linearised problem a step is tried."""
_ABOVE = 1e-7
"""Linearised margins are asked for this much more than needed, so that the true ones suffice."""
_ARRIVED = 1e-6
"""No step is worth its time when all trust regions are smaller than this."""


def polish(claim: Claim, starts: np.ndarray, steps: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Go from starts (N, d) to the nearest points with all margins at least claim.level that are met.

    Project 0 onto the linearised half-spaces, within a trust region that grows with success and shrinks with
    failure; a start that is not valid goes wherever its half-spaces lead. Gives points (N, d) and their sizes (N,),
    infinite where no valid point was met.
    """
    z = np.clip(starts, claim.low, claim.high)
    rows = np.arange(len(z))
    margins, slopes = claim.network.margins_and_slopes(z)
    size = np.where((margins >= claim.level).all(axis=1), length(z, claim.norm), np.inf)
    trust = np.full((len(z), 1), 0.3)
    for _ in range(steps):
        if (trust < _ARRIVED).all():
            break
        low, high = np.maximum(claim.low, z - trust), np.minimum(claim.high, z + trust)
        levels = claim.level + _ABOVE - margins + (slopes * z[:, None, :]).sum(axis=2)
        _, aim = nearest(slopes, levels, low, high, claim.norm)
        tries = z[:, None, :] + _SHARES[:, None] * (aim - z)[:, None, :]  # (N, T, d)
        tries = np.concatenate([_repaired(claim, aim)[:, None, :], tries], axis=1)
        tried = claim.network.margins(tries.reshape(-1, z.shape[1])).reshape(*tries.shape[:2], -1)
        valid = (tried >= claim.level).all(axis=2)
        sizes = np.where(valid, length(tries, claim.norm), np.inf)  # (N, T)
        pick = sizes.argmin(axis=1)
        better = sizes[rows, pick] < size - _ARRIVED / 10
        lost = ~better & np.isinf(size)  # still looking for a first valid point
        trust = np.where((better & (pick <= 1))[:, None], 2.0, np.where(better | lost, 1.0, 0.35)[:, None]) * trust
        z = np.where(better[:, None], tries[rows, pick], np.where(lost[:, None], tries[:, 0], z))
        size = np.where(better, sizes[rows, pick], size)
        margins, slopes = claim.network.margins_and_slopes(z)
    return z, size


def _repaired(claim: Claim, points: np.ndarray) -> np.ndarray:
    """The smallest correction of points (N, d) that makes them valid, linearised: it follows curved boundaries."""
    margins, slopes = claim.network.margins_and_slopes(points)
    low, high = claim.low - points, claim.high - points
    _, correction = nearest(slopes, claim.level + _ABOVE - margins, low, high, claim.norm)
    return points + correction
