"""Records how the outputs of a torch module depend on the command, as a program.

The module runs with a `Symbol` in place of the command. A symbol has no values: it holds the coefficients of its
entries as an affine function of the units, which are the numbers of the command and of all nodes so far. Operations
that are not affine append nodes. An operation that is not supported raises `NotWhiteBox` with its name.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from paretofoil.core.policy import IMPOSSIBLE
from paretofoil.core.program import (
    STEEPEST,
    Affine,
    Elementwise,
    Function,
    Kind,
    Node,
    Product,
    Program,
    Rounding,
    Softmax,
)

MAX_UNITS = 8192
"""The largest number of units; a proof about more takes too long."""
FLOAT32 = 2.0**-24
"""The unit roundoff of float32."""
ACTIVATION_ROUNDINGS = 32.0
"""The rounding error allowed for an activation of torch, in unit roundoffs.

The largest error measured is 2.3, for all float16 and bfloat16 numbers and 4 million float32 numbers of all sizes
(`benchmarks/activation_errors.py`)."""
_MANY_UNITS = 64
"""Sums that read more units than this, and twice as many as they have entries, become units of their own."""
SPARE_OPERATIONS = 3
"""Roundings allowed for each operation of torch beside those of its terms: for a scalar, or by autocast."""
Arguments = tuple[Any, ...]
Nodes = tuple[int, ...]
Named = dict[str, Any]
Operation = Callable[[Callable[..., Any], Arguments, Named], Any]
"""(function, arguments, keyword arguments), with at least one symbol -> symbols."""


class NotWhiteBox(Exception):
    """A module that cannot be recorded; the message is the reason."""


def unit_roundoff(dtype: torch.dtype) -> float:
    """Return the largest relative error of rounding to a number format."""
    return torch.finfo(dtype).eps / 2


def smallest_number(dtype: torch.dtype) -> float:
    """Return the largest absolute rounding error of a number close to 0, which float32 and float64 may flush to 0."""
    limits = torch.finfo(dtype)
    return limits.tiny * (limits.eps if dtype in (torch.float16, torch.bfloat16) else 1.0)


def _allows_coarser_products() -> bool:
    modes = (os.environ.get(f"{name}_DEFAULT_FPMATH_MODE", "strict").lower() for name in ("ONEDNN", "DNNL"))
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was set by another interface
        return True
    return precision != "highest" or any(mode != "strict" for mode in modes)


class Recording:
    """The activations so far, the supported operations, and the rounding of the module (see `Symbol.error`)."""

    def __init__(
        self, reach: np.ndarray, dtype: torch.dtype, device: torch.device, operations: Mapping[str, Operation]
    ) -> None:
        self.nodes: list[Node] = []
        self.made: list[Symbol] = []
        """The first operand of each node."""
        self.dtype, self.device, self.operations = dtype, device, operations
        self.unit, self.smallest, self.largest = unit_roundoff(dtype), smallest_number(dtype), torch.finfo(dtype).max
        self.least_normal = torch.finfo(dtype).tiny
        self.activation_roundings, self.spare_operations = ACTIVATION_ROUNDINGS, SPARE_OPERATIONS
        self.sizes = [torch.tensor(reach, dtype=torch.float64)]
        """The largest sizes of the numbers of each node, for commands up to the reach; node 0 is the command."""
        self.exact = False
        """True while an identity is recorded that the module itself does not compute, so that nothing is rounded."""
        self.unknown = ""
        """Why the rounding errors cannot be derived; empty if they can."""
        self.returns_probabilities = False
        """Whether a softmax was applied."""
        self.needs_all_actions = False
        """Whether probabilities may underflow, which is harmless only if the most probable action is valid."""
        if device.type != "cpu":
            self.unknown = f"the arithmetic of the device {device.type} is not known"
        elif _allows_coarser_products():
            self.unknown = "settings of torch or oneDNN allow products of a lower precision"

    @property
    def units(self) -> int:
        return sum(map(len, self.sizes))

    def command(self) -> "Symbol":
        """Return the command as a batch of one row."""
        size = len(self.sizes[0])
        terms = torch.eye(size, dtype=torch.float64)
        error = terms * 1.001 * self.unit  # it is rounded to the module's number format, perhaps by way of float32
        constants = terms.new_tensor([[0.0], [self.smallest]]).expand(2, size)
        symbol = Symbol(self, (1, size), constants, torch.arange(size), torch.stack([terms, error]), (0,))
        self.check_overflow(symbol.largest())
        return symbol

    def constant(self, tensor: Tensor) -> "Symbol":
        """Return a symbol that carries the rounding errors of a tensor that does not depend on the command."""
        values = constant(tensor).double()
        return Symbol.of_constants(self, values, torch.zeros_like(values))

    def gamma(self, terms: int) -> float:
        """Return the largest rounding error of a sum of products, in any order, as a share of their sizes."""
        if self.exact:
            return 0.0
        share = (terms + self.spare_operations) * self.unit
        if share >= 0.5:
            self.unknown = f"sums of {terms:,} terms are too long for numbers with a rounding error of {self.unit:.1g}"
            return 1.0
        return share / (1.0 - share) + 1e-14  # float64, in which the share itself is applied, rounds as well

    def round_to(self, dtype: torch.dtype) -> None:
        """Use this number format for later rounding errors if it is coarser than the present one."""
        self.unit, self.smallest = max(self.unit, unit_roundoff(dtype)), max(self.smallest, smallest_number(dtype))
        self.largest = min(self.largest, torch.finfo(dtype).max)
        self.least_normal = max(self.least_normal, torch.finfo(dtype).tiny)

    def units_of(self, nodes: Nodes) -> Tensor:
        """Return the largest sizes of the units of some nodes."""
        return torch.cat([self.sizes[0][:0], *(self.sizes[k] for k in nodes)])

    def check_overflow(self, sizes: Tensor) -> None:
        """Stop deriving errors if numbers of these largest sizes could overflow."""
        largest = float(sizes[sizes.isfinite()].max()) if sizes.isfinite().any() else 0.0  # others are masks
        if largest > self.largest / 2 and not self.exact:
            self.unknown = f"numbers up to {largest:.2g} may be too large for a format that ends at {self.largest:.2g}"

    def activate(self, function: Function, symbol: "Symbol", beyond: float = 0.0, limit: float = np.inf) -> "Symbol":
        """Return the symbol of a new node that applies a function to each entry.

        `beyond` is the difference between the module's formula and the exact function, without rounding errors. The
        result never exceeds `limit`.
        """
        slip = self.activation_roundings * min(self.unit, FLOAT32) + beyond
        slip += 4.0 * self.unit if self.unit > FLOAT32 else 0.0  # coarser formats compute in float32, and round
        slip = 0.0 if function in ("identity", "relu") else slip
        kind = Elementwise(function)
        varies = symbol.varies
        if not varies.all():  # the rest is known, for example the tokens before the command
            known = self.known(Node(kind, (), slip=slip, limit=limit), symbol)
            where = varies.nonzero(as_tuple=True)
            if not len(where[0]):
                return known
            part = self.activate(function, symbol[where], beyond, limit)  # type: ignore[arg-type]
            return _scattered(part, where, symbol.shape, known)
        sizes = symbol.largest().flatten() + 1.0
        if function in ("sigmoid", "tanh"):
            sizes = sizes.clamp(max=2.0)
        elif function not in STEEPEST:
            sizes = torch.full_like(sizes, min(limit, 1e30))
        return self.append(kind, (symbol,), sizes, slip, limit)

    def known(self, node: Node, symbol: "Symbol") -> "Symbol":
        """Return the numbers of a node with one operand, if that does not depend on the command."""
        given, error = (part.reshape(symbol.shape).numpy() for part in symbol.constants)
        value = np.asarray(node.kind.points(given))
        moved = node.error([given - error], [given + error], [error])
        off = moved + node.slip * node.kind.size([np.abs(given) + error], np.abs(value) + moved)
        return Symbol.of_constants(self, torch.from_numpy(value), torch.from_numpy(np.asarray(off)))

    def append(
        self,
        kind: Kind,
        symbols: "Sequence[Symbol]",
        sizes: Tensor,
        slip: np.ndarray | float,
        limit: float = np.inf,
    ) -> "Symbol":
        """Return the numbers of a new node, whose sizes (n,) are at most `sizes`, in the shape of the first operand."""
        if self.units + len(sizes) > MAX_UNITS:
            raise NotWhiteBox(f"more than {MAX_UNITS} activations, too many for a proof")
        operands, errors = (
            tuple(self.affine(getattr(symbol, part), symbol.nodes) for symbol in symbols) for part in ("basis", "error")
        )
        self.nodes.append(Node(kind, operands, errors, slip, limit))
        self.made.append(symbols[0])
        self.sizes.append(sizes)
        terms = torch.eye(len(sizes), dtype=torch.float64)
        shape = symbols[0].shape if len(sizes) == symbols[0].numel() else (len(sizes),)
        terms, where = torch.stack([terms, torch.zeros_like(terms)]), torch.arange(len(sizes))
        return Symbol(self, shape, terms.new_zeros(2, len(sizes)), where, terms, (len(self.nodes),))

    def affine(self, rows: Tensor, nodes: Nodes) -> Affine:
        """Return coefficients (1 + units, ...) of entries as an affine function of the nodes."""
        flat = rows.flatten(1).T.numpy()
        ends = np.cumsum([1, *(len(self.sizes[k]) for k in nodes)])
        weights = {k: flat[:, start:end].copy() for k, start, end in zip(nodes, ends, ends[1:], strict=False)}
        return Affine(flat[:, 0].copy(), weights or {0: np.zeros((len(flat), len(self.sizes[0])))})

    def is_activated(self, function: Function, symbol: "Symbol", output: "Symbol") -> bool:
        """Return whether `output` is the function of `symbol`."""
        if len(output.nodes) != 1 or output.nodes[0] == 0 or output.numel() != len(self.sizes[output.nodes[0]]):
            return False
        [k] = output.nodes
        made, identity = self.made[k - 1], torch.eye(output.numel(), dtype=torch.float64)
        return (
            self.nodes[k - 1].kind == Elementwise(function)
            and (made.nodes, made.shape) == (symbol.nodes, symbol.shape)
            and made.equals(symbol)
            and torch.equal(output.basis.flatten(1), torch.cat([identity.new_zeros(1, len(identity)), identity]))
        )

    def program(self, output: "Symbol", reach: np.ndarray) -> Program:
        """Return the program of an output of shape (1, actions), for commands up to `reach`."""
        basis, error = output.basis[:, 0, :].numpy().copy(), output.error[:, 0, :].numpy().copy()
        masked = basis[0] <= IMPOSSIBLE
        basis[0, masked], error[:, masked] = IMPOSSIBLE, 0.0
        units = np.append(1.0, self.units_of(output.nodes).numpy())
        logits = units @ (np.abs(basis) + error)[:, ~masked]
        if self.returns_probabilities and 2.0 * logits.max(initial=0.0) > -np.log(self.least_normal) - len(logits):
            self.needs_all_actions = True
        sizes = (np.abs(basis) + error)[:, ~masked].sum(axis=1, keepdims=True)
        sizes[0] += np.log(basis.shape[1]) + 1.0
        error = error + 16.0 * (self.unit if output.tail else 2.0**-53) * sizes  # the log-sum-exp behind it
        if not (np.isfinite(basis).all() and np.isfinite(error).all()):
            raise NotWhiteBox("weights that are not finite")
        parts = (self.affine(torch.from_numpy(rows), output.nodes) for rows in (basis, error))
        rounding = None if self.unknown else Rounding(self.unit, reach, self.needs_all_actions)
        program = Program(len(self.sizes[0]), tuple(self.nodes), *parts, rounding=rounding, unknown=self.unknown)
        program = program.pruned()
        if not all(
            np.isfinite(part).all() for affine in program.affines for part in (affine.bias, *affine.weights.values())
        ):
            raise NotWhiteBox("weights that are not finite")
        if rounding is None or self.unit > FLOAT32 or not any(isinstance(node.kind, Softmax) for node in program.nodes):
            return program
        middle = reach[None] / 2.0
        logits = np.abs(program.logits(middle)[:, ~masked]).max(initial=0.0)
        if program.errors(middle).max(initial=0.0) < logits:
            return program
        unknown = "derived errors of several layers of attention exceed the outputs of the network"
        return replace(program, rounding=None, unknown=unknown)


class Symbol(Tensor):
    """A tensor without values, of which only the dependence on the command is known.

    Each entry is a constant plus coefficients times units, which only the entries at `places` have. The deployed value
    differs from this combination of the deployed units by at most a constant plus coefficients times |units|.
    """

    recording: Recording
    constants: Tensor
    """(2, entries) in float64: the constants of the values and of the rounding errors."""
    places: Tensor
    """The entries (V,) that have coefficients, in rising order."""
    terms: Tensor
    """(2, units, V): the coefficients of the units of its nodes, of the values and of the rounding errors."""
    nodes: Nodes
    """The nodes on which it depends, in order."""
    tail: str
    """The name of the softmax, log_softmax or logsumexp that was applied to it; few operations may follow."""
    shared: bool
    """Whether another symbol may be a view of the same memory. Writing into it is then not supported."""
    total_of: "Symbol | None" = None
    """Of a logsumexp: its input."""

    def __new__(
        cls,
        recording: Recording,
        shape: Sequence[int],
        constants: Tensor,
        places: Tensor,
        terms: Tensor,
        nodes: Nodes = (),
        tail: str = "",
        shared: bool = False,
    ) -> "Symbol":
        make: Any = Tensor._make_wrapper_subclass
        symbol = make(cls, tuple(shape), dtype=recording.dtype, device=recording.device)
        symbol.recording, symbol.constants, symbol.places, symbol.terms = recording, constants, places, terms
        symbol.nodes, symbol.tail, symbol.shared = nodes, tail, shared
        return symbol

    @classmethod
    def of_constants(cls, recording: Recording, values: Tensor, errors: Tensor) -> "Symbol":
        """Return the symbol of values that do not depend on the command."""
        constants = torch.stack([values.flatten(), errors.flatten()])
        return cls(recording, values.shape, constants, torch.arange(0), constants.new_zeros(2, 0, 0))

    def copy(self, **changes: Any) -> "Symbol":
        """Return a symbol of the same numbers, with some changes."""
        fields = "shape", "constants", "places", "terms", "nodes", "tail", "shared"
        return Symbol(self.recording, **({name: getattr(self, name) for name in fields} | changes))

    def overwrite(self, other: "Symbol") -> None:
        """Take the numbers of another symbol of the same shape."""
        for name in ("constants", "places", "terms", "nodes", "tail"):
            setattr(self, name, getattr(other, name))

    def add_error(self, error: Tensor | float) -> None:
        """Add an error to those of all entries. Only for new symbols."""
        self.constants = torch.stack([self.constants[0], self.constants[1] + error])

    @property
    def basis(self) -> Tensor:
        """The constants, then the coefficients of each unit: (1 + units, *shape)."""
        return self._rows(0)

    @property
    def error(self) -> Tensor:
        """The rounding errors of the constants and coefficients, in the shape of `basis`."""
        return self._rows(1)

    def _rows(self, part: int) -> Tensor:
        rows = self.constants.new_zeros(1 + self.terms.shape[1], self.constants.shape[1])
        rows[0] = self.constants[part]
        rows[1:, self.places] = self.terms[part]
        return rows.reshape(-1, *self.shape)

    @property
    def is_constant(self) -> bool:
        """Whether it depends on the state alone."""
        return not self.nodes

    @property
    def is_exact(self) -> bool:
        """Whether it has no rounding error."""
        return not (self.constants[1].any() or self.terms[1].any())

    @property
    def varies(self) -> Tensor:
        """Which entries depend on the command, even if only by their rounding error."""
        varies = torch.zeros(self.constants.shape[1], dtype=torch.bool)
        varies[self.places] = (self.terms != 0).any(dim=1).any(dim=0)
        return varies.reshape(self.shape)

    def largest(self) -> Tensor:
        """Return the largest sizes of the entries, with their rounding errors."""
        sizes = self.constants[0].abs() + self.constants[1]
        units = self.recording.units_of(self.nodes)
        return sizes.index_add(0, self.places, units @ self.terms[0].abs() + units @ self.terms[1]).reshape(self.shape)

    def equals(self, other: "Symbol", *, before_rounding: bool = False) -> bool:
        """Return whether another symbol has the same values and rounding errors, or only the same values."""
        if (self.nodes, self.shape) != (other.nodes, other.shape) or not torch.equal(self.places, other.places):
            return False
        parts = slice(1 if before_rounding else 2)
        return torch.equal(self.constants[parts], other.constants[parts]) and torch.equal(
            self.terms[parts], other.terms[parts]
        )

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"<Symbol: shape {tuple(self.shape)}>"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__self__.__name__ if func.__name__ == "__get__" else func.__name__.partition(".")[0]
        if name in _PROPERTIES:
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        if isinstance(func, torch._ops.OpOverload):  # of torch.export or TorchScript, for one type of arguments
            func = getattr(torch, name, func)
        return _operate(name, func, args, dict(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        raise NotWhiteBox(f"{func}, called outside of Python, where it cannot be recorded")


_PROPERTIES = {
    *("shape", "ndim", "dim", "size", "numel", "nelement", "__len__", "__hash__"),
    *("dtype", "device", "layout", "requires_grad", "get_device", "is_floating_point", "is_complex", "is_leaf"),
    *("is_nested", "is_sparse", "is_cuda", "is_mps", "is_quantized"),
}
"""Properties that do not depend on the values."""
_READS_VALUES = {
    *("__bool__", "__float__", "__int__", "__index__", "__array__", "__contains__", "item", "tolist", "numpy"),
}
_EXACT = {
    *("gt", "lt", "ge", "le", "eq", "ne", "__gt__", "__lt__", "__ge__", "__le__", "__eq__", "__ne__"),
    *("long", "int", "bool", "isnan", "isfinite", "argmax", "argmin", "nonzero", "any", "all"),
}
"""Operations that are exact on numbers of the state that were not rounded."""
_NAMES = dict.fromkeys(("gt", "lt", "ge", "le", "eq", "ne"), "a comparison")
_WRITES = {f"__i{name}__": name for name in ("add", "sub", "mul")} | {"__itruediv__": "div", "__idiv__": "div"}
_AFTER_TAIL = {
    "softmax": {"log"},
    "log_softmax": {"exp", "softmax", "log_softmax"},
    "logsumexp": {"sub", "subtract", "__sub__"},
}
_ALWAYS = {"to", "float", "double", "cpu", "detach", "eq", "__eq__"}
"""Operations that may follow any of them."""


def _operate(name: str, function: Any, args: Arguments, kwargs: Named) -> Any:
    symbols = symbols_in((args, kwargs))
    recording, operations = symbols[0].recording, symbols[0].recording.operations
    if torch.is_autocast_enabled("cpu"):
        recording.round_to(torch.get_autocast_dtype("cpu"))
        if recording.largest < torch.finfo(torch.bfloat16).max:
            recording.unknown = "numbers may be too large for the float16 of autocast"
    writes = bool(kwargs.pop("inplace", False))
    if name in _WRITES or (name.endswith("_") and name[:-1] in operations):
        name, writes = _WRITES.get(name, name[:-1]), True
        function = getattr(torch, name, function)
    whole = name == "to" and any(not getattr(kind, "is_floating_point", True) for kind in (*args[1:], *kwargs.values()))
    exact = whole or name in _READS_VALUES | _EXACT
    if exact and all(symbol.is_constant and symbol.is_exact for symbol in symbols):
        deployed = _each((args, kwargs), lambda tensor: _deployed(tensor) if isinstance(tensor, Symbol) else tensor)
        return function(*deployed[0], **deployed[1])
    if name in _READS_VALUES:
        raise NotWhiteBox("Python code that reads values that depend on the command")
    if name not in operations or kwargs.get("out") is not None:
        plain = name.strip("_")
        shown = f"{_NAMES[plain]} ({plain})" if plain in _NAMES else plain
        raise NotWhiteBox(f"{shown} of values that depend on the command")
    if any(symbol.tail and name not in _AFTER_TAIL[symbol.tail] | _ALWAYS for symbol in symbols):
        args, kwargs = _each((args, kwargs), lambda tensor: _without_tail(tensor, name.strip("_")))
    result = operations[name](function, args, kwargs)
    return _write(args[0], result, name) if writes else result


def _without_tail(tensor: Tensor, name: str) -> Tensor:
    """Return a softmax as a node, because the program goes on behind it."""
    if not isinstance(tensor, Symbol) or not tensor.tail:
        return tensor
    if tensor.tail != "softmax":
        raise NotWhiteBox(f"{name} after {tensor.tail}")
    return softmax_node(tensor)


def _write(target: Any, result: Symbol, name: str) -> Symbol:
    """Write a result into the symbol itself, as an in-place operation does."""
    if target is result:
        return result
    if not isinstance(target, Symbol) or target.shared or target.shape != result.shape:
        raise NotWhiteBox(f"{name.strip('_')} in place, into memory that another tensor shares")
    target.overwrite(result)
    return target


def _deployed(symbol: Symbol) -> Tensor:
    """Return the value of a constant symbol in the module's own precision."""
    return symbol.constants[0].reshape(symbol.shape).to(symbol.recording.device, symbol.recording.dtype)


def symbols_in(value: Any) -> list[Symbol]:
    """Return the symbols in nested arguments."""
    symbols: list[Symbol] = []
    _each(value, lambda tensor: symbols.append(tensor) if isinstance(tensor, Symbol) else None)
    return symbols


def constant(tensor: Tensor) -> Tensor:
    """Return a tensor in float64 on the CPU; indices and masks keep their type."""
    return tensor.detach().to("cpu", torch.float64) if tensor.is_floating_point() else tensor.detach().cpu()


def _basis(tensor: Tensor) -> Tensor:
    """Return the coefficients of a symbol, or those of a constant: one row."""
    return tensor.basis if isinstance(tensor, Symbol) else constant(tensor)[None]


def _sizes(tensor: Tensor) -> Tensor:
    """Return the absolute values of the coefficients; return indices and masks unchanged."""
    basis = _basis(tensor)
    return basis.abs() if basis.is_floating_point() else basis


def _errors(tensor: Tensor) -> Tensor:
    """Return the rounding errors; return indices and masks unchanged."""
    if isinstance(tensor, Symbol):
        return tensor.error
    basis = _basis(tensor)
    return torch.zeros_like(basis) if basis.is_floating_point() else basis


def move(function: Any, args: Arguments, kwargs: Named, shared: bool = False) -> Any:
    """Apply an operation that only moves the entries of its only symbol."""
    symbol = _only_symbol(args, kwargs)
    args, kwargs = _each((args, kwargs), lambda tensor: _entries(symbol) if tensor is symbol else _basis(tensor)[0])
    return _picked(symbol, function(*args, **kwargs), shared)


def _picked(symbol: Symbol, places: Any, shared: bool = False) -> Any:
    """Return the entries of a symbol at some places, which have the shape of the result."""
    if isinstance(places, tuple | list):
        return tuple(_picked(symbol, part, shared) for part in places)
    flat, column = places.flatten(), torch.full((symbol.numel(),), -1)
    column[symbol.places] = torch.arange(len(symbol.places))
    columns = column[flat]
    where = (columns >= 0).nonzero()[:, 0]
    terms = symbol.terms[:, :, columns[where]]
    constants = symbol.constants[:, flat]
    return symbol.copy(shape=places.shape, constants=constants, places=where, terms=terms, tail="", shared=shared)


def linear_in_one(function: Any, args: Arguments, kwargs: Named, terms: int | None = None) -> Any:
    """Apply an operation that is linear in its only symbol to each row of coefficients.

    `terms` is the number of products that it sums; by default, the number of entries of the symbol.
    """
    symbol = _only_symbol(args, kwargs)
    args, kwargs = _with_copies(symbol, (args, kwargs))
    count = symbol.numel() if terms is None else terms
    basis = _applied(function, args, kwargs, symbol, symbol.basis, _basis)
    size = _applied(function, args, kwargs, symbol, symbol.basis.abs(), _sizes)
    moved = _applied(function, args, kwargs, symbol, symbol.error, lambda tensor: _sizes(tensor) + _errors(tensor))
    if len(symbols_in((args, kwargs))) > 1:  # the others are constants, which may be off
        moved = moved.abs() + _applied(function, args, kwargs, symbol, symbol.basis.abs(), _errors).abs()
    rows = [part.reshape(len(part), -1) for part in (basis, moved.abs(), size.abs())]
    where = torch.stack([(part[1:] != 0).any(dim=0) for part in rows]).any(dim=0).nonzero()[:, 0]
    constants, coefficients = (
        torch.stack(parts) for parts in ([part[0] for part in rows], [part[1:, where] for part in rows])
    )
    result = symbol.copy(
        shape=basis.shape[1:], constants=constants[:2], places=where, terms=coefficients[:2], tail="", shared=False
    )
    return _with_rounding(result, constants[2], coefficients[2], count)


def _with_rounding(symbol: Symbol, constants: Tensor, terms: Tensor, count: int, spare: int | None = None) -> Symbol:
    """Return a symbol with the rounding errors of sums of `count` products of these sizes, (entries,) and (units, V).

    Numbers close to 0 may be lost in all of these operations and in some more, `spare`.
    """
    recording = symbol.recording
    constants, terms = constants + symbol.constants[1], terms + symbol.terms[1]
    recording.check_overflow(constants.index_add(0, symbol.places, recording.units_of(symbol.nodes) @ terms))
    gamma, lost = recording.gamma(count), count + (recording.spare_operations if spare is None else spare)
    off = symbol.constants[1] + gamma * constants + lost * recording.smallest
    moved = symbol.terms[1] + gamma * terms
    return symbol.copy(constants=torch.stack([symbol.constants[0], off]), terms=torch.stack([symbol.terms[0], moved]))


def _scaled_by(symbol: Symbol, factor: Tensor, off: Tensor | None = None) -> Symbol:
    """Return the products of the entries with numbers of the same shape, which may have the errors `off`."""
    factor, parts = factor.flatten(), []
    off = None if off is None else off.flatten()
    for part, which in ((symbol.constants, slice(None)), (symbol.terms, symbol.places)):
        error = part[1] * factor[which].abs()
        if off is not None:
            error = error + (part[0].abs() + part[1]) * off[which]
        parts.append(torch.stack([part[0] * factor[which], error]))
    constants, terms = parts
    scaled = symbol.copy(constants=constants, terms=terms, tail="", shared=False)
    return _with_rounding(scaled, constants[0].abs(), terms[0].abs(), 1)


def _times_matrix(symbol: Symbol, weight: Tensor, terms: int) -> Symbol:
    """Return the products of a matrix (n, size) and the vectors along the last axis, of which few may vary."""
    size = weight.shape[1]
    vectors, places = torch.unique(symbol.places // size, return_inverse=True)
    rows = symbol.terms.new_zeros(2, symbol.terms.shape[1], len(vectors), size)
    rows[:, :, places, symbol.places % size] = symbol.terms
    given = symbol.constants.reshape(2, -1, size)
    absolute = weight.abs()

    def times(values: Tensor, matrix: Tensor) -> Tensor:
        return (values @ matrix.T).flatten(-2)

    constants = torch.stack([times(given[0], weight), times(given[1], absolute)])
    result = torch.stack([times(rows[0], weight), times(rows[1], absolute)])
    where = (vectors[:, None] * len(weight) + torch.arange(len(weight))).flatten()
    product = symbol.copy(
        shape=(*symbol.shape[:-1], len(weight)), constants=constants, places=where, terms=result, tail="", shared=False
    )
    return _with_rounding(product, times(given[0].abs(), absolute), times(rows[0].abs(), absolute), terms)


def _only_symbol(args: Arguments, kwargs: Named) -> Symbol:
    """Return the symbol that depends on the command; if all are constants, return the first."""
    symbols = symbols_in((args, kwargs))
    varying = [symbol for symbol in symbols if not symbol.is_constant]
    if len(varying) > 1:
        raise NotWhiteBox("a product of two values that both depend on the command")
    return varying[0] if varying else symbols[0]


def _with_copies(symbol: Symbol, value: Any) -> Any:
    """Return nested arguments in which repeated occurrences of a symbol are copies with their own errors."""
    places = iter(range(len(symbols_in(value))))

    def copied(tensor: Tensor) -> Tensor:
        again = tensor is symbol and next(places) > 0
        return symbol.copy() if again else tensor

    return _each(value, copied)


def _applied(
    function: Any, args: Arguments, kwargs: Named, symbol: Symbol, rows: Tensor, of_constant: Callable[[Tensor], Tensor]
) -> Any:
    """Call a function once per row of (R, *shape), with the row in place of the symbol; constants have one row."""

    def at(row: Tensor) -> Any:
        rest = _each((args, kwargs), lambda tensor: row if tensor is symbol else of_constant(tensor)[0])
        return function(*rest[0], **rest[1])

    return torch.vmap(at)(rows)


def linear_in_all(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Apply an operation that only joins the entries of its tensors; constant tensors only change the constant."""
    recording, parts = symbols_in((args, kwargs))[0].recording, []  # type: Recording, list[Symbol]

    def entries(tensor: Tensor) -> Tensor:
        part = tensor if isinstance(tensor, Symbol) else recording.constant(tensor)
        start = sum(one.numel() for one in parts)
        parts.append(part)
        return torch.arange(start, start + part.numel()).reshape(part.shape)

    args, kwargs = _each((args, kwargs), entries)
    nodes, starts = _all_nodes(parts), np.cumsum([0, *(part.numel() for part in parts)])
    joined = Symbol(
        recording,
        (int(starts[-1]),),
        torch.cat([part.constants for part in parts], dim=1),
        torch.cat([part.places + int(start) for part, start in zip(parts, starts[:-1], strict=True)]),
        torch.cat([_aligned(part, nodes) for part in parts], dim=2),
        nodes,
    )
    return _picked(joined, function(*args, **kwargs))


def add(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Return a sum or a difference; constant tensors change only the constant."""
    recording = symbols_in((args, kwargs))[0].recording
    one, nothing = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    signs = [float(function(*pair, **kwargs)) for pair in ((one, nothing), (nothing, one))]
    shape, parts = np.broadcast_shapes(*(tensor.shape for tensor in args)), []
    for tensor in args:
        part = tensor if isinstance(tensor, Symbol) else recording.constant(tensor)
        parts.append(part if part.shape == shape else _picked(part, _entries(part).expand(shape)))
    nodes, numel = _all_nodes(parts), math.prod(shape)
    varies = torch.zeros(numel, dtype=torch.bool)
    for part in parts:
        varies[part.places] = True
    where, column = varies.nonzero()[:, 0], torch.cumsum(varies, dim=0) - 1
    # Sums in place, because symbols of transformers are large.
    units = len(recording.units_of(nodes))
    terms, sizes = torch.zeros(2, units, len(where)).double(), torch.zeros(units, len(where)).double()
    constants, size = torch.zeros(2, numel).double(), torch.zeros(numel).double()
    for part, sign in zip(parts, signs, strict=True):
        given, columns, share = _aligned(part, nodes), column[part.places], abs(sign)
        constants += part.constants * part.constants.new_tensor([[sign], [share]])
        size += share * part.constants[0].abs()
        terms[0].index_add_(1, columns, given[0], alpha=sign)
        terms[1].index_add_(1, columns, given[1], alpha=share)
        sizes.index_add_(1, columns, given[0].abs(), alpha=share)
    total = Symbol(recording, shape, constants, where, terms, nodes)
    total = total if recording.exact else _with_rounding(total, size, sizes, 1, spare=0)
    # A residual stream would depend on the units of all blocks so far.
    several = len({part.nodes for part in parts if part.nodes}) > 1
    return recording.activate("identity", total) if several and units > max(_MANY_UNITS, 2 * len(where)) else total


def _entries(symbol: Tensor) -> Tensor:
    """Return the number of each entry."""
    return torch.arange(symbol.numel()).reshape(symbol.shape)


def _all_nodes(value: Any) -> Nodes:
    return tuple(sorted({node for symbol in symbols_in(value) for node in symbol.nodes}))


def _each(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return nested arguments with each tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return tuple(_each(item, change) for item in value)
    return {key: _each(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def _aligned(symbol: Symbol, nodes: Nodes) -> Tensor:
    """Return the coefficients (2, units, V) of a symbol with those of further nodes, which are zero."""
    if symbol.nodes == nodes:
        return symbol.terms
    sizes = symbol.recording.sizes
    parts = dict(
        zip(symbol.nodes, torch.split(symbol.terms, [len(sizes[k]) for k in symbol.nodes], dim=1), strict=True)
    )
    zeros = {k: symbol.terms.new_zeros(2, len(sizes[k]), len(symbol.places)) for k in nodes if k not in parts}
    return torch.cat([symbol.terms[:, :0], *((parts | zeros)[k] for k in nodes)], dim=1)


@contextmanager
def _identity(recording: Recording) -> Iterator[None]:
    """Record a formula for an operation that the module computes exactly, so that nothing is rounded."""
    before, recording.exact = recording.exact, True
    try:
        yield
    finally:
        recording.exact = before


def relu(x: Any) -> Any:
    return x.recording.activate("relu", x)


def _off_by(x: Any, *limits: Any) -> Any:
    """Return a symbol with additional rounding errors: those of limits that were computed from the state."""
    for limit in limits:
        if isinstance(limit, Symbol):
            x = x.copy(shared=False)
            x.add_error(2.0 * limit.constants[1].reshape(limit.shape).expand(x.shape).flatten())
    return x


def _known(limit: Any) -> Any:
    """Return a limit that does not depend on the command, as a tensor in float64, or None."""
    if isinstance(limit, Symbol) and not limit.is_constant:
        raise NotWhiteBox("clamp to bounds that depend on the command")
    return _basis(limit)[0] if isinstance(limit, Tensor) else limit


def leaky_relu(x: Symbol, slope: Any = 0.01) -> Any:
    return x * slope + relu(x) * (1.0 - slope)


def absolute(x: Symbol) -> Any:
    with _identity(x.recording):
        return relu(x) * 2.0 - x


def clamp(x: Any, low: Any = None, high: Any = None) -> Any:
    """Clamp to limits that do not depend on the command; the upper one wins where they cross, as in torch."""
    if not isinstance(x, Symbol):
        raise NotWhiteBox("clamp to bounds that depend on the command")
    least, most = _known(low), _known(high)
    if least is not None and most is not None:
        least = torch.minimum(*(torch.as_tensor(limit, dtype=torch.float64) for limit in (least, most)))
    with _identity(x.recording):
        if least is None:
            return x if most is None else _off_by(most - relu(most - x), high)
        clamped = least + relu(x - least)
        return _off_by(clamped if most is None else clamped - relu(x - most), low, high)


def maximum(x: Any, y: Any) -> Any:
    with _identity(symbols_in((x, y))[0].recording):
        return y + relu(x - y)


def minimum(x: Any, y: Any) -> Any:
    with _identity(symbols_in((x, y))[0].recording):
        return x - relu(x - y)


class _Extreme(NamedTuple):
    """The result of torch.max along an axis; the indices depend on the command."""

    values: Any
    indices: None = None


def extreme(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the operation of torch.max or torch.min, for two tensors or along an axis."""

    def operation(x: Any, y: Any = None, keepdim: bool = False, dim: int | None = None) -> Any:
        if isinstance(y, Tensor):
            return pick(x, y)
        axis = y if dim is None else dim
        if axis is None:
            raise NotWhiteBox("the largest or smallest number of a whole batch")
        return _Extreme(along(pick, x, axis, keepdim))

    return operation


def along(pick: Callable[[Any, Any], Any], x: Any, dim: int | Sequence[int] = (), keepdim: bool = False) -> Any:
    """Return the extreme along an axis, like torch.amax and torch.amin, by repeatedly comparing two halves."""
    if not isinstance(dim, int):
        if len(dim) != 1:
            raise NotWhiteBox("the largest or smallest number along more than one axis")
        [dim] = dim
    while (size := x.shape[dim]) > 1:
        half = size // 2
        best = pick(x.narrow(dim, 0, half), x.narrow(dim, half, half))
        x = torch.cat([best, x.narrow(dim, 2 * half, 1)], dim=dim) if size % 2 else best
    return x if keepdim else x.squeeze(dim)


def where(mask: Any, x: Any, y: Any) -> Any:
    """Select by a mask that depends only on the state."""
    if symbols_in(mask):
        raise NotWhiteBox("a mask that depends on the command")
    if isinstance(x, Symbol) and isinstance(y, Symbol):
        with _identity(x.recording):
            return x * mask.to(torch.float64) + y * (~mask).to(torch.float64)
    return masked_fill(x, ~mask, y) if isinstance(x, Symbol) else masked_fill(y, mask, x)


def masked_fill(x: Symbol, mask: Tensor, value: Any) -> Any:
    if symbols_in((mask, value)):
        raise NotWhiteBox("a mask that depends on the command")
    with _identity(x.recording):
        return x * torch.where(mask, 0.0, 1.0) + torch.where(mask, value, 0.0)


def run(
    call: Callable[[Tensor, Tensor], Any], states: Tensor, reach: np.ndarray, dtype: torch.dtype, device: torch.device
) -> tuple[Recording, Any]:
    """Call a function with states (1, S) and a symbolic command (1, d) up to a size of `reach` (d,).

    Returns the recording and the result.

    The states are symbols, too, to derive the rounding errors of their part of the network. If it has unsupported
    operations, the module computes it, and its rounding is unknown.
    """
    with torch.no_grad():
        try:
            recording = Recording(reach, dtype, device, OPERATIONS)
            return recording, call(recording.constant(states), recording.command())
        except Exception:
            recording = Recording(reach, dtype, device, OPERATIONS)
            recording.unknown = "the part of the network that reads the state has operations that are not understood"
            return recording, call(states, recording.command())


def _view(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Move the entries; the result shares the memory."""
    for symbol in symbols_in(args):
        symbol.shared = True
    return move(Tensor.reshape if function is Tensor.view else function, args, kwargs, shared=True)


def _cast(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Change the number format or the device. Later rounding errors are those of the coarsest format so far."""
    symbol = args[0]
    kinds = [getattr(value, "dtype", value) for value in (*args[1:], *kwargs.values())]
    kinds += [torch.float32] if function is Tensor.float else []
    dtypes = [kind for kind in kinds if isinstance(kind, torch.dtype)]
    if not all(dtype.is_floating_point for dtype in dtypes):
        raise NotWhiteBox("rounding of values that depend on the command to integers")
    symbol.shared, recording, cast = True, symbol.recording, symbol.copy(shared=True)
    for dtype in dtypes:
        recording.round_to(dtype)
        recording.check_overflow(cast.largest())
        share, parts = unit_roundoff(dtype), (cast.constants, cast.terms)
        cast.constants, cast.terms = (
            torch.stack([part[0], part[1] + share * (part[0].abs() + part[1])]) for part in parts
        )
        cast.add_error(smallest_number(dtype))
    return cast


def _sum(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a sum. A plain number is a constant tensor; `alpha` is a factor of the second tensor."""
    if len(args) > 2:  # as TorchScript calls it
        args, kwargs = args[:2], {**kwargs, "alpha": args[2]}
    terms = [*args, kwargs.pop("other")] if "other" in kwargs else args
    tensors = tuple(
        term if isinstance(term, Tensor) else torch.tensor(float(term), dtype=torch.float64) for term in terms
    )
    return add(function, tensors, kwargs)


def _difference(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a difference; x - logsumexp(x) is a log_softmax, as in torch's distributions."""
    total = args[1] if len(args) > 1 else kwargs.get("other")
    if not any(symbol.tail for symbol in symbols_in((args, kwargs))):
        return _sum(function, args, kwargs)
    if not (isinstance(total, Symbol) and isinstance(args[0], Symbol) and total.tail == "logsumexp"):
        raise NotWhiteBox("logsumexp of values that depend on the command")
    if (
        len(args) + len(kwargs) > 2
        or total.total_of is None
        or not args[0].equals(total.total_of, before_rounding=True)
    ):
        raise NotWhiteBox("logsumexp of another tensor than the one it is subtracted from")
    return args[0].copy(tail="log_softmax", shared=False)


def _quotient(function: Any, args: Arguments, kwargs: Named) -> Any:
    divisor = args[1] if len(args) > 1 else kwargs.get("other")
    if kwargs.get("rounding_mode") is not None:
        raise NotWhiteBox("rounding of values that depend on the command")
    if isinstance(divisor, Symbol) and not divisor.is_constant:
        raise NotWhiteBox("a division by values that depend on the command")
    if not isinstance(divisor, Symbol):
        return _times(function, args, kwargs)
    value, error = (part.reshape(divisor.shape) for part in divisor.constants)
    if not (value.abs() > 2.0 * error).all():
        raise NotWhiteBox("a division by a value that may be 0")
    off = error / (value.abs() * (value.abs() - error))
    inverse = Symbol.of_constants(divisor.recording, 1.0 / value, off)
    return args[0] * inverse


def _power(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a power with a small whole exponent, as a product."""
    base, exponent = (*args, *kwargs.values())
    if isinstance(exponent, Tensor) and not isinstance(exponent, Symbol) and exponent.numel() == 1:
        exponent = exponent.item()
    if not isinstance(base, Symbol) or isinstance(exponent, Tensor) or exponent not in range(1, 17):
        raise NotWhiteBox("a power whose exponent is not a whole number from 1 to 16")
    return base if exponent == 1 else base * _power(function, (base, exponent - 1), {})


def _matrix_product(function: Any, args: Arguments, kwargs: Named) -> Any:
    left, right = (*args, *kwargs.values())[:: -1 if getattr(function, "__name__", "") == "__rmatmul__" else 1]
    if all(isinstance(factor, Symbol) and not factor.is_constant for factor in (left, right)):
        return contract(left, right)
    if isinstance(left, Symbol) and left.ndim > 1 and not isinstance(right, Symbol) and right.ndim == 2:
        return _times_matrix(left, constant(right).double().T, left.shape[-1])
    return linear_in_one(function, args, kwargs, terms=left.shape[-1])


def _linear(function: Any, args: Arguments, kwargs: Named) -> Any:
    bias = args[2] if len(args) > 2 else kwargs.pop("bias", None)
    x, weight = (args[k] if len(args) > k else kwargs[name] for k, name in enumerate(("input", "weight")))
    if isinstance(x, Symbol) and not isinstance(weight, Symbol) and weight.ndim == 2:
        product = _times_matrix(x, constant(weight).double(), x.shape[-1])
    else:
        product = linear_in_one(function, (x, weight), {}, terms=x.shape[-1])
    return product if bias is None else product + bias


def _reduction(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a sum or an average over some axes."""
    x, ones = args[0], torch.ones(args[0].shape, dtype=torch.float64)
    shares = function(ones, *args[1:], **kwargs)
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    terms = x.numel() // max(1, shares.numel())
    if dim in (-1, x.ndim - 1, [-1], (-1,)) and x.shape[-1] and shares.numel():
        share = shares.flatten()[:1] / x.shape[-1]  # of each number: 1 for a sum, else one over their count
        return _times_matrix(x, share.expand(1, x.shape[-1]), terms).copy(shape=shares.shape)
    return linear_in_one(function, args, kwargs, terms=terms)


def _convolution(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a convolution, for commands as image planes; the bias has one number per channel."""
    bias = args[2] if len(args) > 2 else kwargs.pop("bias", None)
    result = linear_in_one(function, (*args[:2], None, *args[3:]), kwargs)
    result.recording.unknown = "convolutions are computed in several ways, which round differently"
    return result if bias is None else result + bias.reshape(-1, *[1] * (args[1].ndim - 2))


def _einsum(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a contraction of tensors. The number of terms is the product of the sizes of the contracted axes."""
    equation, tensors = args[0], args[1] if isinstance(args[1], list | tuple) else args[1:]
    inputs, _, output = equation.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for names, tensor in zip(inputs.split(","), tensors, strict=True):
        first, _, last = names.partition("...")
        sizes |= dict(zip(first, tensor.shape, strict=False)) | dict(zip(last[::-1], tensor.shape[::-1], strict=False))
    kept = output if "->" in equation else [name for name in sizes if inputs.count(name) == 1]
    terms = math.prod(size for name, size in sizes.items() if name not in kept)
    return linear_in_one(function, (equation, *tensors), kwargs, terms)


def _bilinear(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    product = torch.einsum("...i,oij,...j->...o", x, weight, y)
    return product if bias is None else product + bias


def _addmm(bias: Any, left: Any, right: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    return beta * bias + alpha * (left @ right)


def _batch_norm(
    x: Symbol,
    mean: Tensor | None,
    variance: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training or mean is None or variance is None or x.ndim != 2:
        raise NotWhiteBox("batch_norm in training mode, or of inputs that are not vectors")
    scale = (1.0 if weight is None else constant(weight)) / (constant(variance) + eps).sqrt()
    return (x - constant(mean)) * scale + (0.0 if bias is None else bias)


def _dropout(x: Symbol, p: float = 0.5, training: bool = True, train: bool = False) -> Any:
    if training or train:
        raise NotWhiteBox("dropout in training mode, which is random")
    return x


def _negated(x: Symbol) -> Symbol:
    constants, terms = (torch.stack([-part[0], part[1]]) for part in (x.constants, x.terms))
    return x.copy(constants=constants, terms=terms, tail="", shared=False)


def _activation(name: Function) -> Operation:
    return _called(lambda x: x.recording.activate(name, x), input="x")


def _elu(x: Any, alpha: float = 1.0) -> Any:
    if alpha == 1.0:
        return x.recording.activate("elu", x)
    return relu(x) * (1.0 - alpha) + x.recording.activate("elu", x) * alpha


def _selu(x: Any) -> Any:
    return _elu(x, 1.6732632423543772) * 1.0507009873554805


def _gelu(x: Any, approximate: str = "none") -> Any:
    return x.recording.activate("gelu" if approximate == "none" else "gelu-tanh", x)


def _celu(x: Any, alpha: float = 1.0) -> Any:
    return _elu(x / alpha) * alpha


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Return the softplus; above the default threshold it differs from the identity by less than float32 shows."""
    if threshold < 20.0:
        raise NotWhiteBox(f"softplus that is linear above {threshold:g}")
    return x.recording.activate("softplus", x * beta, beyond=float(np.exp(-threshold))) / beta


def _product(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Record a product; x sigmoid(x) is a SiLU, as ONNX exporters write it."""
    symbols = symbols_in((args, kwargs))
    if len(symbols) == 2:
        for x, gate in (symbols, symbols[::-1]):
            if x.recording.is_activated("sigmoid", x, gate):
                return x.recording.activate("silu", x)
        if not any(symbol.is_constant for symbol in symbols):
            return multiply(symbols[0], symbols[1])
    return _times(function, args, kwargs)


def _times(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Return products of the entries of a symbol with numbers, or quotients."""
    symbol = _only_symbol(args, kwargs)
    args, kwargs = _with_copies(symbol, (args, kwargs))
    ones, others = (
        torch.ones(symbol.shape, dtype=torch.float64),
        [one for one in symbols_in((args, kwargs)) if one is not symbol],
    )

    def times(of_constant: Callable[[Tensor], Tensor]) -> Any:
        rest = _each((args, kwargs), lambda tensor: ones if tensor is symbol else of_constant(tensor)[0])
        return function(*rest[0], **rest[1])

    factor = times(_basis)
    off = times(_errors).abs() if others else None
    symbol = symbol if symbol.shape == factor.shape else _picked(symbol, _entries(symbol).expand(factor.shape))
    return _scaled_by(symbol, factor, off)


def multiply(x: Any, y: Any, limit: float = np.inf) -> Symbol:
    """Return the products of the entries of two symbols as a node; of squares, if both are the same."""
    recording, square = x.recording, x is y or x.equals(y)
    x, y = (tensor.expand(np.broadcast_shapes(x.shape, y.shape)) for tensor in (x, y))
    if np.isinf(limit) and not (vary := x.varies & y.varies).all():  # tokens of which one or both factors are known
        (fixed, moving), (base, others) = _split(x), _split(y)
        total, where = fixed * y + moving * base, vary.nonzero(as_tuple=True)
        return total + _scattered(multiply(moving[where], others[where]), where, x.shape) if len(where[0]) else total
    operands = (x,) if square else (x, y)
    sizes = [one.largest().flatten() for one in operands]
    largest = (sizes[0] * sizes[-1]).clamp(max=limit)
    result = recording.append(Product(), operands, largest, recording.gamma(1), limit)
    result.add_error(recording.smallest)
    return result


def contract(x: Any, y: Any) -> Any:
    """Return the product of matrices (..., n, k) and (..., k, m) that both depend on the command.

    With x = x0 + dx and y = y0 + dy, where x0 and y0 are constant, the result is the sum of x0 y, dx y0 and dx dy. Only
    dx dy becomes a node, and only where both dx and dy vary. All three products are rounded like sums of k terms.
    """
    recording = x.recording
    if x.ndim < 2 or y.ndim < 2:
        raise NotWhiteBox("a product of two vectors that both depend on the command")
    x, y = (tensor.expand(*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *tensor.shape[-2:]) for tensor in (x, y))
    (fixed, moving), (base, others) = _split(x), _split(y)
    total, terms = fixed @ y + moving @ base, x.shape[-1]
    inner = x.varies.flatten(0, -2).any(0) & y.varies.transpose(-1, -2).flatten(0, -2).any(0)  # (k,)
    x, y, moving, others = x[..., inner], y[..., inner, :], moving[..., inner], others[..., inner, :]
    where = (x.varies.any(-1)[..., :, None] & y.varies.any(-2)[..., None, :]).nonzero(as_tuple=True)  # (..., n, m)
    if not len(where[0]):
        return total
    left = moving[(*where[:-2], where[-2])].reshape(-1)
    right = others.transpose(-1, -2)[(*where[:-2], where[-1])].reshape(-1)
    sizes = [one.largest() for one in (left, right)]
    largest = (sizes[0] * sizes[1]).reshape(-1, int(inner.sum())).sum(dim=1)
    node = recording.append(Product(int(inner.sum())), (left, right), largest, recording.gamma(terms))
    node.add_error(terms * recording.smallest)
    return total + _scattered(node, where, total.shape)


def _split(x: Symbol) -> tuple[Any, Any]:
    """Return the constants of a symbol, and the rest; where it varies, the rest has the whole rounding error."""
    values, errors = x.constants
    varies = x.varies.flatten()
    fixed = Symbol.of_constants(x.recording, values.reshape(x.shape), torch.where(varies, 0.0, errors).reshape(x.shape))
    rest = torch.stack([torch.zeros_like(values), torch.where(varies, errors, 0.0)])
    return fixed, x.copy(constants=rest, tail="", shared=False)


def _scattered(symbol: Any, where: tuple[Tensor, ...], shape: Sequence[int], base: Symbol | None = None) -> Symbol:
    """Return a symbol of a shape with the entries of another one at some places, and a constant or 0 elsewhere."""
    places = torch.from_numpy(np.ravel_multi_index([index.numpy() for index in where], tuple(shape)))
    constants = symbol.constants.new_zeros(2, math.prod(shape)) if base is None else base.constants.clone()
    constants[:, places] = symbol.constants
    spread = symbol.copy(shape=shape, constants=constants, places=places[symbol.places], tail="", shared=False)
    order = spread.places.argsort()
    return spread.copy(places=spread.places[order], terms=spread.terms[:, :, order])


_MASKED = -1e5
"""A masked number of a softmax, unless the others may be almost as small: its exponential is 0 in float64."""


def softmax_node(x: Any) -> Any:
    """Return the softmax over the last axis as a node, where it depends on the command."""
    recording, masked = x.recording, x.constants[0] <= IMPOSSIBLE
    constants, kept = x.constants.clone(), ~masked[x.places]
    largest = float(x.largest().flatten()[~masked].max()) if not masked.all() else 0.0
    constants[:, masked] = constants.new_tensor([[min(_MASKED, -2.0 * largest - 1000.0)], [0.0]])
    x = x.copy(constants=constants, places=x.places[kept], terms=x.terms[:, :, kept], tail="", shared=False)
    varies, count = x.varies.any(-1), x.shape[-1]
    # The exponentials and their sum are rounded, and of attention in blocks, the blocks are scaled.
    slip = 4.0 * recording.activation_roundings * min(recording.unit, FLOAT32) + 2.0 * recording.gamma(count)
    slip += 4.0 * recording.unit if recording.unit > FLOAT32 else 0.0
    known = recording.known(Node(Softmax(count), (), slip=slip), x)
    known.constants[1, masked] = 0.0
    if not varies.any():
        return known
    where = varies.nonzero(as_tuple=True)
    groups, slips = x[where].reshape(-1), np.where(masked.reshape(x.shape), 0.0, slip)[varies.numpy()].reshape(-1)
    node = recording.append(Softmax(count), (groups,), torch.ones(len(slips), dtype=torch.float64), slips)
    every = tuple(index.repeat_interleave(count) for index in where)
    last = torch.arange(count).repeat(len(where[0]))
    return _scattered(node, (*every, last), x.shape, known)


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Return scaled dot-product attention, by its formula."""
    if dropout_p or enable_gqa:
        raise NotWhiteBox("attention with dropout or with groups of heads")
    scores = (query @ key.transpose(-1, -2)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = masked_fill(scores, ~attn_mask, -np.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return torch.softmax(scores, dim=-1) @ value


def _multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_heads: int,
    weight: Any,
    bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_weight: Tensor,
    out_bias: Tensor,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    **others: Any,
) -> Any:
    """Return the attention of nn.MultiheadAttention, of tensors (time, batch, size)."""
    extras = (bias_k, bias_v, key_padding_mask, *others.values())
    if (training and dropout_p) or add_zero_attn or any(extra is not None for extra in extras) or query.ndim != 3:
        raise NotWhiteBox("attention with dropout in training mode, padding or additional keys")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    linear = torch.nn.functional.linear
    q, k, v = (
        linear(x, w, b).reshape(len(x), -1, num_heads, embed_dim // num_heads).permute(1, 2, 0, 3)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )  # (batch, heads, time, size)
    mask = None if attn_mask is None else attn_mask.reshape(-1, 1, *attn_mask.shape[-2:])
    mixed = attention(q, k, v, mask, is_causal=is_causal and attn_mask is None)
    joined = mixed.permute(2, 0, 1, 3).reshape(query.shape[0], -1, embed_dim)
    return linear(joined, out_weight, out_bias), None


def _normalised(x: Any, count: int, eps: float, *, centered: bool) -> Any:
    """Divide the last `count` entries by their root mean square, or by their standard deviation.

    No square of a result exceeds the number of results.
    """
    rows = x.reshape(-1, count)
    rows = rows - rows.mean(dim=1, keepdim=True) if centered else rows
    known, varies = _divided(_split(rows)[0], count, eps), rows.varies.any(dim=1)
    if not varies.any():
        return known.reshape(x.shape)
    places = varies[:, None].expand(rows.shape).nonzero(as_tuple=True)
    return _scattered(_divided(rows[varies], count, eps), places, rows.shape, known).reshape(x.shape)


def _divided(rows: Any, count: int, eps: float) -> Any:
    """Divide rows by their root mean square. The limits of its nodes hold for rounded numbers, too."""
    recording, flat = rows.recording, rows.reshape(-1)
    gamma, kind = recording.gamma(count), Product(count)
    if rows.is_constant:
        squares = recording.known(Node(kind, (), slip=gamma), flat)
    else:
        size = flat.largest().square()
        squares = recording.append(kind, (flat,), size.reshape(-1, count).sum(dim=1), gamma)
    squares.add_error(count * recording.smallest)
    most = eps**-0.5 * (1.0 + 8.0 * recording.unit)
    inverse = recording.activate("rsqrt", squares.reshape(-1, 1) / count + eps, limit=most)
    if rows.is_constant:
        return rows * inverse
    room = 1.0 + gamma + 2.0 * recording.activation_roundings * recording.unit
    return multiply(rows, inverse, limit=math.sqrt(count) * room)


def _scaled(x: Any, weight: Tensor | None, bias: Tensor | None) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _layer_norm(
    x: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Any:
    return _scaled(_normalised(x, math.prod(normalized_shape), eps, centered=True), weight, bias)


def _rms_norm(x: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return _scaled(_normalised(x, math.prod(normalized_shape), eps, centered=False), weight, None)


def _group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any) -> Any:
    shape = (-1, *[1] * (x.ndim - 2))
    weight, bias = (None if part is None else part.reshape(shape) for part in (weight, bias))
    return _scaled(_normalised(x, x[0].numel() // num_groups, eps, centered=True), weight, bias)


def _lstm_cell(x: Any, state: Sequence[Any], *weights: Tensor) -> Any:
    hidden, memory = state
    gates = _gates(x, hidden, weights)
    total = gates[0] + gates[1]
    enter, keep, new, leave = total.chunk(4, dim=-1)
    memory = torch.sigmoid(keep) * memory + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(memory), memory


def _gru_cell(x: Any, hidden: Any, *weights: Tensor) -> Any:
    given, remembered = (part.chunk(3, dim=-1) for part in _gates(x, hidden, weights))
    reset, update = (torch.sigmoid(one + other) for one, other in zip(given[:2], remembered[:2], strict=True))
    new = torch.tanh(given[2] + reset * remembered[2])
    return (1.0 - update) * new + update * hidden


def _rnn_cell(squash: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, hidden, *weights: squash(sum(_gates(x, hidden, weights)))


def _gates(x: Any, hidden: Any, weights: Sequence[Tensor]) -> list[Any]:
    """Return the linear layers of a recurrent cell, of its input and of its memory."""
    linear, biases = torch.nn.functional.linear, weights[2:] or (None, None)
    return [linear(given, weight, bias) for given, weight, bias in zip((x, hidden), weights[:2], biases, strict=True)]


def _recurrent(cell: Callable[..., Any], is_lstm: bool = False) -> Callable[..., Any]:
    """Return the operation of a recurrent network of several layers and steps, given its cell."""

    def operation(
        x: Any,
        state: Any,
        weights: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        if bidirectional or (dropout and train) or x.ndim != 3:
            raise NotWhiteBox("a recurrent network in both directions, with dropout, or without a batch")
        x.recording.unknown = x.recording.unknown or "the rounding of recurrent networks is not derived"
        steps = list(x.unbind(1 if batch_first else 0))
        each, ends = len(weights) // num_layers, []  # type: int, list[Any]
        for layer in range(num_layers):
            own = weights[layer * each : (layer + 1) * each]
            memory = tuple(part[layer] for part in state) if is_lstm else state[layer]
            for i, step in enumerate(steps):
                memory = cell(step, memory, *own)
                steps[i] = memory[0] if is_lstm else memory
            ends.append(memory)
        output = torch.stack(steps, dim=1 if batch_first else 0)
        if is_lstm:
            return output, *(torch.stack([end[i] for end in ends]) for i in (0, 1))
        return output, torch.stack(ends)

    return operation


def _plain(make: Callable[..., Tensor]) -> Operation:
    """Return an operation that uses only the shape, the number format and the device of a symbol."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        like = torch.zeros(args[0].shape, dtype=args[0].dtype, device=args[0].device)
        return make(like, *args[1:], **kwargs)

    return operation


def _assign(function: Any, args: Arguments, kwargs: Named) -> None:
    """Carry out x[places] = number, for a symbol whose memory is not shared."""
    target, places, value = args
    if not isinstance(target, Symbol) or symbols_in((places, value)) or (isinstance(value, Tensor) and value.ndim):
        raise NotWhiteBox("setitem of values that depend on the command")
    if target.shared:
        raise NotWhiteBox("setitem in place, into memory that another tensor shares")
    mask = torch.zeros(target.shape, dtype=torch.bool)
    mask[places] = True
    filled = masked_fill(target, mask, value)
    target.overwrite(filled)


def _logsumexp(x: Symbol, dim: Any, keepdim: bool = False) -> Any:
    """Return a logsumexp, which is supported only as a part of log_softmax."""
    axes = [dim] if isinstance(dim, int) else list(dim)
    if not keepdim or axes not in ([-1], [x.ndim - 1]):
        raise NotWhiteBox("logsumexp of values that depend on the command")
    total = _picked(x, _entries(x)[..., :1]).copy(tail="logsumexp")
    total.total_of = x
    return total


def _same(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Return True for every entry of x == x, which programs use to check for NaN."""
    if kwargs or len(args) != 2 or args[0] is not args[1]:
        raise NotWhiteBox("a comparison (eq) of values that depend on the command")
    return torch.ones(args[0].shape, dtype=torch.bool)


def _softmax(name: str) -> Operation:
    """Return a softmax at the end of a policy; margins are differences of its inputs."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        symbol, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim")
        if dim not in (-1, symbol.ndim - 1):
            raise NotWhiteBox(f"{name} over axis {dim}, which is not the last")
        symbol.recording.returns_probabilities |= name == "softmax"
        return symbol.copy(tail=name, shared=False)

    return operation


def _turn(name: str, before: str, after: str) -> Operation:
    """Return exp or log, which convert between softmax and log_softmax."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        if args[0].tail != before:
            raise NotWhiteBox(f"{name} of values that depend on the command")
        args[0].recording.returns_probabilities = True
        return args[0].copy(tail=after, shared=False)

    return operation


def _called(call: Callable[..., Any], **renamed: str) -> Operation:
    """Return an operation that calls a function; `renamed` maps torch's argument names to ours."""
    return lambda function, args, kwargs: call(*args, **{renamed.get(key, key): kwargs[key] for key in kwargs})


def _all(operation: Operation, names: str) -> dict[str, Operation]:
    return dict.fromkeys(names.split(), operation)


OPERATIONS: dict[str, Operation] = {
    **_all(
        _view, "t reshape view flatten unflatten squeeze unsqueeze transpose permute swapaxes movedim narrow select"
    ),
    **_all(_view, "__getitem__ chunk split tensor_split unbind expand contiguous"),
    **_all(lambda function, args, kwargs: args[0].expand(args[1].shape), "expand_as"),
    **_all(lambda function, args, kwargs: args[0].reshape(args[1].shape), "view_as reshape_as"),
    **_all(_cast, "to float double cpu cuda detach"),
    **_all(_reduction, "sum mean"),
    "cumsum": linear_in_one,
    **_all(move, "clone repeat repeat_interleave index_select flip roll"),
    **_all(_called(_negated, input="x"), "neg __neg__"),
    **_all(_convolution, "conv1d conv2d conv3d"),
    **_all(_product, "mul multiply __mul__ __rmul__"),
    **_all(_matrix_product, "matmul mm bmm mv dot __matmul__ __rmatmul__"),
    "einsum": _einsum,
    **_all(linear_in_all, "cat concat concatenate stack hstack vstack"),
    **_all(_sum, "add __add__ __radd__ __rsub__ rsub"),
    **_all(_difference, "sub subtract __sub__"),
    **_all(_quotient, "div divide true_divide __div__ __truediv__"),
    **_all(_power, "pow __pow__"),
    "square": lambda function, args, kwargs: _power(function, (*args, *kwargs.values(), 2), {}),
    "linear": _linear,
    "bilinear": _called(_bilinear, input1="x", input2="y"),
    "addmm": _called(_addmm),
    "batch_norm": _called(_batch_norm, running_mean="mean", running_var="variance"),
    **_all(_called(_dropout), "dropout alpha_dropout dropout1d dropout2d feature_alpha_dropout"),
    "relu": _called(relu),
    **_all(_activation("sigmoid"), "sigmoid special_expit"),
    "tanh": _activation("tanh"),
    "silu": _activation("silu"),
    "mish": _activation("mish"),
    "gelu": _called(_gelu, input="x"),
    "selu": _called(_selu, input="x"),
    "layer_norm": _called(_layer_norm, input="x"),
    "rms_norm": _called(_rms_norm, input="x"),
    "group_norm": _called(_group_norm, input="x"),
    "scaled_dot_product_attention": _called(attention),
    "multi_head_attention_forward": _called(
        _multi_head_attention,
        embed_dim_to_check="embed_dim",
        in_proj_weight="weight",
        in_proj_bias="bias",
        out_proj_weight="out_weight",
        out_proj_bias="out_bias",
    ),
    "lstm_cell": _called(_lstm_cell),
    "gru_cell": _called(_gru_cell),
    "rnn_tanh_cell": _called(_rnn_cell(torch.tanh)),
    "rnn_relu_cell": _called(_rnn_cell(torch.relu)),
    "lstm": _called(_recurrent(_lstm_cell, is_lstm=True)),
    "gru": _called(_recurrent(_gru_cell)),
    "rnn_tanh": _called(_recurrent(_rnn_cell(torch.tanh))),
    "rnn_relu": _called(_recurrent(_rnn_cell(torch.relu))),
    **{name: _plain(getattr(torch, name)) for name in ("zeros_like", "ones_like", "full_like", "empty_like")},
    **{
        name: _plain(getattr(Tensor, name)) for name in ("new_zeros", "new_ones", "new_full", "new_tensor", "new_empty")
    },
    "elu": _called(_elu, input="x"),
    "celu": _called(_celu, input="x"),
    "softplus": _called(_softplus, input="x"),
    **_all(_called(lambda x: -_softplus(-x), input="x"), "logsigmoid log_sigmoid"),
    **_all(_called(leaky_relu, negative_slope="slope", weight="slope"), "leaky_relu prelu"),
    **_all(_called(absolute), "abs absolute __abs__"),
    **_all(_called(clamp, min="low", max="high"), "clamp clip"),
    "hardtanh": _called(lambda x, low=-1.0, high=1.0: clamp(x, low, high), min_val="low", max_val="high"),
    "relu6": lambda function, args, kwargs: clamp(args[0], 0.0, 6.0),
    "hardsigmoid": lambda function, args, kwargs: clamp(args[0] / 6.0 + 0.5, 0.0, 1.0),
    "maximum": _called(maximum, input="x", other="y"),
    "minimum": _called(minimum, input="x", other="y"),
    "max": _called(extreme(maximum), input="x", other="y"),
    "min": _called(extreme(minimum), input="x", other="y"),
    "amax": _called(partial(along, maximum), input="x"),
    "amin": _called(partial(along, minimum), input="x"),
    "where": _called(where, condition="mask", input="x", other="y"),
    "masked_fill": _called(masked_fill),
    "__setitem__": _assign,
    **_all(_same, "eq __eq__"),
    "logsumexp": _called(_logsumexp, input="x"),
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "exp": _turn("exp", "log_softmax", "softmax"),
    "log": _turn("log", "softmax", "log_softmax"),
}
"""Operations by the name of a torch function or of a tensor's method."""
