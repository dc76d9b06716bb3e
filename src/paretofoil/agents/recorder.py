"""Records how the outputs of a torch module depend on the command.

The module runs with a `Symbol` in place of the command. A symbol has no values: it holds the coefficients of its
entries as an affine function of the units, which are the components of the command and the outputs of all activations.
An operation that is not supported raises `NotWhiteBox` with its name.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from paretofoil.agents.layers import Block, NotWhiteBox, command_block
from paretofoil.core.policy import Activation

MAX_UNITS = 4096
"""The largest number of units; a proof about more takes too long."""
Arguments = tuple[Any, ...]
Named = dict[str, Any]
Operation = Callable[[Callable[..., Any], Arguments, Named], Any]
"""(function, arguments, keyword arguments), with at least one symbol -> symbols."""


class Recording:
    """The activations so far, and the supported operations."""

    def __init__(
        self, size: int, dtype: torch.dtype, device: torch.device, operations: Mapping[str, Operation]
    ) -> None:
        self.blocks = [command_block(size)]
        self.dtype, self.device, self.operations = dtype, device, operations

    @property
    def units(self) -> int:
        return self.blocks[-1].first + self.blocks[-1].before.shape[1]

    def command(self) -> "Symbol":
        """Return the command as a batch of one row."""
        size = self.blocks[0].before.shape[1]
        return Symbol(self, torch.cat([torch.zeros(1, size), torch.eye(size)]).double()[:, None, :])

    def activate(self, activation: Activation, symbol: "Symbol") -> "Symbol":
        """Return new units: the activation of each entry of a symbol."""
        before = symbol.basis.flatten(1)  # (1 + units, n)
        first, count = self.units, before.shape[1]
        if first + count > MAX_UNITS:
            raise NotWhiteBox(f"more than {MAX_UNITS} activations, too many for a proof")
        self.blocks.append(Block(activation, before.numpy().copy(), first))
        basis = torch.cat([torch.zeros(1 + first, count), torch.eye(count)]).double()
        return Symbol(self, basis.reshape(-1, *symbol.basis.shape[1:]))

    def is_activated(self, activation: Activation, symbol: "Symbol", output: "Symbol") -> bool:
        """Return whether an output is the activation of a symbol."""
        inputs, outputs = symbol.basis.flatten(1), output.basis.flatten(1)
        for block in self.blocks:
            before, rows = torch.from_numpy(block.before), block.rows
            if block.activation != activation or len(inputs) > len(before) or before.shape[1] != outputs.shape[1]:
                continue
            units = torch.zeros(1 + self.units, outputs.shape[1], dtype=torch.float64)
            units[rows] = torch.eye(outputs.shape[1], dtype=torch.float64)
            if torch.equal(_padded(outputs, len(units)), units) and torch.equal(_padded(inputs, len(before)), before):
                return True
        return False

    def coefficients(self, output: "Symbol") -> np.ndarray:
        """Return the coefficients (1 + units, actions) of an output of shape (1, actions)."""
        return _padded(output.basis, 1 + self.units)[:, 0, :].numpy()


class Symbol(Tensor):
    """A tensor without values, of which only the dependence on the command is known."""

    recording: Recording
    basis: Tensor
    """(1 + units, *shape) in float64: the constant, then the coefficient of each unit."""
    tail: str
    """The name of the softmax, log_softmax or logsumexp that was applied to it; few operations may follow."""
    shared: bool
    """Whether another symbol may be a view of the same memory. Writing into it is then not supported."""
    total_of: Tensor | None = None
    """Of a logsumexp: the basis of its input."""

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
        if name in _PROPERTIES:
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
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
"""Operations that may follow any of them."""


def _operate(name: str, function: Any, args: Arguments, kwargs: Named) -> Any:
    symbols = symbols_in((args, kwargs))
    operations = symbols[0].recording.operations
    writes = bool(kwargs.pop("inplace", False))
    if name in _WRITES or (name.endswith("_") and name[:-1] in operations):
        name, writes = _WRITES.get(name, name[:-1]), True
        function = getattr(torch, name, function)
    if name in _READS_VALUES:
        raise NotWhiteBox("Python code that reads values that depend on the command")
    if name not in operations or kwargs.get("out") is not None:
        plain = name.strip("_")
        shown = f"{_NAMES[plain]} ({plain})" if plain in _NAMES else plain
        raise NotWhiteBox(f"{shown} of values that depend on the command")
    for symbol in symbols:
        if symbol.tail and name not in _AFTER_TAIL[symbol.tail] | _ALWAYS:
            raise NotWhiteBox(f"{name.strip('_')} after {symbol.tail}")
    result = operations[name](function, args, kwargs)
    return _write(args[0], result, name) if writes else result


def _write(target: Any, result: Symbol, name: str) -> Symbol:
    """Write a result into the symbol itself, as an in-place operation does."""
    if target is result:
        return result
    if not isinstance(target, Symbol) or target.shared or target.basis.shape[1:] != result.basis.shape[1:]:
        raise NotWhiteBox(f"{name.strip('_')} in place, into memory that another tensor shares")
    target.basis, target.tail = result.basis, result.tail
    return target


def symbols_in(value: Any) -> list[Symbol]:
    """Return the symbols in nested arguments."""
    symbols: list[Symbol] = []
    _each(value, lambda tensor: symbols.append(tensor) if isinstance(tensor, Symbol) else None)
    return symbols


def constant(tensor: Tensor) -> Tensor:
    """Return a tensor in float64 on the CPU; indices and masks keep their type."""
    return tensor.detach().to("cpu", torch.float64) if tensor.is_floating_point() else tensor.detach().cpu()


def linear_in_one(function: Any, args: Arguments, kwargs: Named, shared: bool = False) -> Any:
    """Apply an operation that is linear in its only symbol to each row of coefficients."""
    symbols = symbols_in((args, kwargs))
    if len(symbols) != 1:
        raise NotWhiteBox("a product of two values that both depend on the command")

    def at(row: Tensor) -> Any:
        rest = _each((args, kwargs), lambda tensor: row if isinstance(tensor, Symbol) else constant(tensor))
        return function(*rest[0], **rest[1])

    return _wrapped(symbols[0].recording, torch.vmap(at)(symbols[0].basis), shared)


def linear_in_all(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Apply an operation that is linear in all its tensors; constant tensors only change the constant."""
    recording = symbols_in((args, kwargs))[0].recording
    bases: list[Tensor] = []

    def spread(tensor: Tensor) -> None:
        basis = tensor.basis if isinstance(tensor, Symbol) else constant(tensor)[None]
        bases.append(_padded(basis, 1 + recording.units))

    _each((args, kwargs), spread)

    def at(*rows: Tensor) -> Any:
        following = iter(rows)
        rest = _each((args, kwargs), lambda _: next(following))
        return function(*rest[0], **rest[1])

    return _wrapped(recording, torch.vmap(at)(*bases), shared=False)


def _each(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return nested arguments with each tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return tuple(_each(item, change) for item in value)
    return {key: _each(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def _padded(basis: Tensor, rows: int) -> Tensor:
    """Return a basis with zero coefficients for later units."""
    return torch.cat([basis, torch.zeros(rows - len(basis), *basis.shape[1:], dtype=basis.dtype)])


def _wrapped(recording: Recording, bases: Any, shared: bool) -> Any:
    if isinstance(bases, tuple | list):
        return tuple(_wrapped(recording, basis, shared) for basis in bases)
    return Symbol(recording, bases, shared=shared)


def relu(x: Any) -> Any:
    return x.recording.activate("relu", x)


def leaky_relu(x: Symbol, slope: Any = 0.01) -> Any:
    return x * slope + relu(x) * (1.0 - slope)


def absolute(x: Symbol) -> Any:
    return relu(x) * 2.0 - x


def clamp(x: Symbol, low: Any = None, high: Any = None) -> Any:
    if symbols_in((low, high)):
        raise NotWhiteBox("clamp to bounds that depend on the command")
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
    """The result of torch.max along an axis; the indices depend on the command."""

    values: Any
    indices: None = None


def extreme(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return torch.max or torch.min: of two tensors, or along an axis."""

    def operation(x: Any, y: Any = None, keepdim: bool = False, dim: int | None = None) -> Any:
        if isinstance(y, Tensor):
            return pick(x, y)
        axis = y if dim is None else dim
        if axis is None:
            raise NotWhiteBox("the largest or smallest number of a whole batch")
        return _Extreme(_along(pick, x, axis, keepdim))

    return operation


def amplitude(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return torch.amax or torch.amin."""

    def operation(x: Symbol, dim: int | Sequence[int] = (), keepdim: bool = False) -> Any:
        axes = [dim] if isinstance(dim, int) else list(dim)
        if len(axes) != 1:
            raise NotWhiteBox("the largest or smallest number along more than one axis")
        return _along(pick, x, axes[0], keepdim)

    return operation


def _along(pick: Callable[[Any, Any], Any], x: Any, dim: int, keepdim: bool) -> Any:
    """Return the extreme along an axis, by halving."""
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
        return x * mask.to(torch.float64) + y * (~mask).to(torch.float64)
    return masked_fill(x, ~mask, y) if isinstance(x, Symbol) else masked_fill(y, mask, x)


def masked_fill(x: Symbol, mask: Tensor, value: Any) -> Any:
    if symbols_in((mask, value)):
        raise NotWhiteBox("a mask that depends on the command")
    return x * torch.where(mask, 0.0, 1.0) + torch.where(mask, value, 0.0)


def run(call: Callable[[Tensor], Any], size: int, dtype: torch.dtype, device: torch.device) -> tuple[Recording, Any]:
    """Call a function with a symbolic command (1, size); return the recording and the result."""
    recording = Recording(size, dtype, device, OPERATIONS)
    with torch.no_grad():
        return recording, call(recording.command())


def _view(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Linear; the result shares the memory."""
    for symbol in symbols_in(args):
        symbol.shared = True
    return linear_in_one(Tensor.reshape if function is Tensor.view else function, args, kwargs, shared=True)


def _cast(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Change precision or device; the rounding error is measured on the whole fold."""
    kinds = [getattr(value, "dtype", value) for value in (*args[1:], *kwargs.values())]
    if any(isinstance(kind, torch.dtype) and not kind.is_floating_point for kind in kinds):
        raise NotWhiteBox("rounding of values that depend on the command to integers")
    args[0].shared = True
    return Symbol(args[0].recording, args[0].basis, args[0].tail, shared=True)


def _sum(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Sum; a number counts as a constant tensor, `alpha` does not."""
    terms = [*args, kwargs.pop("other")] if "other" in kwargs else args
    tensors = tuple(term if isinstance(term, Tensor) else torch.tensor(float(term)) for term in terms)
    return linear_in_all(function, tensors, kwargs)


def _difference(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Difference; x - logsumexp(x) is a log_softmax, as in torch's distributions."""
    total = args[1] if len(args) > 1 else kwargs.get("other")
    if not any(symbol.tail for symbol in symbols_in((args, kwargs))):
        return _sum(function, args, kwargs)
    if not (isinstance(total, Symbol) and isinstance(args[0], Symbol) and total.tail == "logsumexp"):
        raise NotWhiteBox("logsumexp of values that depend on the command")
    if len(args) + len(kwargs) > 2 or total.total_of is None or not torch.equal(total.total_of, args[0].basis):
        raise NotWhiteBox("logsumexp of another tensor than the one it is subtracted from")
    return Symbol(args[0].recording, args[0].basis, "log_softmax")


def _quotient(function: Any, args: Arguments, kwargs: Named) -> Any:
    if kwargs.get("rounding_mode") is not None or symbols_in((args[1:], kwargs)):
        raise NotWhiteBox("a division by, or rounding of, values that depend on the command")
    return linear_in_one(function, args, kwargs)


def _linear(function: Any, args: Arguments, kwargs: Named) -> Any:
    bias = args[2] if len(args) > 2 else kwargs.pop("bias", None)
    if bias is None:
        return linear_in_one(function, args[:2], kwargs)
    return function(*args[:2], **kwargs) + bias


def _convolution(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Convolution, for commands as image planes; the bias has one number per channel."""
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
        raise NotWhiteBox("batch_norm in training mode, or of inputs that are not vectors")
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
    """Softplus; above the default threshold its difference from the identity is below float32 precision."""
    if threshold < 20.0:
        raise NotWhiteBox(f"softplus that is linear above {threshold:g}")
    return x.recording.activate("softplus", x * beta) / beta


def _product(function: Any, args: Arguments, kwargs: Named) -> Any:
    """Product; x sigmoid(x) is a SiLU, as ONNX exporters write it."""
    symbols = symbols_in((args, kwargs))
    if len(symbols) == 2:
        for x, gate in (symbols, symbols[::-1]):
            if x.recording.is_activated("sigmoid", x, gate):
                return x.recording.activate("silu", x)
    return linear_in_one(function, args, kwargs)


def _assign(function: Any, args: Arguments, kwargs: Named) -> None:
    """x[places] = number, for a symbol whose memory is not shared."""
    target, places, value = args
    if not isinstance(target, Symbol) or symbols_in((places, value)) or (isinstance(value, Tensor) and value.ndim):
        raise NotWhiteBox("setitem of values that depend on the command")
    if target.shared:
        raise NotWhiteBox("setitem in place, into memory that another tensor shares")
    mask = torch.zeros(target.shape, dtype=torch.bool)
    mask[places] = True
    target.basis = masked_fill(target, mask, value).basis


def _logsumexp(x: Symbol, dim: Any, keepdim: bool = False) -> Any:
    """logsumexp; supported only as a part of log_softmax."""
    axes = [dim] if isinstance(dim, int) else list(dim)
    if not keepdim or axes not in ([-1], [x.ndim - 1]):
        raise NotWhiteBox("logsumexp of values that depend on the command")
    total = Symbol(x.recording, x.basis[..., :1], "logsumexp")
    total.total_of = x.basis
    return total


def _same(function: Any, args: Arguments, kwargs: Named) -> Any:
    """x == x, which checks for NaN."""
    if kwargs or len(args) != 2 or args[0] is not args[1]:
        raise NotWhiteBox("a comparison (eq) of values that depend on the command")
    return torch.ones(args[0].shape, dtype=torch.bool)


def _softmax(name: str) -> Operation:
    """Return a softmax at the end of a policy; margins are differences of its inputs."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        symbol, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim")
        if dim not in (-1, symbol.ndim - 1):
            raise NotWhiteBox(f"{name} over axis {dim}, which is not the last")
        return Symbol(symbol.recording, symbol.basis, name)

    return operation


def _turn(name: str, before: str, after: str) -> Operation:
    """Return exp or log, which convert between softmax and log_softmax."""

    def operation(function: Any, args: Arguments, kwargs: Named) -> Any:
        if args[0].tail != before:
            raise NotWhiteBox(f"{name} of values that depend on the command")
        return Symbol(args[0].recording, args[0].basis, after)

    return operation


def _called(call: Callable[..., Any], **renamed: str) -> Operation:
    """Return an operation that calls a function; `renamed` maps torch's argument names to ours."""
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
