"""Where to look first: changes along rays and in balls, spread evenly."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from paretofoil.core.question import QuestionBatch

_AXIS_SHARES = np.array([0.05, 0.15, 0.3, 0.5, 0.75, 1.0])
_FRONT_SHARES = np.array([0.5, 1.0])
_NUM_FRONT = 24


class Scan:
    """Points to evaluate, the same stream for every question; only their boxes and balls differ."""

    def __init__(self, dim: int, seed: int) -> None:
        self.dim = dim
        self._sobol = qmc.Sobol(dim + 1, scramble=True, rng=np.random.default_rng(seed))

    def _uniform(self, num_points: int) -> np.ndarray:
        return np.clip(self._sobol.random(num_points), 1e-9, 1.0 - 1e-9)  # (n, d + 1)

    def first(self, batch: QuestionBatch, rows: np.ndarray, num_points: int) -> np.ndarray:
        """0, points along the axes, the nearest front points and halfway to them, and points all over: (Q, n, d)."""
        low, high = batch.low[rows][:, None, :], batch.high[rows][:, None, :]
        ends = np.concatenate([np.eye(self.dim) * high, np.eye(self.dim) * low], axis=1)  # (Q, 2 d, d)
        axes = (ends[:, :, None, :] * _AXIS_SHARES[:, None]).reshape(len(rows), -1, self.dim)
        fronts = np.zeros((len(rows), _NUM_FRONT, self.dim))
        for i, row in enumerate(rows):
            question = batch.questions[row]
            where = np.full(len(question.front), row)
            front = batch.project(where, batch.changes_to(where, question.front))
            front = front[np.argsort(batch.distances(front), kind="stable")[:_NUM_FRONT]]
            fronts[i, : len(front)] = front
        fronts = (fronts[:, :, None, :] * _FRONT_SHARES[:, None]).reshape(len(rows), -1, self.dim)
        everywhere = low + self._uniform(num_points)[:, : self.dim] * (high - low)
        return np.concatenate([np.zeros((len(rows), 1, self.dim)), axes, fronts, everywhere], axis=1)

    def within(self, batch: QuestionBatch, rows: np.ndarray, radius: np.ndarray, num_points: int) -> np.ndarray:
        """Points within the radius (Q,) of 0, or all over the box where the radius is infinite: (Q, n, d)."""
        low, high = batch.low[rows][:, None, :], batch.high[rows][:, None, :]
        uniform = self._uniform(num_points)
        everywhere = low + uniform[:, : self.dim] * (high - low)  # (Q, n, d)
        direction = ndtri(uniform[:, : self.dim])
        direction = direction / np.maximum(batch.distances(direction), 1e-12)[:, None]
        ball = direction * uniform[:, self.dim :] ** (1.0 / self.dim)  # (n, d)
        finite = np.where(np.isfinite(radius), radius, 0.0)[:, None, None]
        return np.where(np.isfinite(radius)[:, None, None], np.clip(finite * ball, low, high), everywhere)
