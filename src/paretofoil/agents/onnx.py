"""ONNX files as policies: onnxruntime evaluates them, and their graph is recorded for proofs where it is supported."""

import math
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ImportError:
    raise InvalidInput.missing("torch", "onnx") from None

from paretofoil.agents.recorder import FLOAT32, NotWhiteBox, Symbol, symbols_in
from paretofoil.agents.store import read_bytes
from paretofoil.agents.torch_policy import Outputs, TorchActor, TorchPolicy, from_torch
from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import CommandSpace
from paretofoil.core.feature import Feature
from paretofoil.core.json import brief_words

ACTIVATION_ROUNDINGS = 128.0
"""The rounding error allowed for an activation of onnxruntime, in unit roundoffs.

Its library MLAS (core/mlas/lib/tanh.cpp and logistic.cpp) clamps the inputs of tanh to -9 ... 9 and those of sigmoid to
-18 ... 18; outside, both are constant up to half a rounding. It divides two polynomials of up to 13 roundings each,
with Eigen's coefficients. The largest error measured is 5.2 for 4 million float32 numbers of all sizes, and 8 for
float64 (`benchmarks/activation_errors.py`)."""
SPARE_OPERATIONS = 8
"""Roundings allowed for each operation beside those of its terms: onnxruntime fuses operations into weights."""
PRECISIONS = {1: torch.float32, 10: torch.float16, 11: torch.float64}
"""Number formats by ONNX's number of the type."""


def from_onnx(
    file: str | Path,
    state: Any,
    space: CommandSpace | None = None,
    *,
    inputs: str | Mapping[str, str] = "separate",
    outputs: Outputs | None = None,
    actions: ActionSpace | None = None,
    free: Sequence[str | int | Feature] | None = None,
    constraints: Sequence[str] = (),
) -> TorchPolicy | TorchActor:
    """Return an ONNX file as a policy. It is white-box if its operations are supported. Needs the [onnx] extra.

    Args:
        file: an ONNX file that contains its weights. Its first output has the scores, for any number of rows.
        state: one state or several, on which the network is tested.
        space: the range of commands; None for a network without a command, which needs `free`.
        inputs: "separate" for a network of states and commands, in this order, "concatenated" for one of the two side
            by side, or names: {"observation": "state", "goal": "command"}.
        outputs: "logits", "log-probabilities", "probabilities" or "q-values"; detected if not given.
        actions: the space of continuous actions. The first output then has their amounts.
        free: features of the state that may change, as in `from_torch`.
        constraints: linear constraints on the free numbers, as in `from_torch`.
    """
    try:
        network = OnnxNetwork(read_bytes(Path(file), "an ONNX file"))
        _check_names(network, inputs, without_command=space is None)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    options: dict[str, Any] = {"outputs": outputs, "actions": actions, "free": free, "constraints": constraints}
    policy: TorchPolicy | TorchActor = from_torch(network, state, space, inputs=inputs, **options)
    return policy


def _check_names(network: "OnnxNetwork", inputs: str | Mapping[str, str], *, without_command: bool) -> None:
    if without_command:
        fits, expected = len(network.names) == 1, "1 input, the observation"
    elif isinstance(inputs, Mapping):
        fits, expected = set(inputs) == set(network.names), f"the inputs {', '.join(map(str, inputs))}"
    else:
        count = 1 if inputs == "concatenated" else 2
        fits, expected = len(network.names) == count, f"{count} input{'s' * (count > 1)}, for inputs={inputs!r}"
        expected += ' (pass inputs="concatenated")' if len(network.names) == 1 else ""
    if not fits:
        raise InvalidInput.expected(f"a network with {expected}", ", ".join(network.names) or "no inputs")


class OnnxNetwork(nn.Module):
    """The network of an ONNX file, called like a torch module.

    Numbers are evaluated by onnxruntime, as in deployment. A symbol runs through the graph, operation by operation.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__()
        onnx, runtime = _packages()
        try:
            model = onnx.load_model_from_string(data)
            if _names_other_files(model):  # before onnxruntime or anything else reads them
                raise InvalidInput.expected("an ONNX file that contains its weights", "one with weights in other files")
            options = runtime.SessionOptions()
            options.intra_op_num_threads = 1  # faster for small networks
            options.log_severity_level = 4  # errors are raised below
            self.session = runtime.InferenceSession(
                data, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
            self.weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        except InvalidInput:
            raise
        except Exception as error:  # protobuf and onnxruntime have no common type of error
            raise InvalidInput.expected("an ONNX file that onnxruntime can load", brief_words(error)) from None
        self.data, self.graph = data, model.graph
        self.opsets = {opset.domain: opset.version for opset in model.opset_import}
        inputs = [value for value in model.graph.input if value.name not in self.weights]
        self.names = [value.name for value in inputs]
        for value in inputs:
            rows = value.type.tensor_type.shape.dim[:1]
            if rows and rows[0].HasField("dim_value"):
                expected = "a network for any number of rows (export it with dynamic_axes)"
                raise InvalidInput.expected(expected, f"the input {value.name} with {rows[0].dim_value} row(s)")
        kind = inputs[0].type.tensor_type.elem_type if inputs else 0
        if kind not in PRECISIONS or not model.graph.output:
            raise InvalidInput.expected("a network with floating-point inputs and an output", f"inputs of type {kind}")
        self.register_buffer("precision", torch.zeros(1, dtype=PRECISIONS[kind]))  # of its inputs
        self.eval()

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxNetwork, (self.data,)  # a session cannot be pickled

    def forward(self, *inputs: Any) -> Any:
        named = inputs[0] if isinstance(inputs[0], Mapping) else dict(zip(self.names, inputs, strict=True))
        if symbols_in(dict(named)):
            recording = symbols_in(dict(named))[0].recording
            recording.activation_roundings, recording.spare_operations = ACTIVATION_ROUNDINGS, SPARE_OPERATIONS
            if recording.unit > FLOAT32 and platform.machine() not in ("x86_64", "AMD64"):
                recording.unknown = "onnxruntime computes in float16 on this processor, by formulas of its own"
            weights = {name: torch.tensor(array) for name, array in self.weights.items()}
            return self._run(self.graph, weights | dict(named))[0]
        [result] = self.session.run([self.graph.output[0].name], {name: t.numpy() for name, t in named.items()})
        return torch.from_numpy(np.array(result)) if isinstance(result, np.ndarray) else result

    def _run(self, graph: Any, outer: Mapping[str, Any]) -> list[Any]:
        """Return the outputs of a graph, which may be a branch that uses the values of an outer graph."""
        values = dict(outer)
        for node in graph.node:
            inputs = [values[name] if name else None for name in node.input]
            if node.op_type == "If" and not symbols_in(inputs):
                branch = "then_branch" if bool(inputs[0]) else "else_branch"
                results: Sequence[Any] = self._run(self._attributes(node)[branch], values)
            elif symbols_in(inputs):
                results = _apply(node, inputs, self._attributes(node))
            else:
                results = self._evaluate(node, inputs)
                if node.op_type not in EXACT and any(result.is_floating_point() for result in results):
                    symbols_in(values)[
                        0
                    ].recording.unknown = f"onnxruntime may compute {node.op_type} of weights differently"
            values |= dict(zip(node.output, results, strict=False))  # unused outputs may be missing
        return [values[output.name] for output in graph.output]

    def _attributes(self, node: Any) -> dict[str, Any]:
        onnx, _ = _packages()
        attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        if node.op_type == "Cast":
            attributes["to"] = torch.from_numpy(
                np.zeros(1, onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))
            ).dtype
        texts = {name: value.decode() for name, value in attributes.items() if isinstance(value, bytes)}
        return {**attributes, **texts, "outputs": len(node.output)}

    def _evaluate(self, node: Any, inputs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return the outputs of a node whose inputs are numbers, by ONNX's reference implementation."""
        onnx, _ = _packages()
        from onnx.reference import ReferenceEvaluator

        def declare(names: Sequence[str]) -> list[Any]:
            return [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in dict.fromkeys(names) if name]

        graph = onnx.helper.make_graph([node], "node", declare(node.input), declare(node.output))
        opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        model = onnx.helper.make_model(graph, opset_imports=opsets)
        numbers = {name: value.numpy() for name, value in zip(node.input, inputs, strict=True) if value is not None}
        results = iter(ReferenceEvaluator(model).run(None, numbers))
        return [torch.from_numpy(np.array(next(results))) if name else torch.empty(0) for name in node.output]


def _names_other_files(message: Any) -> bool:
    """Return whether a protobuf message, with its subgraphs and functions, has a tensor in another file."""
    if getattr(message, "external_data", None) or getattr(message, "data_location", 0):
        return True
    parts = [value for kind, value in message.ListFields() if kind.type == kind.TYPE_MESSAGE]
    return any(_names_other_files(item) for part in parts for item in (part if hasattr(part, "__len__") else [part]))


def _packages() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime
    except ImportError:
        raise InvalidInput.missing("onnx or onnxruntime", "onnx") from None
    return onnx, onnxruntime


# Operations of which an input is a symbol, by the torch operations that the recorder supports.

Attributes = Mapping[str, Any]
Operation = Callable[[Sequence[Any], Attributes], Any]
"""(inputs, attributes) -> the output, or a tuple of outputs."""


def _apply(node: Any, inputs: Sequence[Any], attributes: Attributes) -> tuple[Any, ...]:
    """Return the outputs of a node that has an input which depends on the command."""
    name = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
    if name not in OPERATIONS:
        raise NotWhiteBox(f"{name} of values that depend on the command")
    result = OPERATIONS[name](inputs, attributes)
    return result if isinstance(result, tuple) else (result,)


def _simple(function: Callable[..., Any]) -> Operation:
    """Return an operation without attributes."""
    return lambda inputs, attributes: function(*inputs)


def _setting(inputs: Sequence[Any], attributes: Attributes, place: int, name: str) -> Any:
    """Return a setting, which is an attribute in old files and an input in new ones; None if it is missing."""
    value = inputs[place] if len(inputs) > place and inputs[place] is not None else attributes.get(name)
    if isinstance(value, Symbol):
        raise NotWhiteBox(f"{name} that depends on the command")
    return value.tolist() if isinstance(value, Tensor) else value


def _gemm(inputs: Sequence[Any], attributes: Attributes) -> Any:
    left, right = inputs[:2]
    left = left.transpose(0, 1) if attributes.get("transA") else left
    right = right.transpose(0, 1) if attributes.get("transB") else right
    product = (left @ right) * attributes.get("alpha", 1.0)
    return product if len(inputs) < 3 else product + inputs[2] * attributes.get("beta", 1.0)


def _clip(inputs: Sequence[Any], attributes: Attributes) -> Any:
    low, high = _setting(inputs, attributes, 1, "min"), _setting(inputs, attributes, 2, "max")
    return inputs[0] if low is None and high is None else torch.clamp(inputs[0], low, high)


def _reshape(inputs: Sequence[Any], attributes: Attributes) -> Any:
    """Return a reshaped value; a size of 0 keeps the size of that axis, unless `allowzero` is set."""
    old = () if attributes.get("allowzero") else inputs[0].shape
    new = _setting(inputs, attributes, 1, "shape")
    return inputs[0].reshape([old[i] if size == 0 and i < len(old) else size for i, size in enumerate(new)])


def _flatten(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axis = inputs[0], attributes.get("axis", 1)
    return x.reshape(math.prod(x.shape[: axis + x.ndim if axis < 0 else axis]), -1)


def _squeeze(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axes = inputs[0], _setting(inputs, attributes, 1, "axes")
    dropped = range(x.ndim) if axes is None else [axis % x.ndim for axis in axes]
    return x.reshape([size for i, size in enumerate(x.shape) if i not in dropped or (axes is None and size != 1)])


def _unsqueeze(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axes = inputs[0], _setting(inputs, attributes, 1, "axes")
    for axis in sorted(axis % (x.ndim + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


def _gather(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, index = inputs
    if symbols_in(index):
        raise NotWhiteBox("Gather with indices that depend on the command")
    axis = attributes.get("axis", 0) % x.ndim
    return x[(slice(None),) * axis + (torch.where(index < 0, index + x.shape[axis], index),)]


def _slice(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, names = inputs[0], ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (_setting(inputs, attributes, i + 1, name) for i, name in enumerate(names))
    if steps is not None and min(steps) < 1:
        raise NotWhiteBox("Slice with a negative step")
    slices: list[Any] = [slice(None)] * x.ndim
    for i, axis in enumerate(axes or range(len(starts))):
        slices[axis] = slice(starts[i], ends[i], 1 if steps is None else steps[i])
    return x[tuple(slices)]


def _convolution(inputs: Sequence[Any], attributes: Attributes) -> Any:
    """Return a convolution; `pads` has the starts of all axes, then the ends."""
    axes = inputs[1].ndim - 2
    pads = attributes.get("pads", [0] * 2 * axes)
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" or pads[:axes] != pads[axes:] or axes not in (1, 2):
        raise NotWhiteBox("a convolution with uneven padding")
    strides, dilations = (attributes.get(name, [1] * axes) for name in ("strides", "dilations"))
    convolution: Any = (functional.conv1d, functional.conv2d)[axes - 1]
    bias = inputs[2] if len(inputs) > 2 else None
    return convolution(*inputs[:2], bias, strides, pads[:axes], dilations, attributes.get("group", 1))


def _extreme(function: Callable[..., Any]) -> Operation:
    """Return the maximum or minimum along one axis or several."""

    def operation(inputs: Sequence[Any], attributes: Attributes) -> Any:
        axes, x = _setting(inputs, attributes, 1, "axes"), inputs[0]
        if axes is None:
            raise NotWhiteBox("the maximum or minimum of a whole batch")
        for axis in axes:
            x = function(x, dim=axis, keepdim=True)
        return x if attributes.get("keepdims", 1) else _squeeze([x, torch.tensor(axes)], {})

    return operation


def _reduce(function: Callable[..., Any]) -> Operation:
    def operation(inputs: Sequence[Any], attributes: Attributes) -> Any:
        axes, keep = _setting(inputs, attributes, 1, "axes"), bool(attributes.get("keepdims", 1))
        return function(inputs[0], dim=list(range(inputs[0].ndim)) if axes is None else axes, keepdim=keep)

    return operation


def _split(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axis, sizes = inputs[0], attributes.get("axis", 0), _setting(inputs, attributes, 1, "split")
    if sizes is None:
        sizes = -(-x.shape[axis] // attributes.get("num_outputs", attributes["outputs"]))
    return tuple(x.split(sizes, dim=axis))


def _batch_normalization(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, scale, bias, mean, variance = inputs
    if attributes.get("training_mode"):
        raise NotWhiteBox("BatchNormalization in training mode")
    return functional.batch_norm(x, mean, variance, scale, bias, eps=attributes.get("epsilon", 1e-5))


def _dropout(inputs: Sequence[Any], attributes: Attributes) -> Any:
    if len(inputs) > 2 and inputs[2] is not None and bool(inputs[2]):
        raise NotWhiteBox("Dropout in training mode, which is random")
    return inputs[0]


def _layer_normalization(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, scale, *bias = inputs
    axes = x.shape[attributes.get("axis", -1) :]
    for symbol in symbols_in(x):
        symbol.recording.unknown = "onnxruntime may compute a variance as a difference of squares, which cancel"
    return functional.layer_norm(x, axes, scale, bias[0] if bias else None, attributes.get("epsilon", 1e-5))


EXACT = {
    *("Constant", "ConstantOfShape", "Identity", "Cast", "Shape", "Size", "Range", "Reshape", "Flatten", "Expand"),
    *("Squeeze", "Unsqueeze", "Transpose", "Concat", "Split", "Slice", "Gather", "GatherND", "Tile", "Pad", "EyeLike"),
    *("Where", "Neg", "Abs", "Relu", "Max", "Min", "Clip", "ReduceMax", "ReduceMin", "Not", "And", "Or", "If"),
}
"""Operations that have no rounding error, so that every implementation returns the same result for weights."""
_TORCH = ("Add", "Sub", "Mul", "Div", "Neg", "Pow", "MatMul", "Abs", "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Where")
"""Operations that torch has under the same name, without attributes."""
OPERATIONS: dict[str, Operation] = {
    **{name: _simple(getattr(torch, name.lower())) for name in _TORCH},
    **{name: _simple(getattr(functional, name.lower())) for name in ("Mish", "PRelu", "Selu", "Softplus")},
    "Elu": lambda inputs, attributes: functional.elu(inputs[0], attributes.get("alpha", 1.0)),
    "Celu": lambda inputs, attributes: functional.celu(inputs[0], attributes.get("alpha", 1.0)),
    "Gelu": lambda inputs, attributes: functional.gelu(inputs[0], approximate=attributes.get("approximate", "none")),
    "LayerNormalization": _layer_normalization,
    "LeakyRelu": lambda inputs, attributes: functional.leaky_relu(inputs[0], attributes.get("alpha", 0.01)),
    "Identity": _simple(lambda x: x),
    "Cast": lambda inputs, attributes: inputs[0].to(attributes["to"]),
    "Concat": lambda inputs, attributes: torch.cat(list(inputs), dim=attributes["axis"]),
    "Einsum": lambda inputs, attributes: torch.einsum(attributes["equation"], *inputs),
    "Softmax": lambda inputs, attributes: torch.softmax(inputs[0], dim=attributes.get("axis", -1)),
    "LogSoftmax": lambda inputs, attributes: torch.log_softmax(inputs[0], dim=attributes.get("axis", -1)),
    "ReduceSum": _reduce(torch.sum),
    "ReduceMean": _reduce(torch.mean),
    "ReduceMax": _extreme(torch.amax),
    "ReduceMin": _extreme(torch.amin),
    "ReduceLogSumExp": _reduce(torch.logsumexp),
    "Sum": lambda inputs, attributes: reduce(torch.add, inputs),
    "Max": lambda inputs, attributes: reduce(torch.maximum, inputs),
    "Min": lambda inputs, attributes: reduce(torch.minimum, inputs),
    "HardSigmoid": lambda inputs, attributes: torch.clamp(
        inputs[0] * attributes.get("alpha", 0.2) + attributes.get("beta", 0.5), 0.0, 1.0
    ),
    "Conv": _convolution,
    # The sum with zeros of the new shape is broadcast to it.
    "Expand": lambda inputs, attributes: inputs[0] + torch.zeros(_setting(inputs, attributes, 1, "shape")).double(),
    "Gemm": _gemm,
    "Clip": _clip,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": lambda inputs, attributes: inputs[0].permute(*attributes.get("perm", range(inputs[0].ndim)[::-1])),
    "Gather": _gather,
    "Slice": _slice,
    "Split": _split,
    "Shape": lambda inputs, attributes: torch.tensor(inputs[0].shape)[
        attributes.get("start", 0) : attributes.get("end")
    ],
    "BatchNormalization": _batch_normalization,
    "Dropout": _dropout,
}
