"""ZOO-ADAM: coordinate descent on finite differences (paper, appendix "ZOO-ADAM Coordinate Optimizer")."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
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
    seconds: float | None = None
    """Stop after this time with the best answer so far; None for no limit."""

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
        yield i, 1 - BETA1 ** updates[i], 1 - BETA2 ** updates[i]


def refine(batch: QuestionBatch, start: np.ndarray, best: Incumbents, config: ZooConfig, seed: int) -> bool:
    """Descend from start (Q, d) for all questions at once; the incumbents learn of every valid point.

    An iteration is one call of the policy: the query of the updated point rides with the next iteration's
    two. Returns False if the time limit ended it.
    """
    z = start.copy()
    mean, variance = np.zeros_like(z), np.zeros_like(z)
    size, rows = batch.size, np.arange(batch.size)
    triple = np.concatenate([rows, rows, rows])
    low, high, kappa = batch.low[triple], batch.high[triple], batch.kappa[triple]
    steps = config.h * np.array([0.0, 1.0, -1.0])[:, None, None] * np.eye(batch.dim)[:, None, None]  # (d, 3, 1, d)
    margins_at = batch.repeat(triple, "zoo")
    deadline = None if config.seconds is None else time.perf_counter() + config.seconds
    for i, correct1, correct2 in adam_steps(coordinates(seed, batch.dim, config.iterations)):
        points = (z + steps[i]).reshape(3 * size, batch.dim)  # the updated point, z + h e_i, z - h e_i
        projected = np.minimum(np.maximum(points, low), high)
        margins = margins_at(projected)
        best.offer(triple, projected, margins)
        losses = batch.distances(points[size:]) ** 2 + config.c * np.maximum(kappa[size:] - margins[size:], 0.0)
        gradient = (losses[:size] - losses[size:]) / (2 * config.h)
        mean[:, i] = m = BETA1 * mean[:, i] + (1 - BETA1) * gradient
        variance[:, i] = v = BETA2 * variance[:, i] + (1 - BETA2) * gradient**2
        z[:, i] -= config.eta * (m / correct1) / (np.sqrt(v / correct2) + EPSILON)
        if deadline is not None and time.perf_counter() > deadline:
            return False
    projected = batch.project(rows, z)
    best.offer(rows, projected, batch.margins(rows, projected, "zoo"))
    return True


@dataclass(frozen=True)
class LocalZoo:
    """ZOO from the original command without any seeding: the ablation behind the paper's argument."""

    zoo: ZooConfig = ZooConfig()
    seed: int = 0
    """The seed of the coordinates."""

    @property
    def name(self) -> str:
        return "local-zoo"

    def run(self, batch: QuestionBatch) -> list[Finding]:
        best = Incumbents(batch)
        finished = refine(batch, np.zeros((batch.size, batch.dim)), best, self.zoo, self.seed)
        return best.findings(stopped_early=not finished)
