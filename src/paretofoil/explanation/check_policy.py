"""One checker for anybody's policy: what is wrong with it, in plain words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy, as_policy, tells_values
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.verify import BATCHES, exact_rows, measure_noise

ASKED = 32
"""Rows that a policy is asked about."""
NEIGHBOURS = 0.01
"""A margin that differs by more than this share of its usual size in another batch depends on its neighbours."""
NORMALISED = 1e-2
"""How far from 1 the probabilities of a row may sum up; half precision needs as much."""


@dataclass(frozen=True)
class PolicyReport:
    """What `check_policy` found: problems, which must be repaired, and notes, which are good to know."""

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
        verdict = "Nothing is wrong with this policy." if self.ok else "This policy cannot be explained as it is."
        return "\n".join([verdict, *(f"- {sentence}" for sentence in self.sentences)])


def check_policy(policy: Any, states: Any, commands: Any = None, *, space: CommandSpace | None = None) -> PolicyReport:
    """Ask a policy in several ways, and tell its author what is wrong with it; nothing is raised.

    Args:
        policy: an object with `log_probs(states, commands)`, or a plain function of the two.
        states: a state, or several, that it meets.
        commands: a command, or several, that it is given; random ones of the space if not given.
        space: the box of commands; the box around the commands if not given.
    """
    try:
        asked = _asked(policy, states, commands, space)
    except InvalidInput as error:
        return PolicyReport((_sentence(str(error)),))
    found = asked.check()
    problems = [sentence for wrong, sentence in found if wrong]
    return PolicyReport(tuple(problems), tuple(sentence for wrong, sentence in found if not wrong))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _asked(policy: Any, states: Any, commands: Any, space: CommandSpace | None) -> "_Asked":
    """The rows that are asked about, from what was given."""
    rows = _rows(states, "states", np.float32)
    if commands is None:
        if space is None:
            raise InvalidInput.expected("commands, or the space that they are from", "neither")
        given = np.random.default_rng(0).uniform(space.low, space.high, size=(ASKED, space.dim))
        given = space.project(given, space.low, space.high)
    else:
        given = _rows(commands, "commands", np.float64)
        space = space or CommandSpace(given.min(axis=0), given.max(axis=0))
    if given.shape[1] != space.dim:
        raise InvalidInput.expected(f"commands of {space.dim} numbers", f"{given.shape[1]}")
    given = space.checked(given, "the commands")
    number = np.arange(ASKED)
    return _Asked(as_policy(policy), rows[number % len(rows)], given[number % len(given)], space)


def _rows(values: Any, what: str, dtype: Any) -> np.ndarray:
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=dtype))
    except (TypeError, ValueError):
        raise InvalidInput.expected(f"{what} that are lists of numbers", repr(values)) from None
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise InvalidInput.expected(f"{what} that are finite vectors, at least one", f"shape {rows.shape}")
    return rows


Found = tuple[bool, str]
"""Whether something is wrong, and the sentence."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """A policy, and rows to ask it about."""

    policy: Policy
    states: np.ndarray  # (ASKED, state size)
    commands: np.ndarray  # (ASKED, d)
    space: CommandSpace

    def check(self) -> list[Found]:
        """Everything about shapes first: what comes after makes no sense without."""
        scores, found = self._answers()
        if scores is None:
            return found
        found += _about_numbers(scores, tells_values(self.policy))
        if not any(wrong for wrong, _ in found):
            found += self._about_batches(scores)
        return found

    def _answers(self) -> tuple[np.ndarray | None, list[Found]]:
        """The first row alone, then all together."""
        for count in (1, ASKED):
            states, commands = self.states[:count].copy(), self.commands[:count].copy()
            try:
                given = np.asarray(self.policy.log_probs(states, commands))
            except Exception as error:  # someone else's code, which may raise anything
                return None, [(True, _about_error(error, count))]
            wrong = _about_shape(given.shape, count)
            if wrong:
                return None, [(True, wrong)]
            if not (np.array_equal(states, self.states[:count]) and np.array_equal(commands, self.commands[:count])):
                return None, [(True, "It writes into the arrays that it is asked with; it should copy them.")]
        return given, []

    def _about_batches(self, scores: np.ndarray) -> list[Found]:
        """Chance and neighbours; then whether commands matter at all."""
        if scores.shape[1] == 1:
            return [(False, "There is a single action, so there is nothing to ask.")]
        batch = self._questions(scores)
        try:
            noise = measure_noise(batch)
        except InvalidInput:
            return [
                (True, "It is random: the very same batch gets different answers. Is dropout left on? Call eval().")
            ]
        except Exception as error:  # another batch size than before
            return [(True, _about_error(error, BATCHES[1]))]
        return [*_about_noise(noise, _usual(scores), exact_rows(batch)), *self._about_influence(scores)]

    def _questions(self, scores: np.ndarray) -> QuestionBatch:
        """A question about each row: why not the second best?"""
        valid, foils = tuple(range(scores.shape[1])), np.argsort(-scores, axis=1, kind="stable")[:, 1]
        return QuestionBatch(
            [
                Question(self.policy, state, command, int(foil), valid, self.space)
                for state, command, foil in zip(self.states, self.commands, foils, strict=True)
            ]
        )

    def _about_influence(self, scores: np.ndarray) -> Iterator[Found]:
        if not (self.commands != self.commands[0]).any():
            return
        state = np.repeat(self.states[:1], ASKED, axis=0)
        given = np.asarray(self.policy.log_probs(state, self.commands))
        if np.ptp(_margins(given), axis=0).max() <= 1e-6 * _usual(scores):
            yield False, "In the first state, commands change nothing: there, no foil can be had by any command."


def _about_error(error: Exception, count: int) -> str:
    words = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
    if "requires grad" in words:
        return "Gradients are left on: ask the network under torch.no_grad(), and return NumPy arrays."
    shapes = f"{count} states (float32) and {count} commands (float64) as NumPy arrays"
    hint = ""
    if "dtype" in words or "Double" in words:
        hint = " Does it turn both into float32 tensors?"
    elif "numpy.ndarray" in words or "cuda" in words:
        hint = " Does it make tensors of them, and NumPy arrays of its answers? pf.from_torch does both."
    return f"It raised {type(error).__name__} when it was asked about {shapes}: {words.rstrip('.')}.{hint}"


def _about_shape(shape: tuple[int, ...], count: int) -> str | None:
    if len(shape) == 2 and shape[0] == count and shape[1]:
        return None
    got = f"It answers {count} rows with the shape {shape}, where ({count}, actions) is expected"
    if len(shape) == 1:
        return f"{got}: it must give a number for each action, also if it is asked about a single row."
    if len(shape) == 2 and shape[1] == count:
        return f"{got}: is it transposed?"
    return f"{got}."


def _about_numbers(scores: np.ndarray, worth: bool) -> Iterator[Found]:
    """NaN, half precision, and what kind of numbers they are."""
    if scores.dtype.kind not in "fiu":
        yield True, f"It answers with {scores.dtype}, where numbers are expected."
        return
    if np.isnan(scores).any() or (scores == np.inf).any():
        bad = int((np.isnan(scores) | (scores == np.inf)).any(axis=1).sum())
        yield True, f"It gives NaN or infinity, in {bad} of {len(scores)} rows."
        return
    if scores.dtype.itemsize < 4 and scores.dtype.kind == "f":
        yield False, f"It answers in {scores.dtype}: with so few bits answers are less close; float32 is better."
    values = scores.astype(np.float64)
    if (values == -np.inf).any():
        yield False, "Some log-probabilities are -infinity: those actions count as impossible."
    if worth:
        return  # what actions are worth is nothing that sums up
    if _sums_to_one(values) and (values >= 0).all():
        yield True, "It gives probabilities (rows in [0, 1] that sum to 1), where log-probabilities are expected."
    elif not _sums_to_one(np.exp(np.minimum(values, 1.0))):
        yield False, "Its rows are not normalised, so they are read as logits: only differences within a row count."


def _sums_to_one(shares: np.ndarray) -> bool:
    return bool(np.abs(shares.sum(axis=1) - 1.0).max() <= NORMALISED)


def _about_noise(noise: float, usual: float, exact: bool) -> Iterator[Found]:
    if noise > NEIGHBOURS * usual:
        yield (
            True,
            (
                f"A row's answer depends on its neighbours: its margins differ by up to {noise:.2g} in other batches. "
                "Is batch norm in training mode? Call eval()."
            ),
        )
    elif noise > 0 and exact:
        yield True, f"It promises exact_rows, but its margins differ by up to {noise:.2g} in other batches."
    elif noise > 0:
        yield False, f"Its margins differ by up to {noise:.2g} in other batches; answers keep clear of that."


def _margins(scores: np.ndarray) -> np.ndarray:
    values = np.maximum(scores.astype(np.float64), -1e30)
    return values - values[:, :1]


def _usual(scores: np.ndarray) -> float:
    """The usual size of a difference between two actions."""
    finite = np.where(np.isneginf(scores), np.nan, scores.astype(np.float64))
    return float(np.nanmean(np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1)))
