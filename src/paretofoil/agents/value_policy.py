"""Policies that choose what is worth most under the preferences: from tables of values, or as black boxes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import QueryAtStates, ValueTable


@dataclass(frozen=True, eq=False)
class TablePolicy:
    """At a state, each action is worth the best of its vectors of values: a table, whatever it was computed by.

    Generalised policy improvement (GPI-LS, GPI-PD) has a vector for each weight of its support, a convex coverage set
    one for each of its policies.
    """

    vectors: Callable[[np.ndarray], Any]
    """(state size,) -> (num_actions, vectors, d)."""

    tells_values: ClassVar[bool] = True
    exact_rows: ClassVar[bool] = True  # sums of a row's own products, in one order

    def table(self, state: np.ndarray) -> ValueTable:
        """Asked for twice: a proof about one table says nothing of another."""
        told, again = (np.array(self.vectors(np.array(state))) for _ in range(2))
        if not np.array_equal(told, again):
            raise InvalidInput.expected(
                "the same values whenever they are asked for",
                "others (is dropout left on? call eval() on the module, each time: some agents turn it on again)",
            )
        unit = np.finfo(told.dtype).eps / 2 if told.dtype.kind == "f" else 2.0**-53
        return ValueTable(told.astype(np.float64), max(float(unit), 2.0**-53))

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """What the actions are worth (N, num_actions)."""
        different, rows = np.unique(np.asarray(states), axis=0, return_inverse=True)
        return self.at(different)(rows.reshape(-1), np.asarray(commands))

    def at(self, states: np.ndarray) -> QueryAtStates:
        tables = [self.table(state) for state in states]
        if len({table.vectors.shape for table in tables}) > 1:
            raise InvalidInput.expected("tables of one shape at all states", "several")
        vectors = np.stack([table.vectors for table in tables])  # (Q, num_actions, vectors, d)

        def worth(rows: np.ndarray | slice, commands: np.ndarray) -> np.ndarray:
            best = np.full((len(commands), vectors.shape[1]), -np.inf)
            for i in range(vectors.shape[2]):  # one after the other: rows stay exact, and memory small
                value = sum(vectors[rows, :, i, j] * commands[:, [j]] for j in range(vectors.shape[3]))
                best = np.maximum(best, value)
            return best

        return worth


@dataclass(frozen=True, eq=False)
class ValuePolicy:
    """A black box whose values depend on the preferences themselves: argmax of w . Q(s, a, w), as in Envelope."""

    values: Callable[[np.ndarray, np.ndarray], Any]
    """(N, state size), (N, d) -> (N, num_actions, d)."""

    tells_values: ClassVar[bool] = True

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """What the actions are worth (N, num_actions)."""
        told = np.asarray(self.values(states, commands), dtype=np.float64)
        if told.ndim != 3 or told.shape[::2] != np.shape(commands):
            expected = f"values of shape ({len(commands)}, actions, {np.shape(commands)[1]})"
            raise InvalidInput.expected(expected, f"shape {told.shape}")
        worth: np.ndarray = (told * np.asarray(commands)[:, None, :]).sum(axis=2)
        return worth


def from_q_values(values: Callable[[np.ndarray, np.ndarray], Any]) -> ValuePolicy:
    """A policy of preferences from a function (states, weights) -> (N, num_actions, d): answered without proofs."""
    return ValuePolicy(values)


def from_q_table(vectors: Callable[[np.ndarray], Any]) -> TablePolicy:
    """A policy of preferences from a function state -> (num_actions, vectors, d), or (num_actions, d).

    Args:
        vectors: the values of each action at a state, one vector for each weight of a support (GPI) or policy of a
            set: the action is chosen of which one is worth most. Give them in the precision that the agent computes in,
            as float32 numbers if it does: proofs allow for its rounding.
    """

    def with_vectors(state: np.ndarray) -> np.ndarray:
        told = np.asarray(vectors(state))
        return told[:, None, :] if told.ndim == 2 else told

    return TablePolicy(with_vectors)
