"""The deployed Pareto Conditioned Network (paper, section "Pareto Conditioned Networks and Our Return-Only Variant").

    logits = W3 relu(W2 (sigmoid(Ws s + bs) * sigmoid(Wc R + bc)) + b2) + b3

Imported networks may have more ReLU layers: before the two sigmoids, and after the hidden layer.

The computation is plain NumPy in float32, because searches query small batches thousands of times. The result of a row
must not depend on the other rows. OpenBLAS gives a row the same bits in any batch of at least two rows if the number of
output columns is a multiple of 16: layers are therefore padded with zeros. OpenBLAS splits long sums at positions that
depend on the batch: they are therefore split here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Activation, Branch, FoldedPolicy, QueryAtStates, UnfoldedPolicy

Layer = tuple[np.ndarray, np.ndarray]
"""A weight (outputs, inputs) and a bias (outputs,)."""

_COLUMNS = 16
_INPUTS = 256
"""The longest sum that is not split. OpenBLAS splits sums of 320 or more terms, depending on the processor."""
_ARRAYS = tuple(f"{layer}_{part}" for layer in ("state", "command", "hidden", "output") for part in ("weight", "bias"))
_STACKS = ("state_layers", "command_layers", "hidden_layers")


@dataclass(frozen=True, eq=False, repr=False)
class PCNPolicy:
    """A Pareto Conditioned Network. The scaling of commands is part of the command layer."""

    state_weight: np.ndarray  # (hidden, state size), all float32
    state_bias: np.ndarray  # (hidden,)
    command_weight: np.ndarray  # (hidden, command size)
    command_bias: np.ndarray  # (hidden,)
    hidden_weight: np.ndarray  # (hidden, hidden)
    hidden_bias: np.ndarray  # (hidden,)
    output_weight: np.ndarray  # (num_actions, hidden)
    output_bias: np.ndarray  # (num_actions,)
    state_layers: tuple[Layer, ...] = ()
    """ReLU layers between the state and the state layer. Agents that are trained here have none."""
    command_layers: tuple[Layer, ...] = ()
    """ReLU layers between the command and the command layer."""
    hidden_layers: tuple[Layer, ...] = ()
    """ReLU layers between the hidden layer and the output layer."""

    exact_rows = True  # see the module's docstring

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            object.__setattr__(self, name, _checked(name, getattr(self, name), 1 + name.endswith("weight")))
        for stack in _STACKS:
            layers = [(_checked(stack, weight, 2), _checked(stack, bias, 1)) for weight, bias in getattr(self, stack)]
            object.__setattr__(self, stack, tuple(layers))
        hidden = self.state_bias.size
        _check_chain("state", self.state_size, (*self.state_layers, (self.state_weight, self.state_bias)), hidden)
        command = (*self.command_layers, (self.command_weight, self.command_bias))
        _check_chain("command", self.command_size, command, hidden)
        _check_chain("hidden", hidden, ((self.hidden_weight, self.hidden_bias),), hidden)
        output = (*self.hidden_layers, (self.output_weight, self.output_bias))
        _check_chain("output", hidden, output, self.num_actions)

    def __repr__(self) -> str:
        layers = f"{self.state_size} state and {self.command_size} command numbers, {self.state_bias.size} hidden units"
        return f"<PCNPolicy: {layers}, {self.num_actions} actions>"

    @property
    def state_size(self) -> int:
        return _first_weight(self.state_layers, self.state_weight).shape[-1]

    @property
    def command_size(self) -> int:
        """The number of objectives, plus one if the network is conditioned on a horizon."""
        return _first_weight(self.command_layers, self.command_weight).shape[-1]

    @property
    def num_actions(self) -> int:
        return self.output_bias.size

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights by name; `from_arrays` is the inverse."""
        named = {name: getattr(self, name) for name in _ARRAYS}
        for stack in _STACKS:
            for i, (weight, bias) in enumerate(getattr(self, stack)):
                named |= {f"{stack}.{i}.weight": weight, f"{stack}.{i}.bias": bias}
        return named

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "PCNPolicy":
        """Return the policy with these weights; the inverse of `arrays`."""
        stacks = {stack: _layer_names(stack, arrays) for stack in _STACKS}
        names = [*_ARRAYS, *(name for layers in stacks.values() for layer in layers for name in layer)]
        if set(arrays) != set(names):
            raise InvalidInput.expected(f"arrays named {', '.join(names)}", ", ".join(sorted(arrays)) or "no arrays")
        stacked = {stack: tuple((arrays[w], arrays[b]) for w, b in layers) for stack, layers in stacks.items()}
        return cls(**{name: arrays[name] for name in _ARRAYS}, **stacked)  # type: ignore[arg-type]

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return log-probabilities (N, num_actions) of states (N, state size) and commands (N, command size).

        They are normalised in float64, so that their differences are those of the float32 logits.
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

    def fold(self, state: np.ndarray) -> FoldedPolicy:
        """Return the policy at one state as a float64 function of the command, for proofs."""
        states, commands, head = (
            [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in stack] for stack in self._stacks
        )
        before = _through(np.asarray(state, dtype=np.float64)[None], [(weight.T, bias) for weight, bias in states])[0]
        embedded = 0.5 * (np.tanh(0.5 * before) + 1.0)
        head[0] = (head[0][0] * embedded, head[0][1])
        weights, biases = zip(*commands, *head, strict=True)
        relus: tuple[Activation, ...] = ("relu",)
        activations = relus * (len(commands) - 1) + ("sigmoid",) + relus * (len(head) - 1)
        return FoldedPolicy(weights=weights, biases=biases, activations=activations)

    def unfold(self) -> UnfoldedPolicy:
        """Return the policy as a float64 function of state and command, for proofs about sets of states."""
        stacks = [[(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in s] for s in self._stacks]
        (state_weights, state_biases), (weights, biases), (head_weights, head_biases) = (
            tuple(zip(*stack, strict=True)) for stack in stacks
        )
        relus: tuple[Activation, ...] = ("relu",)
        return UnfoldedPolicy(
            Branch(state_weights, state_biases, relus * (len(state_weights) - 1) + ("sigmoid",)),
            Branch(weights, biases, relus * (len(weights) - 1) + ("sigmoid",)),
            FoldedPolicy(head_weights, head_biases, relus * (len(head_weights) - 1)),
        )

    @property
    def _stacks(self) -> tuple[tuple[Layer, ...], ...]:
        """The layers before the sigmoid of the state, before that of the command, and after their product."""
        return (
            (*self.state_layers, (self.state_weight, self.state_bias)),
            (*self.command_layers, (self.command_weight, self.command_bias)),
            ((self.hidden_weight, self.hidden_bias), *self.hidden_layers, (self.output_weight, self.output_bias)),
        )

    @cached_property
    def _padded(self) -> tuple[tuple[Layer, ...], ...]:
        """The layers, transposed and padded. sigmoid(x) = (1 + tanh(x / 2)) / 2; the weights include x / 2."""
        half = np.float32(0.5)
        states, commands, head = self._stacks
        halved = [(*stack[:-1], (stack[-1][0] * half, stack[-1][1] * half)) for stack in (states, commands)]
        return (
            *(tuple(_pad(*layer, pad_inputs=i > 0) for i, layer in enumerate(stack)) for stack in halved),
            tuple(_pad(*layer, pad_inputs=True) for layer in head),
        )

    def _embed(self, states: np.ndarray) -> np.ndarray:
        """Return sigmoid(Ws s + bs) / 2, (N, padded hidden); the factor 1 / 2 belongs to the other sigmoid."""
        states = np.asarray(states, dtype=np.float32)
        if len(states) == 1:
            return self._embed(np.concatenate([states, states]))[:1]
        embedded = _through(states, self._padded[0])
        np.tanh(embedded, out=embedded)
        embedded += 1.0
        embedded *= 0.25
        return embedded

    def _logits(self, embedded: np.ndarray, commands: np.ndarray) -> np.ndarray:
        commands = np.asarray(commands, dtype=np.float32)
        if len(commands) == 1:
            return self._logits(np.concatenate([embedded, embedded]), np.concatenate([commands, commands]))[:1]
        _, command_layers, head = self._padded
        hidden = _through(commands, command_layers)
        np.tanh(hidden, out=hidden)
        hidden += 1.0
        hidden *= embedded
        return _through(hidden, head)[:, : self.num_actions]


def _through(values: np.ndarray, layers: Sequence[Layer]) -> np.ndarray:
    """Apply transposed layers to values (N, inputs), with a ReLU between any two layers."""
    for i, (weight, bias) in enumerate(layers):
        if i > 0:
            np.maximum(values, 0.0, out=values)
        product = values[:, :_INPUTS] @ weight[:_INPUTS]
        for start in range(_INPUTS, len(weight), _INPUTS):
            product += values[:, start : start + _INPUTS] @ weight[start : start + _INPUTS]
        product += bias
        values = product
    return values


def _checked(name: str, array: np.ndarray, axes: int) -> np.ndarray:
    value = np.array(array)
    if value.dtype != np.float32 or not np.isfinite(value).all():
        raise InvalidInput.expected(f"{name} to be finite float32 numbers", value.dtype)
    if value.ndim != axes:
        raise InvalidInput.expected(f"{name} with {axes} axes", f"shape {value.shape}")
    value.setflags(write=False)
    return value


def _check_chain(name: str, inputs: int, layers: Sequence[Layer], outputs: int) -> None:
    """Raise an error unless each layer takes the outputs of the one before, and the last has `outputs` outputs."""
    for i, (weight, bias) in enumerate(layers):
        last = i == len(layers) - 1
        size = outputs if last else bias.size
        layer = name if last else f"layer {i} before {name}"
        for part, array, shape in (("weight", weight, (size, inputs)), ("bias", bias, (size,))):
            if array.shape != shape or 0 in shape:
                raise InvalidInput.expected(f"{layer}_{part} of shape {shape}", array.shape)
        inputs = size


def _first_weight(layers: tuple[Layer, ...], last: np.ndarray) -> np.ndarray:
    return layers[0][0] if layers else last


def _layer_names(stack: str, arrays: Mapping[str, np.ndarray]) -> list[tuple[str, str]]:
    named = ((f"{stack}.{i}.weight", f"{stack}.{i}.bias") for i in count())
    return list(takewhile(lambda names: names[0] in arrays and names[1] in arrays, named))


def _pad(weight: np.ndarray, bias: np.ndarray, pad_inputs: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the transposed weight and the bias, with columns padded to a multiple of 16."""
    outputs, inputs = weight.shape
    rows = -(-inputs // _COLUMNS) * _COLUMNS if pad_inputs else inputs
    columns = -(-outputs // _COLUMNS) * _COLUMNS
    padded, shift = np.zeros((rows, columns), dtype=np.float32), np.zeros(columns, dtype=np.float32)
    padded[:inputs, :outputs], shift[:outputs] = weight.T, bias
    return padded, shift
