"""Policies: objects that return the log-probability of each action, given states and commands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from paretofoil.core.command import format_numbers
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief, brief_words
from paretofoil.core.program import Program

IMPOSSIBLE = -1e30
"""Used in place of a log-probability of -infinity, so that margins stay finite."""
QueryAtStates = Callable[[np.ndarray | slice, np.ndarray], np.ndarray]
"""(indices of states (N,) or a slice, commands (N, d)) -> scores (N, num_actions) at these states. Scores are
log-probabilities or logits: only differences within a row matter."""


@runtime_checkable
class Policy(Protocol):
    """A black-box policy, queried in batches."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return log-probabilities (N, num_actions) in states (N, state size) under commands (N, d)."""
        ...


@runtime_checkable
class PolicyAtStates(Protocol):
    """Optional: a policy that answers queries faster if it knows the states in advance."""

    def at(self, states: np.ndarray) -> QueryAtStates:
        """Return a function that evaluates commands at the given states (Q, state size), selected by row number."""
        ...


@runtime_checkable
class ExactRows(Protocol):
    """Optional: a policy whose result for a row never depends on the batch. Its noise is then not measured."""

    exact_rows: bool


@dataclass(frozen=True)
class CallablePolicy:
    """A plain function (states, commands) -> log-probabilities as a policy."""

    function: Callable[[np.ndarray, np.ndarray], Any]

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores: np.ndarray = self.function(states, commands)  # `query` checks it
        return scores


def as_policy(subject: Any) -> Policy:
    """Return a policy unchanged, or a plain function as a policy."""
    if isinstance(subject, Policy):
        return subject
    if hasattr(subject, "amounts"):
        expected = "a policy with discrete actions (those with continuous actions are explained by pf.explain)"
        raise InvalidInput.expected(expected, f"{type(subject).__name__} with {subject.actions!r}")
    if hasattr(subject, "forward") and hasattr(subject, "named_parameters"):
        got = "a torch module (convert it with pf.from_torch)"
        raise InvalidInput.expected("a policy with log_probs(states, commands), or a function of NumPy arrays", got)
    if callable(subject):
        return CallablePolicy(subject)
    raise InvalidInput.expected("a policy with log_probs(states, commands), or a function", type(subject).__name__)


def as_numbers(output: Any, what: str) -> np.ndarray:
    """Return the output of a policy as an array of real numbers; errors call it `what`."""
    try:
        numbers = np.asarray(output)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of different lengths, tensors with gradients
        raise InvalidInput.expected(f"{what} in one array", f"{brief(output)} ({brief_words(error)})") from None
    if numbers.dtype.kind not in "fiub":
        raise InvalidInput.expected(
            f"{what} that are real numbers", f"dtype {numbers.dtype}: {brief(numbers.tolist())}"
        )
    return numbers


def as_scores(output: Any, commands: np.ndarray) -> np.ndarray:
    """Return the output of a policy under commands (N, d) as scores (N, num_actions), or raise an error."""
    scores, count = as_numbers(output, "log-probabilities"), len(commands)
    if scores.dtype == np.float16:
        scores = scores.astype(np.float32)  # its sums overflow, and IMPOSSIBLE is none of its numbers
    if scores.ndim != 2 or len(scores) != count or scores.shape[1] == 0:
        raise InvalidInput.expected(f"log-probabilities of shape ({count}, actions)", f"shape {scores.shape}")
    if not np.isfinite(scores.sum()):
        wrong = (np.isnan(scores) | (scores == np.inf)).any(axis=1)
        if wrong.any():
            got = f"NaN or infinity under the command {format_numbers(commands[wrong][0])}"
            raise InvalidInput.expected("log-probabilities that are numbers", got)
        scores = np.maximum(scores, IMPOSSIBLE)
    return scores


def tells_values(policy: Policy) -> bool:
    return bool(getattr(policy, "tells_values", False))  # much faster than isinstance(policy, ValuedPolicy)


def query(policy: Policy, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the scores (N, num_actions) of a policy: log-probabilities, or values.

    Use it for all queries outside of searches, which count theirs.

    Args:
        policy: The policy.
        states: (N, state size).
        commands: (N, d).
    """
    return as_scores(call_policy(policy.log_probs, states, commands), commands)


def call_policy(function: Callable[..., Any], states: np.ndarray, commands: np.ndarray) -> Any:
    """Return the output of a policy for copies of the inputs, because some policies write to their inputs."""
    copies = np.array(states), np.array(commands)
    try:
        return function(*copies)
    except InvalidInput:
        raise
    except (IndexError, TypeError, ValueError) as error:  # what NumPy raises for shapes and types that do not fit
        what = f"a policy that accepts states of shape {copies[0].shape} and commands of shape {copies[1].shape}"
        raise InvalidInput.expected(what, f"{type(error).__name__}: {brief_words(error)}") from error


def greedy_actions(scores: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Return the valid action with the largest score in each row, in a tie the first: two arrays (N, A) -> (N,)."""
    if scores.shape != valid.shape:
        raise InvalidInput.expected(f"log-probabilities of {valid.shape[1]} actions", scores.shape[1])
    return np.where(valid, scores, -np.inf).argmax(axis=1)


def greedy_action(scores: np.ndarray, valid_actions: Sequence[int]) -> int:
    """Return the valid action with the largest score (num_actions,), in a tie the first."""
    return max(valid_actions, key=lambda action: float(scores[action]))


def probabilities(policy: Policy, scores: np.ndarray, valid_actions: Sequence[int]) -> np.ndarray:
    """Return the probabilities (num_actions,) of the actions, 0 for invalid ones, given the scores of a policy.

    A value-based policy chooses its best action with probability 1.
    """
    if tells_values(policy):
        return np.eye(len(scores))[greedy_action(scores, valid_actions)]
    valid = list(valid_actions)
    weights = np.exp(scores[valid].astype(np.float64) - scores[valid].max())
    shares = np.zeros(len(scores))
    shares[valid] = weights / weights.sum()
    return shares


def action_values(policy: Policy, scores: np.ndarray) -> np.ndarray | None:
    """Return the value of each action, given the scores of a value-based policy; None for any other policy."""
    return scores.astype(np.float64) if tells_values(policy) else None


@runtime_checkable
class WhiteBoxPolicy(Protocol):
    """Optional: a policy whose computation can be bounded, so that answers can be proven."""

    def fold(self, state: np.ndarray) -> Program: ...


@runtime_checkable
class ValuedPolicy(Protocol):
    """Optional: a policy that scores actions by their value under the preferences, not by log-probabilities."""

    tells_values: bool


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Action values at one state under preferences w: for each action, the largest w . vector of its vectors."""

    vectors: np.ndarray  # (num_actions, vectors, d)
    unit: float = 2.0**-53
    """The unit roundoff of the number format in which the agent computes."""

    @property
    def rounding(self) -> float:
        """Largest rounding error of the difference of two action values, as the agent computes it."""
        return 2 * (self.vectors.shape[2] + 1) * self.unit * float(np.abs(self.vectors).max())

    def __post_init__(self) -> None:
        expected = "finite values of shape (actions, vectors, objectives)"
        if self.vectors.ndim != 3 or 0 in self.vectors.shape:
            raise InvalidInput.expected(expected, f"shape {self.vectors.shape}")
        if not np.isfinite(self.vectors).all():
            raise InvalidInput.expected(expected, brief(self.vectors.tolist()))

    def values(self, preferences: np.ndarray) -> np.ndarray:
        """Return the action values: (N, d) -> (N, num_actions)."""
        return np.einsum("avd,nd->nav", self.vectors, preferences).max(axis=2)


@runtime_checkable
class TabularPolicy(Protocol):
    """Optional: a policy that has a table of values at each state, so that answers are exact."""

    def table(self, state: np.ndarray) -> ValueTable: ...


def has_table(policy: Any) -> TypeGuard[TabularPolicy]:
    return callable(getattr(policy, "table", None))  # much faster than isinstance(policy, TabularPolicy)


@dataclass(frozen=True, eq=False)
class FoldedValues:
    """Action values at one state under preferences w: w . Q(w), where a network computes Q from w."""

    network: Program
    """(N, d) -> (N, num_actions x d): the values of all objectives for the first action, then for the second, ..."""

    def values(self, preferences: np.ndarray) -> np.ndarray:
        """Return the action values: (N, d) -> (N, num_actions)."""
        by_objective = self.network.logits(preferences).reshape(len(preferences), -1, preferences.shape[1])
        values: np.ndarray = (by_objective * preferences[:, None, :]).sum(axis=2)
        return values


@runtime_checkable
class WhiteBoxValues(Protocol):
    """Optional: a policy whose action values depend on the preferences by a computation that can be bounded."""

    def fold_values(self, state: np.ndarray) -> FoldedValues: ...


def folds_values(policy: Any) -> TypeGuard[WhiteBoxValues]:
    return callable(getattr(policy, "fold_values", None))  # much faster than isinstance(policy, WhiteBoxValues)


@runtime_checkable
class WhiteBoxActor(Protocol):
    """Optional: a policy with continuous actions whose computation can be bounded."""

    def fold_amounts(self, state: np.ndarray) -> Program:
        """Return the amounts at one state as a function of the command."""
        ...


def is_white_box(policy: Any) -> bool:
    """Return whether the computation of the policy can be bounded, so that answers can be proven."""
    return isinstance(policy, WhiteBoxPolicy | WhiteBoxValues | WhiteBoxActor | TabularPolicy)


@runtime_checkable
class JointWhiteBoxPolicy(Protocol):
    """Optional: a policy whose computation can be bounded for whole sets of states."""

    def unfold(self) -> Program:
        """Return the logits as a function of the state followed by the command."""
        ...
