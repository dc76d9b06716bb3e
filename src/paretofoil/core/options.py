"""Options of an explanation. A new option is one field of `Options`, and the code that uses it.

The command line, the HTTP interface, the page's form and the lines of Python that the page shows are derived from the
fields: their types, defaults, limits and help texts.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import cache, wraps
from inspect import signature
from math import inf, isfinite
from numbers import Real
from types import NoneType
from typing import Any, Literal, ParamSpec, SupportsFloat, TypeVar, get_args, get_origin, get_type_hints

from paretofoil.core.command import Norm
from paretofoil.core.errors import InvalidInput, as_whole, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
Box = Literal["reachable", "paper"]


def about(help: str, *, ge: float | None = None, le: float | None = None) -> dict[str, Any]:
    """Return the metadata of a field: its help text and limits. pydantic reads them, too."""
    return {"description": help} | {name: limit for name, limit in (("ge", ge), ("le", le)) if limit is not None}


@dataclass(frozen=True, repr=False)
class Options:
    """Options of an explanation. The description of each option is in its metadata."""

    box: Box = field(
        default="reachable",
        metadata=about(
            "Search region: reachable (commands that can still be fulfilled), or paper (the region of the paper)."
        ),
    )
    kappa: float | None = field(
        default=None,
        metadata=about(
            "Margin by which the foil must win. If omitted, 0.05; for value-based agents, 1 % of the range of values.",
            ge=0.0,
        ),
    )
    probability: float | None = field(
        default=None,
        metadata=about(
            "Smallest probability of the foil, for policies that sample their actions. If omitted, the foil must win.",
            ge=1e-6,
            le=1 - 1e-6,
        ),
    )
    norm: Norm = field(default="l2", metadata=about("Norm that measures the distance of a command."))
    keep: Sequence[str | int] = field(default=(), metadata=about("Objectives that must not change."))
    ranges: Mapping[str, tuple[float, float]] = field(
        default_factory=dict, metadata=about("Lowest and highest value of objectives, by name.")
    )
    sparse: bool = field(default=False, metadata=about("Change as few objectives as possible."))
    k: int = field(default=1, metadata=about("Number of different answers.", ge=1))
    min_change: float = field(
        default=0.0,
        metadata=about(
            "Avoid changes smaller than this share of an objective's range, where possible.", ge=0.0, le=1.0
        ),
    )
    attainable: bool = field(default=True, metadata=about("Also find a command that the agent fulfils."))

    def __post_init__(self) -> None:
        for info in describe_options():
            object.__setattr__(self, info.name, info.checked(getattr(self, info.name)))
        if self.kappa is not None and self.probability is not None:
            raise InvalidInput.expected("either kappa or probability", f"{self.kappa:g} and {self.probability:g}")

    def __repr__(self) -> str:
        """Return the call that makes these options, without defaults."""
        values = ((info, getattr(self, info.name)) for info in describe_options())
        given = (f"{info.name}={value!r}" for info, value in values if value != info.default)
        return f"Options({', '.join(given)})"


@dataclass(frozen=True)
class OptionInfo:
    """The description of one option, for the command line, the page and the HTTP interface."""

    name: str
    kind: Literal["choice", "flag", "whole", "number", "objectives", "ranges"]
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    """Whether the value may be None."""

    def checked(self, value: Any) -> Any:
        """Return a value of this option, or raise InvalidInput."""
        if value is None and self.optional:
            return value
        match self.kind:
            case "choice":
                if value not in self.choices:
                    raise InvalidInput.expected(f"{self.name} among {', '.join(self.choices)}", repr(value))
            case "flag":
                if not isinstance(value, bool):
                    raise InvalidInput.expected(f"{self.name} to be True or False", repr(value))
            case "whole":
                value = self._within(as_whole(value, f"{self.name} to be a whole number"))
            case "number":
                if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                    raise InvalidInput.expected(f"{self.name} to be a finite number", repr(value))
                value = self._within(float(value))
            case "objectives":
                if isinstance(value, str) or not isinstance(value, Sequence):
                    raise InvalidInput.expected(f"{self.name} as a list of objectives", repr(value))
                value = tuple(value)
            case "ranges":
                if not isinstance(value, Mapping):
                    raise InvalidInput.expected(f"{self.name} as {{name: (lowest, highest)}}", repr(value))
                value = {name: _as_range(name, ends) for name, ends in value.items()}
        return value

    def _within(self, value: Any) -> Any:
        if (self.minimum is not None and value < self.minimum) or (self.maximum is not None and value > self.maximum):
            sides = (("at least", self.minimum), ("at most", self.maximum))
            limits = " and ".join(f"{words} {limit:g}" for words, limit in sides if limit is not None)
            raise InvalidInput.expected(f"{self.name} of {limits}", value)
        return value


def _as_range(name: str, ends: Any) -> tuple[float, float]:
    try:
        lowest, highest = map(float, ends)
    except (TypeError, ValueError):
        raise InvalidInput.expected(f"a range of {name} as (lowest, highest)", repr(ends)) from None
    if not lowest <= highest:
        raise InvalidInput.expected(f"a range of {name} with the lowest value first", f"{lowest:g} to {highest:g}")
    return lowest, highest


@cache
def describe_options() -> tuple[OptionInfo, ...]:
    """Return a description of every option, in the order of the fields."""
    types = get_type_hints(Options)
    return tuple(_describe(entry, types[entry.name]) for entry in fields(Options))


def _describe(entry: Any, annotation: Any) -> OptionInfo:
    parts = [part for part in get_args(annotation) if part is not NoneType]
    optional = NoneType in get_args(annotation)
    inner = parts[0] if optional else annotation
    origin = get_origin(inner)
    kinds = {bool: "flag", int: "whole", float: "number", Literal: "choice", Sequence: "objectives", Mapping: "ranges"}
    return OptionInfo(
        name=entry.name,
        kind=kinds[origin or inner],  # type: ignore[arg-type]
        default=entry.default if entry.default is not MISSING else entry.default_factory(),
        help=entry.metadata["description"],
        choices=get_args(inner) if origin is Literal else (),
        minimum=entry.metadata.get("ge"),
        maximum=entry.metadata.get("le"),
        optional=optional,
    )


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function refuse unknown arguments (suggesting the nearest one), and options and limits of a wrong type."""
    names = [name for name in signature(function).parameters if name != "self"]
    suggestions = {name: name for name in names}
    if "options" in names:
        suggestions = {info.name: f"options=Options({info.name}=...)" for info in describe_options()} | suggestions

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in names:
                nearest = suggestions.get(name)
                got = did_you_mean(name, suggestions) if nearest is None else f"{name!r} (did you mean {nearest}?)"
                raise InvalidInput.expected(f"an argument among {', '.join(names)}", got)
        for name, value in kwargs.items():
            kind = {"options": Options, "limits": Limits}.get(name)
            if kind is not None and not isinstance(value, kind):
                raise InvalidInput.expected(f"{name}=pf.{kind.__name__}(...)", repr(value))
        return function(*args, **kwargs)

    return checked


Options.__init__ = check_arguments(Options.__init__)  # type: ignore[method-assign]
DEFAULTS = Options()


class Stop(Enum):
    """Why a search stopped. The value is stored; the sentence is shown."""

    COMPLETE = "complete", "The search ran to completion."
    PROVEN = "proven", "The search stopped because its answer is proven."
    OUT_OF_TIME = "out of time", "The search stopped because its time ran out."
    OUT_OF_QUERIES = "out of queries", "The search stopped because it had used all its queries."
    OUT_OF_BOXES = "out of boxes", "The search stopped because its proof reached the limit of boxes of commands."
    NOT_CONFIRMED = (
        "not confirmed",
        "The search returned a command, but when the policy was queried again, the foil did not win by the margin.",
    )
    CONTRADICTED = (
        "contradicted",
        "The proof was withdrawn: margins of the deployed policy differ from those of the proof by more than allowed.",
    )

    sentence: str

    def __new__(cls, value: str, sentence: str) -> "Stop":
        member = object.__new__(cls)
        member._value_, member.sentence = value, sentence
        return member

    @property
    def early(self) -> bool:
        """Whether the search stopped before it was done."""
        return self not in (Stop.COMPLETE, Stop.PROVEN)


MAX_QUERIES = 10**12
"""The largest limit of queries."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search for each question, in addition to its own settings; None is no limit."""

    seconds: float | None = None
    """Wall time. Questions that are searched together share the sum of their limits."""
    queries: int | None = None
    """Queries of the policy, and evaluations of a white-box search; verification is not counted."""

    def __post_init__(self) -> None:
        if self.seconds is not None:
            as_seconds(self.seconds)
        if self.queries is None:
            return
        if as_whole(self.queries, "a limit of queries that is a whole number") < 1:
            raise InvalidInput.expected("a limit of at least 1 query", self.queries)
        if self.queries > MAX_QUERIES:
            raise InvalidInput.expected(f"a limit of at most {MAX_QUERIES:,} queries", self.queries)

    def deadline(self, num_questions: int = 1) -> float:
        """Return the deadline of this many questions that start now, as a value of `now()`."""
        return inf if self.seconds is None else now() + self.seconds * num_questions

    def fewer_queries(self, queries: int | None) -> int | None:
        """Return the smaller of two limits on queries: this one and another."""
        return min((limit for limit in (self.queries, queries) if limit is not None), default=None)


Limits.__init__ = check_arguments(Limits.__init__)  # type: ignore[method-assign]
NO_LIMITS = Limits()


def as_seconds(value: Any) -> float:
    """Return a time limit as a number, or raise InvalidInput."""
    if not isinstance(value, SupportsFloat) or not 0 < float(value) < inf:
        raise InvalidInput.expected("a limit of more than 0 seconds", value if isinstance(value, Real) else repr(value))
    return float(value)


def now() -> float:
    """Return the time in seconds, on the clock that all deadlines use."""
    return time.perf_counter()
