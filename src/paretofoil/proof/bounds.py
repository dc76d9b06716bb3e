"""Linear bounds over many boxes: affine forms, half-spaces of margins, and the facets of a region of preferences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import CONSTRAINT_SLACK
from paretofoil.core.program import Affine
from paretofoil.core.question import Question

_CHUNK = 1 << 16
"""Largest number of entries of an array in a bounding step, so that it stays in the cache."""
UNBOUNDED = 1e30
"""The upper bound of a margin if none is known."""
FACET_ROUNDING = 1e-12
"""Upper bound of the rounding error of the position of a facet: weights are at most 1."""
CAP_DIM = 4
"""From this dimension on, bounds are restricted to caps. In fewer dimensions, caps cost more than they save."""
_TINY = 1e-100
_CAP_ROUNDING = 1e-12
"""Upper bound of the relative rounding error of a sum over coordinates."""


@dataclass(frozen=True, eq=False)
class AffineForm:
    """Numbers of the form center + slopes . e +- radius, for the position e of the input in its box, from -1 to 1."""

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


@dataclass(frozen=True, eq=False)
class Cap:
    """The parts of B boxes that can hold points closer than the incumbent: |z| <= radius and normal . z >= height.

    A part may be empty. Its bounds are then arbitrary, because no point can contradict them.
    """

    radius: float
    """Infinite if there is no incumbent; bounds then hold in whole boxes."""
    normal: np.ndarray  # (B, d), of length 1
    height: np.ndarray  # (B,), at most the radius

    @classmethod
    def beyond(cls, radius: float, slopes: np.ndarray, levels: np.ndarray) -> "Cap":
        """Return the caps in the farthest of the half-spaces slopes @ z >= levels: (B, K, d), (B, K)."""
        sizes = np.maximum(np.sqrt(np.einsum("bkd,bkd->bk", slopes, slopes)), _TINY)
        heights = levels / sizes
        farthest = (np.arange(len(slopes)), heights.argmax(axis=1))
        return cls(radius, slopes[farthest] / sizes[farthest][:, None], np.minimum(heights[farthest], radius))

    def __getitem__(self, index: Any) -> "Cap":
        return Cap(self.radius, self.normal[index], self.height[index])

    def reach(self, slopes: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return upper bounds (B, n) of -slopes . e and of slopes . e over the caps in boxes.

        slopes (B, d, n); e is the position in the box low, high (B, d), from -1 to 1. As a function of z, slopes . e is
        w . z minus its value at the center of the box. By duality, w . z is at most
        v . z' + (radius^2 - |z'|^2) pull / 2 - share height for every pull > 0 and share >= 0. Here v = w + share
        normal, and z' = v / pull clipped to the box. The method takes the pull and the share that would be optimal if
        the cap were not cut by the box.
        """
        half, first, last = (high - low) / 2, low[:, :, None], high[:, :, None]
        w = slopes / np.where(half > 0, half, 1.0)[:, :, None]
        lines = np.matmul(np.stack([self.normal, (low + high) / 2], axis=1), w)
        along, middle = lines[:, 0], lines[:, 1]
        square, height = np.einsum("bdn,bdn->bn", w, w), self.height[:, None]
        size = np.sqrt(square)
        flat = size / self.radius
        rim = np.sqrt(np.maximum(self.radius**2 - height**2, (1e-6 * self.radius) ** 2))
        across = np.maximum(np.sqrt(np.maximum(square - along**2, 0.0)) / rim, 1e-6 * flat) + _TINY
        sides = []
        for sign in (-1.0, 1.0):
            on_ball = sign * self.radius * along >= height * size
            pull = np.where(on_ball, flat + _TINY, across)
            share = np.where(on_ball, 0.0, np.maximum(across * height - sign * along, 0.0))
            v = share[:, None, :] * self.normal[:, :, None]
            v += sign * w
            z = v / pull[:, None, :]
            np.minimum(z, last, out=z)
            np.maximum(z, first, out=z)
            v -= (pull / 2)[:, None, :] * z
            value = np.einsum("bdn,bdn->bn", z, v)  # v . z - |z|^2 pull / 2
            value += self.radius**2 / 2 * pull - share * height - sign * middle
            sides.append(value + _CAP_ROUNDING * (self.radius * (size + share) + np.abs(middle)))
        return sides[0], sides[1]


def times(vectors: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the products (B, m) of vectors (B, n) with a weight (m, n), or with one weight each (B, m, n)."""
    return vectors @ weight.T if weight.ndim == 2 else np.matmul(weight, vectors[:, :, None])[:, :, 0]


def apply(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return (B, R, n) @ (n, m) as one product, or with one weight each (B, n, m)."""
    if weight.ndim == 3:
        return np.matmul(rows, weight)
    count, num_rows, size = rows.shape
    return (rows.reshape(count * num_rows, size) @ weight).reshape(count, num_rows, weight.shape[1])


def rows_times(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return (B or 1, R, n) times (B, n): (B, R)."""
    if rows.shape[0] == 1:
        return vectors @ rows[0].T
    return np.matmul(rows, vectors[:, :, None])[:, :, 0]


def spread(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array, broadcast only if needed: `np.broadcast_to` takes as long as a small product."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """Upper bounds of the margins over K rivals in B boxes: margin <= slopes @ z + offsets for all z of the box."""

    slopes: np.ndarray  # (B, K, d)
    offsets: np.ndarray  # (B, K)

    def highest(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest value of each bound over the boxes low, high (B, d): (B, K)."""
        center, radius = (low + high) / 2, (high - low) / 2
        return self.offsets + rows_times(self.slopes, center) + rows_times(np.abs(self.slopes), radius)


def in_chunks(bounds: Callable[[slice], HalfSpaces], count: int, numbers: int) -> HalfSpaces:
    """Return bounds over `count` boxes, computed in chunks; a box needs arrays of `numbers` entries."""
    step = max(1, _CHUNK // numbers)
    parts = [bounds(slice(start, start + step)) for start in range(0, max(count, 1), step)]
    if len(parts) == 1:
        return parts[0]
    return HalfSpaces(np.concatenate([p.slopes for p in parts]), np.concatenate([p.offsets for p in parts]))


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of a search region in its box: a scaled change z is inside where slopes @ z + offsets >= 0."""

    slopes: np.ndarray  # (K, d)
    offsets: np.ndarray  # (K,)

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return slopes @ z + offsets for scaled changes z (N, d), as an array (N, K)."""
        return z @ self.slopes.T + self.offsets

    def append_to(self, bounds: HalfSpaces, level: float) -> HalfSpaces:
        """Return the bounds with each facet as a further rival; inside the region, its bound is at least the level."""
        shape = (len(bounds.slopes), *self.slopes.shape)
        return HalfSpaces(
            np.concatenate([bounds.slopes, np.broadcast_to(self.slopes, shape)], axis=1),
            np.concatenate([bounds.offsets, np.broadcast_to(self.offsets + level, shape[:2])], axis=1),
        )


def region_facets(question: Question, outwards: np.ndarray | float = 0.0) -> Facets | None:
    """Return the facets of a question's region, moved outwards by errors (d,) of commands; None for a box.

    The facets belong to the region of preferences, or to constraints.
    """
    if not question.space.simplex:
        slopes, bounds = question.space.half_spaces
        if not len(slopes):
            return None
        spare = bounds - slopes @ question.command + np.abs(slopes) @ np.broadcast_to(outwards, question.command.shape)
        spare = spare + (2 * CONSTRAINT_SLACK if np.any(outwards) else 0.0)
        return Facets(-slopes * question.space.scale, spare)
    low, high, command, basis = question.low, question.high, question.command, question.basis
    free = high > low
    capped = free & (high < 1.0 - (low.sum() - low) - FACET_ROUNDING)  # others follow from the lower sides and the sum
    moved = np.broadcast_to(outwards, command.shape) + (FACET_ROUNDING if np.any(outwards) else 0.0)
    return Facets(
        np.concatenate([basis[free], -basis[capped]]),
        np.concatenate([(command - low + moved)[free], (high - command + moved)[capped]]),
    )
