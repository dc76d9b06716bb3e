"""The linear bounder: sound linear bounds of programs over many boxes of inputs at once (CROWN, Zhang et al. 2018).

1. A forward pass computes an affine form of each number (`AffineForm`). For B boxes of d inputs and n numbers, it needs
   B x d x n entries; backward substitution of each node would need B x n x n. The intervals of these forms give the
   relaxation of each node.
2. The outputs are substituted backwards through the relaxed nodes (`substitute`). The result is one half-space of
   inputs per box and output. Outside of the half-space, the output stays below the level.

All numbers are float64, and bounds are moved outwards by pads that cover the rounding errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.core.program import Affine, Elementwise, Node, Product, Program
from paretofoil.proof.bounds import AffineForm, Cap, apply, rows_times, times
from paretofoil.proof.elementwise import Relaxation, relax_elementwise
from paretofoil.proof.product import RelaxedProduct, relax_product
from paretofoil.proof.softmax import RelaxedSoftmax, relax_softmax

Lines = Relaxation | RelaxedProduct | RelaxedSoftmax
ROUNDING = 16 * 2.0**-53
"""Upper bound of the relative error of a float64 operation."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Bounds over B boxes of the n outputs of one affine function."""

    form: AffineForm
    least: np.ndarray  # (B, n)
    most: np.ndarray  # (B, n)
    error: np.ndarray | float = 0.0
    """The rounding error (B, n) of the deployed policy; 0 if bounds need not hold for that policy."""
    terms: np.ndarray | float = 0.0
    """The sizes (B, n) of the terms of the form, if pads are computed for each box."""
    pad: np.ndarray | float = 0.0

    @property
    def size(self) -> np.ndarray:
        """The largest absolute values (B, n)."""
        return np.maximum(np.abs(self.least), np.abs(self.most))


@dataclass(frozen=True, eq=False)
class RelaxedNode:
    """One node over boxes."""

    operands: tuple[Bounded, ...]
    lines: Lines
    slip: np.ndarray | float
    """The rounding error (B, n) of the deployed operation itself."""


@dataclass(frozen=True, eq=False)
class RelaxedProgram:
    """All nodes of a program over boxes, and the output."""

    nodes: list[RelaxedNode]
    output: Bounded


class Forward:
    """A forward pass over boxes low, high (B, d).

    `pads` are those of all affine functions, in order. If they are None, they are computed for each box. `folded` (d,)
    has the absolute value of the origin, which is folded into the biases; these pads cover its rounding errors.
    `size` (B, d) has the largest absolute values of commands, if bounds must hold for the deployed policy. With a
    `cap`, bounds hold only in the cap.
    """

    def __init__(
        self,
        program: Program,
        low: np.ndarray,
        high: np.ndarray,
        pads: Sequence[np.ndarray] | None,
        size: np.ndarray | None,
        folded: np.ndarray | float = 0.0,
        cap: Cap | None = None,
    ) -> None:
        self.program, self.pads, self.rounded = program, pads, size is not None
        self.cap = cap if cap is not None and 0.0 < cap.radius < np.inf else None
        form = AffineForm.of_boxes(low, high)
        self.forms, self.floors, self.ceilings = [form], [low], [high]
        self.sizes = [size]
        self.terms = [np.abs(low) + np.abs(high) + folded] if pads is None else []
        self.operations, self.count = 8, 0

    def run(self) -> RelaxedProgram:
        nodes = [self._node(node) for node in self.program.nodes]
        return RelaxedProgram(nodes, self.affine(self.program.output, self.program.error, last=True))

    def affine(self, affine: Affine, error: Affine | None, last: bool = False) -> Bounded:
        """Return the bounds of an affine function; those of the output have no interval."""
        terms: np.ndarray | float = 0.0
        if self.pads is None:
            self.operations += sum(weight.shape[-1] for weight in affine.weights.values()) + 8
            terms = sum((times(self.terms[k], np.abs(w)) for k, w in affine.weights.items()), np.abs(affine.bias))
            pad = ROUNDING * self.operations * terms
        else:
            pad = self.pads[self.count]
        self.count += 1
        off: np.ndarray | float = 0.0
        if self.rounded and error is not None:
            off = error(self.sizes)  # type: ignore[arg-type]
        if last:
            nothing = np.zeros(0)
            return Bounded(self.forms[0], nothing, nothing, off, terms, pad)
        form = AffineForm.of_affine(affine, self.forms)
        if self.rounded:
            form = form.widened(off)
        least, most = form.interval()
        if self.cap is not None:
            down, up = self.cap.reach(form.slopes, self.floors[0], self.ceilings[0])
            least = np.maximum(least, form.center - (down + form.radius))
            most = np.minimum(most, form.center + (up + form.radius))
            least, most = np.minimum(least, most), np.maximum(least, most)  # they cross if the cap is outside the box
        least, most = least - pad, most + pad
        if list(affine.weights) != [0]:
            plain_least, plain_most = interval(affine, self.floors, self.ceilings)
            margin = pad + off if self.rounded else pad
            least, most = np.maximum(least, plain_least - margin), np.minimum(most, plain_most + margin)
        return Bounded(form, least, most, off, terms, pad)

    def _node(self, node: Node) -> RelaxedNode:
        errors = node.errors if self.rounded else (None,) * len(node.operands)
        operands = tuple(self.affine(a, error) for a, error in zip(node.operands, errors, strict=True))
        lines, floor, ceiling = _relax(node, operands)
        slip: np.ndarray | float = 0.0
        size = None
        if self.rounded:
            size = np.maximum(np.abs(floor), np.abs(ceiling))
            slip = node.slip * node.kind.size([operand.size for operand in operands], size)
            lines = lines.widened(slip)
            floor, ceiling, size = floor - slip, ceiling + slip, size + slip
        if self.pads is None:
            self.terms.append(lines.terms(*(operand.terms for operand in operands)))  # type: ignore[arg-type]
            self.operations += 8 * getattr(node.kind, "terms", 1)
            pad = ROUNDING * self.operations * self.terms[-1]
            floor, ceiling, lines = floor - pad, ceiling + pad, lines.widened(pad)
        self.forms.append(lines.form(*(operand.form for operand in operands)))
        self.floors.append(floor)
        self.ceilings.append(ceiling)
        self.sizes.append(size)
        return RelaxedNode(operands, lines, slip)


def _relax(node: Node, operands: Sequence[Bounded]) -> tuple[Lines, np.ndarray, np.ndarray]:
    """Return the relaxation of a node, and its smallest and largest outputs."""
    kind, least, most = node.kind, operands[0].least, operands[0].most
    if isinstance(kind, Elementwise):
        if np.isfinite(node.limit):
            least, most = np.maximum(least, node.lowest), np.maximum(most, node.lowest)
        return relax_elementwise(kind, least, most)
    if isinstance(kind, Product):
        ranges = [(operand.least, operand.most) for operand in operands]
        return relax_product(kind, [operand.form for operand in operands], ranges, node.limit)
    return relax_softmax(kind, least, most)


def interval(affine: Affine, low: Sequence[np.ndarray], high: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of an affine function over ranges low, high (B, n) of the nodes, by interval arithmetic."""
    center, radius = affine.bias, np.zeros(1)
    for node, weight in affine.weights.items():
        center = times((low[node] + high[node]) / 2, weight) + center
        radius = times((high[node] - low[node]) / 2, np.abs(weight)) + radius
    return center - radius, center + radius


def substitute(
    program: Program, nodes: Sequence[RelaxedNode], lines: Sequence[Lines], rounded: bool, down_to: int = 0
) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Return upper bounds of the output, without its bias, as functions of the nodes up to `down_to`.

    The bounds are slopes (B or 1, R, n) by node, and offsets (B or 1, R).
    """
    rows = {k: weight if weight.ndim == 3 else weight[None] for k, weight in program.output.weights.items()}
    offsets = np.zeros((1, program.num_outputs))
    for k in range(len(nodes), down_to, -1):
        if k not in rows:
            continue
        offsets, operand_rows = lines[k - 1].back(rows.pop(k), offsets)
        node = program.nodes[k - 1]
        for affine, bounded, part in zip(node.operands, nodes[k - 1].operands, operand_rows, strict=True):
            bias = affine.bias
            offsets = offsets + (part @ bias if bias.ndim == 1 else rows_times(part, bias))
            if rounded:
                offsets = offsets + rows_times(np.abs(part), bounded.error)  # type: ignore[arg-type]
            for source, weight in affine.weights.items():
                through = apply(part, weight)
                rows[source] = rows[source] + through if source in rows else through
    return rows, offsets
