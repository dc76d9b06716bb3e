"""The torch operations that a folded policy can express, each as what it does to symbols.

Affine operations stay affine; what is made of ReLUs is in `piecewise.py`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from paretofoil.agents.layering import NotWhiteBox
from paretofoil.agents.piecewise import (
    absolute,
    amplitude,
    clamp,
    extreme,
    hardtanh,
    leaky_relu,
    masked_fill,
    maximum,
    minimum,
    relu,
    where,
)
from paretofoil.agents.symbolic import (
    Arguments,
    Named,
    Operation,
    Recording,
    Symbol,
    constant,
    linear_in_all,
    linear_in_one,
    symbols_in,
)
from paretofoil.core.policy import Activation


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
