"""The torch operations that are made of ReLUs, or of a mask that the state decides.

leaky(x) = a x + (1 - a) relu(x), clamp(x, a, b) = a + relu(x - a) - relu(x - b), |x| = 2 relu(x) - x,
max(x, y) = y + relu(x - y).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from paretofoil.agents.layering import NotWhiteBox
from paretofoil.agents.symbolic import Symbol, symbols_in


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
