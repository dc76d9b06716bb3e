"""A tensor that stands for a command that is not known.

A `Symbol` has no numbers. It knows how each of its entries depends on the command: as a constant and a multiple of
each unit, where the units are the numbers of the command and the outputs of the activations so far. Python code of a
module runs with it as always; an operation that is not understood ends the run with its name.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paretofoil.agents.layering import Block, NotWhiteBox, command_block
from paretofoil.core.policy import Activation

MAX_UNITS = 4096
"""Activations that a fold may have; a proof about more would never end."""
Arguments = tuple[Any, ...]
Named = dict[str, Any]
Operation = Callable[[Callable[..., Any], Arguments, Named], Any]
"""(function, arguments, named arguments), with a symbol among them -> symbols."""


class Recording:
    """The activations that a command has gone through so far, and the operations that are understood."""

    def __init__(
        self, size: int, dtype: torch.dtype, device: torch.device, operations: Mapping[str, Operation]
    ) -> None:
        self.blocks = [command_block(size)]
        self.dtype, self.device, self.operations = dtype, device, operations

    @property
    def units(self) -> int:
        return self.blocks[-1].first + self.blocks[-1].before.shape[1]

    def command(self) -> "Symbol":
        """The command itself, as a batch of one row."""
        size = self.blocks[0].before.shape[1]
        return Symbol(self, torch.cat([torch.zeros(1, size), torch.eye(size)]).double()[:, None, :])

    def activate(self, activation: Activation, symbol: "Symbol") -> "Symbol":
        """New units, one for each entry of a symbol."""
        before = symbol.basis.flatten(1)  # (1 + units, n)
        first, count = self.units, before.shape[1]
        if first + count > MAX_UNITS:
            raise NotWhiteBox(f"more than {MAX_UNITS} activations, which is more than a proof can be about")
        self.blocks.append(Block(activation, before.numpy().copy(), first))
        basis = torch.cat([torch.zeros(1 + first, count), torch.eye(count)]).double()
        return Symbol(self, basis.reshape(-1, *symbol.basis.shape[1:]))

    def is_activated(self, activation: Activation, symbol: "Symbol", output: "Symbol") -> bool:
        """Whether the entries of an output are the units that an activation made of those of a symbol."""
        given, made = symbol.basis.flatten(1), output.basis.flatten(1)
        for block in self.blocks:
            before, rows = torch.from_numpy(block.before), block.rows
            if block.activation != activation or len(given) > len(before) or before.shape[1] != made.shape[1]:
                continue
            units = torch.zeros(1 + self.units, made.shape[1], dtype=torch.float64)
            units[rows] = torch.eye(made.shape[1], dtype=torch.float64)
            if torch.equal(_padded(made, len(units)), units) and torch.equal(_padded(given, len(before)), before):
                return True
        return False

    def coefficients(self, output: "Symbol") -> np.ndarray:
        """(1 + units, actions) of an output of shape (1, actions)."""
        return _padded(output.basis, 1 + self.units)[:, 0, :].numpy()


class Symbol(Tensor):
    """A tensor of which only the dependence on the command is known; it has no numbers that code could look at."""

    recording: Recording
    basis: Tensor
    """(1 + units, *shape) in float64: the constant, then what each unit adds."""
    tail: str
    """The name of a softmax, log_softmax or logsumexp that it has gone through, after which little else may come."""
    shared: bool
    """Whether another symbol may be a view of the same memory, so that writing into it is not understood."""
    total_of: Tensor | None = None
    """Of a logsumexp: the basis of what was summed up."""

    def __new__(cls, recording: Recording, basis: Tensor, tail: str = "", shared: bool = False) -> "Symbol":
        make: Any = Tensor._make_wrapper_subclass
        symbol = make(cls, basis.shape[1:], dtype=recording.dtype, device=recording.device)
        symbol.recording, symbol.basis, symbol.tail, symbol.shared = recording, basis, tail, shared
        return symbol

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"<Symbol: shape {tuple(self.basis.shape[1:])}>"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__self__.__name__ if func.__name__ == "__get__" else func.__name__
        if name in _ABOUT:
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        return _operate(name, func, args, dict(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        raise NotWhiteBox(f"{func}, which is called from where its inputs cannot be followed")


_ABOUT = {
    *("shape", "ndim", "dim", "size", "numel", "nelement", "__len__", "__hash__"),
    *("dtype", "device", "layout", "requires_grad", "get_device", "is_floating_point", "is_complex", "is_leaf"),
    *("is_nested", "is_sparse", "is_cuda", "is_mps", "is_quantized"),
}
"""What may be asked of a symbol without a look at its numbers."""
_LOOKS = {"__bool__", "__float__", "__int__", "__index__", "__array__", "__contains__", "item", "tolist", "numpy"}
_NAMES = {
    "layer_norm": "LayerNorm",
    "group_norm": "GroupNorm",
    "rms_norm": "RMSNorm",
    "scaled_dot_product_attention": "attention",
    "multi_head_attention_forward": "attention",
    **dict.fromkeys(("gt", "lt", "ge", "le", "eq", "ne"), "a comparison"),
}
_WRITES = {f"__i{name}__": name for name in ("add", "sub", "mul")} | {"__itruediv__": "div", "__idiv__": "div"}
_AFTER_TAIL = {
    "softmax": {"log"},
    "log_softmax": {"exp", "softmax", "log_softmax"},
    "logsumexp": {"sub", "subtract", "__sub__"},
}
_ALWAYS = {"to", "float", "double", "cpu", "detach", "eq", "__eq__"}
"""What may come after any of them."""


def _operate(name: str, function: Any, args: Arguments, kwargs: Named) -> Any:
    symbols = symbols_in((args, kwargs))
    operations = symbols[0].recording.operations
    writes = bool(kwargs.pop("inplace", False))
    if name in _WRITES or (name.endswith("_") and name[:-1] in operations):
        name, writes = _WRITES.get(name, name[:-1]), True
        function = getattr(torch, name, function)
    if name in _LOOKS:
        raise NotWhiteBox("Python code that looks at numbers which depend on the command")
    if name not in operations or kwargs.get("out") is not None:
        plain = name.strip("_")
        called = f"{_NAMES[plain]} ({plain})" if plain in _NAMES else plain
        raise NotWhiteBox(f"{called} of what depends on the command")
    for symbol in symbols:
        if symbol.tail and name not in _AFTER_TAIL[symbol.tail] | _ALWAYS:
            raise NotWhiteBox(f"{name.strip('_')} after {symbol.tail}")
    result = operations[name](function, args, kwargs)
    return _write(args[0], result, name) if writes else result


def _write(target: Any, result: Symbol, name: str) -> Symbol:
    """Into the symbol itself, so that whoever holds it sees it, as with a tensor."""
    if target is result:
        return result
    if not isinstance(target, Symbol) or target.shared or target.basis.shape[1:] != result.basis.shape[1:]:
        raise NotWhiteBox(f"{name.strip('_')} in place, into memory that is shared with something else")
    target.basis, target.tail = result.basis, result.tail
    return target


def symbols_in(value: Any) -> list[Symbol]:
    found: list[Symbol] = []
    _each(value, lambda tensor: found.append(tensor) if isinstance(tensor, Symbol) else None)
    return found


def constant(tensor: Tensor) -> Tensor:
    """As it is, in float64; indices and masks stay what they are."""
    return tensor.detach().to("cpu", torch.float64) if tensor.is_floating_point() else tensor.detach().cpu()


def linear_in_one(function: Any, args: Arguments, kwargs: Named, shared: bool = False) -> Any:
    """An operation that is linear in its only symbol: it is done to the constant, and to what each unit adds."""
    found = symbols_in((args, kwargs))
    if len(found) != 1:
        raise NotWhiteBox("a product of two parts that both depend on the command")

    def at(row: Tensor) -> Any:
        rest = _each((args, kwargs), lambda tensor: row if isinstance(tensor, Symbol) else constant(tensor))
        return function(*rest[0], **rest[1])

    return _made(found[0].recording, torch.vmap(at)(found[0].basis), shared)


def linear_in_all(function: Any, args: Arguments, kwargs: Named) -> Any:
    """An operation that is linear in all its tensors together: constants take part in the constant alone."""
    recording = symbols_in((args, kwargs))[0].recording
    bases: list[Tensor] = []

    def spread(tensor: Tensor) -> None:
        known = tensor.basis if isinstance(tensor, Symbol) else constant(tensor)[None]
        bases.append(_padded(known, 1 + recording.units))

    _each((args, kwargs), spread)

    def at(*rows: Tensor) -> Any:
        following = iter(rows)
        rest = _each((args, kwargs), lambda _: next(following))
        return function(*rest[0], **rest[1])

    return _made(recording, torch.vmap(at)(*bases), shared=False)


def _each(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same arguments with every tensor changed, also those in lists."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return tuple(_each(item, change) for item in value)
    return {key: _each(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def _padded(basis: Tensor, rows: int) -> Tensor:
    """A basis from when there were fewer units: later ones add nothing."""
    return torch.cat([basis, torch.zeros(rows - len(basis), *basis.shape[1:], dtype=basis.dtype)])


def _made(recording: Recording, bases: Any, shared: bool) -> Any:
    if isinstance(bases, tuple | list):
        return tuple(_made(recording, basis, shared) for basis in bases)
    return Symbol(recording, bases, shared=shared)
