"""Limits of a search, and why it stopped."""

import time
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any, SupportsFloat

from paretofoil.core.errors import InvalidInput
from paretofoil.core.whole_number import as_whole


class Stop(Enum):
    """Why a search stopped; its value is stored, its sentence is told."""

    COMPLETE = "complete"
    PROVEN = "proven"
    OUT_OF_TIME = "out of time"
    OUT_OF_QUERIES = "out of queries"
    OUT_OF_BOXES = "out of boxes"
    NOT_CONFIRMED = "not confirmed"

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    @property
    def early(self) -> bool:
        """True if a limit came first, so that a larger one may give a better answer."""
        return self not in (Stop.COMPLETE, Stop.PROVEN)


_SENTENCES = {
    Stop.COMPLETE: "The search did all that it does.",
    Stop.PROVEN: "The search stopped because its answer is proven.",
    Stop.OUT_OF_TIME: "The search stopped because its time ran out.",
    Stop.OUT_OF_QUERIES: "The search stopped because it had used all its queries.",
    Stop.OUT_OF_BOXES: "The search stopped because its proof had looked at as many boxes of commands as it may.",
    Stop.NOT_CONFIRMED: (
        "The search named a command, but the policy, asked again, does not choose the foil there clearly enough."
    ),
}


@dataclass(frozen=True)
class Limits:
    """How much a search may spend on each question, beside what it sets itself; None is no limit."""

    seconds: float | None = None
    """Wall time: questions that are searched together may take so long for each of them, together."""
    queries: int | None = None
    """How often the search may ask the policy, evaluations of a white-box search included; what checks it is on top."""

    def __post_init__(self) -> None:
        if self.seconds is not None:
            as_seconds(self.seconds)
        if self.queries is not None and as_whole(self.queries, "a limit of queries that is a whole number") < 1:
            raise InvalidInput.expected("a limit of at least 1 query", self.queries)

    def deadline(self, num_questions: int = 1) -> float:
        """When so many questions that begin now must be done, on the clock of `now`."""
        return inf if self.seconds is None else now() + self.seconds * num_questions

    def fewer_queries(self, queries: int | None) -> int | None:
        """The smaller of this limit and another."""
        known = [limit for limit in (self.queries, queries) if limit is not None]
        return min(known) if known else None


NO_LIMITS = Limits()


def as_seconds(value: Any) -> float:
    """The number itself, or an error that names it."""
    if not isinstance(value, SupportsFloat):
        raise InvalidInput.expected("a limit of more than 0 seconds", repr(value))
    if not 0 < float(value) < inf:
        raise InvalidInput.expected("a limit of more than 0 seconds", value)
    return float(value)


def now() -> float:
    """The clock that deadlines are read from."""
    return time.perf_counter()
