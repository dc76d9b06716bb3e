"""The graph of a TorchScript module, run operation by operation, so that it can be recorded."""

import operator
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from paretofoil.agents.recorder import NotWhiteBox

_PYTHON: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "gt", "le", "ge", "add", "sub", "mul", "floordiv")},
    "__getitem__": operator.getitem,
    "len": len,
    "size": lambda x, axis=None: list(x.shape) if axis is None else x.shape[axis],
}
"""Operations on numbers, lists and shapes."""


class ScriptedGraph(nn.Module):
    """A scripted or traced module whose operations are called one by one."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.graph = torch.jit.freeze(module).graph  # weights become constants

    def forward(self, *inputs: Any) -> Any:
        _, *names = (value.debugName() for value in self.graph.inputs())
        values = dict(zip(names, inputs, strict=True))
        [result] = self._run(self.graph, values)
        return result

    def _run(self, block: Any, values: dict[str, Any]) -> list[Any]:
        """Return the outputs of a graph or of a branch, given the values so far, by name."""
        for node in block.nodes():
            given = [values[value.debugName()] for value in node.inputs()]
            results = self._results(node, given, values)
            values |= {value.debugName(): result for value, result in zip(node.outputs(), results, strict=True)}
        return [values[value.debugName()] for value in block.outputs()]

    def _results(self, node: Any, given: list[Any], values: dict[str, Any]) -> list[Any]:
        space, _, name = node.kind().partition("::")
        if name in _PYTHON and not any(isinstance(value, torch.Tensor) for value in given[name == "size" :]):
            return [_PYTHON[name](*given)]
        if space == "aten":
            schema = torch._C.parse_schema(node.schema())
            operation = getattr(getattr(torch.ops.aten, name), schema.overload_name or "default")
            named = {a.name: x for a, x in zip(schema.arguments, given, strict=True) if a.kwarg_only}
            result = operation(*given[: len(given) - len(named)], **named)
            return list(result) if node.outputsSize() > 1 else [result]
        if name == "Constant":
            return [node.output().toIValue()]
        if name in ("ListConstruct", "TupleConstruct"):
            return [given if name == "ListConstruct" else tuple(given)]
        if name in ("ListUnpack", "TupleUnpack"):
            return list(given[0])
        if name == "If":
            return self._run(list(node.blocks())[0 if given[0] else 1], values)
        raise NotWhiteBox(f"{node.kind()} in a scripted module")
