"""The margins of a foil as networks that can be bounded.

- `MarginNetwork`: the program of a policy, whose outputs are margins, as a function of the scaled change z of the
  command, or of state and command together.
- `OddsNetwork`: the margins, and the log-odds of the foil.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy, WhiteBoxPolicy, folds_values
from paretofoil.core.program import STEEPEST, Elementwise, Function, Node, Product, Program, Rounding, Softmax
from paretofoil.core.question import Question, log_odds
from paretofoil.proof import curvature, taylor
from paretofoil.proof.bounds import UNBOUNDED, Cap, HalfSpaces, in_chunks, spread
from paretofoil.proof.halfspace import nearest
from paretofoil.proof.linear import ROUNDING, Forward, Lines, RelaxedProgram, substitute

_LARGEST = 1e80
"""Products and squares of larger numbers could be infinite."""
_OFFSET_ROUNDING = 2.0**-40
"""Upper bound of the relative rounding error of an offset."""
Arrays = tuple[np.ndarray, ...]
PaddedLayers = tuple[Arrays, Arrays, tuple[Function, ...], Arrays]
"""Weights, biases, activations and pads."""


@dataclass(frozen=True, eq=False)
class MarginNetwork:
    """The margins over each rival as a function of the scaled change z.

    Networks of several questions can be stacked: all arrays, and z, then have a first axis of questions.
    """

    program: Program
    """A function of z, whose outputs are the margins. Its rounding errors are those of commands."""
    pads: tuple[np.ndarray, ...] | None
    """Upper bounds (outputs,) of the rounding errors of each affine function's bounds; None to compute them per box."""
    origin: np.ndarray | None = None  # (d,): the command at z = 0; None without rounding errors
    basis: np.ndarray | None = None  # (d, d): the command at z is origin + basis z

    @property
    def rounding(self) -> Rounding | None:
        """The rounding errors that bounds include; None if bounds hold only for exact arithmetic."""
        return self.program.rounding

    @property
    def unknown(self) -> str:
        """Why the rounding errors are not known."""
        return self.program.unknown

    @property
    def num_rivals(self) -> int:
        return self.program.num_outputs

    @property
    def layers(self) -> PaddedLayers | None:
        """The weights, biases, activations and pads of a chain of layers; None for other programs."""
        return (*self.program.layers, self.pads) if self.program.is_chain and self.pads is not None else None

    @property
    def width(self) -> int:
        """The largest number of units of a layer."""
        return max([1, *(affine.size for affine in self.program.affines[:-1])])

    @cached_property
    def uses_taylor(self) -> bool:
        """Whether Taylor models bound the program, which is the case for attention: a softmax times other numbers."""
        softmaxes = {k for k, node in enumerate(self.program.nodes, start=1) if isinstance(node.kind, Softmax)}
        products = [node for node in self.program.nodes if isinstance(node.kind, Product)]
        attends = any(softmaxes & set(operand.weights) for node in products for operand in node.operands)
        return attends and self.program.dim in taylor.DEGREES

    @cached_property
    def stretch(self) -> np.ndarray:
        """How strongly each coordinate (d,) of the input moves the numbers that are computed from it."""
        reads = [affine.weights[0] for affine in self.program.affines if 0 in affine.weights]
        return np.linalg.norm(np.concatenate(reads) if reads else np.zeros((1, self.program.dim)), axis=0)

    @cached_property
    def work(self) -> int:
        """Approximate number of multiplications to bound one box."""
        lines = len(taylor.monomials(self.program.dim).powers) if self.uses_taylor else self.program.dim
        return (lines + self.num_rivals) * sum(
            weight.shape[-1] * weight.shape[-2] for affine in self.program.affines for weight in affine.weights.values()
        )

    def pad(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return upper bounds of the rounding errors (rivals,) of the margins in the box low, high (d,)."""
        return self.pads[-1] if self.pads is not None else self.relax(low[None], high[None]).output.pad[0]  # type: ignore[index]

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals) at changes z (N, d)."""
        return self.program.logits(z)

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins (N, rivals) at changes z (N, d), and their derivatives (N, rivals, d)."""
        values, operands = self.program.run(z)
        margins = self.program.output(values)
        rows = {k: weight[..., None, :, :] for k, weight in self.program.output.weights.items()}
        slopes = self.program.slopes(values, operands, rows, several=True)
        return margins, spread(slopes, (*margins.shape, z.shape[-1]))

    def smallest_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest margin (..., N) at changes z (..., N, d), and its derivatives (..., N, d)."""
        values, operands = self.program.run(z)
        margins = self.program.output(values)
        rival = margins.argmin(axis=-1)[..., None]
        rows = {k: np.take_along_axis(weight, rival, axis=-2) for k, weight in self.program.output.weights.items()}
        slopes = self.program.slopes(values, operands, rows, several=False)
        return np.take_along_axis(margins, rival, axis=-1)[..., 0], slopes

    def only(self, rivals: int | slice | list[int]) -> "MarginNetwork":
        """Return the network of the margins over one rival or several."""
        keep = [rivals] if isinstance(rivals, int) else rivals
        program = self.program.only(keep)
        if self.pads is None:
            return replace(self, program=program)
        pads = [*self.pads[:-1], self.pads[-1][keep]]
        last = program.nodes[-1] if program.nodes else None
        if last is not None and isinstance(last.kind, Product):  # each rival of a network of values has its own
            program, rows = program.with_products_read()
            own = slice(-1 - len(last.operands), -1)
            pads[own] = [pad[rows] for pad in pads[own]]
        return replace(self, program=program, pads=tuple(pads))

    def at(self, which: np.ndarray, rivals: np.ndarray) -> "MarginNetwork":
        """Return networks (N,) of a stack, as a stack, each with the margins over some rivals (N, K)."""
        pads = self.pads and (*(pad[which] for pad in self.pads[:-1]), self.pads[-1][which[:, None], rivals])
        return replace(self, program=self.program.at(which, rivals), pads=pads)

    def simplified(self, low: np.ndarray, high: np.ndarray) -> "list[MarginNetwork]":
        """Return a network for each of the boxes low, high (B, d), without the ReLUs that do not bend there.

        The pads of this network also cover the simplified ones, because they sum the absolute terms of all layers.
        """
        relus = [k for k, node in enumerate(self.program.nodes, start=1) if node.kind == Elementwise("relu")]
        if self.pads is None or self.rounding is not None or self.uses_taylor or not relus:
            return [self] * len(low)
        nodes, networks = self.relax(low, high).nodes, []
        owners = [k for k, node in enumerate(self.program.nodes, start=1) for _ in node.operands]
        for b in range(len(low)):
            inputs = {k: nodes[k - 1].operands[0] for k in relus}
            linear = {k: x.least[b] >= 0.0 for k, x in inputs.items()}
            bent = {k: (x.least[b] < 0.0) & (x.most[b] > 0.0) for k, x in inputs.items()}
            pads = [pad[bent[k]] if k in bent else pad for k, pad in zip(owners, self.pads[:-1], strict=True)]
            networks.append(MarginNetwork(self.program.simplified(linear, bent), (*pads, self.pads[-1])))
        return networks

    def negated(self) -> "MarginNetwork":
        """Return the network with the signs of all margins changed."""
        return replace(self, program=replace(self.program, output=self.program.output.map(np.negative)))

    def upper_bounds(
        self, low: np.ndarray, high: np.ndarray, level: float | None = None, cap: Cap | None = None
    ) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, d) of the region of the question.

        With a level, bounds that stay below it are preferred. With a cap, bounds hold only there, and a second bound of
        each margin may follow the first bounds.
        """
        dim = low.shape[1]
        # Taylor models do not fit into the cache anyway, and their products of matrices are faster for many boxes.
        terms = 2 if self.uses_taylor else max(dim, self.num_rivals)
        return in_chunks(
            lambda part: self.bound_together(low[part], high[part], level, None if cap is None else cap[part]),
            len(low),
            self.width * terms,
        )

    def lower_bounds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least value of each margin over boxes low, high (B, d): (B, rivals)."""
        return -self.negated().upper_bounds(low, high).highest(low, high)

    def bound_together(
        self, low: np.ndarray, high: np.ndarray, level: float | None = None, cap: Cap | None = None
    ) -> HalfSpaces:
        """Return the result of `upper_bounds` without chunks; a stack of B networks has one box for each network.

        The closest lower line of a ReLU is usually best. But if a unit can only lower a margin, only the flat line
        shows that the margin does not rise. Saturated networks have many such units. Flat lines are therefore used
        where only they keep a margin below the level.
        """
        if self.uses_taylor:
            return taylor.upper_bounds(self.program, self._stretches, low, high, self._sizes(low, high), self._folded)
        relaxed = self.relax(low, high, cap)
        lines = [node.lines for node in relaxed.nodes]
        closest = self._substitute(relaxed, lines, len(low))
        if level is None:
            return closest
        flat = [line.flat() for line in lines]
        if any(new is not old for new, old in zip(flat, lines, strict=True)):
            others = self._substitute(relaxed, flat, len(low))
            better = (others.highest(low, high) < level) & (closest.highest(low, high) >= level)
            slopes = np.where(better[:, :, None], others.slopes, closest.slopes)
            closest = HalfSpaces(slopes, np.where(better, others.offsets, closest.offsets))
        if cap is None or self.pads is None or not curvature.is_covered(self.program):
            return closest
        return self._with_curvature(relaxed, lines, closest, low, high, level, cap.radius)

    def _with_curvature(
        self,
        relaxed: RelaxedProgram,
        lines: Sequence[Lines],
        bounds: HalfSpaces,
        low: np.ndarray,
        high: np.ndarray,
        level: float,
        radius: float,
    ) -> HalfSpaces:
        """Return linear bounds and, after them, a second bound for each margin.

        The second bound uses the curvature in boxes that may hold closer points. In other boxes, it equals the first.
        """
        distance, point = nearest(bounds.slopes, level - bounds.offsets, low, high, "l2")
        which = (distance < radius).nonzero()[0]
        slopes, offsets = bounds.slopes.copy(), bounds.offsets.copy()
        if len(which):
            boxes = low[which], high[which], radius, point[which], which
            bent = curvature.upper_bounds(self.program, relaxed.nodes, lines, *boxes, self.rounding is not None)
            spare = np.broadcast_to(self.program.output.bias + relaxed.output.pad + relaxed.output.error, offsets.shape)
            slopes[which], offsets[which] = bent.slopes, bent.offsets + spare[which]
        return HalfSpaces(
            np.concatenate([bounds.slopes, slopes], axis=1), np.concatenate([bounds.offsets, offsets], axis=1)
        )

    def _substitute(self, relaxed: RelaxedProgram, lines: Sequence[Lines], count: int) -> HalfSpaces:
        rows, offsets = substitute(self.program, relaxed.nodes, lines, self.rounding is not None)
        slopes = rows.get(0, np.zeros((1, self.num_rivals, self.program.dim)))
        shape = (count, *slopes.shape[1:])
        output = relaxed.output
        offsets = spread(offsets + self.program.output.bias + output.pad + output.error, shape[:2])
        if self.pads is None:  # lines can be so steep that numbers overflow
            known = np.isfinite(offsets) & np.isfinite(slopes).all(axis=2)
            slopes, offsets = np.where(known[:, :, None], slopes, 0.0), np.where(known, offsets, UNBOUNDED)
        return HalfSpaces(spread(slopes, shape), offsets)

    def relax(self, low: np.ndarray, high: np.ndarray, cap: Cap | None = None) -> RelaxedProgram:
        """Return the nodes relaxed over boxes low, high (B, d), and the deployed error of the output."""
        folded = 0.0 if self.pads is not None else self._folded
        return Forward(self.program, low, high, self.pads, self._sizes(low, high), folded, cap).run()

    def _sizes(self, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
        """Return the largest absolute values (B, d) of commands in boxes, if bounds include rounding errors."""
        if self.rounding is None or self.origin is None or self.basis is None:
            return None
        center, radius = (low + high) / 2, (high - low) / 2
        return np.abs(self.origin + center @ self.basis.T) + radius @ np.abs(self.basis).T

    @cached_property
    def _stretches(self) -> tuple[taylor.Stretch, ...]:
        return taylor.stretches(self.program)

    @cached_property
    def _folded(self) -> np.ndarray | float:
        """The size (d,) of the origin, which is folded into the biases, in scaled units."""
        if self.origin is None or self.basis is None:
            return 0.0
        size: np.ndarray = np.abs(np.linalg.inv(self.basis)) @ np.abs(self.origin)
        return size

    def without_rounding(self) -> "MarginNetwork":
        """Return the network with bounds for exact arithmetic."""
        return replace(self, program=replace(self.program, rounding=None))

    def rounded_in_first_layer(self) -> "MarginNetwork":
        """Return the network with bounds that include the rounding errors of the first layer only."""
        return replace(self, program=self.program.rounded_in_first_layer())

    def rough_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return upper bounds of `largest_error` (rivals,), much faster; infinite if the program is not covered.

        The size of a number is bounded by the sum of the sizes of its terms.
        """
        commands = self._sizes(low[None], high[None])
        if commands is None or self.program.error is None or not all(map(_is_plain, self.program.nodes)):
            return np.full(self.num_rivals, np.inf)
        errors, read = [np.zeros_like(low[None])], [commands]
        sizes = [np.maximum(np.abs(low), np.abs(high))[None]]
        for node in self.program.nodes:
            [operand], [error] = node.operands, node.errors
            weights = {k: np.abs(weight).T for k, weight in operand.weights.items()}
            off = error(read) + sum(errors[k] @ weight for k, weight in weights.items())
            size = np.abs(operand.bias) + off + sum(sizes[k] @ weight for k, weight in weights.items())
            moved = node.kind.error([size], [size], [off])
            output = moved + (1.0 if node.kind.function in ("sigmoid", "tanh") else size)  # type: ignore[union-attr]
            slip = node.slip * node.kind.size([size], output)
            errors.append(moved + slip)
            sizes.append(output + slip)
            read.append(sizes[-1])
        largest: np.ndarray = (self.program.output.moved_by(errors) + self.program.error(read))[0]
        return largest

    def largest_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest rounding error (rivals,) of the deployed margins in the box low, high (d,).

        Infinite if the rounding of the deployed policy is not known.
        """
        if self.rounding is None:
            return np.full(self.num_rivals, np.inf)
        relaxed = self.relax(low[None], high[None])
        errors = [np.zeros_like(low[None])]
        for node, at in zip(self.program.nodes, relaxed.nodes, strict=True):
            ranges = [o.least for o in at.operands], [o.most for o in at.operands]
            pairs = zip(node.operands, at.operands, strict=True)
            moved = [affine.moved_by(errors) + bounded.error for affine, bounded in pairs]
            errors.append(node.error(*ranges, moved) + at.slip)
        largest: np.ndarray = (self.program.output.moved_by(errors) + relaxed.output.error)[0]
        return largest


def stack_networks(networks: Sequence[MarginNetwork]) -> MarginNetwork:
    """Return networks of equal structure as one stack, without rounding errors."""
    first, *others = networks
    pads = first.pads and tuple(map(np.stack, zip(*(network.pads for network in networks), strict=True)))
    return MarginNetwork(first.program.stacked([network.program for network in others]), pads)


def margin_network(program: Program, question: Question, outputs_per_action: int = 1) -> MarginNetwork:
    """Return the margins of a question's foil over its rivals, for a policy folded at the question's state.

    An action has one output if the outputs are logits, and d outputs if they are the values of d objectives.
    """
    rivals, outputs = question.rivals, np.arange(program.num_outputs).reshape(-1, outputs_per_action)
    program = program.within(question.low, question.high, (1 + len(rivals)) * outputs_per_action)
    program = program.differences(outputs[[question.foil] * len(rivals)].reshape(-1), outputs[rivals].reshape(-1))
    if outputs_per_action > 1:
        program = program.weighted(outputs_per_action)
    return moved_network(program, question.command, question.basis, not question.space.simplex, command_reach(question))


def moved_network(
    program: Program, origin: np.ndarray, basis: np.ndarray, diagonal: bool, reach: np.ndarray
) -> MarginNetwork:
    """Return the network of a program whose outputs are margins, as a function of z, for commands origin + basis z.

    `reach` is as in `rounding_pads`. `diagonal` is whether the basis is diagonal.
    """
    return MarginNetwork(program.moved(origin, basis, diagonal), rounding_pads(program, reach), origin, basis)


def command_reach(question: Question) -> np.ndarray:
    """Return the largest sum of absolute terms (d,) when the numbers of a command are computed as origin + basis z."""
    size = np.abs(question.command)
    if not question.space.simplex:
        return size + np.maximum(question.command - question.low, question.high - question.command)
    # A number is a sum of d terms of the rotated change, and boxes are widened by less than 1e-3.
    most = np.maximum(-question.room[0], question.room[1]) + 1e-3
    return size + len(question.command) * (np.abs(question.basis) @ most)


def rounding_pads(program: Program, reach: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """Return pads that cover the rounding errors of each affine function: operations times the sum of absolute terms.

    `reach` (d,) has the largest sum of absolute terms of each number of a command; see `command_reach`. The pads use
    the terms of the program before the origin is folded into its biases: if these terms are large and cancel, their
    rounding errors remain. Return None if lines can be steep. Pads for the whole region would then be far too large
    for a box.
    """
    if not all(_is_flat(node) for node in program.nodes):
        return None
    pads, terms, operations = [], [reach], 8
    for node in (*program.nodes, None):
        sizes = []
        for affine in (program.output,) if node is None else node.operands:
            size = affine.absolute()([part[None] for part in terms])[0]
            operations += sum(weight.shape[1] for weight in affine.weights.values()) + 8
            pads.append(ROUNDING * operations * size)
            sizes.append(size)
            if not (size < _LARGEST).all():
                raise InvalidInput.expected(
                    f"a policy whose computed numbers stay below {_LARGEST:g}", f"up to {size.max():g}"
                )
        if node is not None and isinstance(node.kind, Product):
            operations += node.kind.terms + 8
            terms.append(4.0 * node.kind.total(sizes[0] * sizes[-1]))
        else:
            # Lines have slopes up to 1, and offsets up to 2 plus half the size. Those of gated functions have slopes up
            # to 1.13, but small offsets there.
            terms.append(1.5 * sizes[0] + 2.0)
    return tuple(pads)


def _is_plain(node: Node) -> bool:
    """Return whether a node is a function with slopes up to 1, and outputs up to 1 or up to its input."""
    return (
        isinstance(node.kind, Elementwise) and node.kind.function in ("sigmoid", "tanh", "relu") and bool(node.errors)
    )


def _is_flat(node: Node) -> bool:
    """Return whether the linear bounds of a node are never steeper than the node itself can be."""
    return isinstance(node.kind, Product) or (isinstance(node.kind, Elementwise) and node.kind.function in STEEPEST)


@dataclass(frozen=True, eq=False)
class OddsNetwork:
    """The margins over each rival and the foil's log-odds, each minus the log-odds that the foil must have.

    The log-odds -logsumexp(-m) are concave in the margins m and rise with each. They are at most the smallest margin,
    so the last output is always the smallest. A tangent of the log-odds is an upper bound. The log-odds of lower bounds
    of the margins are a lower bound.
    """

    network: MarginNetwork
    threshold: float

    @property
    def num_rivals(self) -> int:
        return self.network.num_rivals + 1

    @property
    def work(self) -> int:
        """Approximate number of multiplications to bound one box."""
        return self.network.work

    @property
    def stretch(self) -> np.ndarray:
        """How strongly each coordinate (d,) of the input moves the numbers that are computed from it."""
        return self.network.stretch

    def pad(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return upper bounds (rivals,) of the rounding errors of the margins in the box low, high (d,)."""
        return _with_largest(self.network.pad(low, high)) + _OFFSET_ROUNDING

    @property
    def rounding(self) -> Rounding | None:
        return self.network.rounding

    @property
    def unknown(self) -> str:
        return self.network.unknown

    @property
    def layers(self) -> None:
        """None: because of the log-odds, this is not a chain of layers."""
        return None

    def without_rounding(self) -> "OddsNetwork":
        """Return the network with bounds for exact arithmetic."""
        return replace(self, network=self.network.without_rounding())

    def rounded_in_first_layer(self) -> "OddsNetwork":
        """Return the network with bounds that include the rounding errors of the first layer only."""
        return replace(self, network=self.network.rounded_in_first_layer())

    def rough_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return upper bounds of `largest_error` (rivals,), much faster; infinite if the program is not covered."""
        return _with_largest(self.network.rough_error(low, high)) + _OFFSET_ROUNDING

    def largest_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest rounding error (rivals,) of the deployed margins in the box low, high (d,)."""
        return _with_largest(self.network.largest_error(low, high)) + _OFFSET_ROUNDING

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals) at changes z (N, d)."""
        return self._with_odds(self.network.margins(z))

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins (N, rivals) at changes z (N, d), and their derivatives (N, rivals, d)."""
        margins, slopes = self.network.margins_and_slopes(z)
        odds = (_shares(margins)[:, :, None] * slopes).sum(axis=1, keepdims=True)
        return self._with_odds(margins), np.concatenate([slopes, odds], axis=1)

    def upper_bounds(
        self, low: np.ndarray, high: np.ndarray, level: float | None = None, cap: Cap | None = None
    ) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, d) of the region of the question."""
        everything = self.network.upper_bounds(low, high, None if level is None else level + self.threshold, cap)
        first = slice(self.network.num_rivals)
        bounds = HalfSpaces(everything.slopes[:, first], everything.offsets[:, first])
        center, width = (low + high) / 2, high - low
        margins = bounds.offsets + (bounds.slopes @ center[:, :, None])[:, :, 0]  # the tangent is taken there
        shares = _shares(margins)
        slopes = (shares[:, :, None] * bounds.slopes).sum(axis=1)
        # Rounding changes the tangent by a small share of its terms and of the changes of margins within the box.
        terms = np.abs(bounds.offsets) + np.abs(margins) + (np.abs(bounds.slopes) @ width[:, :, None] / 2)[:, :, 0]
        odds = log_odds(margins)
        offsets = odds - (slopes * center).sum(axis=1)
        size = 1.0 + np.abs(odds) + (shares * terms).sum(axis=1) + (np.abs(slopes) * np.abs(center)).sum(axis=1)
        offsets = offsets + _OFFSET_ROUNDING * size
        return HalfSpaces(
            np.concatenate([everything.slopes, slopes[:, None]], axis=1),
            np.concatenate([everything.offsets, offsets[:, None]], axis=1) - self.threshold,
        )

    def lower_bounds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least value of each margin over boxes low, high (B, d): (B, rivals)."""
        least = self._with_odds(self.network.lower_bounds(low, high))
        return least - _OFFSET_ROUNDING * (1.0 + np.abs(least[:, -1:] + self.threshold))

    def _with_odds(self, margins: np.ndarray) -> np.ndarray:
        return np.concatenate([margins, log_odds(margins)[:, None]], axis=1) - self.threshold


def _shares(margins: np.ndarray) -> np.ndarray:
    """Return the shares (N, rivals) of the rivals in their total probability."""
    weights = np.exp(margins.min(axis=1, keepdims=True) - margins)
    shares: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _with_largest(numbers: np.ndarray) -> np.ndarray:
    return np.append(numbers, numbers.max(initial=0.0))


def require_white_box(policy: Policy, purpose: str) -> WhiteBoxPolicy:
    """Return the policy if it is white-box, else raise an error that names the purpose."""
    if not isinstance(policy, WhiteBoxPolicy):
        why = getattr(policy, "why_not", None)
        got = f"{type(policy).__name__}{f' ({why})' if why else ''}"
        raise InvalidInput.expected(f"a policy with fold(state){purpose}", got)
    return policy


def question_network(question: Question, purpose: str) -> MarginNetwork | OddsNetwork:
    """Return the margins of a question's foil; the error for a black-box policy names the purpose."""
    policy = question.policy
    if folds_values(policy):
        folded = policy.fold_values(question.state)
        return margin_network(folded.network, question, outputs_per_action=question.space.dim)
    network = margin_network(require_white_box(policy, purpose).fold(question.state), question)
    return network if question.probability is None else OddsNetwork(network, question.log_odds)


def joint_network(
    program: Program, action: int, rivals: Sequence[int], low: np.ndarray, high: np.ndarray
) -> MarginNetwork:
    """Return the margins of an action over its rivals, as functions of the state followed by the command."""
    program = replace(program, rounding=None).differences(np.full(len(rivals), action), np.array(rivals, dtype=int))
    return MarginNetwork(program, rounding_pads(program, np.maximum(np.abs(low), np.abs(high))))
