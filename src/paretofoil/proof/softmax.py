"""Softmax nodes: p(x) = p(c) + J (x - c) with derivatives J between bounds (the mean value theorem)."""

from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.program import Softmax
from paretofoil.proof.bounds import AffineForm, rows_times

_ROUNDING = 2.0**-40
"""Upper bound of the rounding error of a probability, relative to 1."""
_SUBTRACTION = 2.0**-50
"""Upper bound of the relative rounding error of a difference, or of a logarithm of a sum."""
_TINY = 1e-300
"""Upper bound of the rounding error of a probability close to 0."""


@dataclass(frozen=True, eq=False)
class RelaxedSoftmax:
    """Probabilities as slopes @ x + offset +- radius, group by group."""

    kind: Softmax
    slopes: np.ndarray  # (B, groups, count, count)
    offset: np.ndarray  # (B, n)
    radius: np.ndarray  # (B, n)

    def widened(self, error: np.ndarray) -> "RelaxedSoftmax":
        return replace(self, radius=self.radius + error)

    def flat(self) -> "RelaxedSoftmax":
        return self

    def form(self, x: AffineForm) -> AffineForm:
        """Return the form of the outputs."""
        center, radius = (
            self._times(self.slopes, x.center[:, None]),
            self._times(np.abs(self.slopes), x.radius[:, None]),
        )
        return AffineForm(center[:, 0] + self.offset, self._times(self.slopes, x.slopes), radius[:, 0] + self.radius)

    def back(self, rows: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return upper bounds (offsets (B, R), rows (B, R, n)) in which the operand replaces the output."""
        offsets = offsets + rows_times(rows, self.offset) + rows_times(np.abs(rows), self.radius)
        return offsets, (self._times(self.slopes.swapaxes(-1, -2), rows),)

    def terms(self, terms: np.ndarray) -> np.ndarray:
        """Return bounds (B, n) of the sums of absolute terms of the relaxation, given those of the operand."""
        return self._times(np.abs(self.slopes), terms[:, None])[:, 0] + np.abs(self.offset) + self.radius

    def _times(self, matrices: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return matrices (B, groups, count, count) times vectors (B or 1, R, n): (B, R, n)."""
        groups = self.kind.groups(rows)
        groups = np.broadcast_to(groups, (len(matrices), *groups.shape[1:]))
        products = np.einsum("bgij,brgj->brgi", matrices, groups, optimize=True)
        return products.reshape(*products.shape[:2], rows.shape[-1])


def relax_softmax(kind: Softmax, least: np.ndarray, most: np.ndarray) -> tuple[RelaxedSoftmax, np.ndarray, np.ndarray]:
    """Return the relaxation over intervals (B, n) of the input, and the smallest and the largest outputs."""
    low, high = kind.groups(least), kind.groups(most)
    lower, upper = map(kind.groups, shares(kind, least, most))
    center = (low + high) / 2
    values = kind.groups(kind.points(center.reshape(least.shape)))
    around = np.where((lower < 0.5) & (upper > 0.5), 0.25, 0.0)
    ends = lower * (1.0 - lower), upper * (1.0 - upper)
    own_least, own_most = np.minimum(*ends), np.maximum(np.maximum(*ends), around)
    identity = np.eye(kind.count)
    most_slope = np.where(identity > 0, own_most[..., None], -lower[..., None] * lower[..., None, :])
    least_slope = np.where(identity > 0, own_least[..., None], -upper[..., None] * upper[..., None, :])
    slopes, spread = (most_slope + least_slope) / 2, (most_slope - least_slope) / 2 + _ROUNDING
    radius = (spread @ ((high - low) / 2 * (1.0 + _ROUNDING))[..., None])[..., 0] + _ROUNDING * values
    offset = values - (slopes @ center[..., None])[..., 0]
    relaxed = RelaxedSoftmax(kind, slopes, offset.reshape(least.shape), radius.reshape(least.shape))
    return relaxed, lower.reshape(least.shape), upper.reshape(least.shape)


def shares(kind: Softmax, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest outputs over intervals (B, n) of the input.

    They are bounds of p_i = sigmoid(x_i - logsumexp of the others). The logsumexp is computed from the others only,
    because a difference of exponentials would lose all digits. Each bound is the exponential of a logarithm, so the
    relative error of a small probability is also small.
    """
    if kind.count == 1:
        return np.ones_like(least), np.ones_like(most)
    low, high = kind.groups(least), kind.groups(most)
    above, below = _of_others(high), _of_others(low)
    lower = np.exp(-np.logaddexp(0.0, above - low + _SUBTRACTION * (np.abs(above) + np.abs(low))))
    upper = np.exp(-np.logaddexp(0.0, below - high - _SUBTRACTION * (np.abs(below) + np.abs(high))))
    lower = np.maximum(lower * (1.0 - _ROUNDING) - _TINY, 0.0)
    upper = np.minimum(upper * (1.0 + _ROUNDING) + _TINY, 1.0)
    return lower.reshape(least.shape), upper.reshape(least.shape)


def _of_others(x: np.ndarray) -> np.ndarray:
    """Return, for each number of the last axis (of at least two), the logsumexp of all others."""
    others = np.where(np.eye(x.shape[-1], dtype=bool), -np.inf, x[..., None, :])
    largest = others.max(axis=-1, keepdims=True)
    sums: np.ndarray = np.log(np.exp(others - largest).sum(axis=-1)) + largest[..., 0]
    return sums
