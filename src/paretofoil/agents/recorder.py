"""A tensor that stands for a command that is not known.

A `Symbol` has no numbers. It knows how each of its entries depends on the command: as a constant and a multiple of
each unit, where the units are the numbers of the command and the outputs of the activations so far. Python code of a
module runs with it as always; an operation that is not understood ends the run with its name.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from paretofoil.agents.layers import Block, NotWhiteBox, command_block
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


def relu(x: Any) -> Any:
    return x.recording.activate("relu", x)


def leaky_relu(x: Symbol, slope: Any = 0.01) -> Any:
    return x * slope + relu(x) * (1.0 - slope)


def absolute(x: Symbol) -> Any:
    return relu(x) * 2.0 - x


def clamp(x: Symbol, low: Any = None, high: Any = None) -> Any:
    if symbols_in((low, high)):
        raise NotWhiteBox("clamp to what depends on the command")
    if low is None:
        return high - relu(high - x)
    return low + relu(x - low) - (0.0 if high is None else relu(x - high))


def hardtanh(x: Symbol, low: float = -1.0, high: float = 1.0) -> Any:
    return clamp(x, low, high)


def maximum(x: Any, y: Any) -> Any:
    return y + relu(x - y)


def minimum(x: Any, y: Any) -> Any:
    return x - relu(x - y)


class _Extreme(NamedTuple):
    """What torch.max gives along an axis; where it was found depends on the command."""

    values: Any
    indices: None = None


def extreme(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """torch.max and torch.min: of two tensors, or along an axis."""

    def operation(x: Any, y: Any = None, keepdim: bool = False, dim: int | None = None) -> Any:
        if isinstance(y, Tensor):
            return pick(x, y)
        axis = y if dim is None else dim
        if axis is None:
            raise NotWhiteBox("the largest or smallest number of a whole batch")
        return _Extreme(_along(pick, x, axis, keepdim))

    return operation


def amplitude(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """torch.amax and torch.amin."""

    def operation(x: Symbol, dim: int | Sequence[int] = (), keepdim: bool = False) -> Any:
        axes = [dim] if isinstance(dim, int) else list(dim)
        if len(axes) != 1:
            raise NotWhiteBox("the largest or smallest number along more than one axis")
        return _along(pick, x, axes[0], keepdim)

    return operation


def _along(pick: Callable[[Any, Any], Any], x: Any, dim: int, keepdim: bool) -> Any:
    """The extreme along an axis: of halves, of quarters, ..."""
    while (size := x.shape[dim]) > 1:
        half = size // 2
        best = pick(x.narrow(dim, 0, half), x.narrow(dim, half, half))
        x = torch.cat([best, x.narrow(dim, 2 * half, 1)], dim=dim) if size % 2 else best
    return x if keepdim else x.squeeze(dim)


def where(mask: Any, x: Any, y: Any) -> Any:
    """One of the two where a mask, made of the state, says so."""
    if symbols_in(mask):
        raise NotWhiteBox("a mask that depends on the command")
    if isinstance(x, Symbol) and isinstance(y, Symbol):
        return x * mask.to(torch.float64) + y * (~mask).to(torch.float64)
    return masked_fill(x, ~mask, y) if isinstance(x, Symbol) else masked_fill(y, mask, x)


def masked_fill(x: Symbol, mask: Tensor, value: Any) -> Any:
    if symbols_in((mask, value)):
        raise NotWhiteBox("a mask that depends on the command")
    return x * torch.where(mask, 0.0, 1.0) + torch.where(mask, value, 0.0)


def run(call: Callable[[Tensor], Any], size: int, dtype: torch.dtype, device: torch.device) -> tuple[Recording, Any]:
    """Run a module with a command (1, size) that is not known: the activations on the way, and what it gives."""
    recording = Recording(size, dtype, device, OPERATIONS)
    with torch.no_grad():
        return recording, call(recording.command())


def _view(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Linear, and the memory is the same."""
    for symbol in symbols_in(args):
        symbol.shared = True
    return linear_in_one(Tensor.reshape if function is Tensor.view else function, args, kwargs, shared=True)


def _cast(function: Any, args: Arguments, kwargs: Named) -> Any:
    """To another precision or device, which may be the same memory; what it costs is measured on the whole fold."""
    kinds = [getattr(value, "dtype", value) for value in (*args[1:], *kwargs.values())]
    if any(isinstance(kind, torch.dtype) and not kind.is_floating_point for kind in kinds):
        raise NotWhiteBox("rounding of what depends on the command to whole numbers")
    args[0].shared = True
    return Symbol(args[0].recording, args[0].basis, args[0].tail, shared=True)


def _sum(function: Any, args: Arguments, kwargs: Named) -> Any:
    """A number that is added is a constant like a tensor; `alpha` is not."""
    terms = [*args, kwargs.pop("other")] if "other" in kwargs else args
    tensors = tuple(term if isinstance(term, Tensor) else torch.tensor(float(term)) for term in terms)
    return linear_in_all(function, tensors, kwargs)


def _difference(function: Any, args: Arguments, kwargs: Named) -> Any:
    """x - logsumexp(x) is a log_softmax, which is how torch's own distributions write it."""
    total = args[1] if len(args) > 1 else kwargs.get("other")
    if not any(symbol.tail for symbol in symbols_in((args, kwargs))):
        return _sum(function, args, kwargs)
    if not (isinstance(total, Symbol) and isinstance(args[0], Symbol) and total.tail == "logsumexp"):
        raise NotWhiteBox("logsumexp of what depends on the command")
    if len(args) + len(kwargs) > 2 or total.total_of is None or not torch.equal(total.total_of, args[0].basis):
        raise NotWhiteBox("logsumexp of something else than what it is subtracted from")
    return Symbol(args[0].recording, args[0].basis, "log_softmax")


def _quotient(function: Any, args: Arguments, kwargs: Named) -> Any:
    if kwargs.get("rounding_mode") is not None or symbols_in((args[1:], kwargs)):
        raise NotWhiteBox("a division by, or rounding of, what depends on the command")
    return linear_in_one(function, args, kwargs)


def _linear(function: Any, args: Arguments, kwargs: Named) -> Any:
    bias = args[2] if len(args) > 2 else kwargs.pop("bias", None)
    if bias is None:
        return linear_in_one(function, args[:2], kwargs)
    return function(*args[:2], **kwargs) + bias


def _convolution(function: Any, args: Arguments, kwargs: Named) -> Any:
    """The command as planes of an image, say; there is a number of the bias for each channel."""
    bias = args[2] if len(args) > 2 else kwargs.pop("bias", None)
    result = linear_in_one(function, (*args[:2], None, *args[3:]), kwargs)
    return result if bias is None else result + bias.reshape(-1, *[1] * (args[1].ndim - 2))


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
        raise NotWhiteBox("batch_norm in training mode, or of more than vectors")
    scale = (1.0 if weight is None else constant(weight)) / (constant(variance) + eps).sqrt()
    return (x - constant(mean)) * scale + (0.0 if bias is None else bias)


def _dropout(x: Symbol, p: float = 0.5, training: bool = True, train: bool = False) -> Any:
    if training or train:
        raise NotWhiteBox("dropout in training mode, which is random")
    return x


def _activation(name: Activation) -> Operation:
    return _called(lambda x: x.recording.activate(name, x), input="x")


def _elu(x: Any, alpha: float = 1.0) -> Any:
    if alpha != 1.0:
        raise NotWhiteBox(f"ELU with an alpha of {alpha:g}")
    return x.recording.activate("elu", x)


def _celu(x: Any, alpha: float = 1.0) -> Any:
    return _elu(x / alpha) * alpha


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Above the threshold torch takes the line, which float32 cannot tell from it if that is where it usually is."""
    if threshold < 20.0:
        raise NotWhiteBox(f"softplus that is a line above {threshold:g}")
    return x.recording.activate("softplus", x * beta) / beta


def _product(function: Any, args: Arguments, kwargs: Named) -> Any:
    """x sigmoid(x) is a SiLU, which is how it is often written and always exported."""
    found = symbols_in((args, kwargs))
    if len(found) == 2:
        for x, gate in (found, found[::-1]):
            if x.recording.is_activated("sigmoid", x, gate):
                return x.recording.activate("silu", x)
    return linear_in_one(function, args, kwargs)


def _assign(function: Any, args: Arguments, kwargs: Named) -> None:
    """x[places] = number, for a symbol that nothing else is a view of."""
    target, places, value = args
    if not isinstance(target, Symbol) or symbols_in((places, value)) or (isinstance(value, Tensor) and value.ndim):
        raise NotWhiteBox("setitem of what depends on the command")
    if target.shared:
        raise NotWhiteBox("setitem in place, into memory that is shared with something else")
    mask = torch.zeros(target.shape, dtype=torch.bool)
    mask[places] = True
    target.basis = masked_fill(target, mask, value).basis


def _logsumexp(x: Symbol, dim: Any, keepdim: bool = False) -> Any:
    """Known only as what makes a log_softmax of x."""
    axes = [dim] if isinstance(dim, int) else list(dim)
    if not keepdim or axes not in ([-1], [x.ndim - 1]):
        raise NotWhiteBox("logsumexp of what depends on the command")
    total = Symbol(x.recording, x.basis[..., :1], "logsumexp")
    total.total_of = x.basis
    return total


def _same(function: Any, args: Arguments, kwargs: Named) -> Any:
    """x == x, which looks for NaN, and tells nothing of the command."""
    if kwargs or len(args) != 2 or args[0] is not args[1]:
        raise NotWhiteBox("a comparison (eq) of what depends on the command")
    return torch.ones(args[0].shape, dtype=torch.bool)


def _softmax(name: str) -> Operation:
    """The end of a policy: margins are differences of what comes before it."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        symbol, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim")
        if dim not in (-1, symbol.ndim - 1):
            raise NotWhiteBox(f"{name} over something else than the last axis")
        return Symbol(symbol.recording, symbol.basis, name)

    return operation


def _turn(name: str, before: str, after: str) -> Operation:
    """exp and log, which make a softmax of a log_softmax and back."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        if args[0].tail != before:
            raise NotWhiteBox(f"{name} of what depends on the command")
        return Symbol(args[0].recording, args[0].basis, after)

    return operation


def _called(call: Callable[..., Any], **renamed: str) -> Operation:
    """An operation with arguments of its own; `renamed` are other names that torch has for them."""
    return lambda function, args, kwargs: call(*args, **{renamed.get(key, key): kwargs[key] for key in kwargs})


def _all(operation: Operation, names: str) -> dict[str, Operation]:
    return dict.fromkeys(names.split(), operation)


OPERATIONS: dict[str, Operation] = {
    **_all(_view, "reshape view flatten unflatten squeeze unsqueeze transpose permute swapaxes movedim narrow select"),
    **_all(_view, "__getitem__ chunk split tensor_split unbind expand contiguous"),
    **_all(_cast, "to float double cpu cuda detach"),
    **_all(linear_in_one, "sum mean neg __neg__ clone repeat repeat_interleave index_select flip roll cumsum"),
    **_all(_convolution, "conv1d conv2d conv3d"),
    **_all(_product, "mul multiply __mul__ __rmul__"),
    **_all(linear_in_one, "matmul mm bmm mv dot __matmul__ __rmatmul__ einsum"),
    **_all(linear_in_all, "cat concat concatenate stack hstack vstack"),
    **_all(_sum, "add __add__ __radd__ __rsub__ rsub"),
    **_all(_difference, "sub subtract __sub__"),
    **_all(_quotient, "div divide true_divide __div__ __truediv__"),
    "linear": _linear,
    "bilinear": _called(_bilinear, input1="x", input2="y"),
    "addmm": _called(_addmm),
    "batch_norm": _called(_batch_norm, running_mean="mean", running_var="variance"),
    **_all(_called(_dropout), "dropout alpha_dropout dropout1d dropout2d feature_alpha_dropout"),
    "relu": _called(relu),
    **_all(_activation("sigmoid"), "sigmoid special_expit"),
    "tanh": _activation("tanh"),
    "silu": _activation("silu"),
    "elu": _called(_elu, input="x"),
    "celu": _called(_celu, input="x"),
    "softplus": _called(_softplus, input="x"),
    **_all(_called(lambda x: -_softplus(-x), input="x"), "logsigmoid log_sigmoid"),
    **_all(_called(leaky_relu, negative_slope="slope", weight="slope"), "leaky_relu prelu"),
    **_all(_called(absolute), "abs absolute __abs__"),
    **_all(_called(clamp, min="low", max="high"), "clamp clip"),
    "hardtanh": _called(hardtanh, min_val="low", max_val="high"),
    "relu6": lambda function, args, kwargs: clamp(args[0], 0.0, 6.0),
    "hardsigmoid": lambda function, args, kwargs: clamp(args[0] / 6.0 + 0.5, 0.0, 1.0),
    "maximum": _called(maximum, input="x", other="y"),
    "minimum": _called(minimum, input="x", other="y"),
    "max": _called(extreme(maximum), input="x", other="y"),
    "min": _called(extreme(minimum), input="x", other="y"),
    "amax": _called(amplitude(maximum), input="x"),
    "amin": _called(amplitude(minimum), input="x"),
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
"""By the name of a torch function or of a tensor's method."""
