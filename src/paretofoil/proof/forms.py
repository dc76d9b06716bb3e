"""Affine forms of many numbers over many boxes at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.core.program import Affine


@dataclass(frozen=True, eq=False)
class AffineForm:
    """Numbers as center + slopes . e +- radius, for the position e of the input in its box, from -1 to 1."""

    center: np.ndarray  # (B, n)
    slopes: np.ndarray  # (B, d, n)
    radius: np.ndarray  # (B, n)

    @classmethod
    def of_boxes(cls, low: np.ndarray, high: np.ndarray) -> "AffineForm":
        return cls((low + high) / 2, np.eye(low.shape[1]) * ((high - low) / 2)[:, None, :], np.zeros_like(low))

    def affine(self, weight: np.ndarray, bias: np.ndarray) -> "AffineForm":
        """Return the form after an affine layer."""
        return AffineForm(
            times(self.center, weight) + bias,
            apply(self.slopes, weight.swapaxes(-1, -2)),
            times(self.radius, np.abs(weight)),
        )

    @classmethod
    def of_affine(cls, affine: Affine, forms: "Sequence[AffineForm]") -> "AffineForm":
        """Return the form of an affine function of numbers with these forms, by node."""
        (first, weight), *others = affine.weights.items()
        total = forms[first].affine(weight, affine.bias)
        for node, weight in others:
            part = forms[node].affine(weight, np.zeros(1))
            total = cls(total.center + part.center, total.slopes + part.slopes, total.radius + part.radius)
        return total

    def widened(self, error: np.ndarray | float) -> "AffineForm":
        """Return the form of numbers with an additional error of at most (B, n)."""
        return AffineForm(self.center, self.slopes, self.radius + error)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest value of each number: (B, n), (B, n)."""
        reach = self.reach
        return self.center - reach, self.center + reach

    @property
    def reach(self) -> np.ndarray:
        """The largest distance (B, n) from the center."""
        reach: np.ndarray = np.abs(self.slopes).sum(axis=1) + self.radius
        return reach


def times(vectors: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the products (B, m) of vectors (B, n) with a weight (m, n), or with one weight each (B, m, n)."""
    return vectors @ weight.T if weight.ndim == 2 else np.matmul(weight, vectors[:, :, None])[:, :, 0]


def apply(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return (B, R, n) @ (n, m) as one product, or with one weight each (B, n, m)."""
    if weight.ndim == 3:
        return np.matmul(rows, weight)
    return (rows.reshape(-1, rows.shape[-1]) @ weight).reshape(*rows.shape[:2], weight.shape[1])


def rows_times(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return (B or 1, R, n) times (B, n): (B, R)."""
    if rows.shape[0] == 1:
        return vectors @ rows[0].T
    return np.matmul(rows, vectors[:, :, None])[:, :, 0]
