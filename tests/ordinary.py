"""Policies as users write them: a shipped or random PCN in torch and in plain NumPy, in several precisions.

None of them gives a row the same bits in every batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from torch import nn

from paretofoil.pcn.policy import PCNPolicy


class Network(nn.Module):
    """A PCN as a plain torch module."""

    def __init__(self, weights: dict[str, np.ndarray], dropout: float = 0.0) -> None:
        super().__init__()
        for layer in ("state", "command", "hidden", "output"):
            weight, bias = weights[f"{layer}_weight"], weights[f"{layer}_bias"]
            linear = nn.Linear(weight.shape[1], weight.shape[0])
            linear.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
            self.add_module(layer, linear)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        embedded = torch.sigmoid(self.state(states)) * torch.sigmoid(self.command(commands))
        hidden = self.dropout(torch.relu(self.hidden(embedded)))
        return torch.log_softmax(self.output(hidden), dim=1)


@dataclass(eq=False)
class TorchPolicy:
    """A torch module as a policy."""

    network: nn.Module
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        self.network.to(self.dtype)

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            scores = self.network(torch.as_tensor(states).to(self.dtype), torch.as_tensor(commands).to(self.dtype))
        return (scores.float() if scores.dtype is torch.bfloat16 else scores).numpy()  # NumPy has no bfloat16


@dataclass(eq=False)
class AutocastPolicy(TorchPolicy):
    """A float32 module whose products are computed in bfloat16."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().log_probs(states, commands)


@dataclass(eq=False)
class NumpyPolicy:
    """A NumPy policy whose last bits depend on the batch: small batches are summed in another order."""

    weights: dict[str, np.ndarray]
    dtype: type[np.floating] = np.float32
    stored: type[np.floating] | None = None
    """A policy that rounds the result of each layer, as half precision on a GPU does."""
    _cast: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self._cast = {name: array.astype(self.dtype) for name, array in self.weights.items()}

    def layer(self, name: str, inputs: np.ndarray) -> np.ndarray:
        order = slice(None, None, -1 if len(inputs) < 3 else 1)
        weight, bias = self._cast[f"{name}_weight"], self._cast[f"{name}_bias"]
        result = inputs.astype(self.dtype)[:, order] @ weight[:, order].T + bias
        return result if self.stored is None else result.astype(self.stored).astype(self.dtype)

    def logits(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        states, commands = self.layer("state", states), self.layer("command", commands)
        embedded = 1 / (1 + np.exp(-states)) * (1 / (1 + np.exp(-commands)))
        return self.layer("output", np.maximum(self.layer("hidden", embedded), 0))

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        logits = self.logits(states, commands)
        logits = logits - logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@dataclass(eq=False)
class MaskedPolicy(NumpyPolicy):
    """A policy that gives -inf to the last action if the first objective is below a threshold."""

    above: float = 0.0

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores = super().log_probs(states, commands)
        scores[commands[:, 0] < self.above, -1] = -np.inf
        return scores


@dataclass(eq=False)
class LoggedPolicy(NumpyPolicy):
    """Logarithms of float32 probabilities of a sharp policy; tiny ones have few bits or are 0."""

    sharpness: float = 8.0

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        logits = self.dtype(self.sharpness) * self.logits(states, commands)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            return np.log(weights / weights.sum(axis=1, keepdims=True))


class OnnxPolicy:
    """Return the network as an ONNX graph."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = onnx_model(weights).SerializeToString()
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        inputs = {"states": states.astype(np.float32), "commands": commands.astype(np.float32)}
        scores: np.ndarray = self.session.run(None, inputs)[0]
        return scores


def onnx_model(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    def layer(name: str, inputs: str) -> onnx.NodeProto:
        return helper.make_node("Gemm", [inputs, f"{name}_weight", f"{name}_bias"], [name], transB=1)

    nodes = [
        layer("state", "states"),
        layer("command", "commands"),
        helper.make_node("Sigmoid", ["state"], ["state_open"]),
        helper.make_node("Sigmoid", ["command"], ["command_open"]),
        helper.make_node("Mul", ["state_open", "command_open"], ["embedded"]),
        layer("hidden", "embedded"),
        helper.make_node("Relu", ["hidden"], ["hidden_open"]),
        layer("output", "hidden_open"),
        helper.make_node("LogSoftmax", ["output"], ["scores"], axis=1),
    ]
    sizes = {"states": weights["state_weight"].shape[1], "commands": weights["command_weight"].shape[1]}
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, n]) for name, n in sizes.items()]
    outputs = [helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [None, None])]
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "pcn", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dropout_left_on(pcn: PCNPolicy) -> TorchPolicy:
    torch.manual_seed(0)
    return TorchPolicy(Network(pcn.arrays(), dropout=0.1).train())


Rebuild = Callable[[PCNPolicy], TorchPolicy | NumpyPolicy | OnnxPolicy]
KINDS: dict[str, Rebuild] = {
    "torch float32": lambda pcn: TorchPolicy(Network(pcn.arrays())),
    "torch float64": lambda pcn: TorchPolicy(Network(pcn.arrays()), torch.float64),
    "torch float16": lambda pcn: TorchPolicy(Network(pcn.arrays()), torch.float16),
    "torch bfloat16": lambda pcn: TorchPolicy(Network(pcn.arrays()), torch.bfloat16),
    "torch autocast": lambda pcn: AutocastPolicy(Network(pcn.arrays())),
    "onnx float32": lambda pcn: OnnxPolicy(pcn.arrays()),
    "numpy float32": lambda pcn: NumpyPolicy(pcn.arrays()),
    "numpy float64": lambda pcn: NumpyPolicy(pcn.arrays(), np.float64),
    "numpy stored as float16": lambda pcn: NumpyPolicy(pcn.arrays(), np.float32, np.float16),
    "masked with -inf": lambda pcn: MaskedPolicy(pcn.arrays(), above=0.3),
    "logs of probabilities": lambda pcn: LoggedPolicy(pcn.arrays()),
}
"""Every kind of policy that is deterministic up to noise."""
