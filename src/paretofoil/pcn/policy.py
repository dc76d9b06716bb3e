"""The deployed Pareto Conditioned Network (paper, section "Pareto Conditioned Networks and Our Return-Only Variant").

    logits = W3 relu(W2 (sigmoid(Ws s + bs) * sigmoid(Wc R + bc)) + b2) + b3

Imported networks may have more ReLU layers: before the two sigmoids, and after the hidden layer.

The computation is plain NumPy, because searches query small batches thousands of times. The weights are float32
numbers, and the computation is in float64, so that rounding hardly widens proofs. The result of a row must not depend
on the other rows. OpenBLAS gives a row the same bits in any batch of an even number of rows if the number of output
columns is a multiple of 16. Layers are therefore padded with zeros, and the last row of an odd batch is computed twice.
OpenBLAS splits long sums at positions that depend on the batch. Long sums are therefore split here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import QueryAtStates
from paretofoil.core.program import Affine, Elementwise, Function, Node, Product, Program

Layer = tuple[np.ndarray, np.ndarray]
"""A weight (outputs, inputs) and a bias (outputs,), in float32."""
Layers = tuple[Layer, ...]
_RELU: tuple[Function, ...] = ("relu",)

_COLUMNS = 16
_INPUTS = 256
"""The longest sum that is not split. OpenBLAS splits sums of 320 or more terms, depending on the processor."""


@dataclass(frozen=True, eq=False, repr=False)
class PCNPolicy:
    """A Pareto Conditioned Network. The scaling of commands is part of its first command layer."""

    state: Layers
    """The layers of the state, with a ReLU after each but the last, and a sigmoid after the last."""
    command: Layers
    """The layers of the command, with the same activations."""
    head: Layers
    """The layers from the product of the two to the logits, with a ReLU after each but the last."""

    exact_rows = True  # see the module's docstring

    def __post_init__(self) -> None:
        names = _layer_names(len(self.state), len(self.command), len(self.head))
        state = _checked("state", self.state, names[0])
        hidden = state[-1][1].size
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "command", _checked("command", self.command, names[1], outputs=hidden))
        object.__setattr__(self, "head", _checked("head", self.head, names[2], inputs=hidden))

    def __repr__(self) -> str:
        sizes = f"{self.state_size} state and {self.command_size} command numbers, {self.hidden_size} hidden units"
        return f"<PCNPolicy: {sizes}, {self.num_actions} actions>"

    @property
    def state_size(self) -> int:
        return self.state[0][0].shape[1]

    @property
    def command_size(self) -> int:
        """The number of objectives, plus one if the network is conditioned on a horizon."""
        return self.command[0][0].shape[1]

    @property
    def hidden_size(self) -> int:
        return self.state[-1][1].size

    @property
    def num_actions(self) -> int:
        return self.head[-1][1].size

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights by name; `from_arrays` is the inverse."""
        named: dict[str, np.ndarray] = {}
        stacks = (self.state, self.command, self.head)
        for names, layers in zip(_layer_names(*map(len, stacks)), stacks, strict=True):
            for name, (weight, bias) in zip(names, layers, strict=True):
                named |= {f"{name}weight": weight, f"{name}bias": bias}
        return named

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "PCNPolicy":
        """Return the policy with these weights; the inverse of `arrays`."""
        extra = [sum(n.startswith(f"{stack}_layers.") for n in arrays) // 2 for stack in ("state", "command", "hidden")]
        names = _layer_names(1 + extra[0], 1 + extra[1], 2 + extra[2])
        expected = [f"{name}{part}" for stack in names for name in stack for part in ("weight", "bias")]
        if set(arrays) != set(expected):
            raise InvalidInput.expected(f"arrays named {', '.join(expected)}", ", ".join(sorted(arrays)) or "no arrays")
        return cls(*(tuple((arrays[f"{name}weight"], arrays[f"{name}bias"]) for name in stack) for stack in names))

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return log-probabilities (N, num_actions) of states (N, state size) and commands (N, command size).

        Their differences are those of the logits.
        """
        logits = self._logits(self._embed(states), commands).astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return logits

    def at(self, states: np.ndarray) -> QueryAtStates:
        """Return a function (rows, commands) -> logits that embeds these states once."""
        embedded = self._embed(states)

        def query(rows: np.ndarray | slice, commands: np.ndarray) -> np.ndarray:
            return self._logits(embedded[rows], commands)

        return query

    def fold(self, state: np.ndarray) -> Program:
        """Return the policy at one state as a float64 function of the command, for proofs."""
        embedded = 2.0 * self._embed(np.asarray(state)[None])[0]  # the deployed one, so that only the rest is rounded
        return self._unfolded.scaled(len(self.command), embedded[: self.hidden_size])

    @cached_property
    def _unfolded(self) -> Program:
        """The layers of the command and the head, without the state."""
        weights, biases = (one + other for one, other in zip(*map(_as_float64, (self.command, self.head)), strict=True))
        activations = (*_RELU * (len(self.command) - 1), "sigmoid", *_RELU * (len(self.head) - 1))
        return Program.of_layers(weights, biases, activations, unit=2.0**-53)

    def unfold(self) -> Program:
        """Return the policy as a float64 function of state and command, for proofs about sets of states."""
        size, nodes, ends = self.state_size + self.command_size, [], []
        for layers, columns in ((self.state, slice(self.state_size)), (self.command, slice(self.state_size, None))):
            read = {0: np.eye(size)[columns]}
            for k, (weight, bias) in enumerate(zip(*_as_float64(layers), strict=True), start=1):
                affine = Affine(bias, {node: weight @ before for node, before in read.items()})
                nodes.append(Node(Elementwise("sigmoid" if k == len(layers) else "relu"), (affine,)))
                read = {len(nodes): np.eye(len(bias))}
            ends.append(Affine(np.zeros(self.hidden_size), read))
        nodes.append(Node(Product(), tuple(ends)))
        for weight, bias in zip(*_as_float64(self.head), strict=True):
            affine = Affine(bias, {len(nodes): weight})
            nodes.append(Node(Elementwise("relu"), (affine,)))
        return Program(size, tuple(nodes[:-1]), affine)

    @cached_property
    def _padded(self) -> tuple[Layers, Layers, Layers]:
        """The transposed, padded layers. Weights before a sigmoid are halved: sigmoid(x) = (1 + tanh(x / 2)) / 2."""
        state, command = ((*s[:-1], (0.5 * s[-1][0], 0.5 * s[-1][1])) for s in (self.state, self.command))
        inputs, commands = (
            tuple(_pad(*layer, pad_inputs=i > 0) for i, layer in enumerate(s)) for s in (state, command)
        )
        return inputs, commands, tuple(_pad(*layer, pad_inputs=True) for layer in self.head)

    def _embed(self, states: np.ndarray) -> np.ndarray:
        """Return sigmoid(Ws s + bs) / 2, (N, padded hidden). The factor 1 / 2 belongs to the command's sigmoid."""
        states = _rows(states, self.state_size, "states")
        embedded = _through(states, self._padded[0])
        np.tanh(embedded, out=embedded)
        embedded += 1.0
        embedded *= 0.25
        return embedded

    def _logits(self, embedded: np.ndarray, commands: np.ndarray) -> np.ndarray:
        commands = _rows(commands, self.command_size, "commands")
        _, command_layers, head = self._padded
        hidden = _through(commands, command_layers)
        np.tanh(hidden, out=hidden)
        hidden += 1.0
        hidden *= embedded
        return _through(hidden, head)[:, : self.num_actions]


@dataclass(frozen=True, eq=False)
class PCNActor:
    """A Pareto Conditioned Network with continuous actions: the outputs of its network are the amounts."""

    network: PCNPolicy
    actions: ActionSpace

    exact_rows = True

    def __post_init__(self) -> None:
        if self.network.num_actions != self.actions.dim:
            expected = f"a network with an output for each of {', '.join(self.actions.names)}"
            raise InvalidInput.expected(expected, f"{self.network.num_actions} outputs")

    def amounts(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the amounts (N, dimensions) in states (N, state size) under commands (N, command size)."""
        return self.network.at(states)(slice(None), commands)

    def fold_amounts(self, state: np.ndarray) -> Program:
        """Return the amounts at one state as a float64 function of the command, for proofs."""
        return self.network.fold(state)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights by name."""
        return self.network.arrays()


PCN = PCNPolicy | PCNActor


def pcn_of(arrays: Mapping[str, np.ndarray], action_space: ActionSpace | None) -> PCN:
    """Return the network with these weights, for discrete actions or those of a space."""
    network = PCNPolicy.from_arrays(arrays)
    return network if action_space is None else PCNActor(network, action_space)


def _rows(values: np.ndarray, size: int, what: str) -> np.ndarray:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != size:
        raise InvalidInput.expected(f"{what} of {size} numbers each", f"shape {rows.shape}")
    return rows


def _through(values: np.ndarray, layers: Sequence[Layer]) -> np.ndarray:
    """Apply transposed layers to values (N, inputs), with a ReLU after each layer but the last."""
    count = len(values)
    if count % 2:
        values = np.concatenate([values, values[-1:]])
    for i, (weight, bias) in enumerate(layers):
        if i > 0:
            np.maximum(values, 0.0, out=values)
        product = values[:, :_INPUTS] @ weight[:_INPUTS]
        for start in range(_INPUTS, len(weight), _INPUTS):
            product += values[:, start : start + _INPUTS] @ weight[start : start + _INPUTS]
        product += bias
        values = product
    return values[:count]


def _as_float64(layers: Layers) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return the weights and the biases of layers in float64."""
    return tuple(w.astype(np.float64) for w, _ in layers), tuple(b.astype(np.float64) for _, b in layers)


def _layer_names(state: int, command: int, head: int) -> tuple[list[str], list[str], list[str]]:
    """Return the prefixes of the names of the weights, for these numbers of layers."""
    return (
        [*(f"state_layers.{i}." for i in range(state - 1)), "state_"],
        [*(f"command_layers.{i}." for i in range(command - 1)), "command_"],
        ["hidden_", *(f"hidden_layers.{i}." for i in range(head - 2)), "output_"],
    )


def _checked(
    stack: str, layers: Layers, names: Sequence[str], inputs: int | None = None, outputs: int | None = None
) -> Layers:
    """Return read-only copies of layers, or raise an error if they do not fit each other."""
    if len(layers) != len(names):
        raise InvalidInput.expected(f"{stack} with at least {len(names)} layers", len(layers))
    checked = []
    for i, (name, (weight, bias)) in enumerate(zip(names, layers, strict=True)):
        weight, bias = _as_float32(f"{name}weight", weight, 2), _as_float32(f"{name}bias", bias, 1)
        rows = outputs if outputs is not None and i == len(layers) - 1 else bias.size
        shape = (rows, weight.shape[1] if inputs is None else inputs)
        if weight.shape != shape or 0 in shape:
            raise InvalidInput.expected(f"{name}weight of shape {shape}", weight.shape)
        if bias.size != rows:
            raise InvalidInput.expected(f"{name}bias of shape {(rows,)}", bias.shape)
        checked.append((weight, bias))
        inputs = rows
    return tuple(checked)


def _as_float32(name: str, array: np.ndarray, axes: int) -> np.ndarray:
    value = np.array(array)
    if value.dtype != np.float32 or not np.isfinite(value).all():
        got = value.dtype if value.dtype != np.float32 else "NaN or infinity"
        raise InvalidInput.expected(f"{name} to be finite float32 numbers", got)
    if value.ndim != axes:
        raise InvalidInput.expected(f"{name} with {axes} axes", f"shape {value.shape}")
    value.setflags(write=False)
    return value


def _pad(weight: np.ndarray, bias: np.ndarray, pad_inputs: bool) -> Layer:
    """Return the transposed weight and the bias, with columns padded to a multiple of 16."""
    outputs, inputs = weight.shape
    rows = -(-inputs // _COLUMNS) * _COLUMNS if pad_inputs else inputs
    columns = -(-outputs // _COLUMNS) * _COLUMNS
    padded, shift = np.zeros((rows, columns)), np.zeros(columns)
    padded[:inputs, :outputs], shift[:outputs] = weight.T, bias
    return padded, shift
