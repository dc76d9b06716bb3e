"""The deployed Pareto Conditioned Network (paper, section "Pareto Conditioned Networks and Our Return-Only Variant").

    logits = W3 relu(W2 (sigmoid(Ws s + bs) * sigmoid(Wc R + bc)) + b2) + b3

Networks that were trained elsewhere may have more layers, each with a ReLU: before the two sigmoids, and behind the
hidden layer.

Plain NumPy in float32: searches ask it thousands of times in tiny batches, where every call counts. A row's
answer must not depend on its neighbours. OpenBLAS gives every row the same bits in any batch as long as there
are at least two rows and the number of output columns is a multiple of 16, so layers are padded with zeros. Sums of
many inputs it splits at places that depend on the batch, so they are split here.
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
"""Of a sum that is not split; OpenBLAS splits from 320 on, or later, depending on the processor."""
_ARRAYS = tuple(f"{layer}_{part}" for layer in ("state", "command", "hidden", "output") for part in ("weight", "bias"))
_STACKS = ("state_layers", "command_layers", "hidden_layers")


@dataclass(frozen=True, eq=False, repr=False)
class PCNPolicy:
    """The weights as they were trained; the scaling of commands is already part of the command layer."""

    state_weight: np.ndarray  # (hidden, state size), all float32
    state_bias: np.ndarray  # (hidden,)
    command_weight: np.ndarray  # (hidden, command size)
    command_bias: np.ndarray  # (hidden,)
    hidden_weight: np.ndarray  # (hidden, hidden)
    hidden_bias: np.ndarray  # (hidden,)
    output_weight: np.ndarray  # (num_actions, hidden)
    output_bias: np.ndarray  # (num_actions,)
    state_layers: tuple[Layer, ...] = ()
    """Layers with a ReLU each between the state and the state layer; agents that are trained here have none."""
    command_layers: tuple[Layer, ...] = ()
    """The same between the command and the command layer."""
    hidden_layers: tuple[Layer, ...] = ()
    """The same between the hidden layer and the output layer."""

    exact_rows = True  # see above; a test holds it to that

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
        """The number of objectives, and one more if the network is conditioned on a horizon."""
        return _first_weight(self.command_layers, self.command_weight).shape[-1]

    @property
    def num_actions(self) -> int:
        return self.output_bias.size

    def arrays(self) -> dict[str, np.ndarray]:
        """The weights by name, to be saved."""
        named = {name: getattr(self, name) for name in _ARRAYS}
        for stack in _STACKS:
            for i, (weight, bias) in enumerate(getattr(self, stack)):
                named |= {f"{stack}.{i}.weight": weight, f"{stack}.{i}.bias": bias}
        return named

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "PCNPolicy":
        """The inverse of `arrays`."""
        stacks = {stack: _layer_names(stack, arrays) for stack in _STACKS}
        names = [*_ARRAYS, *(name for layers in stacks.values() for layer in layers for name in layer)]
        if set(arrays) != set(names):
            raise InvalidInput.expected(f"arrays named {', '.join(names)}", ", ".join(sorted(arrays)) or "none")
        more = {stack: tuple((arrays[w], arrays[b]) for w, b in layers) for stack, layers in stacks.items()}
        return cls(**{name: arrays[name] for name in _ARRAYS}, **more)  # type: ignore[arg-type]

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """(N, state size), (N, command size) -> (N, num_actions), over all actions, in float64.

        The sum is taken in float64 so that differences stay those of the float32 logits.
        """
        logits = self._answer(self._embed(states), commands).astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return logits

    def at(self, states: np.ndarray) -> QueryAtStates:
        """Compute the embedding of fixed states once; the answer is asked with (rows, commands) and gives logits."""
        embedded, answer = self._embed(states), self._answer

        def query(rows: np.ndarray | slice, commands: np.ndarray) -> np.ndarray:
            return answer(embedded[rows], commands)

        return query

    def fold(self, state: np.ndarray) -> FoldedPolicy:
        """The policy at one state as a function of the command, in float64, for proofs."""
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
        """The policy as a function of state and command, in float64, for proofs about sets of states."""
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
        """The layers up to the state's sigmoid, those up to the command's, and those behind their product."""
        return (
            (*self.state_layers, (self.state_weight, self.state_bias)),
            (*self.command_layers, (self.command_weight, self.command_bias)),
            ((self.hidden_weight, self.hidden_bias), *self.hidden_layers, (self.output_weight, self.output_bias)),
        )

    @cached_property
    def _padded(self) -> tuple[tuple[Layer, ...], ...]:
        """The stacks transposed and padded. sigmoid(x) = (1 + tanh(x / 2)) / 2, with x / 2 in the weights."""
        half = np.float32(0.5)
        states, commands, head = self._stacks
        halved = [(*stack[:-1], (stack[-1][0] * half, stack[-1][1] * half)) for stack in (states, commands)]
        return (
            *(tuple(_pad(*layer, pad_inputs=i > 0) for i, layer in enumerate(stack)) for stack in halved),
            tuple(_pad(*layer, pad_inputs=True) for layer in head),
        )

    def _embed(self, states: np.ndarray) -> np.ndarray:
        """(N, padded hidden): sigmoid(Ws s + bs) / 2; the missing half of the other sigmoid is included here."""
        states = np.asarray(states, dtype=np.float32)
        if len(states) == 1:
            return self._embed(np.concatenate([states, states]))[:1]
        embedded = _through(states, self._padded[0])
        np.tanh(embedded, out=embedded)
        embedded += 1.0
        embedded *= 0.25
        return embedded

    def _answer(self, embedded: np.ndarray, commands: np.ndarray) -> np.ndarray:
        commands = np.asarray(commands, dtype=np.float32)
        if len(commands) == 1:
            return self._answer(np.concatenate([embedded, embedded]), np.concatenate([commands, commands]))[:1]
        _, command_layers, head = self._padded
        hidden = _through(commands, command_layers)
        np.tanh(hidden, out=hidden)
        hidden += 1.0
        hidden *= embedded
        return _through(hidden, head)[:, : self.num_actions]


def _through(values: np.ndarray, layers: Sequence[Layer]) -> np.ndarray:
    """(N, inputs) through transposed layers, with a ReLU between any two of them."""
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
    """Each layer takes what the one before it gives; the last, which has a name of its own, gives the outputs."""
    for i, (weight, bias) in enumerate(layers):
        last = i == len(layers) - 1
        size = outputs if last else bias.size
        called = name if last else f"layer {i} before {name}"
        for part, array, shape in (("weight", weight, (size, inputs)), ("bias", bias, (size,))):
            if array.shape != shape or 0 in shape:
                raise InvalidInput.expected(f"{called}_{part} of shape {shape}", array.shape)
        inputs = size


def _first_weight(layers: tuple[Layer, ...], last: np.ndarray) -> np.ndarray:
    return layers[0][0] if layers else last


def _layer_names(stack: str, arrays: Mapping[str, np.ndarray]) -> list[tuple[str, str]]:
    named = ((f"{stack}.{i}.weight", f"{stack}.{i}.bias") for i in count())
    return list(takewhile(lambda names: names[0] in arrays and names[1] in arrays, named))


def _pad(weight: np.ndarray, bias: np.ndarray, pad_inputs: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(outputs, inputs), (outputs,) -> transposed weight and bias with columns up to a multiple of 16."""
    outputs, inputs = weight.shape
    rows = -(-inputs // _COLUMNS) * _COLUMNS if pad_inputs else inputs
    columns = -(-outputs // _COLUMNS) * _COLUMNS
    padded, shift = np.zeros((rows, columns), dtype=np.float32), np.zeros(columns, dtype=np.float32)
    padded[:inputs, :outputs], shift[:outputs] = weight.T, bias
    return padded, shift
