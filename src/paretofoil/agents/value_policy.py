"""Policies that choose the action with the largest weighted value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import QueryAtStates, ValueTable, as_numbers


@dataclass(frozen=True, eq=False)
class TablePolicy:
    """A policy with several value vectors per action: the value of an action is the largest of w . vector.

    Generalised policy improvement (GPI-LS, GPI-PD) has one vector for each weight of its support. A convex coverage set
    has one vector for each of its policies.
    """

    vectors: Callable[[np.ndarray], Any]
    """(state size,) -> (num_actions, vectors, d), or (num_actions, d) for one vector per action."""

    tells_values: ClassVar[bool] = True
    exact_rows: ClassVar[bool] = True  # each row is summed in the same order

    def table(self, state: np.ndarray) -> ValueTable:
        """Return the table of values at a state. It is computed twice, because proofs need a fixed table."""
        vectors, again = (np.array(as_numbers(self.vectors(np.array(state)), "values")) for _ in range(2))
        if not np.array_equal(vectors, again, equal_nan=True):
            advice = "call eval() on the module before each call: some agents turn dropout on again"
            raise InvalidInput.expected("the same values for the same state", f"different values; {advice}")
        unit = np.finfo(vectors.dtype).eps / 2 if vectors.dtype.kind == "f" else 2.0**-53
        table = vectors[:, None, :] if vectors.ndim == 2 else vectors
        return ValueTable(table.astype(np.float64), max(float(unit), 2.0**-53))

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the weighted values (N, num_actions)."""
        unique, rows = np.unique(np.asarray(states), axis=0, return_inverse=True)
        return self.at(unique)(rows.reshape(-1), np.asarray(commands))

    def at(self, states: np.ndarray) -> QueryAtStates:
        tables = [self.table(state) for state in states]
        shapes = {table.vectors.shape for table in tables}
        if len(shapes) > 1:
            raise InvalidInput.expected("tables of the same shape at all states", f"the shapes {sorted(shapes)}")
        vectors = np.stack([table.vectors for table in tables])  # (Q, num_actions, vectors, d)

        def values(rows: np.ndarray | slice, commands: np.ndarray) -> np.ndarray:
            best = np.full((len(commands), vectors.shape[1]), -np.inf)
            for i in range(vectors.shape[2]):  # one by one: exact rows, and little memory
                value = sum(vectors[rows, :, i, j] * commands[:, [j]] for j in range(vectors.shape[3]))
                best = np.maximum(best, value)
            return best

        return values


@dataclass(frozen=True, eq=False)
class ValuePolicy:
    """A black-box policy whose values depend on the preferences, as in Envelope: argmax of w . Q(s, a, w)."""

    values: Callable[[np.ndarray, np.ndarray], Any]
    """(N, state size), (N, d) -> (N, num_actions, d)."""

    tells_values: ClassVar[bool] = True

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the weighted values (N, num_actions)."""
        values = as_numbers(self.values(states, commands), "values").astype(np.float64)
        if values.ndim != 3 or values.shape[::2] != np.shape(commands):
            expected = f"values of shape ({len(commands)}, actions, {np.shape(commands)[1]})"
            raise InvalidInput.expected(expected, f"shape {values.shape}")
        weighted: np.ndarray = (values * np.asarray(commands)[:, None, :]).sum(axis=2)
        return weighted


def from_q_values(values: Callable[[np.ndarray, np.ndarray], Any]) -> ValuePolicy:
    """Return a black-box policy from a function (states, weights) -> values (N, num_actions, d)."""
    return ValuePolicy(values)


def from_q_table(vectors: Callable[[np.ndarray], Any]) -> TablePolicy:
    """Return a policy from a function state -> value vectors (num_actions, vectors, d) or (num_actions, d).

    Args:
        vectors: the values of each action at a state, one vector for each weight of a support (GPI) or policy of a
            coverage set. Return them in the agent's own precision (float32): proofs include its rounding.
    """
    return TablePolicy(vectors)
