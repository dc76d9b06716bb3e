"""The deployed Pareto Conditioned Network (paper, section "Pareto Conditioned Networks and Our Return-Only Variant").

    logits = W3 relu(W2 (sigmoid(Ws s + bs) * sigmoid(Wc R + bc)) + b2) + b3

Plain NumPy in float32: searches ask it thousands of times in tiny batches, where every call counts. A row's
answer must not depend on its neighbours. OpenBLAS gives every row the same bits in any batch as long as there
are at least two rows and the number of output columns is a multiple of 16, so layers are padded with zeros.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import FoldedPolicy, QueryAtStates

_COLUMNS = 16


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

    exact_rows = True  # see above; a test holds it to that

    def __post_init__(self) -> None:
        for field in fields(self):
            value = np.array(getattr(self, field.name))
            if value.dtype != np.float32 or not np.isfinite(value).all():
                raise InvalidInput.expected(f"{field.name} to be finite float32 numbers", value.dtype)
            value.setflags(write=False)
            object.__setattr__(self, field.name, value)
        hidden, actions = self.state_bias.size, self.output_bias.size
        shapes = {
            "state_weight": (hidden, self.state_size),
            "state_bias": (hidden,),
            "command_weight": (hidden, self.command_size),
            "command_bias": (hidden,),
            "hidden_weight": (hidden, hidden),
            "hidden_bias": (hidden,),
            "output_weight": (actions, hidden),
            "output_bias": (actions,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape or 0 in shape:
                raise InvalidInput.expected(f"{name} of shape {shape}", getattr(self, name).shape)

    def __repr__(self) -> str:
        layers = f"{self.state_size} state and {self.command_size} command numbers, {self.state_bias.size} hidden units"
        return f"<PCNPolicy: {layers}, {self.num_actions} actions>"

    @property
    def state_size(self) -> int:
        return self.state_weight.shape[-1]

    @property
    def command_size(self) -> int:
        """The number of objectives, and one more if the network is conditioned on a horizon."""
        return self.command_weight.shape[-1]

    @property
    def num_actions(self) -> int:
        return self.output_bias.size

    def arrays(self) -> dict[str, np.ndarray]:
        """The weights by name, to be saved."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "PCNPolicy":
        """The inverse of `arrays`."""
        names = [field.name for field in fields(cls)]
        if set(arrays) != set(names):
            raise InvalidInput.expected(f"arrays named {', '.join(names)}", ", ".join(sorted(arrays)) or "none")
        return cls(**arrays)

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
        layer = {name: array.astype(np.float64) for name, array in self.arrays().items()}
        before = layer["state_weight"] @ np.asarray(state, dtype=np.float64) + layer["state_bias"]
        embedded = 0.5 * (np.tanh(0.5 * before) + 1.0)
        return FoldedPolicy(
            weights=(layer["command_weight"], layer["hidden_weight"] * embedded, layer["output_weight"]),
            biases=(layer["command_bias"], layer["hidden_bias"], layer["output_bias"]),
            activations=("sigmoid", "relu"),
        )

    @cached_property
    def _padded(self) -> tuple[np.ndarray, ...]:
        """The layers transposed and padded. sigmoid(x) = (1 + tanh(x / 2)) / 2, with x / 2 in the weights."""
        half = np.float32(0.5)
        return (
            *_pad(self.state_weight * half, self.state_bias * half),
            *_pad(self.command_weight * half, self.command_bias * half),
            *_pad(self.hidden_weight, self.hidden_bias, pad_inputs=True),
            *_pad(self.output_weight, self.output_bias, pad_inputs=True),
        )

    def _embed(self, states: np.ndarray) -> np.ndarray:
        """(N, padded hidden): sigmoid(Ws s + bs) / 2; the missing half of the other sigmoid is included here."""
        states = np.asarray(states, dtype=np.float32)
        if len(states) == 1:
            return self._embed(np.concatenate([states, states]))[:1]
        weight, bias = self._padded[0:2]
        embedded = states @ weight
        embedded += bias
        np.tanh(embedded, out=embedded)
        embedded += 1.0
        embedded *= 0.25
        return embedded

    def _answer(self, embedded: np.ndarray, commands: np.ndarray) -> np.ndarray:
        commands = np.asarray(commands, dtype=np.float32)
        if len(commands) == 1:
            return self._answer(np.concatenate([embedded, embedded]), np.concatenate([commands, commands]))[:1]
        _, _, command_weight, command_bias, hidden_weight, hidden_bias, output_weight, output_bias = self._padded
        hidden = commands @ command_weight
        hidden += command_bias
        np.tanh(hidden, out=hidden)
        hidden += 1.0
        hidden *= embedded
        hidden = hidden @ hidden_weight
        hidden += hidden_bias
        np.maximum(hidden, 0.0, out=hidden)
        logits = hidden @ output_weight
        logits += output_bias
        return logits[:, : self.num_actions]


def _pad(weight: np.ndarray, bias: np.ndarray, pad_inputs: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(outputs, inputs), (outputs,) -> transposed weight and bias with columns up to a multiple of 16."""
    outputs, inputs = weight.shape
    rows = -(-inputs // _COLUMNS) * _COLUMNS if pad_inputs else inputs
    columns = -(-outputs // _COLUMNS) * _COLUMNS
    padded, shift = np.zeros((rows, columns), dtype=np.float32), np.zeros(columns, dtype=np.float32)
    padded[:inputs, :outputs], shift[:outputs] = weight.T, bias
    return padded, shift
