"""An ONNX file as a policy: deployed by onnxruntime, and folded from its graph where its operations allow it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from paretofoil.agents.layering import NotWhiteBox
from paretofoil.agents.onnx_operations import apply
from paretofoil.agents.storage import read_bytes
from paretofoil.agents.symbolic import symbols_in
from paretofoil.agents.torch_policy import Outputs, TorchPolicy, from_torch
from paretofoil.core.command import CommandSpace
from paretofoil.core.document import brief_words
from paretofoil.core.errors import InvalidInput

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
        raise InvalidInput.expected("onnx and onnxruntime (pip install paretofoil[onnx])", "neither") from None
    return onnx, onnxruntime
