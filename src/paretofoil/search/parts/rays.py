"""Front-seeded directional search: prior, rays, bisection (paper, "Boundary-Seeded Directional Search")."""

from typing import Literal

import numpy as np

from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.region import Region

SAME = 1e-9
"""Scaled differences up to this are rounding noise, not a direction."""
MAX_ENDPOINTS = 1 << 20
"""Rays that are held in memory at once; questions beyond it take turns."""

Directions = Literal["mirror", "reject"]


def infer_signs(budget: Budget) -> np.ndarray:
    """The directional prior: for each question and objective +1 (only increase), -1 (only decrease) or 0.

    It points from the command to the front point with the largest foil margin. A front point may lie
    outside the region; a component that has no room in its direction is left unrestricted, since a ray
    cannot follow it.
    """
    batch = budget.batch
    signs = np.zeros((batch.num_questions, batch.dim))
    counts = [len(q.front) for q in batch.questions]
    rows = np.repeat(np.arange(batch.num_questions), counts)
    if not rows.size:
        return signs
    front = np.concatenate([q.front for q in batch.questions])
    margins = budget.ask_at(rows, front, "front")
    z = batch.changes_to(rows, front)
    inside = batch.holds(rows, z)
    budget.closest.offer(rows[inside], z[inside], margins[inside])
    start = 0
    for row, count in enumerate(counts):
        if count:
            j = start + int(np.argmax(margins[start : start + count]))
            toward = batch.project(rows[j : j + 1], z[j : j + 1])[0]
            signs[row] = np.where(np.abs(toward) > SAME, np.sign(toward), 0.0)
        start += count
    return signs


def unit_directions(seed: int, count: int, signs: np.ndarray, free: np.ndarray, how: Directions) -> np.ndarray:
    """(count, d) unit vectors u = v / |v| of Gaussian v within the prior; 0 where the region has no width.

    Mirroring a wrong sign gives the same distribution as rejecting the vector, at no cost.
    """
    rng = np.random.default_rng(seed)
    signs = np.where(free, signs, 0.0)
    restricted = signs != 0
    if how == "mirror" or not restricted.any():
        v = rng.standard_normal((count, len(signs)))
        v = np.where(restricted, np.abs(v) * signs, v)
    else:
        kept: list[np.ndarray] = []
        while sum(map(len, kept)) < count:
            v = rng.standard_normal((count, len(signs)))
            kept.append(v[(v * signs >= 0).all(axis=1)])
        v = np.concatenate(kept)[:count]
    v = v * free
    norms = np.linalg.norm(v, axis=1, keepdims=True)
    return np.divide(v, norms, out=np.zeros_like(v), where=norms > 0)


def longest_step(u: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The largest alpha for which alpha u (N, d) stays inside the region low..high (d,)."""
    room = np.where(u > 0, high, low)
    steps = np.divide(room, u, out=np.full_like(u, np.inf), where=u != 0)
    alpha = steps.min(axis=1)
    return np.where(np.isfinite(alpha), alpha, 0.0)


def search_rays(budget: Budget, *, directions: int, steps: int, seed: int, how: Directions) -> np.ndarray:
    """Endpoints, then bisection; returns the closest successful ray point (Q, d), 0 where no ray succeeded."""
    batch, signs, region = budget.batch, infer_signs(budget), Region.whole(budget.batch)
    kept = budget.keep_back(0.5)  # for the bisections
    seeds = np.zeros((batch.num_questions, batch.dim))
    at_once = max(1, MAX_ENDPOINTS // max(directions, 1))
    for first in range(0, batch.num_questions, at_once):
        chunk = np.arange(first, min(first + at_once, batch.num_questions))
        us = [unit_directions(seed, directions, signs[q], batch.high[q] > batch.low[q], how) for q in chunk]
        ends = [longest_step(u, batch.low[q], batch.high[q]) for u, q in zip(us, chunk, strict=True)]
        rows, u, alpha = np.repeat(chunk, directions), np.concatenate(us), np.concatenate(ends)
        margins = budget.ask(rows, region.inside(rows, alpha[:, None] * u), "endpoints")
        succeeded = (margins >= batch.kappa[rows]) & (alpha > 0)
        budget.left[chunk] += kept[chunk]
        rows, u, alpha = bisect(budget, region, rows[succeeded], u[succeeded], alpha[succeeded], steps)
        reach = alpha * batch.distances(u)
        shortest = np.full(batch.num_questions, np.inf)
        np.minimum.at(shortest, rows, reach)
        winners = np.flatnonzero(reach == shortest[rows])[::-1]  # the first of equals is written last
        seeds[rows[winners]] = alpha[winners, None] * u[winners]
    return seeds


def bisect(
    budget: Budget,
    region: Region,
    rows: np.ndarray,
    u: np.ndarray,
    high: np.ndarray,
    steps: int,
    *,
    phase: str = "bisection",
    prune: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pull rays u (N, d) of the questions in rows (N,) back together, from high (N,), where all succeed.

    A ray whose failing end is not closer than another ray's valid end cannot win any more and is dropped, which
    changes no result, only what is spent (`prune`; the paper bisects every ray to the end). Returns the rays that are
    left.
    """
    batch, low = budget.batch, np.zeros_like(high)
    unit = batch.distances(u)  # what a step of 1 along each ray costs; 1 for the l2 norm
    shortest = np.full(batch.num_questions, np.inf)
    for _ in range(steps):
        if budget.late or not len(rows):
            break
        if prune:
            np.minimum.at(shortest, rows, high * unit)
            alive = low * unit < shortest[rows]
            rows, u, low, high, unit = rows[alive], u[alive], low[alive], high[alive], unit[alive]
        middle = (low + high) / 2
        margins = budget.ask(rows, region.inside(rows, middle[:, None] * u), phase)
        valid = margins >= batch.kappa[rows]
        high, low = np.where(valid, middle, high), np.where(valid, low, middle)
    return rows, u, high
