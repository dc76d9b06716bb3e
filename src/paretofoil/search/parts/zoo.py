"""ZOO-ADAM: coordinate descent on finite differences (paper, appendix "ZOO-ADAM Coordinate Optimizer")."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paretofoil.search.parts.adam import BETA1, BETA2, EPSILON, bias_corrections
from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.region import Region

ZOO_STREAM = 1
"""Coordinates come from (seed, ZOO_STREAM), directions from the seed itself: neither shifts the other."""


@dataclass(frozen=True)
class ZooConfig:
    """The local phase of CF-ZOO."""

    max_queries: int = 9_001
    """The maximum of queries: one at the start and three for each iteration."""
    c: float = 1.0
    """The weight of the hinge term against the squared distance."""
    eta: float = 0.01
    """The learning rate of ADAM, in scaled coordinates."""
    h: float = 1e-3
    """The finite-difference step, in scaled coordinates."""
    clipped: bool = False
    """Measure the clipped change and clip each iterate: so does the authors' code, the paper's text does neither."""

    @property
    def iterations(self) -> int:
        return max(self.max_queries - 1, 0) // 3


def coordinates(seed: int, dim: int, iterations: int) -> np.ndarray:
    """The coordinate of each iteration, sampled uniformly; a longer run begins like a shorter one."""
    return np.random.default_rng([seed, ZOO_STREAM]).integers(dim, size=iterations)


def adam_steps(coordinate: np.ndarray) -> Iterator[tuple[int, float, float]]:
    """For each iteration its coordinate i and the bias corrections 1 - beta^t_i."""
    updates: dict[int, int] = {}
    for i in coordinate.tolist():
        updates[i] = updates.get(i, 0) + 1
        yield i, *bias_corrections(updates[i])


def refine(budget: Budget, start: np.ndarray, config: ZooConfig, seed: int, region: Region | None = None) -> None:
    """Descend from start (Q, d) for all questions at once, as far as their queries reach."""
    region = Region.whole(budget.batch) if region is None else region
    iterations = np.minimum(np.maximum(budget.left - 1, 0) // 3, config.iterations)
    budget.cut |= iterations < config.iterations
    for count in np.unique(iterations):
        who = np.flatnonzero(iterations == count)
        _descend(budget, region, who, start[who], config, coordinates(seed, budget.batch.dim, int(count)))


def _descend(
    budget: Budget, region: Region, who: np.ndarray, start: np.ndarray, config: ZooConfig, coordinate: np.ndarray
) -> None:
    """The budget learns of every valid point that is met; coordinates are those of the region.

    An iteration is one call of the policy: the query of the updated point rides with the next iteration's two.
    """
    batch, rows = budget.batch, budget.rows[who]
    y = start / region.unit[rows]
    mean, variance = np.zeros_like(y), np.zeros_like(y)
    size, triple = len(who), np.concatenate([who, who, who])
    unit, low, high = (np.concatenate([side[rows]] * 3) for side in (region.unit, region.low, region.high))
    kappa = np.tile(batch.kappa[rows], 2)
    steps = config.h * np.array([0.0, 1.0, -1.0])[:, None, None] * np.eye(batch.dim)[:, None, None]  # (d, 3, 1, d)
    margins_at = budget.repeat(triple, "zoo")
    for i, correct1, correct2 in adam_steps(coordinate):
        if budget.late:
            return
        points = (y + steps[i]).reshape(3 * size, batch.dim)  # the updated point, y + h e_i, y - h e_i
        z = np.minimum(np.maximum(points * unit, low), high)
        margins = margins_at(z)
        measured = z[size:] / unit[size:] if config.clipped else points[size:]
        losses = batch.distances(measured) ** 2 + config.c * np.maximum(kappa - margins[size:], 0.0)
        gradient = (losses[:size] - losses[size:]) / (2 * config.h)
        mean[:, i] = m = BETA1 * mean[:, i] + (1 - BETA1) * gradient
        variance[:, i] = v = BETA2 * variance[:, i] + (1 - BETA2) * gradient**2
        y[:, i] -= config.eta * (m / correct1) / (np.sqrt(v / correct2) + EPSILON)
        if config.clipped:
            y = np.clip(y, low[:size] / unit[:size], high[:size] / unit[:size])
    budget.ask(who, region.inside(rows, y), "zoo")
