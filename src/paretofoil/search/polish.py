"""Local refinement with derivatives: from any start to a change that is locally the closest valid one."""

import numpy as np

from paretofoil.command import length
from paretofoil.search.bound import MarginNetwork
from paretofoil.search.halfspace import nearest


def polish(network, starts, level, low, high, norm, steps=8):
    """Sequential projection onto the linearised half-spaces, from starts (N, d): (N, d), distances (N,), inf if none."""
    z = np.clip(starts, low, high)
    lows, highs = np.broadcast_to(low, z.shape), np.broadcast_to(high, z.shape)
    best, best_size = z.copy(), np.full(len(z), np.inf)
    shares = np.array([1.0, 0.7, 0.4, 0.15])
    for step in range(steps):
        margins, slopes = network.margins_and_slopes(z)
        levels = level + 1e-9 - margins + (slopes * z[:, None, :]).sum(axis=2)
        _, aim = nearest(slopes, levels, lows, highs, norm, steps=8)
        base = np.where(np.isfinite(best_size)[:, None], best, z)
        tries = base[:, None, :] + shares[:, None] * (aim - base)[:, None, :]  # (N, T, d)
        valid = network.margins(tries.reshape(-1, z.shape[1])).min(axis=1, initial=np.inf).reshape(tries.shape[:2]) >= level
        size = np.where(valid, length(tries, norm), np.inf)
        pick = size.argmin(axis=1)
        rows = np.arange(len(z))
        better = size[rows, pick] < best_size
        best[better], best_size[better] = tries[rows, pick][better], size[rows, pick][better]
        z = np.clip(aim, low, high)
    return best, best_size
