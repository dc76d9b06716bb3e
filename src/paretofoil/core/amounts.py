"""Continuous actions: their space, foils that limit amounts, and the policy that a foil makes of an actor.

A foil such as "release >= 30" has one or more limits. It turns the actor into a policy with few actions: action 0 is
the foil, and each limit is a rival. The score of the foil is 0, and that of a rival is -m. The margin m = (amount -
limit) / range says by which share of the action's range the amount is on the right side of the limit. It is negative on
the wrong side. Searches and proofs need nothing else.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log10
from numbers import Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from paretofoil.core.command import as_vector, format_numbers
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.json import Count, brief
from paretofoil.core.policy import WhiteBoxActor, as_numbers, call_policy
from paretofoil.core.program import Affine, Program

_FLOAT64 = 8 * 2.0**-53
"""Upper bound of the relative error of a margin that is computed from an amount."""
DIRECTION = 0.1
"""A foil in a direction asks for a change by this share of the range, unless an amount is given."""


@dataclass(frozen=True, eq=False, repr=False)
class ActionSpace:
    """Continuous actions: one amount per dimension, between its lowest and highest value.

    Amounts of a policy beyond these values count as the nearest value, as if the environment clipped them.
    """

    names: Sequence[str]
    units: Sequence[str]
    """Empty for plain numbers."""
    low: np.ndarray
    high: np.ndarray
    phrases: Sequence[str] = ()
    """The past participle of each dimension, for sentences: "released"."""

    def __post_init__(self) -> None:
        low = as_vector(self.low, "the lowest amounts of actions")
        high = as_vector(self.high, "the highest amounts of actions", low.size)
        if not (low < high).all():
            raise InvalidInput.expected("low < high for every dimension", f"{low.tolist()} and {high.tolist()}")
        words = {}
        for what, default in (("names", None), ("units", ""), ("phrases", "")):
            given = getattr(self, what)
            texts = tuple(given) if given or default is None else (default,) * low.size
            if isinstance(given, str) or len(texts) != low.size or not all(isinstance(text, str) for text in texts):
                raise InvalidInput.expected(f"{what} for {low.size} dimensions of actions, as a list", repr(given))
            words[what] = texts
        if len({name.lower() for name in words["names"]}) < low.size or not all(words["names"]):
            raise InvalidInput.expected("different names of the dimensions", list(words["names"]))
        for name, value in {**words, "low": low, "high": high}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        sides = zip(self.names, self.low, self.high, self.units, strict=True)
        ranges = (f"{name} {low:g} to {high:g} {unit}".rstrip() for name, low, high, unit in sides)
        return f"<ActionSpace: {', '.join(ranges)}>"

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self.low.size

    def index(self, name: str) -> int:
        """Return the number of a dimension."""
        lowered = [each.lower() for each in self.names]
        if not isinstance(name, str) or name.lower() not in lowered:
            raise InvalidInput.expected(f"a dimension among {', '.join(self.names)}", did_you_mean(name, self.names))
        return lowered.index(name.lower())

    def clip(self, amounts: np.ndarray) -> np.ndarray:
        """Return amounts (N, dimensions) within the lowest and highest values."""
        return np.clip(amounts, self.low, self.high)

    def check(self, amounts: np.ndarray) -> None:
        """Raise an error if some of the amounts (N, dimensions) are not within the lowest and highest values."""
        inside = (amounts >= self.low) & (amounts <= self.high)
        if not inside.all():
            row, i = np.argwhere(~inside)[0]
            expected = f"an amount of {self.names[i]} from {self.low[i]:g} to {self.high[i]:g}"
            raise InvalidInput.expected(expected, amounts[row, i])


@dataclass(frozen=True)
class AmountCondition:
    """A range of the amount of one dimension, or of its change."""

    name: str
    least: float | None = None
    most: float | None = None
    relative: bool = False
    """Whether the numbers are changes of the amount that the policy chooses now."""

    def __post_init__(self) -> None:
        for number in (self.least, self.most):
            if number is not None and not (isinstance(number, Real) and isfinite(number)):
                raise InvalidInput.expected(f"finite numbers as amounts of {self.name}", repr(number))
        if self.least is None and self.most is None:
            raise InvalidInput.expected(f"a lowest or a highest amount of {self.name}", "neither")
        if self.least is not None and self.most is not None and not self.least < self.most:
            got = f"{self.least:g} and {self.most:g}"
            raise InvalidInput.expected(f"amounts of {self.name} with the lower one first", got)


@dataclass(frozen=True)
class AmountFoil:
    """A foil on a continuous action: conditions that must all hold. Combine two foils by `&`."""

    conditions: tuple[AmountCondition, ...]

    def __and__(self, other: "AmountFoil") -> "AmountFoil":
        return AmountFoil((*self.conditions, *other.conditions))


def more(name: str, amount: float) -> AmountFoil:
    """Return the foil that a dimension has at least this much more than the policy chooses."""
    return AmountFoil((AmountCondition(name, least=_positive(name, amount), relative=True),))


def less(name: str, amount: float) -> AmountFoil:
    """Return the foil that a dimension has at least this much less than the policy chooses."""
    return AmountFoil((AmountCondition(name, most=-_positive(name, amount), relative=True),))


def between(name: str, low: float | None, high: float | None) -> AmountFoil:
    """Return the foil that the amount of a dimension is between low and high; None for no limit."""
    return AmountFoil((AmountCondition(name, low, high),))


def _positive(name: str, amount: float) -> float:
    if not isinstance(amount, Real) or not amount > 0:
        raise InvalidInput.expected(f"a positive amount of {name}", repr(amount))
    return float(amount)


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FORMS = tuple(
    re.compile(form.replace("NUMBER", f"({_NUMBER})").replace("NAME", r"([^<>=]*[^<>=\s])"))
    for form in (r"NAME\s*([<>]=?)\s*NUMBER", r"NUMBER\s*<=?\s*NAME\s*<=?\s*NUMBER", r"NAME\s+([-+])\s*NUMBER")
)


def read_foil(text: str) -> AmountFoil:
    """Return the foil of a text: "release >= 30", "20 <= release <= 30", "release + 10", or several with "and"."""
    foil = AmountFoil(())
    for part in re.split(r"\s+and\s+|\s*,\s*", text.strip()):
        compare, both, move = (form.fullmatch(part) for form in _FORMS)
        if both:
            foil &= between(both[2], float(both[1]), float(both[3]))
        elif compare:
            number = float(compare[3])
            foil &= between(compare[1], *((number, None) if compare[2][0] == ">" else (None, number)))
        elif move:
            foil &= (more if move[2] == "+" else less)(move[1], float(move[3]))
        else:
            examples = '"release >= 30", "20 <= release <= 30" or "release + 10"'
            raise InvalidInput.expected(f"a foil on a continuous action, such as {examples}", repr(text))
    return foil


@dataclass(frozen=True)
class Limit:
    """One limit of a foil on a continuous action."""

    name: str
    unit: str
    phrase: str
    """What the agent has done, "released"; empty if there is no such word."""
    dimension: Count
    amount: float
    """The amount that the action must have at least or at most."""
    lower: bool
    """Whether the action must have at least this amount; else at most."""
    low: float
    high: float
    """The range of the dimension."""

    def __post_init__(self) -> None:
        if not (np.isfinite([self.amount, self.low, self.high]).all() and self.low < self.high):
            got = f"amount {self.amount:g}, low {self.low:g} and high {self.high:g}"
            raise InvalidInput.expected(f"a limit on {self.name} with finite numbers and low < high", got)

    @property
    def slope(self) -> float:
        """The margin per unit of the amount."""
        return (1.0 if self.lower else -1.0) / (self.high - self.low)

    @property
    def direction(self) -> int:
        """The number of its direction, as in `direction_names`."""
        return 2 * self.dimension + (0 if self.lower else 1)

    def amount_at(self, margin: float) -> float:
        """Return the amount at a margin, clipped to the range of the dimension."""
        return min(max(self.amount + margin / self.slope, self.low), self.high)


def make_limits(foil: AmountFoil | str, actions: ActionSpace, amounts: np.ndarray, kappa: float) -> tuple[Limit, ...]:
    """Return the limits of a foil, given the amounts (dimensions,) that the policy chooses now."""
    foil = read_foil(foil) if isinstance(foil, str) else foil
    if not isinstance(foil, AmountFoil):
        examples = '"release >= 30" or pf.more("release", 10)'
        raise InvalidInput.expected(f"a foil on a continuous action, such as {examples}", repr(foil))
    limits = []
    for condition in foil.conditions:
        i = actions.index(condition.name)
        low, high, now = float(actions.low[i]), float(actions.high[i]), float(actions.clip(amounts)[i])
        for number, lower in ((condition.least, True), (condition.most, False)):
            if number is None:
                continue
            amount = _outwards(now + number, high - low, up=lower) if condition.relative else float(number)
            reach = kappa * (high - low)
            if not low <= amount - (0 if lower else reach) or not amount + (reach if lower else 0) <= high:
                wider = f"that, with a margin of {reach:g}, is " if kappa else ""
                expected = f"an amount of {actions.names[i]} {wider}within {low:g} to {high:g}"
                moved = f" ({number:+g} from {now:.4g})" if condition.relative else ""
                raise InvalidInput.expected(expected, f"{amount:g}{moved}")
            words = actions.names[i], actions.units[i], actions.phrases[i]
            limits.append(Limit(*words, i, amount, lower, low, high))
    for limit in limits:
        if any(
            o.dimension == limit.dimension and limit.lower and not o.lower and limit.amount >= o.amount for o in limits
        ):
            got = " and ".join(f"{o.name} {'>=' if o.lower else '<='} {o.amount:g}" for o in limits)
            raise InvalidInput.expected("limits with a range of amounts between them", got)
    return tuple(limits)


def fixed_limits(foil: AmountFoil | str, actions: ActionSpace) -> tuple[Limit, ...]:
    """Return the limits of a foil that does not depend on the amounts that the policy chooses."""
    foil = read_foil(foil) if isinstance(foil, str) else foil
    for condition in getattr(foil, "conditions", ()):
        if condition.relative:
            example = f'"{condition.name} >= {actions.high[actions.index(condition.name)] / 2:g}"'
            got = "a change of the chosen amount, which depends on the command"
            raise InvalidInput.expected(f"limits of the amount, such as {example}", got)
    return make_limits(foil, actions, actions.low, kappa=0.0)


def meets_limits(limits: Sequence[Limit], amounts: np.ndarray) -> np.ndarray:
    """Return which amounts (..., dimensions) meet all limits: (...) bool."""
    met = [limit.slope * (amounts[..., limit.dimension] - limit.amount) >= 0 for limit in limits]
    return np.logical_and.reduce(met)


def _outwards(amount: float, width: float, *, up: bool) -> float:
    """Return an amount, rounded away from the present amount to about a thousandth of the range."""
    decimals = 3 - floor(log10(width))
    return round((ceil if up else floor)(round(amount * 10.0**decimals, 6)) / 10.0**decimals, max(decimals, 0))


def directions_of(actions: ActionSpace, amounts: np.ndarray) -> dict[int, AmountFoil]:
    """Return two foils for each dimension: a tenth of its range more, and a tenth of its range less.

    Foils outside the range are left out. The foils are numbered as in `direction_names`.
    """
    foils: dict[int, AmountFoil] = {}
    sides = zip(actions.names, actions.low, actions.high, actions.clip(amounts), strict=True)
    for i, (name, low, high, now) in enumerate(sides):
        step = DIRECTION * float(high - low)
        foils |= {2 * i: more(name, step)} if now + 1.02 * step <= high else {}
        foils |= {2 * i + 1: less(name, step)} if now - 1.02 * step >= low else {}
    return foils


def direction_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the directions of dimensions: "more release", "less release"."""
    return tuple(f"{word} {name}" for name in names for word in ("more", "less"))


@runtime_checkable
class Actor(Protocol):
    """A policy with continuous actions, queried in batches."""

    @property
    def actions(self) -> ActionSpace: ...

    def amounts(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the amounts (N, dimensions) in states (N, state size) under commands (N, d)."""
        ...


@dataclass(frozen=True, eq=False)
class CallableActor:
    """A plain function (states, commands) -> amounts as an actor."""

    function: Callable[[np.ndarray, np.ndarray], Any]
    actions: ActionSpace

    def amounts(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        output: np.ndarray = self.function(states, commands)  # `query_amounts` checks it
        return output


@dataclass(frozen=True, eq=False)
class AmountScores:
    """The amounts of an actor as scores, for questions that only define a search region."""

    actor: Actor

    tells_values: ClassVar[bool] = True

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the amounts (N, dimensions)."""
        return query_amounts(self.actor, states, commands)


def as_actor(subject: Any, actions: Any = None) -> Actor | None:
    """Return a policy with continuous actions as an actor, or None. A plain function needs the space `actions`."""
    if isinstance(subject, Actor) and isinstance(subject.actions, ActionSpace):
        if actions is not None:
            raise InvalidInput.expected("no actions=..., because the policy has its own", repr(actions))
        return subject
    if not isinstance(actions, ActionSpace):
        return None
    if not callable(subject):
        expected = (
            "a function (states, commands) -> amounts, or a policy of pf.from_torch, because actions=... is given"
        )
        raise InvalidInput.expected(expected, type(subject).__name__)
    return CallableActor(subject, actions)


def query_amounts(actor: Actor, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the amounts (N, dimensions) of an actor as float64 numbers, or raise an error."""
    amounts = as_numbers(call_policy(actor.amounts, states, commands), "amounts").astype(np.float64)
    if amounts.shape != (len(commands), actor.actions.dim):
        raise InvalidInput.expected(
            f"amounts of shape ({len(commands)}, {actor.actions.dim})", f"shape {amounts.shape}"
        )
    if not np.isfinite(amounts).all():
        wrong = ~np.isfinite(amounts).all(axis=1)
        got = f"{brief(amounts[wrong][0].tolist())} under the command {format_numbers(commands[wrong][0])}"
        raise InvalidInput.expected("amounts that are finite numbers", got)
    return amounts


@dataclass(frozen=True, eq=False)
class FoilPolicy:
    """A foil on the amounts of an actor, as a policy with discrete actions: 0 meets all limits, i misses limit i."""

    actor: Actor
    limits: tuple[Limit, ...]

    tells_values: ClassVar[bool] = True

    @property
    def exact_rows(self) -> bool:
        """Whether the result for a row never depends on the batch."""
        return bool(getattr(self.actor, "exact_rows", False))

    @classmethod
    def of(cls, actor: Actor, limits: tuple[Limit, ...]) -> "FoilPolicy":
        """Return the policy, white-box if the actor is."""
        return (WhiteBoxFoilPolicy if isinstance(actor, WhiteBoxActor) else cls)(actor, limits)

    @property
    def why_not(self) -> str | None:
        """Why the policy is not white-box; None if it is, or if the reason is unknown."""
        return getattr(self.actor, "why_not", None)

    def is_met(self, amounts: np.ndarray) -> bool:
        """Return whether amounts (dimensions,) meet all limits."""
        return bool(meets_limits(self.limits, amounts))

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The matrix and the offsets of the scores of amounts a: matrix @ a + offsets."""
        matrix, offsets = np.zeros((1 + len(self.limits), self.actor.actions.dim)), np.zeros(1 + len(self.limits))
        for row, limit in enumerate(self.limits, start=1):
            matrix[row, limit.dimension], offsets[row] = -limit.slope, limit.slope * limit.amount
        return matrix, offsets

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return 0 for the foil and -m for each limit: (N, 1 + limits)."""
        matrix, offsets = self.rows
        amounts = query_amounts(self.actor, states, commands)
        scores = np.zeros((len(amounts), len(offsets)))
        for row, limit in enumerate(self.limits, start=1):  # element by element: a row is the same in any batch
            scores[:, row] = matrix[row, limit.dimension] * amounts[:, limit.dimension] + offsets[row]
        return scores

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the actions: "at least 30 m³ of release", "less than 30 m³ of release"."""
        rivals = (
            f"{'less' if limit.lower else 'more'} than {_of(limit, f'{limit.amount:.10g}')}" for limit in self.limits
        )
        return (" and ".join(f"{text} of {name}" for _, text, name in self._ranges()), *rivals)

    @property
    def phrases(self) -> tuple[str, ...]:
        """What the agent has done: "released at least 30 m³", "chosen less than 2 of spill"."""
        parts = [f"{phrase} {text}" if phrase else f"chosen {text} of {name}" for phrase, text, name in self._ranges()]
        return (" and ".join(parts), *(f"chosen {name}" for name in self.names[1:]))

    def _ranges(self) -> list[tuple[str, str, str]]:
        """Return the phrase, the range and the name of each dimension of the foil."""
        ranges = []
        for i in dict.fromkeys(limit.dimension for limit in self.limits):
            here = [limit for limit in self.limits if limit.dimension == i]
            least = max((limit.amount for limit in here if limit.lower), default=None)
            most = min((limit.amount for limit in here if not limit.lower), default=None)
            if least is None or most is None:
                text = f"at least {least:.10g}" if least is not None else f"at most {most:.10g}"
            else:
                text = f"{least:.10g} to {most:.10g}"
            ranges.append((here[0].phrase, f"{text} {here[0].unit}".rstrip(), here[0].name))
        return ranges


def _of(limit: Limit, number: str) -> str:
    return f"{number} {limit.unit}".rstrip() + f" of {limit.name}"


@dataclass(frozen=True, eq=False)
class WhiteBoxFoilPolicy(FoilPolicy):
    """A foil on the actions of a white-box actor, as a white-box policy."""

    def fold(self, state: np.ndarray) -> Program:
        """Return the scores at one state: the actor, with the affine map of the limits in its last layer."""
        program: Program = self.actor.fold_amounts(state)  # type: ignore[attr-defined]
        matrix, offsets = self.rows
        size, output = np.abs(matrix), program.output
        moved = output.map(lambda part: matrix @ part)
        error = program.error
        if error is not None:  # of the amounts, and of the margins in float64
            margins = output.map(lambda part: size @ (_FLOAT64 * np.abs(part)))
            error = error.map(lambda part: size @ ((1.0 + _FLOAT64) * part)).plus(margins)
            error = Affine(error.bias + _FLOAT64 * np.abs(offsets), error.weights)
        return replace(program, output=Affine(moved.bias + offsets, moved.weights), error=error)
