"""Programs: white-box policies as graphs of nodes, which can be evaluated, differentiated and bounded.

A node applies one operation to affine functions of earlier nodes (`Affine`): a function of each number
(`Elementwise`), sums of products (`Product`), or softmaxes (`Softmax`). Node 0 is the input of the program, usually
the command; the output is an affine function of all nodes. `paretofoil.proof` bounds each kind of node over boxes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from paretofoil.core.errors import InvalidInput

Activation = Literal["sigmoid", "tanh", "relu", "elu", "softplus", "silu"]
Function = Activation | Literal["identity", "gelu", "gelu-tanh", "mish", "exp", "reciprocal", "rsqrt"]
Arrays = Sequence[np.ndarray]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)  # no overflow for large |x|


def _normal(x: np.ndarray) -> np.ndarray:
    """Return the standard normal distribution function at x."""
    from scipy.special import ndtr  # not needed for most policies

    share: np.ndarray = ndtr(x.astype(np.float64, copy=False))
    return share


_GELU, _CUBIC = np.sqrt(2.0 / np.pi), 0.044715


def _tanh_gate(x: np.ndarray) -> np.ndarray:
    return _sigmoid(2.0 * _GELU * (x + _CUBIC * x**3))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _tanh_gate_slope(x: np.ndarray) -> np.ndarray:
    gate = _tanh_gate(x)
    return gate * (1.0 - gate) * 2.0 * _GELU * (1.0 + 3.0 * _CUBIC * x**2)


def _mish_slope(x: np.ndarray) -> np.ndarray:
    gate = np.tanh(_softplus(x))
    return gate + x * (1.0 - gate * gate) * _sigmoid(x)


ACTIVATIONS: dict[Function, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda x: x,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.maximum(x, 0.0) + np.expm1(np.minimum(x, 0.0)),
    "softplus": _softplus,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * _normal(x),
    "gelu-tanh": lambda x: x * _tanh_gate(x),
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "exp": np.exp,
    "reciprocal": np.reciprocal,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
}
_DERIVATIVES: dict[Function, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "identity": lambda x, y: np.ones_like(x),
    "sigmoid": lambda x, y: y * (1.0 - y),
    "tanh": lambda x, y: 1.0 - y * y,
    "relu": lambda x, y: (y > 0.0).astype(np.float64),
    "elu": lambda x, y: np.minimum(y + 1.0, 1.0),
    "softplus": lambda x, y: -np.expm1(-y),
    "silu": lambda x, y: y + _sigmoid(x) * (1.0 - y),
    "gelu": lambda x, y: _normal(x) + x * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi),
    "gelu-tanh": lambda x, y: _tanh_gate(x) + x * _tanh_gate_slope(x),
    "mish": lambda x, y: _mish_slope(x),
    "exp": lambda x, y: y,
    "reciprocal": lambda x, y: -y * y,
    "rsqrt": lambda x, y: -0.5 * y / x,
}
"""The derivative of a function, by its input x and its output y."""
STEEPEST: dict[Function, float] = {
    "identity": 1.0, "sigmoid": 0.25, "tanh": 1.0, "relu": 1.0, "elu": 1.0, "softplus": 1.0, "silu": 1.1, "gelu": 1.13,
    "gelu-tanh": 1.13, "mish": 1.09,
}  # fmt: skip
"""The steepest slope of a function. The other functions are steepest at an end of their input range."""
_TURNS: frozenset[Function] = frozenset({"relu", "elu", "softplus", "sigmoid", "tanh"})
"""Functions that bend only around 0, or are steepest there."""
GATED: frozenset[Function] = frozenset({"silu", "gelu", "gelu-tanh", "mish"})
"""Functions of the form x * gate(x). Their rounding error is proportional to the input."""


@dataclass(frozen=True)
class Elementwise:
    """A function of each number of its operand."""

    function: Function

    def points(self, x: np.ndarray) -> np.ndarray:
        """Return the values at points."""
        return ACTIVATIONS[self.function](x)

    def pull(self, rows: np.ndarray, operands: Arrays, output: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the derivatives by each operand, given the derivatives `rows` by the output: the chain rule."""
        return (rows * _DERIVATIVES[self.function](operands[0], output),)

    def error(self, low: Arrays, high: Arrays, errors: Arrays) -> np.ndarray:
        """Return the largest error of the output, for operands between low and high with these errors."""
        if self.function in STEEPEST:
            return STEEPEST[self.function] * errors[0]
        slopes = [np.abs(_DERIVATIVES[self.function](end, self.points(end))) for end in (low[0], high[0])]
        return np.maximum(*slopes) * errors[0]

    def size(self, sizes: Arrays, output: np.ndarray) -> np.ndarray:
        """Return the number that the rounding error is proportional to, given the sizes of operands and output."""
        return np.maximum(sizes[0] if self.function in GATED else output, 1.0 if self.function in STEEPEST else 0.0)

    def select(self, keep: np.ndarray) -> tuple["Elementwise", np.ndarray]:
        """Return the operation for some outputs (n,) bool, and which numbers of its operands it needs."""
        return self, keep


@dataclass(frozen=True)
class Product:
    """Sums of products of the numbers of two operands, or of squares of one operand.

    Each output is the sum of `terms` neighbouring products.
    """

    terms: int = 1

    def points(self, x: np.ndarray, *other: np.ndarray) -> np.ndarray:
        return self.total(x * (other[0] if other else x))

    def total(self, products: np.ndarray) -> np.ndarray:
        """Sum neighbouring products (..., n x terms) to outputs (..., n)."""
        if self.terms == 1:
            return products
        sums: np.ndarray = products.reshape(*products.shape[:-1], products.shape[-1] // self.terms, self.terms).sum(
            axis=-1
        )
        return sums

    def spread(self, rows: np.ndarray) -> np.ndarray:
        """Repeat the numbers of each output (..., n) for each of its products: (..., n x terms)."""
        return rows if self.terms == 1 else np.repeat(rows, self.terms, axis=-1)

    def pull(self, rows: np.ndarray, operands: Arrays, output: np.ndarray) -> tuple[np.ndarray, ...]:
        rows = self.spread(rows)
        if len(operands) == 1:
            return (2.0 * rows * operands[0],)
        return rows * operands[1], rows * operands[0]

    def error(self, low: Arrays, high: Arrays, errors: Arrays) -> np.ndarray:
        sizes = [np.maximum(np.abs(least), np.abs(most)) for least, most in zip(low, high, strict=True)]
        return self.total(sizes[0] * errors[-1] + sizes[-1] * errors[0])

    def size(self, sizes: Arrays, output: np.ndarray) -> np.ndarray:
        return self.total(sizes[0] * sizes[-1])

    def select(self, keep: np.ndarray) -> tuple["Product", np.ndarray]:
        return self, self.spread(keep)


@dataclass(frozen=True)
class Softmax:
    """Softmaxes of neighbouring numbers: of the first `count`, the next `count`, ..."""

    count: int

    def groups(self, x: np.ndarray) -> np.ndarray:
        """Reshape (..., n) to (..., n / count, count)."""
        return x.reshape(*x.shape[:-1], x.shape[-1] // self.count, self.count)

    def points(self, x: np.ndarray) -> np.ndarray:
        groups = self.groups(x)
        weights = np.exp(groups - groups.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True)).reshape(x.shape)

    def pull(self, rows: np.ndarray, operands: Arrays, output: np.ndarray) -> tuple[np.ndarray, ...]:
        weighted = rows * output
        shares = self.groups(output) * self.groups(weighted).sum(axis=-1, keepdims=True)
        return (weighted - shares.reshape(weighted.shape),)

    def error(self, low: Arrays, high: Arrays, errors: Arrays) -> np.ndarray:
        """The derivatives of a softmax sum to at most 2 p (1 - p) <= 1/2, in absolute values."""
        groups = self.groups(errors[0])
        return np.broadcast_to(0.5 * groups.max(axis=-1, keepdims=True), groups.shape).reshape(errors[0].shape)

    def size(self, sizes: Arrays, output: np.ndarray) -> np.ndarray:
        return np.ones_like(output)

    def select(self, keep: np.ndarray) -> tuple["Softmax", np.ndarray]:
        return self, np.ones_like(keep)


Kind = Elementwise | Product | Softmax


@dataclass(frozen=True, eq=False)
class Affine:
    """bias + the sum of weight @ values over some nodes. In a stack of programs, all arrays have one more first axis.

    A bound of a rounding error is an affine function of the absolute values of nodes, without negative entries.
    """

    bias: np.ndarray  # (n,)
    weights: Mapping[int, np.ndarray]  # by node, at least one: (n, size of the node)

    @property
    def size(self) -> int:
        return self.bias.shape[-1]

    def __call__(self, values: Arrays) -> np.ndarray:
        """Return the values (..., N, n), given those (..., N, size) of all nodes."""
        total: np.ndarray | None = None
        for node, weight in self.weights.items():
            part = values[node] @ weight.swapaxes(-1, -2)
            total = part if total is None else total + part
        return total + self.bias[..., None, :]

    def moved_by(self, errors: Arrays) -> np.ndarray:
        """Return the largest change (N, n) of the values, given the largest changes (N, size) of all nodes."""
        moves = [errors[node] @ np.abs(weight).T for node, weight in self.weights.items()]
        return moves[0] if len(moves) == 1 else np.sum(moves, axis=0)

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> "Affine":
        """Return the function with a change, such as a selection of rows, of its bias and all weights."""
        return Affine(change(self.bias), {node: change(weight) for node, weight in self.weights.items()})

    def at_rows(self, rows: np.ndarray | slice | list[int]) -> "Affine":
        return self.map(lambda part: part[rows])

    def plus(self, other: "Affine") -> "Affine":
        weights = dict(self.weights)
        for node, weight in other.weights.items():
            weights[node] = weights[node] + weight if node in weights else weight
        return Affine(self.bias + other.bias, weights)

    def absolute(self) -> "Affine":
        return self.map(np.abs)


@dataclass(frozen=True, eq=False)
class Node:
    """One operation on affine functions of earlier nodes."""

    kind: Kind
    operands: tuple[Affine, ...]
    errors: tuple[Affine, ...] = ()
    """The largest rounding error of each deployed operand, given the deployed nodes; used if rounding is known."""
    slip: np.ndarray | float = 0.0
    """The largest rounding error (n,) of the deployed operation, as a share of `kind.size`."""
    limit: float = np.inf
    """A natural range: no output is larger than this in absolute value."""

    @property
    def size(self) -> int:
        count = self.operands[0].size
        return count // self.kind.terms if isinstance(self.kind, Product) else count

    @property
    def lowest(self) -> float:
        """The operand at which 1 / x or 1 / sqrt(x) reaches the limit; for other operations -infinity."""
        if not isinstance(self.kind, Elementwise) or np.isinf(self.limit):
            return -np.inf
        return float(self.limit ** (-2.0 if self.kind.function == "rsqrt" else -1.0))

    def error(self, low: Arrays, high: Arrays, errors: Arrays) -> np.ndarray:
        """Return the largest error of the output, which is that of `kind.error` within the natural range."""
        return np.minimum(self.kind.error([np.maximum(x, self.lowest) for x in low], high, errors), 2.0 * self.limit)


@dataclass(frozen=True)
class Rounding:
    """The number format whose rounding errors the nodes have, and where these errors hold."""

    unit: float
    """The unit roundoff of the number format: the largest relative error of one rounding."""
    reach: np.ndarray | None = None
    """The largest absolute values (d,) of commands without overflow; None for no limit."""
    needs_all_actions: bool = False
    """Whether the errors hold only if all actions are valid, because small probabilities underflow."""

    @property
    def is_coarse(self) -> bool:
        """Whether the number format is coarser than float32; measured errors are not reliable for such formats."""
        return self.unit > 2.0**-24


class Layers(NamedTuple):
    """Affine layers with a function after each but the last."""

    weights: tuple[np.ndarray, ...]  # each (outputs, inputs)
    biases: tuple[np.ndarray, ...]  # each (outputs,)
    activations: tuple[Function, ...]  # one fewer than the layers


@dataclass(frozen=True, eq=False)
class Program:
    """A policy at one state as a function of the command: nodes in order, all in float64."""

    dim: int
    """The size of node 0, the input."""
    nodes: tuple[Node, ...]
    output: Affine
    error: Affine | None = None
    """The largest rounding error of the output, as in `Node.errors`."""
    rounding: Rounding | None = field(default=None, kw_only=True)
    """None if the arithmetic of the deployed policy is unknown."""
    unknown: str = field(default="", kw_only=True)
    """Why the arithmetic is unknown."""

    @classmethod
    def of_layers(
        cls,
        weights: Arrays,
        biases: Arrays,
        activations: Sequence[Function] = (),
        *,
        unit: float | None = None,
    ) -> "Program":
        """Return the program of affine layers (outputs, inputs) with an activation after each but the last.

        With `unit`, the unit roundoff of a number format, it has the rounding errors of sums in any order.
        """
        affines = [Affine(bias, {k: weight}) for k, (weight, bias) in enumerate(zip(weights, biases, strict=True))]
        errors: list[Affine] = []
        if unit is not None:
            for affine, weight in zip(affines, weights, strict=True):
                share = (weight.shape[1] + 8) * unit / (1.0 - (weight.shape[1] + 8) * unit)
                errors.append(affine.map(lambda part, share=share: share * np.abs(part)))  # type: ignore[misc]
        nodes = tuple(
            Node(
                Elementwise(activation),
                (affines[k],),
                tuple(errors[k : k + 1]),
                0.0 if unit is None or activation == "relu" else 32.0 * unit,
            )
            for k, activation in enumerate(activations)
        )
        rounding = None if unit is None else Rounding(unit)
        return cls(weights[0].shape[1], nodes, affines[-1], errors[-1] if errors else None, rounding=rounding)

    @property
    def is_chain(self) -> bool:
        """Whether each node is a function of the previous one, so that the program is a chain of layers."""
        elementwise = all(isinstance(node.kind, Elementwise) for node in self.nodes)
        return elementwise and all(list(affine.weights) == [k] for k, affine in enumerate(self.affines))

    @property
    def layers(self) -> Layers:
        """The layers of a chain."""
        if not self.is_chain:
            raise InvalidInput.expected(
                "a program that is a chain of layers", f"one of {len(self.nodes)} nodes that is not"
            )
        weights = tuple(affine.weights[k] for k, affine in enumerate(self.affines))
        activations = tuple(node.kind.function for node in self.nodes)  # type: ignore[union-attr]
        return Layers(weights, tuple(affine.bias for affine in self.affines), activations)

    @property
    def num_outputs(self) -> int:
        return self.output.size

    @property
    def affines(self) -> list[Affine]:
        """The affine functions of all nodes and of the output, in order."""
        return [*(operand for node in self.nodes for operand in node.operands), self.output]

    def run(self, points: np.ndarray) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
        """Return the values (..., N, size) of all nodes at points (..., N, d), and those of the operands of each."""
        values, operands = [points], []
        for node in self.nodes:
            operands.append([operand(values) for operand in node.operands])
            values.append(node.kind.points(*operands[-1]))
        return values, operands

    def logits(self, commands: np.ndarray) -> np.ndarray:
        """Return the outputs (N, outputs) at commands (N, d)."""
        return self.output(self.run(commands)[0])

    def slopes(
        self, values: Arrays, operands: Sequence[Arrays], rows: Mapping[int, np.ndarray], *, several: bool
    ) -> np.ndarray:
        """Return derivatives by the input, given derivatives `rows` by the nodes and the results of `run`.

        Rows are (..., N, n) for one function of each point, and (..., N or 1, K, n) for `several`.
        """
        derivatives = dict(rows)
        for k in range(len(self.nodes), 0, -1):
            if k not in derivatives:
                continue
            node, inside, result = self.nodes[k - 1], operands[k - 1], values[k]
            if several:
                inside, result = [x[..., None, :] for x in inside], result[..., None, :]
            for operand, pulled in zip(node.operands, node.kind.pull(derivatives.pop(k), inside, result), strict=True):
                for source, weight in operand.weights.items():
                    part = pulled @ (weight[..., None, :, :] if several else weight)
                    derivatives[source] = derivatives[source] + part if source in derivatives else part
        return derivatives[0] if 0 in derivatives else np.zeros(1)

    def inputs(self, commands: np.ndarray) -> np.ndarray:
        """Return the inputs (N, units) of all functions that bend at 0, at commands (N, d)."""
        turns = [isinstance(node.kind, Elementwise) and node.kind.function in _TURNS for node in self.nodes]
        operands = self.run(commands)[1] if any(turns) else []
        return np.concatenate([commands[:, :0], *(operands[k][0] for k, turn in enumerate(turns) if turn)], axis=1)

    def errors(self, commands: np.ndarray) -> np.ndarray:
        """Return the largest rounding errors (N, outputs) of the deployed logits; infinite if unknown."""
        values, operands = self.run(commands)
        if self.rounding is None or self.error is None:
            return np.full((len(commands), self.num_outputs), np.inf)
        errors = [np.zeros_like(commands)]
        for k, node in enumerate(self.nodes):
            sizes = [np.abs(value) + error for value, error in zip(values, errors, strict=False)]
            off = [a.moved_by(errors) + e(sizes) for a, e in zip(node.operands, node.errors, strict=True)]
            low, high = ([x + s * e for x, e in zip(operands[k], off, strict=True)] for s in (-1.0, 1.0))
            moved = node.error(low, high, off)
            reach = [np.abs(x) + e for x, e in zip(operands[k], off, strict=True)]
            errors.append(moved + node.slip * node.kind.size(reach, np.abs(values[k + 1]) + moved))
        sizes = [np.abs(value) + error for value, error in zip(values, errors, strict=True)]
        error = self.output.moved_by(errors) + self.error(sizes)
        return error * (1.0 + 2.0**-53 / self.rounding.unit)  # `logits` are rounded as well, to float64

    def differences(self, first: np.ndarray, second: np.ndarray) -> "Program":
        """Return a program whose outputs are differences of the outputs with indices `first` and `second`."""
        output = self.output.map(lambda part: part[first] - part[second])
        error = self.error and self.error.map(lambda part: part[first] + part[second])
        return replace(self, output=output, error=error)

    def only(self, keep: slice | list[int]) -> "Program":
        """Return a program with some of the outputs."""
        return replace(self, output=self.output.at_rows(keep), error=self.error and self.error.at_rows(keep))

    def with_products_read(self) -> "tuple[Program, np.ndarray]":
        """Return the program with only those products of its last node that the output reads.

        Also return which numbers of the operands these need.
        """
        last, place = self.nodes[-1], len(self.nodes)
        reads = [affine for affine in (self.output, self.error) if affine is not None and place in affine.weights]
        keep = np.any([affine.weights[place].any(axis=0) for affine in reads], axis=0)
        kind, rows = last.kind.select(keep)
        operands, errors = (tuple(a.at_rows(rows) for a in part) for part in (last.operands, last.errors))
        slip = last.slip[keep] if np.ndim(last.slip) else last.slip  # type: ignore[index]

        def change(affine: Affine) -> Affine:
            return Affine(affine.bias, {k: w[:, keep] if k == place else w for k, w in affine.weights.items()})

        node = replace(last, kind=kind, operands=operands, errors=errors, slip=slip)
        error = self.error and change(self.error)
        return replace(self, nodes=(*self.nodes[:-1], node), output=change(self.output), error=error), rows

    def weighted(self, dim: int) -> "Program":
        """Return a program whose outputs are dot products of the input and `dim` neighbouring outputs, in float64."""
        count = self.num_outputs // dim
        weights = Affine(np.zeros(count * dim), {0: np.tile(np.eye(dim), (count, 1))})
        errors = (self.error, weights.map(np.zeros_like)) if self.error is not None else ()
        node = Node(Product(dim), (self.output, weights), errors, 2.0 * (dim + 1) * 2.0**-53)
        place = len(self.nodes) + 1
        output = Affine(np.zeros(count), {place: np.eye(count)})
        return replace(self, nodes=(*self.nodes, node), output=output, error=output.map(np.zeros_like))

    def scaled(self, node: int, factors: np.ndarray) -> "Program":
        """Return a chain of layers in which the numbers of one node are multiplied by factors (n,) of at least 0."""

        def change(affine: Affine) -> Affine:
            weights = affine.weights
            return Affine(affine.bias, {node: weights[node] * factors}) if node in weights else affine

        nodes = tuple(
            replace(reader, operands=(change(reader.operands[0]),), errors=tuple(map(change, reader.errors)))
            if node in reader.operands[0].weights
            else reader
            for reader in self.nodes
        )
        return replace(self, nodes=nodes, output=change(self.output), error=self.error and change(self.error))

    def moved(self, origin: np.ndarray, basis: np.ndarray, diagonal: bool) -> "Program":
        """Return the program as a function of z, at commands origin + basis z; its rounding errors do not change."""

        def change(affine: Affine) -> Affine:
            if 0 not in affine.weights:
                return affine
            weight = affine.weights[0]
            turned = weight * np.diag(basis) if diagonal else weight @ basis
            return Affine(weight @ origin + affine.bias, {**affine.weights, 0: turned})

        nodes = tuple(replace(node, operands=tuple(map(change, node.operands))) for node in self.nodes)
        return replace(self, nodes=nodes, output=change(self.output))

    def within(self, low: np.ndarray, high: np.ndarray, num_valid: int) -> "Program":
        """Return the program for commands within low, high (d,), without `rounding` if it may not hold there."""
        rounding = self.rounding
        if rounding is None:
            return self
        if rounding.reach is not None and (np.maximum(np.abs(low), np.abs(high)) > rounding.reach).any():
            unknown = "commands so far outside the command space may cause overflow"
        elif rounding.needs_all_actions and num_valid < self.num_outputs:
            unknown = "probabilities may underflow, and the most probable action may be invalid"
        else:
            return self
        if rounding.is_coarse:
            expected = "a question for which the rounding errors of half precision are known"
            raise InvalidInput.expected(expected, f"a question for which {unknown}")
        return replace(self, rounding=None, unknown=unknown)

    def rounded_in_first_layer(self) -> "Program":
        """Return the program with the rounding errors of only those operands that read just the input."""

        def kept(operand: Affine, error: Affine) -> Affine:
            return error if list(operand.weights) == [0] else error.map(np.zeros_like)

        nodes = tuple(
            replace(node, errors=tuple(map(kept, node.operands, node.errors)), slip=0.0 * node.slip)
            for node in self.nodes
        )
        return replace(self, nodes=nodes, error=self.error and kept(self.output, self.error))

    def pruned(self) -> "Program":
        """Return the program without the numbers that the output does not depend on."""
        reads = [self.output, *([self.error] if self.error is not None else [])]
        nodes, keeps = list(self.nodes), {}
        for k in range(len(nodes), 0, -1):
            keep = np.zeros(nodes[k - 1].size, dtype=bool)
            for affine in reads:
                if k in affine.weights:
                    keep |= affine.weights[k].any(axis=0)
            node = nodes[k - 1]
            kind, rows = node.kind.select(keep) if keep.any() else (node.kind, np.zeros(node.operands[0].size, bool))
            keeps[k] = np.ones_like(keep) if isinstance(kind, Softmax) and keep.any() else keep
            slip = node.slip[keeps[k]] if np.ndim(node.slip) else node.slip  # type: ignore[index]
            operands, errors = (tuple(a.at_rows(rows) for a in affines) for affines in (node.operands, node.errors))
            nodes[k - 1] = replace(node, kind=kind, operands=operands, errors=errors, slip=slip)
            reads += [*operands, *errors]
        numbers, alive = {0: 0}, [k for k in sorted(keeps) if keeps[k].any()]
        numbers |= {k: i for i, k in enumerate(alive, start=1)}

        def renumbered(affine: Affine) -> Affine:
            kept = {numbers[k]: w if k == 0 else w[:, keeps[k]] for k, w in affine.weights.items() if k in numbers}
            nothing = {0: np.zeros((affine.size, self.dim))}  # an affine function reads at least one node
            return Affine(affine.bias, {k: w for k, w in kept.items() if w.any()} or nothing)

        def rebuilt(node: Node) -> Node:
            operands, errors = (tuple(map(renumbered, part)) for part in (node.operands, node.errors))
            return replace(node, operands=operands, errors=errors)

        return replace(
            self,
            nodes=tuple(rebuilt(nodes[k - 1]) for k in alive),
            output=renumbered(self.output),
            error=self.error and renumbered(self.error),
        )

    def simplified(self, linear: Mapping[int, np.ndarray], bent: Mapping[int, np.ndarray]) -> "Program":
        """Return the program, without rounding errors, for inputs for which most ReLUs are linear.

        Of each ReLU node, the units that are `linear` (n,) return their input, those that are `bent` (n,) are kept, and
        all others return 0.
        """
        operands: dict[int, Affine] = {}

        def change(affine: Affine) -> Affine:
            kept = {k: weight[:, bent[k]] if k in bent else weight for k, weight in affine.weights.items()}
            result = Affine(affine.bias, kept)
            for k in linear.keys() & affine.weights.keys():
                through, inside = affine.weights[k][:, linear[k]], operands[k].at_rows(linear[k])
                result = result.plus(inside.map(through.__matmul__))
            return result

        nodes = []
        for k, node in enumerate(self.nodes, start=1):
            changed = tuple(map(change, node.operands))
            if k in bent:
                operands[k] = changed[0]
                changed = (changed[0].at_rows(bent[k]),)
            nodes.append(Node(node.kind, changed, limit=node.limit))
        return Program(self.dim, tuple(nodes), change(self.output))

    def stacked(self, others: Sequence["Program"]) -> "Program":
        """Return this program and others of equal structure as one, whose arrays have a first axis of programs."""
        programs = (self, *others)

        def stack(affines: Sequence[Affine]) -> Affine:
            weights = {k: np.stack([affine.weights[k] for affine in affines]) for k in affines[0].weights}
            return Affine(np.stack([affine.bias for affine in affines]), weights)

        def node(nodes: tuple[Node, ...]) -> Node:
            operands = tuple(map(stack, zip(*(one.operands for one in nodes), strict=True)))
            return Node(nodes[0].kind, operands, limit=nodes[0].limit)

        nodes = tuple(map(node, zip(*(program.nodes for program in programs), strict=True)))
        return Program(self.dim, nodes, stack([program.output for program in programs]))

    def at(self, which: np.ndarray, outputs: np.ndarray) -> "Program":
        """Return a stack of N programs: program `which[i]` of this stack, reduced to the outputs `outputs[i]` (K,)."""

        def chosen(node: Node) -> Node:
            return replace(node, operands=tuple(operand.at_rows(which) for operand in node.operands))

        output = self.output.map(lambda part: part[which[:, None], outputs])
        return replace(self, nodes=tuple(map(chosen, self.nodes)), output=output)

    @property
    def structure(self) -> tuple[object, ...]:
        """What programs must have in common to be stacked: the kinds and sizes of nodes, and what each reads."""
        reads = tuple(tuple((k, w.shape) for k, w in affine.weights.items()) for affine in self.affines[:-1])
        return tuple((node.kind, node.limit) for node in self.nodes), reads, tuple(self.output.weights)
