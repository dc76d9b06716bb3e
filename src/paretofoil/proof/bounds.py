"""Sound linear bounds of networks over many boxes of inputs at once (CROWN, Zhang et al. 2018).

1. A forward pass computes an affine form of each unit (`AffineForm`: B x d x n numbers; backward substitution of each
   layer would need B x n x n). The intervals of these forms give the relaxation of each activation (`relax`).
2. The outputs are substituted backwards through the relaxed layers (`substitute`). The result is one half-space of
   inputs per box and output: outside of it, the output stays below the level.

All numbers are float64, and bounds are moved outwards by pads that cover the rounding errors.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.core.command import CONSTRAINT_SLACK
from paretofoil.core.policy import Activation, Rounding
from paretofoil.core.question import Question
from paretofoil.proof.relaxation import RELAXATIONS, Relaxation, output_range

Layer = tuple[np.ndarray, np.ndarray, Activation, np.ndarray]
"""Weight, bias, activation and pad."""
_CHUNK = 1 << 16
"""Numbers of the largest array of a bounding step, so that it stays in the cache."""
FACET_ROUNDING = 1e-12
"""More than the rounding error of the position of a facet: weights are at most 1."""


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """Upper bounds of the margins over K rivals in B boxes: margin <= slopes . z + offsets for all z of the box."""

    slopes: np.ndarray  # (B, K, d)
    offsets: np.ndarray  # (B, K)

    def highest(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest value of each bound over the boxes low, high (B, d): (B, K)."""
        center, radius = (low + high) / 2, (high - low) / 2
        return self.offsets + _rows(self.slopes, center) + _rows(np.abs(self.slopes), radius)


def in_chunks(
    bounds: Callable[[np.ndarray, np.ndarray], HalfSpaces], low: np.ndarray, high: np.ndarray, numbers: int
) -> HalfSpaces:
    """Return bounds over boxes low, high (B, d), computed in chunks; a box takes `numbers` numbers of memory."""
    step = max(1, _CHUNK // numbers)
    places = [slice(s, s + step) for s in range(0, max(len(low), 1), step)]
    parts = [bounds(low[place], high[place]) for place in places]
    if len(parts) == 1:
        return parts[0]
    return HalfSpaces(np.concatenate([p.slopes for p in parts]), np.concatenate([p.offsets for p in parts]))


@dataclass(frozen=True, eq=False)
class AffineForm:
    """Units as center + slopes . e +- radius, for the position e of the input in its box, from -1 to 1."""

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
            _apply(self.slopes, weight.swapaxes(-1, -2)),
            times(self.radius, np.abs(weight)),
        )

    def widened(self, error: np.ndarray | float) -> "AffineForm":
        """Return the form of units with an additional error of at most (B, n)."""
        return AffineForm(self.center, self.slopes, self.radius + error)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest value of each unit: (B, n), (B, n)."""
        reach = np.abs(self.slopes).sum(axis=1) + self.radius
        return self.center - reach, self.center + reach

    def activate(self, lines: Relaxation) -> "AffineForm":
        """Return the form after an activation with this relaxation."""
        slope, below = lines.slope_high, lines.parallel_low
        middle, half = (lines.offset_high + below) / 2, (lines.offset_high - below) / 2
        radius = np.abs(slope) * self.radius + half
        return AffineForm(slope * self.center + middle, slope[:, None, :] * self.slopes, radius)

    def times(self, other: "AffineForm") -> "AffineForm":
        """Return the product with a form of other inputs; the nonlinear part is added to the radius."""
        slopes = np.concatenate([other.center[:, None] * self.slopes, self.center[:, None] * other.slopes], axis=1)
        reach, other_reach = (np.abs(form.slopes).sum(axis=1) + form.radius for form in (self, other))
        linear = np.abs(self.center) * other.radius + np.abs(other.center) * self.radius
        return AffineForm(self.center * other.center, slopes, linear + reach * other_reach)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Relaxed layers, without the last."""

    lines: list[Relaxation]
    errors: list[np.ndarray]
    """The deployed error (B, outputs) of each layer; empty if bounds need not hold for the deployed policy."""
    slips: list[np.ndarray]
    """The deployed error (B, n) of each activation."""
    form: AffineForm
    """The form of the last activation's input."""
    size: np.ndarray | None
    """The largest absolute value (B, n) of each input of the last layer."""


def relax(
    layers: Iterable[Layer], form: AffineForm, rounding: Rounding | None = None, size: np.ndarray | None = None
) -> Relaxed:
    """Return the relaxation of each activation for inputs of a form.

    Given its rounding errors and the largest absolute value (B, d) of each input, bounds also hold for the deployed
    policy.
    """
    relaxed: list[Relaxation] = []
    errors: list[np.ndarray] = []
    slips: list[np.ndarray] = []
    floor = ceiling = form.center  # the range of the inputs of a layer
    for k, (weight, bias, activation, pad) in enumerate(layers):
        form = (form.activate(relaxed[-1]) if relaxed else form).affine(weight, bias)
        margin = pad
        if rounding is not None and size is not None:
            errors.append(rounding.of_layer(k, size))
            form, margin = form.widened(errors[-1]), pad + errors[-1]
        least, most = form.interval()
        least, most = least - pad, most + pad
        if relaxed:
            plain_least, plain_most = interval(weight, bias, floor, ceiling)
            least, most = np.maximum(least, plain_least - margin), np.minimum(most, plain_most + margin)
        relaxed.append(RELAXATIONS[activation](least, most))
        floor, ceiling = output_range(activation, least, most)
        if rounding is not None:
            size = np.maximum(np.abs(floor), np.abs(ceiling))
            slipping = np.maximum(np.abs(least), np.abs(most)) if activation == "silu" else size
            slips.append(rounding.activations[k] * np.maximum(slipping, 1.0))
            relaxed[-1] = relaxed[-1].widened(slips[-1])
            floor, ceiling, size = floor - slips[-1], ceiling + slips[-1], size + slips[-1]
    return Relaxed(relaxed, errors, slips, form, size)


def interval(weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of an affine layer over boxes low, high (B, n) of its inputs, by interval arithmetic."""
    center = times((low + high) / 2, weight) + bias
    radius = times((high - low) / 2, np.abs(weight))
    return center - radius, center + radius


def substitute(
    weights: Sequence[np.ndarray],
    biases: Sequence[np.ndarray],
    relaxed: list[Relaxation],
    rows: np.ndarray | None = None,
    errors: Sequence[np.ndarray] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds of the last layer, without its bias, in the inputs of the first: (B, R, d) and (B, R).

    `rows` (B, R, n) replaces the weight of the last layer, where it differs between boxes. `errors` are those of the
    relaxed layers, as `relax` returns them.
    """
    last = weights[len(relaxed)] if rows is None else rows
    slopes = last if last.ndim == 3 else last[None]
    offsets = np.zeros(slopes.shape[:2])
    for k, lines in reversed(list(enumerate(relaxed))):
        if lines.parallel:
            middle, half = (lines.offset_high + lines.offset_low) / 2, (lines.offset_high - lines.offset_low) / 2
            offsets = offsets + _rows(slopes, middle) + _rows(np.abs(slopes), half)
            slopes = slopes * lines.slope_low[:, None, :]
        else:
            up, down = np.maximum(slopes, 0.0), np.minimum(slopes, 0.0)
            offsets = offsets + _rows(up, lines.offset_high) + _rows(down, lines.offset_low)
            slopes = up * lines.slope_high[:, None, :] + down * lines.slope_low[:, None, :]
        offsets = offsets + (slopes @ biases[k] if biases[k].ndim == 1 else _rows(slopes, biases[k]))
        if errors:
            offsets = offsets + _rows(np.abs(slopes), errors[k])
        slopes = _apply(slopes, weights[k])
    return slopes, offsets


def choose_relaxation(
    bound: Callable[[list[Relaxation]], HalfSpaces],
    relaxed: list[Relaxation],
    low: np.ndarray,
    high: np.ndarray,
    level: float | None,
) -> HalfSpaces:
    """Return the bounds of relaxed layers. Use flat lower lines of ReLUs where only these stay below the level.

    The closest lower line is usually best. But if a unit can only lower a margin, only the flat line shows that the
    margin does not rise. Saturated networks have many such units.
    """
    closest = bound(relaxed)
    if level is None:
        return closest
    flat = [layer.flat_below() for layer in relaxed]
    if all(new is old for new, old in zip(flat, relaxed, strict=True)):
        return closest
    others = bound(flat)
    better = (others.highest(low, high) < level) & (closest.highest(low, high) >= level)
    slopes = np.where(better[:, :, None], others.slopes, closest.slopes)
    return HalfSpaces(slopes, np.where(better, others.offsets, closest.offsets))


def times(vectors: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the products (B, m) of vectors (B, n) with a weight (m, n), or with one weight each (B, m, n)."""
    return vectors @ weight.T if weight.ndim == 2 else np.matmul(weight, vectors[:, :, None])[:, :, 0]


def _apply(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return (B, R, n) @ (n, m) as one product, or with one weight each (B, n, m)."""
    if weight.ndim == 3:
        return np.matmul(rows, weight)
    return (rows.reshape(-1, rows.shape[-1]) @ weight).reshape(*rows.shape[:2], weight.shape[1])


def _rows(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return (B or 1, R, n) times (B, n): (B, R)."""
    if rows.shape[0] == 1:
        return vectors @ rows[0].T
    return np.matmul(rows, vectors[:, :, None])[:, :, 0]


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of a search region in its box: a scaled change z is inside where slopes . z + offsets >= 0."""

    slopes: np.ndarray  # (K, d)
    offsets: np.ndarray  # (K,)

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return slopes . z + offsets of changes z (N, d): (N, K)."""
        return z @ self.slopes.T + self.offsets

    def append_to(self, bounds: HalfSpaces, level: float) -> HalfSpaces:
        """Return the bounds of margins with the facets as further rivals. Their margins reach the level inside."""
        shape = (len(bounds.slopes), *self.slopes.shape)
        return HalfSpaces(
            np.concatenate([bounds.slopes, np.broadcast_to(self.slopes, shape)], axis=1),
            np.concatenate([bounds.offsets, np.broadcast_to(self.offsets + level, shape[:2])], axis=1),
        )


def region_facets(question: Question, outwards: np.ndarray | float = 0.0) -> Facets | None:
    """Return the facets of a question's region, for commands with errors `outwards` (d,); None for a box of commands.

    They are those of the region of preferences, or the constraints.
    """
    if not question.space.simplex:
        slopes, bounds = question.space.half_spaces
        spare = bounds - slopes @ question.command + np.abs(slopes) @ np.broadcast_to(outwards, question.command.shape)
        spare = spare + (2 * CONSTRAINT_SLACK if np.any(outwards) else 0.0)
        return Facets(-slopes * question.space.scale, spare) if len(slopes) else None
    low, high, command, basis = question.low, question.high, question.command, question.basis
    free = high > low
    capped = free & (high < 1.0 - (low.sum() - low) - FACET_ROUNDING)  # others follow from the lower sides and the sum
    moved = np.broadcast_to(outwards, command.shape) + (FACET_ROUNDING if np.any(outwards) else 0.0)
    return Facets(
        np.concatenate([basis[free], -basis[capped]]),
        np.concatenate([(command - low + moved)[free], (high - command + moved)[capped]]),
    )
