"""An ONNX file as a policy: deployed by onnxruntime, and folded from its graph where its operations allow it."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise InvalidInput.missing("torch", "onnx") from None

from paretofoil.agents.layers import NotWhiteBox
from paretofoil.agents.recorder import Symbol, symbols_in
from paretofoil.agents.storage import read_bytes
from paretofoil.agents.torch_policy import Outputs, TorchPolicy, from_torch
from paretofoil.core.command import CommandSpace
from paretofoil.core.json import brief_words

PRECISIONS = {1: torch.float32, 10: torch.float16, 11: torch.float64}
"""By ONNX's number of a type."""


def from_onnx(
    file: str | Path,
    state: Any,
    space: CommandSpace,
    *,
    inputs: str | Mapping[str, str] = "separate",
    outputs: Outputs | None = None,
) -> TorchPolicy:
    """Make an ONNX file a policy that can be explained, and whose answers can be proven where it can be folded.

    Needs the [onnx] extra. Its first output counts, and it must take any number of rows.

    Args:
        file: what an exporter wrote, with its weights inside.
        state: a state, or several, on which it is tried.
        space: the box of commands.
        inputs: "separate" for a network of states and commands, in this order, "concatenated" for one of the two side
            by side, or by name: {"observation": "state", "goal": "command"}.
        outputs: "logits", "log-probabilities", "probabilities" or "q-values"; found out by asking if not given.
    """
    try:
        network = OnnxNetwork(read_bytes(Path(file), "an ONNX file"))
        _check_names(network, inputs)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    return from_torch(network, state, space, inputs=inputs, outputs=outputs)


def _check_names(network: "OnnxNetwork", inputs: str | Mapping[str, str]) -> None:
    if isinstance(inputs, Mapping):
        fits, what = set(inputs) == set(network.names), f"the inputs {', '.join(map(str, inputs))}"
    else:
        count = 1 if inputs == "concatenated" else 2
        fits, what = len(network.names) == count, f"{count} input{'s' * (count > 1)}, for inputs={inputs!r}"
    if not fits:
        raise InvalidInput.expected(f"a network with {what}", ", ".join(network.names) or "none")


class OnnxNetwork(nn.Module):
    """A network of an ONNX file, called like a torch module.

    Numbers go through onnxruntime, as in deployment. A symbol goes through the graph, one operation after the other.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__()
        onnx, runtime = _packages()
        try:
            model = onnx.load_model_from_string(data)
            _refuse_elsewhere(model)
            options = runtime.SessionOptions()
            options.intra_op_num_threads = 1  # small networks are asked much faster so
            options.log_severity_level = 4  # what is wrong is said below, once
            self.session = runtime.InferenceSession(
                data, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
            self.weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        except InvalidInput:
            raise
        except Exception as error:  # of protobuf or onnxruntime, which have no common kind
            raise InvalidInput.expected("an ONNX file that onnxruntime can load", brief_words(error)) from None
        self.data, self.graph = data, model.graph
        self.opsets = {opset.domain: opset.version for opset in model.opset_import}
        given = [value for value in model.graph.input if value.name not in self.weights]
        self.names = [value.name for value in given]
        kind = given[0].type.tensor_type.elem_type if given else 0
        if kind not in PRECISIONS or not model.graph.output:
            raise InvalidInput.expected("a network of floating-point numbers with an output", f"type {kind}")
        self.register_buffer("precision", torch.zeros(1, dtype=PRECISIONS[kind]))  # of what it is called with
        self.eval()

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxNetwork, (self.data,)  # a session cannot be sent to another process

    def forward(self, *given: Any) -> Any:
        named = given[0] if isinstance(given[0], Mapping) else dict(zip(self.names, given, strict=True))
        if symbols_in(dict(named)):
            return self._follow(named)
        output = self.graph.output[0].name
        [answer] = self.session.run([output], {name: tensor.numpy() for name, tensor in named.items()})
        return torch.from_numpy(np.array(answer)) if isinstance(answer, np.ndarray) else answer

    def _follow(self, named: Mapping[str, Any]) -> Any:
        """The output of the graph for a symbol; what does not depend on it is computed as ONNX defines it."""
        weights = {name: torch.tensor(array) for name, array in self.weights.items()}
        [output, *_] = self._run(self.graph, weights | dict(named))
        return output

    def _run(self, graph: Any, known: Mapping[str, Any]) -> list[Any]:
        """The outputs of a graph, which may be a branch of another one and use what is known there."""
        values = dict(known)
        for node in graph.node:
            inputs = [values[name] if name else None for name in node.input]
            if node.op_type == "If" and not symbols_in(inputs):
                given: Sequence[Any] = self._run(self._attributes(node)[_branch(inputs[0])], values)
            elif symbols_in(inputs):
                given = apply(_name(node), inputs, self._attributes(node))
            else:
                given = self._evaluate(node, inputs)
            values |= dict(zip(node.output, given, strict=False))  # an output that nobody needs may be left out
        return [values[output.name] for output in graph.output]

    def _attributes(self, node: Any) -> dict[str, Any]:
        onnx, _ = _packages()
        found = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        if node.op_type == "Cast":
            found["to"] = torch.from_numpy(np.zeros(1, onnx.helper.tensor_dtype_to_np_dtype(found["to"]))).dtype
        texts = {name: value.decode() for name, value in found.items() if isinstance(value, bytes)}
        return {**found, **texts, "outputs": len(node.output)}

    def _evaluate(self, node: Any, inputs: Sequence[Tensor | None]) -> list[Tensor]:
        """A node whose inputs are numbers, by ONNX's reference."""
        onnx, _ = _packages()
        from onnx.reference import ReferenceEvaluator

        names = [name for name in node.input if name]
        declared = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in dict.fromkeys(names)]
        wanted = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", declared, wanted)
        opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        model = onnx.helper.make_model(graph, opset_imports=opsets)
        numbers = {name: value.numpy() for name, value in zip(node.input, inputs, strict=True) if value is not None}
        given = iter(ReferenceEvaluator(model).run(None, numbers))
        return [torch.from_numpy(np.array(next(given))) if name else torch.empty(0) for name in node.output]


def _branch(condition: Any) -> str:
    return "then_branch" if bool(condition) else "else_branch"


def _name(node: Any) -> str:
    if node.domain not in ("", "ai.onnx"):
        raise NotWhiteBox(f"{node.domain}.{node.op_type} of what depends on the command")
    return str(node.op_type)


def _refuse_elsewhere(model: Any) -> None:
    """Weights in other files, which the file could choose."""
    for tensor in model.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL:
            raise InvalidInput.expected("an ONNX file with its weights inside", "one that names other files")


def _packages() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime
    except ImportError:
        raise InvalidInput.missing("onnx or onnxruntime", "onnx") from None
    return onnx, onnxruntime


Attributes = Mapping[str, Any]
Apply = Callable[[Sequence[Any], Attributes], Any]
"""(inputs, attributes), with a symbol among the inputs -> the output, or a tuple of outputs."""


def apply(operation: str, inputs: Sequence[Any], attributes: Attributes) -> tuple[Any, ...]:
    """The outputs of an operation of which an input depends on the command."""
    if operation not in APPLY:
        raise NotWhiteBox(f"{operation} of what depends on the command")
    given = APPLY[operation](inputs, attributes)
    return given if isinstance(given, tuple) else (given,)


def _plain(function: Callable[..., Any]) -> Apply:
    """An operation without attributes."""
    return lambda inputs, attributes: function(*inputs)


def _setting(inputs: Sequence[Any], attributes: Attributes, place: int, name: str) -> Any:
    """A setting, which is an attribute in older files and an input in newer ones; None if it is neither."""
    given = inputs[place] if len(inputs) > place and inputs[place] is not None else attributes.get(name)
    if isinstance(given, Symbol):
        raise NotWhiteBox(f"{name} that depend on the command")
    return given.tolist() if isinstance(given, Tensor) else given


def _gemm(inputs: Sequence[Any], attributes: Attributes) -> Any:
    left, right = inputs[:2]
    left = left.transpose(0, 1) if attributes.get("transA") else left
    right = right.transpose(0, 1) if attributes.get("transB") else right
    product = (left @ right) * attributes.get("alpha", 1.0)
    return product if len(inputs) < 3 else product + inputs[2] * attributes.get("beta", 1.0)


def _sum(inputs: Sequence[Any], attributes: Attributes) -> Any:
    total = inputs[0]
    for term in inputs[1:]:
        total = total + term
    return total


def _clip(inputs: Sequence[Any], attributes: Attributes) -> Any:
    low, high = _setting(inputs, attributes, 1, "min"), _setting(inputs, attributes, 2, "max")
    return inputs[0] if low is None and high is None else torch.clamp(inputs[0], low, high)


def _hard_sigmoid(inputs: Sequence[Any], attributes: Attributes) -> Any:
    return torch.clamp(inputs[0] * attributes.get("alpha", 0.2) + attributes.get("beta", 0.5), 0.0, 1.0)


def _softmax(function: Callable[..., Any]) -> Apply:
    return lambda inputs, attributes: function(inputs[0], dim=attributes.get("axis", -1))


def _reshape(inputs: Sequence[Any], attributes: Attributes) -> Any:
    """A 0 keeps the size, unless it is said to be one."""
    wanted = _setting(inputs, attributes, 1, "shape")
    kept = () if attributes.get("allowzero") else inputs[0].shape
    return inputs[0].reshape([kept[i] if size == 0 and i < len(kept) else size for i, size in enumerate(wanted)])


def _flatten(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axis = inputs[0], attributes.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return x.reshape(rows, -1)


def _squeeze(inputs: Sequence[Any], attributes: Attributes) -> Any:
    axes = _setting(inputs, attributes, 1, "axes")
    x = inputs[0]
    dropped = range(x.ndim) if axes is None else [axis % x.ndim for axis in axes]
    return x.reshape([size for i, size in enumerate(x.shape) if i not in dropped or (axes is None and size != 1)])


def _unsqueeze(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axes = inputs[0], _setting(inputs, attributes, 1, "axes")
    for axis in sorted(axis % (x.ndim + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


def _transpose(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x = inputs[0]
    return x.permute(*attributes.get("perm", range(x.ndim)[::-1]))


def _gather(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, index = inputs
    if symbols_in(index):
        raise NotWhiteBox("Gather at places that depend on the command")
    axis = attributes.get("axis", 0) % x.ndim
    return x[(slice(None),) * axis + (torch.where(index < 0, index + x.shape[axis], index),)]


def _slice(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x = inputs[0]
    starts, ends, axes, steps = (
        _setting(inputs, attributes, place + 1, name) for place, name in enumerate(("starts", "ends", "axes", "steps"))
    )
    if steps is not None and min(steps) < 1:
        raise NotWhiteBox("Slice backwards")
    places: list[Any] = [slice(None)] * x.ndim
    for i, axis in enumerate(axes or range(len(starts))):
        places[axis] = slice(starts[i], ends[i], 1 if steps is None else steps[i])
    return x[tuple(places)]


def _expand(inputs: Sequence[Any], attributes: Attributes) -> Any:
    """Sizes that fit each other from the right, as in a sum with zeros of that shape."""
    return inputs[0] + torch.zeros(_setting(inputs, attributes, 1, "shape"), dtype=torch.float64)


def _convolution(inputs: Sequence[Any], attributes: Attributes) -> Any:
    """The pads of an image come first for all axes, then again for their ends."""
    axes = inputs[1].ndim - 2
    pads = attributes.get("pads", [0] * 2 * axes)
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" or pads[:axes] != pads[axes:] or axes not in (1, 2):
        raise NotWhiteBox("a convolution that is padded otherwise than evenly")
    one = [1] * axes
    strides, dilations = attributes.get("strides", one), attributes.get("dilations", one)
    convolution: Any = (torch.nn.functional.conv1d, torch.nn.functional.conv2d)[axes - 1]
    bias = inputs[2] if len(inputs) > 2 else None
    return convolution(*inputs[:2], bias, strides, pads[:axes], dilations, attributes.get("group", 1))


def _pairwise(function: Callable[[Any, Any], Any]) -> Apply:
    """The largest or smallest of any number of inputs."""
    return lambda inputs, attributes: reduce(function, inputs)


def _extreme(function: Callable[..., Any]) -> Apply:
    """Along one axis or several."""

    def operation(inputs: Sequence[Any], attributes: Attributes) -> Any:
        axes, x = _setting(inputs, attributes, 1, "axes"), inputs[0]
        if axes is None:
            raise NotWhiteBox("the largest or smallest number of a whole batch")
        for axis in axes:
            x = function(x, dim=axis, keepdim=True)
        return x if attributes.get("keepdims", 1) else _squeeze([x, torch.tensor(axes)], {})

    return operation


def _split(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, axis, sizes = inputs[0], attributes.get("axis", 0), _setting(inputs, attributes, 1, "split")
    if sizes is None:
        count = attributes.get("num_outputs", attributes["outputs"])
        sizes = -(-x.shape[axis] // count)
    return tuple(x.split(sizes, dim=axis))


def _reduce(function: Callable[..., Any]) -> Apply:
    def operation(inputs: Sequence[Any], attributes: Attributes) -> Any:
        axes, keep = _setting(inputs, attributes, 1, "axes"), bool(attributes.get("keepdims", 1))
        return function(inputs[0], dim=list(range(inputs[0].ndim)) if axes is None else axes, keepdim=keep)

    return operation


def _batch_normalization(inputs: Sequence[Any], attributes: Attributes) -> Any:
    x, scale, bias, mean, variance = inputs
    if attributes.get("training_mode"):
        raise NotWhiteBox("BatchNormalization in training mode")
    return torch.nn.functional.batch_norm(x, mean, variance, scale, bias, eps=attributes.get("epsilon", 1e-5))


def _dropout(inputs: Sequence[Any], attributes: Attributes) -> Any:
    if len(inputs) > 2 and inputs[2] is not None and bool(inputs[2]):
        raise NotWhiteBox("Dropout in training mode, which is random")
    return inputs[0]


def _shape(inputs: Sequence[Any], attributes: Attributes) -> Any:
    return torch.tensor(inputs[0].shape)[attributes.get("start", 0) : attributes.get("end")]


APPLY: dict[str, Apply] = {
    "Add": _plain(torch.add),
    "Sub": _plain(torch.sub),
    "Mul": _plain(torch.mul),
    "Div": _plain(torch.div),
    "Neg": _plain(torch.neg),
    "MatMul": _plain(torch.matmul),
    "Abs": _plain(torch.abs),
    "Relu": _plain(torch.relu),
    "Sigmoid": _plain(torch.sigmoid),
    "Tanh": _plain(torch.tanh),
    "Elu": lambda inputs, attributes: torch.nn.functional.elu(inputs[0], attributes.get("alpha", 1.0)),
    "Celu": lambda inputs, attributes: torch.nn.functional.celu(inputs[0], attributes.get("alpha", 1.0)),
    "Softplus": _plain(torch.nn.functional.softplus),
    "Exp": _plain(torch.exp),
    "Log": _plain(torch.log),
    "PRelu": _plain(torch.nn.functional.prelu),
    "LeakyRelu": lambda inputs, attributes: torch.nn.functional.leaky_relu(inputs[0], attributes.get("alpha", 0.01)),
    "Identity": _plain(lambda x: x),
    "Cast": lambda inputs, attributes: inputs[0].to(attributes["to"]),
    "Concat": lambda inputs, attributes: torch.cat(list(inputs), dim=attributes["axis"]),
    "Einsum": lambda inputs, attributes: torch.einsum(attributes["equation"], *inputs),
    "Softmax": _softmax(torch.softmax),
    "LogSoftmax": _softmax(torch.log_softmax),
    "ReduceSum": _reduce(torch.sum),
    "ReduceMean": _reduce(torch.mean),
    "ReduceMax": _extreme(torch.amax),
    "ReduceMin": _extreme(torch.amin),
    "ReduceLogSumExp": _reduce(torch.logsumexp),
    "Max": _pairwise(torch.maximum),
    "Min": _pairwise(torch.minimum),
    "HardSigmoid": _hard_sigmoid,
    "Conv": _convolution,
    "Expand": _expand,
    "Gemm": _gemm,
    "Sum": _sum,
    "Clip": _clip,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Gather": _gather,
    "Slice": _slice,
    "Split": _split,
    "Shape": _shape,
    "BatchNormalization": _batch_normalization,
    "Dropout": _dropout,
    "Where": _plain(torch.where),
}
"""By the name of an ONNX operation."""
