"""Check a policy: the shapes, numbers and noise of its results, and whether they depend on the batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy, as_policy, tells_values
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.verify import BATCHES, exact_rows, measure_noise

ROWS = 32
"""Number of rows (a state and a command each) with which a policy is queried."""
NEIGHBOURS = 0.01
"""Rows depend on each other if a margin differs between batches by more than this share of the usual margin."""
NORMALISED = 1e-2
"""Largest difference of a sum of probabilities from 1, chosen for half precision."""


@dataclass(frozen=True)
class PolicyReport:
    """The result of `check_policy`: problems that must be solved, and notes."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether answers about the policy can be trusted."""
        return not self.problems

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.problems, *self.notes)

    def __str__(self) -> str:
        verdict = "The policy has no problems." if self.ok else "This policy cannot be explained."
        return "\n".join([verdict, *(f"- {sentence}" for sentence in self.sentences)])


def check_policy(policy: Any, states: Any, commands: Any = None, *, space: CommandSpace | None = None) -> PolicyReport:
    """Query a policy in several ways and return a report of its problems. Never raise an error.

    Args:
        policy: An object with `log_probs(states, commands)`, or a function of states and commands.
        states: One or more states of its environment.
        commands: One or more commands; by default, random commands of the space.
        space: The command space; by default, that of the policy, or the smallest box that contains the commands.
    """
    notes: list[str] = []
    try:
        for note in _examine(policy, states, commands, space):
            notes.append(note)
    except InvalidInput as error:
        words = str(error)
        return PolicyReport(
            (f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', '?')) else '.'}",), tuple(notes)
        )
    return PolicyReport((), tuple(notes))


def _examine(policy: Any, states: Any, commands: Any, space: CommandSpace | None) -> Iterator[str]:
    """Yield notes; raise InvalidInput with the first problem."""
    states = _rows(states, "states", np.float32)
    space = space or getattr(policy, "space", None)
    if commands is not None:
        commands = _rows(commands, "commands", np.float64)
        space = space or CommandSpace(commands.min(axis=0), commands.max(axis=0))
    elif space is None:
        raise InvalidInput.expected("commands, or the space of the commands", "neither")
    else:
        random = np.random.default_rng(0).uniform(space.low, space.high, size=(ROWS, space.dim))
        commands = space.project(random, space.low, space.high)
    if commands.shape[1] != space.dim:
        raise InvalidInput.expected(f"commands of {space.dim} numbers", f"{commands.shape[1]}")
    commands = space.checked(commands, "the commands")
    number, policy = np.arange(ROWS), as_policy(policy)
    states, commands = states[number % len(states)], commands[number % len(commands)]
    _query(policy, states[:1], commands[:1])  # some policies fail for a single row only
    scores = _query(policy, states, commands)
    yield from _check_numbers(scores, tells_values(policy))
    if scores.shape[1] == 1:
        yield "There is only one action, so there is no foil."
        return
    yield from _check_noise(policy, states, commands, scores, space)
    if (commands != commands[0]).any():
        here = np.asarray(policy.log_probs(np.repeat(states[:1], ROWS, axis=0), commands)).astype(np.float64)
        differences = np.maximum(here, -1e30) - np.maximum(here[:, :1], -1e30)
        if np.ptp(differences, axis=0).max() <= 1e-6 * _usual_margin(scores):
            yield "In the first state, the command has no effect on the choice of the policy."


def _rows(values: Any, what: str, dtype: Any) -> np.ndarray:
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers")
        rows = np.atleast_2d(np.asarray(values, dtype=dtype))
    except (TypeError, ValueError):
        raise InvalidInput.expected(f"{what} that are lists of numbers", repr(values)) from None
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise InvalidInput.expected(f"at least one vector of finite numbers as {what}", f"shape {rows.shape}")
    return rows


def _query(policy: Policy, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the scores (N, num_actions) as the policy returns them."""
    count, copies = len(states), (states.copy(), commands.copy())
    try:
        scores = np.asarray(policy.log_probs(*copies))
    except Exception as error:  # a user's policy may raise anything
        raise InvalidInput(_about_error(error, count)) from None
    if scores.ndim != 2 or len(scores) != count or not scores.shape[1]:
        words = f"it returns an array of shape {scores.shape} for {count} rows; expected ({count}, number of actions)"
        hint = "; return one row also for a single state" if scores.ndim == 1 else ""
        hint = "; is the result transposed?" if scores.ndim == 2 and scores.shape[1] == count else hint
        raise InvalidInput(f"{words}{hint}")
    if not (np.array_equal(copies[0], states) and np.array_equal(copies[1], commands)):
        raise InvalidInput("it changes the arrays of states and commands in place; it must copy them first")
    return scores


def _about_error(error: Exception, count: int) -> str:
    words = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
    if "requires grad" in words:
        return "its result requires gradients; call the network inside torch.no_grad() and return NumPy arrays"
    hint = ""
    if "dtype" in words or "Double" in words:
        hint = " Convert both to float32 tensors."
    elif "numpy.ndarray" in words or "cuda" in words:
        hint = " Convert them to tensors, and the result to a NumPy array; pf.from_torch does both."
    rows = f"{count} states (float32) and {count} commands (float64) as NumPy arrays"
    return f"it raised {type(error).__name__} for {rows}: {words.rstrip('.')}.{hint}"


def _check_numbers(scores: np.ndarray, are_values: bool) -> Iterator[str]:
    if scores.dtype.kind not in "fiu":
        raise InvalidInput(f"it returns {scores.dtype}; expected numbers")
    wrong = (np.isnan(scores) | (scores == np.inf)).any(axis=1)
    if wrong.any():
        raise InvalidInput(f"it returns NaN or infinity in {wrong.sum()} of {len(scores)} rows")
    if scores.dtype.itemsize < 4 and scores.dtype.kind == "f":
        yield f"It returns {scores.dtype}, which has few digits; float32 gives more exact answers."
    values = scores.astype(np.float64)
    if (values == -np.inf).any():
        yield "Some log-probabilities are -infinity; those actions count as impossible."
    if are_values:
        return
    if _sum_to_one(values) and (values >= 0).all():
        raise InvalidInput(
            "it returns probabilities (rows in [0, 1] that sum to 1); return log-probabilities or logits"
        )
    if not _sum_to_one(np.exp(np.minimum(values, 1.0))):
        yield "Its rows are not normalised, so they are read as logits: only differences within a row matter."


def _sum_to_one(rows: np.ndarray) -> bool:
    return bool(np.abs(rows.sum(axis=1) - 1.0).max() <= NORMALISED)


def _check_noise(
    policy: Policy, states: np.ndarray, commands: np.ndarray, scores: np.ndarray, space: CommandSpace
) -> Iterator[str]:
    """Yield notes about differences of margins between batches; raise InvalidInput if they are too large.

    The foil of each row is its second best action.
    """
    valid, foils = tuple(range(scores.shape[1])), np.argsort(-scores, axis=1, kind="stable")[:, 1]
    rows = zip(states, commands, foils, strict=True)
    batch = QuestionBatch([Question(policy, state, command, int(foil), valid, space) for state, command, foil in rows])
    try:
        noise = measure_noise(batch)
    except Exception as error:
        cause = error.__cause__ if isinstance(error, InvalidInput) else error
        if isinstance(cause, Exception):  # the policy fails at a batch size that was not tried before
            raise InvalidInput(_about_error(cause, BATCHES[1])) from None
        words = "it is random: the same batch gives different results; if dropout is on, call eval() on the module"
        raise InvalidInput(words) from None
    differences = f"margins differ by up to {noise:.2g} between batches"
    if noise > NEIGHBOURS * _usual_margin(scores):
        hint = "if batch norm is in training mode, call eval()"
        raise InvalidInput(f"its rows depend on each other: {differences}; {hint}")
    if noise > 0 and exact_rows(batch):
        raise InvalidInput(f"it declares exact_rows, but its {differences}")
    if noise > 0:
        yield f"Its {differences}; searches allow for this."


def _usual_margin(scores: np.ndarray) -> float:
    """Return the mean difference between the largest and the smallest finite score of a row."""
    finite = np.where(np.isneginf(scores), np.nan, scores.astype(np.float64))
    return float(np.nanmean(np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1)))
