"""Product nodes: x y = xc y + yc x - xc yc + (x - xc) (y - yc) around the centers, with a bounded last term."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.program import Product
from paretofoil.proof.bounds import AffineForm, rows_times


@dataclass(frozen=True, eq=False)
class RelaxedProduct:
    """Sums of products as the sum of slopes . operand, plus offset +- radius."""

    kind: Product
    slopes: tuple[np.ndarray, ...]  # of each operand: (B, n x terms)
    offset: np.ndarray  # (B, n)
    radius: np.ndarray  # (B, n)
    operands: Sequence[AffineForm]

    def widened(self, error: np.ndarray) -> "RelaxedProduct":
        """Return the relaxation of products with an error of at most (B, n)."""
        return replace(self, radius=self.radius + error)

    def flat(self) -> "RelaxedProduct":
        return self

    def form(self, *operands: AffineForm) -> AffineForm:
        """Return the form of the outputs."""
        center, slopes, radius = self.offset, np.zeros(1), self.radius
        for slope, x in zip(self.slopes, operands, strict=True):
            center = center + self.kind.total(slope * x.center)
            slopes = slopes + self.kind.total(slope[:, None] * x.slopes)
            radius = radius + self.kind.total(np.abs(slope) * x.radius)
        return AffineForm(center, slopes, radius)

    def back(self, rows: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return upper bounds (offsets (B, R), rows of each operand) in which the operands replace the output."""
        offsets = offsets + rows_times(rows, self.offset) + rows_times(np.abs(rows), self.radius)
        rows = self.kind.spread(rows)
        return offsets, tuple(rows * slope[:, None, :] for slope in self.slopes)

    def terms(self, *terms: np.ndarray) -> np.ndarray:
        """Return bounds (B, n) of the sums of absolute terms of the relaxation, given those of the operands."""
        # The error of a form is a share of its terms; products multiply it by the size of the other operand.
        sizes = [np.abs(x.center) + x.reach for x in self.operands]
        products = self.kind.total(sizes[-1] * terms[0] + sizes[0] * terms[-1])
        return products + np.abs(self.offset) + self.radius


def relax_product(
    kind: Product, operands: Sequence[AffineForm], ranges: Sequence[tuple[np.ndarray, np.ndarray]], limit: float
) -> tuple[RelaxedProduct, np.ndarray, np.ndarray]:
    """Return a linear relaxation of a product over the operands' ranges, and its smallest and largest outputs.

    With one operand, the last term is a sum of squares and not negative. Where the relaxation is wider than the natural
    range +-limit, it is replaced by this range.
    """
    x, y = operands[0], operands[-1]
    square = len(operands) == 1
    least, most = _deviations(kind, x, y, square)
    offset, radius = (most + least) / 2 - kind.total(x.center * y.center), (most - least) / 2
    slopes: tuple[np.ndarray, ...] = (2.0 * x.center,) if square else (y.center, x.center)
    relaxed = RelaxedProduct(kind, slopes, offset, radius, operands)
    low, high = relaxed.form(*operands).interval()
    corners = [end_x * end_y for end_x in ranges[0] for end_y in ranges[-1]]
    if square:
        across = (ranges[0][0] < 0.0) & (ranges[0][1] > 0.0)
        corners = [np.where(across, 0.0, np.minimum(corners[0], corners[3])), np.maximum(corners[0], corners[3])]
    floor = np.maximum(low, kind.total(np.minimum.reduce(corners)))
    ceiling = np.minimum(high, kind.total(np.maximum.reduce(corners)))
    if np.isfinite(limit):
        wide = high - low > 2.0 * limit
        floor, ceiling = np.maximum(floor, -limit), np.minimum(ceiling, limit)
        slopes = tuple(np.where(kind.spread(wide), 0.0, slope) for slope in slopes)
        offset, radius = np.where(wide, 0.0, offset), np.where(wide, limit, radius)
        relaxed = RelaxedProduct(kind, slopes, offset, radius, operands)
    return relaxed, floor, ceiling


def _deviations(kind: Product, x: AffineForm, y: AffineForm, square: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest sums (B, n) of products of the deviations from both centers.

    The quadratic part is e . Q e with positions e from -1 to 1, where Q is summed over the terms first.
    """
    dim, terms = x.slopes.shape[1], kind.terms
    by_output = [form.slopes.reshape(*form.slopes.shape[:2], form.slopes.shape[2] // terms, terms) for form in (x, y)]
    quadratic = np.einsum("bint,bjnt->bijn", *by_output, optimize=terms > 8)
    diagonal = np.einsum("biin->bin", quadratic)
    mixed = np.zeros_like(x.radius[:, ::terms])
    for i in range(dim):
        for j in range(i):
            mixed = mixed + np.abs(quadratic[:, i, j] + quadratic[:, j, i])
    rest = kind.total(x.reach * y.radius + y.reach * x.radius - x.radius * y.radius)
    most = np.maximum(diagonal, 0.0).sum(axis=1) + mixed + rest
    return (np.zeros_like(most) if square else np.minimum(diagonal, 0.0).sum(axis=1) - mixed - rest), most
