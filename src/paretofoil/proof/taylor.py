"""The Taylor bounder: polynomials with remainders (Taylor models), carried forward through a program.

Attention multiplies varying numbers by a softmax of varying numbers, for which linear forms are too loose. A Taylor
model is a polynomial of the position e of the input in its box, from -1 to 1, and a bound on the remainder.
The polynomials of the margins then become linear upper bounds: a term of degree two or more is at most its absolute
value, or at most 0 if it is an even power with a negative coefficient.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from paretofoil.core.program import STEEPEST, Affine, Elementwise, Function, Node, Product, Program, Softmax
from paretofoil.proof.bounds import UNBOUNDED, HalfSpaces
from paretofoil.proof.elementwise import RELAXATIONS
from paretofoil.proof.softmax import shares

DEGREES = {1: 10, 2: 7, 3: 4}
"""The degree of the polynomials, by the number of inputs; the linear bounder bounds programs of more inputs."""
_ROUNDING = 2.0**-47
"""Upper bound of the relative rounding error of one operation on polynomials, as a share of the sizes of its terms."""
_OF_BOUNDS = 2.0**-42
"""Upper bound of the relative rounding error of the computation of a radius or a ball, which may be a series."""
_MOST_BLOCKS, _WORTHWHILE = 4, 0.8
"""Maximum number of blocks of a weight, and the share of its entries above which it is not divided into blocks."""
_SINGLE = Product()
"""Products that are not summed."""
_NEGLIGIBLE = 1e-6
"""The remainder of a series for which lines are not tried."""
_FAR = 40.0
"""Exponentials of larger numbers are not followed."""
_NOTHING, _TINY = -700.0, 1e-300
"""The exponentials of numbers below the first are less than the second."""


@dataclass(frozen=True, eq=False)
class Monomials:
    """The powers of the inputs up to a degree, by rising degree: 1, the inputs in order, ..."""

    degree: int
    powers: np.ndarray  # (M, d)
    starts: np.ndarray  # (degree + 2,): the first monomial of each degree, and M
    products: tuple[tuple[tuple[int, np.ndarray | slice], ...], ...]
    """For each highest degree and each monomial: how many of the first monomials have a product with it of no higher
    degree, and which monomials these products are."""

    def by_degree(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the sums of absolute coefficients, of monomials up to some degree, by degree: (degree + 1, B, n)."""
        sizes = np.abs(coefficients)
        if self.powers.shape[1] == 1:
            return sizes
        return np.stack([part.sum(axis=0) for part in np.split(sizes, self.starts[1:-1]) if len(part)])


@cache
def monomials(dim: int) -> Monomials:
    degree = DEGREES[dim]
    powers = [p for p in itertools.product(range(degree + 1), repeat=dim) if sum(p) <= degree]
    powers.sort(key=lambda p: (sum(p), [-n for n in p]))
    places = {p: i for i, p in enumerate(powers)}
    starts = np.searchsorted([sum(p) for p in powers], np.arange(degree + 2))

    def product(one: tuple[int, ...], most: int) -> tuple[int, np.ndarray | slice]:
        count = starts[most - sum(one) + 1]
        both = [places[tuple(map(sum, zip(one, two, strict=True)))] for two in powers[:count]]
        return count, _as_slice(np.array(both))

    products = tuple(tuple(product(one, most) for one in powers[: starts[most + 1]]) for most in range(degree + 1))
    return Monomials(degree, np.array(powers), starts, products)


def _as_slice(places: np.ndarray) -> np.ndarray | slice:
    """Return neighbouring places as a slice, which needs no copy."""
    return slice(places[0], places[-1] + 1) if (np.diff(places) == 1).all() else places


@dataclass(frozen=True, eq=False)
class TaylorModel:
    """Numbers (B, n) as polynomials of the position in a box, with coefficients (M, B, n), +- radius (B, n).

    The vector of the errors of the polynomials has a 2-norm of at most `ball` (B,). Wide layers increase this norm much
    less than the radius of each number.
    """

    basis: Monomials
    coefficients: np.ndarray
    radius: np.ndarray
    ball: np.ndarray

    @classmethod
    def of(
        cls, basis: Monomials, coefficients: np.ndarray, radius: np.ndarray, ball: np.ndarray | None = None
    ) -> "TaylorModel":
        """Return the model, with `radius` and `ball` each tightened by the other."""
        radius = radius * (1.0 + _OF_BOUNDS)
        if ball is not None:
            ball = ball * (1.0 + _OF_BOUNDS)
            radius = np.minimum(radius, ball[:, None])
        norm = _norm(radius)
        return cls(basis, coefficients, radius, norm if ball is None else np.fmin(ball, norm))

    @cached_property
    def degrees(self) -> np.ndarray:
        """The sums of absolute coefficients of each degree: (degree + 1, B, n)."""
        return self.basis.by_degree(self.coefficients)

    @cached_property
    def size(self) -> np.ndarray:
        """The largest absolute values (B, n), with the radius."""
        size: np.ndarray = self.degrees.sum(axis=0) + self.radius
        return size

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest values (B, n)."""
        reach = (self.degrees[1:].sum(axis=0) + self.radius) * (1.0 + _ROUNDING) + _ROUNDING * self.degrees[0]
        return self.coefficients[0] - reach, self.coefficients[0] + reach

    def times(self, other: "TaylorModel", kind: Product = _SINGLE) -> "TaylorModel":
        """Return the products with the numbers of another model, with neighbouring ones summed as in a product node."""
        coefficients, beyond = _multiply(self.basis, self.coefficients, self.degrees, other.coefficients, other.degrees)
        beyond = kind.total(beyond) + _of_sums(kind) * kind.total(self.size * other.size)
        radius, ball = beyond, _norm(beyond)
        for one, two in ((self, other), (other, self)):  # the product of both radii is counted twice
            lengths = np.sqrt(kind.total(one.size * one.size)) * (1.0 + _ROUNDING)  # |x . y| <= |x| |y|
            moved = np.minimum(kind.total(one.size * two.radius), lengths * two.ball[:, None])
            radius = radius + moved
            ball = ball + np.fmin(lengths.max(axis=1, initial=0.0) * two.ball, _norm(moved))
        return TaylorModel.of(self.basis, kind.total(coefficients), radius, ball)

    def total(self, kind: Product) -> "TaylorModel":
        """Sum neighbouring numbers, as the terms of a product node."""
        rounding = _of_sums(kind) * kind.total(self.size)
        radius = kind.total(self.radius) + rounding
        ball = np.sqrt(kind.terms) * (1.0 + _ROUNDING) * self.ball + _norm(rounding)
        return TaylorModel.of(self.basis, kind.total(self.coefficients), radius, ball)

    def without_rest(self) -> "TaylorModel":
        """Return the polynomials alone."""
        return TaylorModel(self.basis, self.coefficients, np.zeros_like(self.radius), np.zeros_like(self.ball))

    def widened(self, error: np.ndarray) -> "TaylorModel":
        """Return the model of numbers with an additional error of at most (B, n)."""
        return TaylorModel.of(self.basis, self.coefficients, self.radius + error, self.ball + _norm(error))

    def where(self, keep: np.ndarray, center: np.ndarray | float, radius: np.ndarray | float) -> "TaylorModel":
        """Return the model with center +- radius in place of some numbers, unless `keep` (B, n)."""
        if keep.all():
            return self
        coefficients = np.where(keep, self.coefficients, 0.0)
        coefficients[0] = np.where(keep, coefficients[0], center)
        return TaylorModel.of(self.basis, coefficients, np.where(keep, self.radius, radius))


def _of_sums(kind: Product) -> float:
    """Return the rounding error of the sums of a product node, as a share of the sizes of the terms."""
    return 0.0 if kind.terms == 1 else max(_ROUNDING, 2.0**-53 * (kind.terms + 16))


def _norm(numbers: np.ndarray) -> np.ndarray:
    """Return upper bounds of the 2-norms (B,) of vectors (B, n)."""
    norms: np.ndarray = np.sqrt(np.einsum("bn,bn->b", numbers, numbers))
    return norms * (1.0 + _ROUNDING + 2.0**-53 * numbers.shape[1])


def _multiply(
    basis: Monomials, one: np.ndarray, ones: np.ndarray, two: np.ndarray, twos: np.ndarray, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the products of polynomials (M, B, n) up to the degree `most`, and a bound (B, n) of the terms beyond.

    `one` may have fewer monomials. `ones` and `twos` are the sums of absolute coefficients of each degree.
    """
    most = basis.degree if most is None else most
    products = basis.products[most]
    result = one[0] * two[: basis.starts[most + 1]]
    for i in range(1, len(one)):
        count, places = products[i]
        result[places] += one[i] * two[:count]
    tails = list(itertools.accumulate(twos[::-1]))  # tails[k]: the sum of the highest k + 1 degrees
    beyond = _ROUNDING * ones.sum(axis=0) * tails[-1]
    for k, sizes in enumerate(ones):
        if k > most - basis.degree:
            beyond += sizes * tails[basis.degree - most + k - 1]
    return result, beyond


Places = np.ndarray | slice


class Block(NamedTuple):
    """Rows of a weight, and the columns that are not zero there."""

    rows: Places
    columns: Places
    weight: np.ndarray  # (columns, rows)
    absolute: np.ndarray  # (columns, rows)


class Stretch(NamedTuple):
    """How much a weight (n, size) can stretch vectors."""

    blocks: tuple[Block, ...]
    """Its parts, since the numbers of a token mostly depend on those of the same token."""
    lengths: np.ndarray  # (n,): upper bounds of the 2-norms of its rows
    norm: float
    """Upper bound of the largest factor by which it multiplies the 2-norm of a vector."""


def upper_bounds(
    program: Program,
    stretches: Sequence[Stretch],
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray | None = None,
    folded: np.ndarray | float = 0.0,
) -> HalfSpaces:
    """Return upper bounds of the outputs over boxes low, high (B, d); `stretches` are those of the program.

    They hold for the deployed policy if `size` (B, d), the largest absolute value of each number of the command, is
    given. `folded` (d,) has the absolute value of the origin, which is folded into the biases; the bounds cover its
    rounding errors.
    """
    basis, (count, dim), left = monomials(low.shape[1]), low.shape, iter(stretches)
    center, half = (low + high) / 2, (high - low) / 2
    coefficients = np.zeros((len(basis.powers), count, dim))
    coefficients[0] = center
    coefficients[1 : 1 + dim] = np.eye(dim)[:, None, :] * half
    models = [TaylorModel.of(basis, coefficients, _ROUNDING * (np.abs(center) + half + folded))]
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite end as no bound
        for node in program.nodes:
            operands = [_of_affine(operand, models, left) for operand in node.operands]
            if size is not None:
                sizes = [size, *(model.size for model in models[1:])]
                operands = [x.widened(error(sizes)) for x, error in zip(operands, node.errors, strict=True)]
            norm = _norm_of(program, node) if size is None else None
            models.append(_apply(node, operands) if norm is None else _normalise(node, norm, operands[0], models))
            if size is not None:
                slip = node.slip * node.kind.size([x.size for x in operands], models[-1].size)
                models[-1] = models[-1].widened(slip)
        margins = _of_affine(program.output, models, left)
        if size is not None and program.error is not None:
            margins = margins.widened(program.error([size, *(model.size for model in models[1:])]))
        higher, even = margins.coefficients[1 + dim :], (basis.powers[1 + dim :] % 2 == 0).all(axis=1)
        most = np.where(even[:, None, None], np.maximum(higher, 0.0), np.abs(higher)).sum(axis=0)
        slopes = margins.coefficients[1 : 1 + dim].transpose(1, 2, 0)  # (B, K, d), of positions
        flat = half == 0.0
        slopes = np.where(flat[:, None, :], 0.0, slopes / np.where(flat, 1.0, half)[:, None, :])
        moved = slopes * center[:, None, :]
        offsets = margins.coefficients[0] + most + margins.radius - moved.sum(axis=2)
        offsets = offsets + _ROUNDING * (margins.size + np.abs(moved).sum(axis=2))
    known = np.isfinite(offsets) & np.isfinite(slopes).all(axis=2)
    return HalfSpaces(np.where(known[:, :, None], slopes, 0.0), np.where(known, offsets, UNBOUNDED))


def stretches(program: Program) -> tuple[Stretch, ...]:
    """Return the stretch of each weight, in order."""
    for affine in program.affines:
        if affine not in _STRETCHES:
            _STRETCHES[affine] = tuple(map(_stretch, affine.weights.values()))
    return tuple(stretch for affine in program.affines for stretch in _STRETCHES[affine])


_STRETCHES: WeakKeyDictionary[Affine, tuple[Stretch, ...]] = WeakKeyDictionary()
"""The stretches computed so far, because the programs of a question share most of their affine functions."""


def _stretch(weight: np.ndarray) -> Stretch:
    lengths = np.linalg.norm(weight, axis=1) * (1.0 + _ROUNDING)
    squares = weight @ weight.T if len(weight) < weight.shape[1] else weight.T @ weight
    largest = float(np.linalg.eigvalsh(squares)[-1]) if squares.size else 0.0
    rounding = 1e-9 + 2.0**-53 * weight.size  # of the squares and of their largest eigenvalue
    return Stretch(tuple(_blocks(weight)), lengths, max(largest, 0.0) ** 0.5 * (1.0 + rounding))


def _blocks(weight: np.ndarray) -> Iterator[Block]:
    """Divide a weight by rows into at most a few blocks with the same columns, if that saves products."""
    rows: dict[bytes, list[int]] = {}  # by which columns are not zero
    for i, row in enumerate(np.packbits(weight != 0.0, axis=1)):
        rows.setdefault(row.tobytes(), []).append(i)
    places: list[tuple[Places, Places]] = [(slice(None), slice(None))]
    if len(rows) <= _MOST_BLOCKS:
        parts = [(np.array(part), np.flatnonzero(weight[part[0]])) for part in rows.values()]
        if sum(len(part) * len(columns) for part, columns in parts) < _WORTHWHILE * weight.size:
            places = [(_as_slice(part), _as_slice(columns)) for part, columns in parts if len(columns)]
    for part, columns in places:
        block = np.ascontiguousarray(weight[part][:, columns].T)
        yield Block(part, columns, block, np.abs(block))


def _times(numbers: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return numbers (M, B, size) times a weight (size, n), by one product of matrices."""
    products: np.ndarray = (numbers.reshape(math.prod(numbers.shape[:2]), len(weight)) @ weight).reshape(
        *numbers.shape[:2], weight.shape[1]
    )
    return products


def _of_affine(affine: Affine, models: Sequence[TaylorModel], stretches: Iterator[Stretch]) -> TaylorModel:
    """Return the model of an affine function of numbers with these models, by node."""
    columns = sum(weight.shape[1] for weight in affine.weights.values())
    [first, *_] = models
    shape = *first.coefficients.shape[:2], affine.size
    coefficients, bounds = np.zeros(shape), np.zeros((2, *shape[1:]))  # of the radius and of the size
    ball, bounds[1] = np.zeros(shape[1]), np.abs(affine.bias)
    for node in affine.weights:
        model, (blocks, lengths, norm) = models[node], next(stretches)
        given, moved = np.stack([model.radius, model.size]), np.zeros_like(bounds)
        for block in blocks:
            coefficients[..., block.rows] += _times(model.coefficients[..., block.columns], block.weight)
            moved[..., block.rows] = _times(given[..., block.columns], block.absolute)
        moved[0] = np.minimum(moved[0], model.ball[:, None] * lengths)
        bounds += moved
        ball += model.ball * norm
    radius, size = bounds
    coefficients[0] += affine.bias
    rounding = 2.0**-53 * (columns + 16) * size
    return TaylorModel.of(first.basis, coefficients, radius + rounding, ball + _norm(rounding))


def _apply(node: Node, operands: Sequence[TaylorModel]) -> TaylorModel:
    if isinstance(node.kind, Product):
        result = operands[0].times(operands[-1], node.kind)
        return result.where(result.radius < node.limit, 0.0, node.limit)
    if isinstance(node.kind, Softmax):
        return _softmax(node.kind, operands[0])
    return _compose(node.kind, operands[0], node.lowest)


class Norm(NamedTuple):
    """Which nodes compute the inverse of a norm: rsqrt(share * sum of squares + least)."""

    inverse: int
    root: Node
    squares: Product
    share: float
    least: float


def _norm_of(program: Program, node: Node) -> Norm | None:
    """Return the norm by which a product node divides numbers; None for other nodes."""
    if node not in _NORMS:
        _NORMS[node] = _find_norm(program, node)
    return _NORMS[node]


_NORMS: WeakKeyDictionary[Node, Norm | None] = WeakKeyDictionary()


def _find_norm(program: Program, node: Node) -> Norm | None:
    if node.kind != Product() or np.isinf(node.limit) or len(node.operands) == 1:
        return None
    rows, divisors = node.operands
    [inverse, *others] = divisors.weights
    root = program.nodes[inverse - 1]
    if others or inverse == 0 or root.kind != Elementwise("rsqrt"):
        return None
    [mean] = root.operands
    [place, *others] = mean.weights
    squares = program.nodes[place - 1]
    if others or place == 0 or not isinstance(squares.kind, Product) or len(squares.operands) > 1:
        return None
    [same] = squares.operands
    share, least, identity = mean.weights[place].flat[0], mean.bias.flat[0], np.eye(mean.size)
    spread = np.repeat(identity, squares.kind.terms, axis=0)
    applies = (
        share > 0.0
        and least >= 0.0
        and np.array_equal(mean.weights[place], share * identity)
        and (mean.bias == least).all()
        and np.array_equal(divisors.weights[inverse], spread)
        and not divisors.bias.any()
        and list(same.weights) == list(rows.weights)
        and all(np.array_equal(same.weights[k], rows.weights[k]) for k in rows.weights)
        and np.array_equal(same.bias, rows.bias)
    )
    return Norm(inverse, root, squares.kind, float(share), float(least)) if applies else None


def _normalise(node: Node, norm: Norm, x: TaylorModel, models: Sequence[TaylorModel]) -> TaylorModel:
    """Return numbers divided by their norm, y = x s with s = (share |x|^2 + least) ** -1/2.

    The rest of x moves y by its derivatives s (identity - share y y^T), which stretch no vector by more than s.
    """
    spread, polynomial = Product(norm.squares.terms).spread, x.without_rest()
    squares = polynomial.times(polynomial, norm.squares)
    coefficients = norm.share * squares.coefficients
    coefficients[0] += norm.least
    radius = norm.share * squares.radius + _ROUNDING * (norm.share * squares.size + norm.least)
    inverse = _compose(Elementwise("rsqrt"), TaylorModel.of(x.basis, coefficients, radius), norm.root.lowest)
    result = polynomial.times(TaylorModel.of(x.basis, spread(inverse.coefficients), spread(inverse.radius)))
    largest = np.minimum(models[norm.inverse].interval[1], norm.root.limit) * (1.0 + _ROUNDING)
    size = np.minimum(result.size + spread(largest) * x.ball[:, None], node.limit)  # of y
    moved = spread(largest) * (x.radius + np.sqrt(norm.share) * size * x.ball[:, None])
    ball = result.ball + np.fmin(largest.max(axis=1) * x.ball, _norm(moved))
    result = TaylorModel.of(x.basis, result.coefficients, result.radius + moved, ball)
    return result.where(result.radius < node.limit, 0.0, node.limit)


def _softmax(kind: Softmax, x: TaylorModel) -> TaylorModel:
    """Return exp(x - mean) times the reciprocal of its sum; an interval where the sum cannot be bounded well.

    A softmax does not change if one number is subtracted from all inputs. The mean is weighted by the softmax of the
    centers, so that the sum is constant to the first order.
    """
    basis, spread = x.basis, Product(kind.count).spread
    least, most = shares(kind, *x.interval)
    weights = kind.groups(kind.points(x.coefficients[0]))
    mean = spread((kind.groups(x.coefficients) * weights).sum(axis=-1))
    rounding = _ROUNDING * (x.size + np.abs(mean).sum(axis=0))
    shifted = TaylorModel.of(basis, x.coefficients - mean, rounding)
    high = shifted.interval[1]
    none, far = high < _NOTHING, ~spread(kind.groups(high).max(axis=-1) < _FAR)
    powers = _compose(Elementwise("exp"), shifted.where(~(none | far), 0.0, 0.0))
    powers = powers.where(~none, 0.0, _TINY)
    sums = powers.total(Product(kind.count))
    low, high = sums.interval
    known = low > 1e-3 * high
    inverse = _compose(Elementwise("reciprocal"), sums.where(known, 1.0, 0.0))
    quotients = powers.times(TaylorModel.of(basis, spread(inverse.coefficients), spread(inverse.radius)))
    # The rest of the operand moves the shares by their derivatives, p (1 - p) and -p q.
    total = spread((kind.groups(most * x.radius)).sum(axis=-1))
    moved = most * (total + (1.0 - least - most) * x.radius + _ROUNDING * (total + x.radius))
    ball = quotients.ball + np.minimum(0.5 * x.ball, _norm(moved))
    result = TaylorModel.of(basis, quotients.coefficients, quotients.radius + moved, ball)
    half = (most - least) / 2 * (1.0 + _ROUNDING) + _ROUNDING
    return result.where(spread(known) & ~far & (result.radius < half), (most + least) / 2, half)


def _compose(kind: Elementwise, x: TaylorModel, lowest: float = -np.inf) -> TaylorModel:
    """Return a function of numbers that are at least `lowest`: its Taylor series, or two lines if these are closer."""
    function, basis = kind.function, x.basis
    if function == "identity":
        return x
    low, high = x.interval
    inside = low >= lowest  # whether the polynomial stays where the series is bounded
    low, high = np.maximum(low, lowest), np.maximum(high, lowest)
    if function not in SERIES:
        linear, half, steep = _between_lines(function, x, low, high)
        return TaylorModel.of(basis, linear, half + steep * x.radius, steep.max(axis=1) * x.ball + _norm(half))
    center = np.clip(x.coefficients[0], low, high)
    reach = np.maximum(high - center, center - low) * (1.0 + _ROUNDING)
    series, remainder = SERIES[function](center, low, high, basis.degree)
    remainder = (
        remainder * reach ** (basis.degree + 1) + _ROUNDING * (np.abs(series[0]) + 1.0) * (1.0 + reach) ** basis.degree
    )
    better, linear, half, steep = inside & (remainder < _NEGLIGIBLE), np.zeros(1), np.zeros(1), np.zeros(1)
    if not better.all():
        linear, half, steep = _between_lines(function, x, low, high)
        better = inside & (remainder < half)
    around = np.where(better, x.coefficients, 0.0)
    around[0] -= np.where(better, center, 0.0)
    arounds = basis.by_degree(around)
    size, coefficients, beyond = arounds.sum(axis=0), series[-1][None], np.zeros_like(center)
    for most, number in enumerate(series[-2::-1], start=1):
        by_degree = basis.by_degree(coefficients)
        coefficients, more = _multiply(basis, coefficients, by_degree, around, arounds, most)
        coefficients[0] += number
        beyond = beyond * size + more + _ROUNDING * (np.abs(number) + by_degree.sum(axis=0) * size)
    # f(p + e) = f(p) + f'(..) e for the polynomial p and the rest e
    rest = np.where(better, beyond + remainder, half)
    steep = np.where(better, _steepest(kind, center, reach, low, high), steep)
    ball = steep.max(axis=1) * x.ball + _norm(rest)
    return TaylorModel.of(basis, np.where(better, coefficients, linear), rest + steep * x.radius, ball)


def _between_lines(
    function: Function, x: TaylorModel, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the line in the middle of two lines as polynomials, half their distance, and their absolute slope."""
    lines = RELAXATIONS[function](low, high)
    slope, below = lines.slope_high, lines.offset_low if lines.parallel else np.zeros_like(lines.offset_low)
    half = (lines.offset_high - below) / 2
    half = half + _ROUNDING * (1.0 + np.abs(slope) * x.size + np.abs(lines.offset_high) + np.abs(below))
    linear = x.coefficients * slope
    linear[0] += (lines.offset_high + below) / 2
    return linear, half, np.abs(slope)


def _steepest(
    kind: Elementwise, center: np.ndarray, reach: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return upper bounds of the largest absolute slope of a function between low and high (B, n)."""
    if kind.function in _CURVATURES:
        steep = np.abs(kind.pull(np.ones_like(center), [center], kind.points(center))[0])
        steep = np.minimum(STEEPEST[kind.function], steep + _CURVATURES[kind.function] * reach + _ROUNDING)
    else:
        end = high if kind.function == "exp" else low
        steep = np.abs(kind.pull(np.ones_like(end), [end], kind.points(end))[0])
    return steep * (1.0 + _ROUNDING)


_CURVATURES: dict[Function, float] = {"sigmoid": 0.0963, "tanh": 0.77, "gelu": 0.798}
"""Upper bound of the largest absolute second derivatives."""

Series = tuple[list[np.ndarray], np.ndarray]
"""The Taylor coefficients, and the largest absolute value of the next one over the range."""


def _exp_series(center: np.ndarray, low: np.ndarray, high: np.ndarray, degree: int) -> Series:
    value = np.exp(center)
    return [value / math.factorial(k) for k in range(degree + 1)], np.exp(high) * (1.0 + _ROUNDING) / math.factorial(
        degree + 1
    )


def _power_series(exponent: float, center: np.ndarray, low: np.ndarray, degree: int) -> Series:
    """The series of x ** exponent, for a negative exponent: its derivatives are largest at the lower end."""
    factors = [1.0]
    for k in range(degree + 1):
        factors.append(factors[-1] * (exponent - k) / (k + 1))
    series = [factor * center ** (exponent - k) for k, factor in enumerate(factors[:-1])]
    return series, abs(factors[-1]) * low ** (exponent - degree - 1) * (1.0 + _ROUNDING)


@cache
def _sigmoid_derivatives(function: Function, degree: int) -> tuple[list[np.ndarray], float]:
    """Return the derivatives up to a degree as polynomials of the value, and the largest value of the next."""
    product = np.array([-1.0, 1.0, 0.0]) if function == "sigmoid" else np.array([-1.0, 0.0, 1.0])
    polynomials = [np.array([1.0, 0.0])]
    for _ in range(degree + 1):
        polynomials.append(np.polymul(np.polyder(polynomials[-1]), product))
    low = 0.0 if function == "sigmoid" else -1.0
    turns = np.roots(np.polyder(polynomials[-1]))
    turns = np.concatenate([np.clip(turns.real, low, 1.0), [low, 1.0]])
    return polynomials[:-1], float(np.abs(np.polyval(polynomials[-1], turns)).max()) * 1.01


@cache
def _gelu_derivatives(degree: int) -> tuple[list[np.ndarray], float]:
    """Return the polynomials q of the derivatives q(x) density(x) from the second on, and the largest of the next."""
    polynomials = [np.array([-1.0, 0.0, 2.0])]
    for _ in range(degree):
        polynomials.append(np.polysub(np.polyder(polynomials[-1]), np.polymul(polynomials[-1], [1.0, 0.0])))
    turns = np.roots(polynomials[-1]).real
    return polynomials[: degree - 1], float(
        np.abs(np.polyval(polynomials[degree - 1], turns) * _density(turns)).max()
    ) * 1.01


def _density(x: np.ndarray) -> np.ndarray:
    density: np.ndarray = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    return density


def _squash_series(function: Function, center: np.ndarray, degree: int) -> Series:
    polynomials, largest = _sigmoid_derivatives(function, degree)
    value = Elementwise(function).points(center)
    series = [np.polyval(polynomial, value) / math.factorial(k) for k, polynomial in enumerate(polynomials)]
    return series, np.full_like(center, largest / math.factorial(degree + 1))


def _gelu_series(center: np.ndarray, degree: int) -> Series:
    polynomials, largest = _gelu_derivatives(degree)
    kind, density = Elementwise("gelu"), _density(center)
    value = kind.points(center)
    series = [value, kind.pull(np.ones_like(center), [center], value)[0]]
    series += [np.polyval(q, center) * density / math.factorial(k) for k, q in enumerate(polynomials, start=2)]
    return series, np.full_like(center, largest / math.factorial(degree + 1))


SERIES: dict[Function, Callable[[np.ndarray, np.ndarray, np.ndarray, int], Series]] = {
    "exp": _exp_series,
    "reciprocal": lambda center, low, high, degree: _power_series(-1.0, center, low, degree),
    "rsqrt": lambda center, low, high, degree: _power_series(-0.5, center, low, degree),
    "sigmoid": lambda center, low, high, degree: _squash_series("sigmoid", center, degree),
    "tanh": lambda center, low, high, degree: _squash_series("tanh", center, degree),
    "gelu": lambda center, low, high, degree: _gelu_series(center, degree),
}
