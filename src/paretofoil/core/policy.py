"""Policies: objects that return the log-probability of each action, given states and commands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from paretofoil.core.command import format_numbers
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief, brief_words

IMPOSSIBLE = -1e30
"""Used in place of a log-probability of -infinity, so that margins stay finite."""
Activation = Literal["sigmoid", "tanh", "relu", "elu", "softplus", "silu"]
QueryAtStates = Callable[[np.ndarray | slice, np.ndarray], np.ndarray]
"""(numbers of states (N,) or a slice, commands (N, d)) -> scores (N, num_actions) at these states. Scores are
log-probabilities, or logits: only differences within a row matter."""


@runtime_checkable
class Policy(Protocol):
    """A black-box policy, queried in batches."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """(N, state size), (N, d) -> (N, num_actions)."""
        ...


@runtime_checkable
class PolicyAtStates(Protocol):
    """Optional: a policy that answers queries faster if it gets the states in advance."""

    def at(self, states: np.ndarray) -> QueryAtStates:
        """Return a function that evaluates commands at the given states (Q, state size), selected by row number."""
        ...


@runtime_checkable
class ExactRows(Protocol):
    """Optional: a policy whose result for a row never depends on the batch, so that its noise need not be measured."""

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
    return isinstance(policy, ValuedPolicy) and policy.tells_values


def query(policy: Policy, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the scores (N, num_actions) of a policy: log-probabilities, or values.

    Everything but the searches, which count their queries, queries a policy by this function.

    Args:
        policy: The policy.
        states: (N, state size).
        commands: (N, d).
    """
    copies = (
        np.array(states),
        np.array(commands),
    )  # some policies write to their inputs, and torch warns of read-only ones
    try:
        output = policy.log_probs(*copies)
    except InvalidInput:
        raise
    except (IndexError, TypeError, ValueError) as error:  # what NumPy raises for shapes and types that do not fit
        what = f"a policy that accepts states of shape {copies[0].shape} and commands of shape {copies[1].shape}"
        raise InvalidInput.expected(what, f"{type(error).__name__}: {brief_words(error)}") from error
    return as_scores(output, commands)


def greedy_actions(scores: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Return the valid action with the largest score in each row, the first of equals: two arrays (N, A) -> (N,)."""
    if scores.shape != valid.shape:
        raise InvalidInput.expected(f"log-probabilities of {valid.shape[1]} actions", scores.shape[1])
    return np.where(valid, scores, -np.inf).argmax(axis=1)


def greedy_action(scores: np.ndarray, valid_actions: Sequence[int]) -> int:
    """Return the valid action with the largest score (num_actions,), the first of equals."""
    return max(valid_actions, key=lambda action: float(scores[action]))


def probabilities(policy: Policy, scores: np.ndarray, valid_actions: Sequence[int]) -> np.ndarray:
    """Return the probabilities (num_actions,) of the actions, 0 for invalid ones, given the scores of a policy.

    A policy of values chooses its best action with probability 1.
    """
    if tells_values(policy):
        return np.eye(len(scores))[greedy_action(scores, valid_actions)]
    valid = list(valid_actions)
    weights = np.exp(scores[valid].astype(np.float64) - scores[valid].max())
    shares = np.zeros(len(scores))
    shares[valid] = weights / weights.sum()
    return shares


def action_values(policy: Policy, scores: np.ndarray) -> np.ndarray | None:
    """Return the value of each action, given the scores of a policy of values; None for any other policy."""
    return scores.astype(np.float64) if tells_values(policy) else None


@dataclass(frozen=True, eq=False)
class Rounding:
    """Bounds on the rounding errors of the deployed policy, layer by layer.

    The input of activation k in the deployed policy differs from W_k h + b_k by at most terms_k |h| + constants_k,
    where h is the deployed input of layer k. The error of the deployed activation is at most activations_k times its
    absolute value (for a SiLU: that of its input), or activations_k if that value is below 1.
    """

    terms: tuple[np.ndarray, ...]  # each (outputs, inputs), not negative
    constants: tuple[np.ndarray, ...]  # each (outputs,), not negative
    activations: tuple[np.ndarray, ...]  # each (outputs,), one fewer than the layers
    unit: float
    """The unit roundoff of the number format: the largest relative error of one rounding."""
    reach: np.ndarray | None = None
    """The largest absolute values (d,) of commands for which the bounds hold without overflow; None for no limit."""
    needs_all_actions: bool = False
    """Whether the bounds hold only if all actions are valid, because small probabilities underflow."""

    def of_layer(self, k: int, sizes: np.ndarray) -> np.ndarray:
        """Return the largest error (N, outputs) of layer k for inputs with absolute values `sizes` (N, inputs)."""
        return sizes @ self.terms[k].T + self.constants[k]

    def first_layer(self) -> "Rounding":
        """Return the errors of the first layer alone."""
        terms, constants, activations = (
            tuple(part * (k == 0) for k, part in enumerate(parts))
            for parts in (self.terms, self.constants, self.activations)
        )
        return replace(self, terms=terms, constants=constants, activations=activations)

    @property
    def is_coarse(self) -> bool:
        """Whether the number format is coarser than float32; measured errors are not reliable for such formats."""
        return self.unit > 2.0**-24

    def of_outputs(self, keep: slice | list[int]) -> "Rounding":
        """Return the errors of the selected outputs only."""
        terms, constants = ((*parts[:-1], parts[-1][keep]) for parts in (self.terms, self.constants))
        return replace(self, terms=terms, constants=constants)

    def of_differences(self, first: np.ndarray, second: np.ndarray) -> "Rounding":
        """Return the errors of differences of outputs; `first` and `second` are the numbers of the outputs."""
        terms, constants = (
            (*parts[:-1], parts[-1][first] + parts[-1][second]) for parts in (self.terms, self.constants)
        )
        return replace(self, terms=terms, constants=constants)

    @classmethod
    def of_layers(
        cls, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], activations: Sequence[Activation], unit: float
    ) -> "Rounding":
        """Return the errors of affine layers and activations, for a unit roundoff and sums in any order."""
        shares = [(weight.shape[1] + 8) * unit / (1.0 - (weight.shape[1] + 8) * unit) for weight in weights]
        return cls(
            terms=tuple(share * np.abs(weight) for share, weight in zip(shares, weights, strict=True)),
            constants=tuple(share * np.abs(bias) for share, bias in zip(shares, biases, strict=True)),
            activations=tuple(
                np.full(len(bias), 0.0 if activation == "relu" else 32.0 * unit)
                for bias, activation in zip(biases, activations, strict=False)
            ),
            unit=unit,
        )


@dataclass(frozen=True, eq=False)
class FoldedPolicy:
    """A policy at one state, as a function of the command alone: affine layers with activations between.

    logits = W_k act_{k-1}(... act_1(W_1 R + b_1) ...) + b_k, all in float64.
    """

    weights: tuple[np.ndarray, ...]  # each (outputs, inputs)
    biases: tuple[np.ndarray, ...]  # each (outputs,)
    activations: tuple[Activation, ...]  # one fewer than the layers
    rounding: Rounding | None = None
    """How far the deployed policy can be from this one; None if its arithmetic is not known."""
    unknown: str = ""
    """Why its arithmetic is not known."""

    def differences(self, first: np.ndarray, second: np.ndarray) -> "FoldedPolicy":
        """Return a policy whose outputs are differences of outputs, given by their numbers `first` and `second`."""
        weights, biases = ((*parts[:-1], parts[-1][first] - parts[-1][second]) for parts in (self.weights, self.biases))
        rounding = self.rounding and self.rounding.of_differences(first, second)
        return replace(self, weights=weights, biases=biases, rounding=rounding)

    def within(self, low: np.ndarray, high: np.ndarray, num_valid: int) -> "FoldedPolicy":
        """Return the policy for commands within low, high (d,), without `rounding` if that does not hold for all."""
        rounding = self.rounding
        if rounding is None:
            return self
        if rounding.reach is not None and (np.maximum(np.abs(low), np.abs(high)) > rounding.reach).any():
            unknown = "commands so far outside the command space may cause numbers that are too large"
        elif rounding.needs_all_actions and num_valid < len(self.biases[-1]):
            unknown = "probabilities may underflow, and the most probable action may be invalid"
        else:
            return self
        if rounding.is_coarse:
            expected = "a question for which the rounding errors of half precision are known"
            raise InvalidInput.expected(expected, f"one for which {unknown}")
        return replace(self, rounding=None, unknown=unknown)

    def errors(self, commands: np.ndarray) -> np.ndarray:
        """Return the largest rounding error (N, num_actions) of the deployed logits; infinite if unknown."""
        rounding, sums = self.rounding, self._forward(commands)
        if rounding is None:
            return np.full_like(sums[-1], np.inf)
        hidden, error = commands, np.zeros_like(commands)
        for k, weight in enumerate(self.weights):
            error = error @ np.abs(weight).T + rounding.of_layer(k, np.abs(hidden) + error)
            if k < len(self.activations):
                activation, hidden = self.activations[k], ACTIVATIONS[self.activations[k]](sums[k])
                size = np.maximum(np.abs(sums[k] if activation == "silu" else hidden) + error, 1.0)
                error = STEEPEST[activation] * error + rounding.activations[k] * size
        return error * (1.0 + 2.0**-53 / rounding.unit)  # `logits` are rounded as well, to float64

    def logits(self, commands: np.ndarray) -> np.ndarray:
        """(N, d) -> (N, num_actions)."""
        return self._forward(commands)[-1]

    def inputs(self, commands: np.ndarray) -> np.ndarray:
        """Return the inputs of all activations, layer by layer: (N, d) -> (N, units)."""
        return np.concatenate([commands[:, :0], *self._forward(commands)[:-1]], axis=1)

    def _forward(self, commands: np.ndarray) -> list[np.ndarray]:
        """Return the output of each affine layer, before its activation; the last output is the logits."""
        sums = [commands @ self.weights[0].T + self.biases[0]]
        for weight, bias, activation in zip(self.weights[1:], self.biases[1:], self.activations, strict=True):
            sums.append(ACTIVATIONS[activation](sums[-1]) @ weight.T + bias)
        return sums


@runtime_checkable
class WhiteBoxPolicy(Protocol):
    """Optional: a policy whose computation can be bounded, so that answers can be proven."""

    def fold(self, state: np.ndarray) -> FoldedPolicy: ...


@runtime_checkable
class ValuedPolicy(Protocol):
    """Optional: a policy that scores actions by their value under the preferences, not by log-probabilities."""

    tells_values: bool


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Action values at one state under preferences w: for each action, the largest w . vector of its vectors."""

    vectors: np.ndarray  # (num_actions, vectors, d)
    unit: float = 2.0**-53
    """The unit roundoff of the precision in which the agent computes."""

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


@dataclass(frozen=True, eq=False)
class FoldedValues:
    """Action values at one state under preferences w: w . Q(w), where a network computes Q from w."""

    network: FoldedPolicy
    """(N, d) -> (N, num_actions x d): the value of each objective for the first action, then for the second, ..."""

    def values(self, preferences: np.ndarray) -> np.ndarray:
        """Return the action values: (N, d) -> (N, num_actions)."""
        by_objective = self.network.logits(preferences).reshape(len(preferences), -1, preferences.shape[1])
        values: np.ndarray = (by_objective * preferences[:, None, :]).sum(axis=2)
        return values


@runtime_checkable
class WhiteBoxValues(Protocol):
    """Optional: a policy whose action values depend on the preferences by a computation that can be bounded."""

    def fold_values(self, state: np.ndarray) -> FoldedValues: ...


def is_white_box(policy: Policy) -> bool:
    """Return whether the computation of the policy can be bounded, so that answers can be proven."""
    return isinstance(policy, WhiteBoxPolicy | WhiteBoxValues | TabularPolicy)


@dataclass(frozen=True, eq=False)
class Branch:
    """Affine layers, each followed by an activation."""

    weights: tuple[np.ndarray, ...]  # each (outputs, inputs)
    biases: tuple[np.ndarray, ...]  # each (outputs,)
    activations: tuple[Activation, ...]  # as many as layers

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """(N, inputs) -> (N, outputs)."""
        for weight, bias, activation in zip(self.weights, self.biases, self.activations, strict=True):
            inputs = ACTIVATIONS[activation](inputs @ weight.T + bias)
        return inputs


@dataclass(frozen=True, eq=False)
class UnfoldedPolicy:
    """A policy as a function of state and command: logits = head(state branch(s) * command branch(R)), in float64."""

    state: Branch
    command: Branch
    head: FoldedPolicy
    """Of the product of the two."""

    def logits(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """(N, state size), (N, d) -> (N, num_actions)."""
        return self.head.logits(self.state(states) * self.command(commands))


@runtime_checkable
class JointWhiteBoxPolicy(Protocol):
    """Optional: a policy whose computation can be bounded for whole sets of states."""

    def unfold(self) -> UnfoldedPolicy: ...


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)  # no overflow for large |x|


STEEPEST: dict[Activation, float] = {
    "sigmoid": 0.25, "tanh": 1.0, "relu": 1.0, "elu": 1.0, "softplus": 1.0, "silu": 1.1,
}  # fmt: skip
"""The steepest slope of each activation."""
ACTIVATIONS: dict[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.maximum(x, 0.0) + np.expm1(np.minimum(x, 0.0)),
    "softplus": lambda x: np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))),
    "silu": lambda x: x * _sigmoid(x),
}
