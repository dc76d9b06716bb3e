"""Answers: the counterfactual command, or that there is none, as values that serialise and speak."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from paretofoil.core.attainable import Attainable
from paretofoil.core.certificate import Certificate
from paretofoil.core.command import Norm, Objective
from paretofoil.core.consequence import Consequence
from paretofoil.core.display import show
from paretofoil.core.document import (
    MAX_INTEGER,
    Reader,
    brief,
    by_name,
    finite,
    flag,
    integer,
    number,
    objective,
    one_of,
    optional,
    plain,
    read_document,
    record,
    renamed,
    several,
    sized,
    text,
    whole,
    within,
    write_document,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import Stop
from paretofoil.core.proven_range import ProvenRange
from paretofoil.core.question import Question
from paretofoil.core.start import Start

SCHEMA = "paretofoil/answer/1"


class Status(Enum):
    """What is known about the closest command of a question."""

    FOUND = "found"
    PROVEN_CLOSEST = "proven closest"
    PROVEN_INFEASIBLE = "proven infeasible"
    NOT_FOUND = "not found"

    @classmethod
    def _missing_(cls, value: object) -> "Status | None":
        """Read the words that files of earlier versions use."""
        name = EARLIER_STATUS.get(str(value))
        return None if name is None else cls[name]


EARLIER_STATUS = {"proven optimal": "PROVEN_CLOSEST", "not found within the budget": "NOT_FOUND"}
"""The words of earlier versions, which stored answers and rows may still have."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What an answer is about, as long as it lives in the process that asked; it is not stored."""

    question: Question
    scene: Callable[[], np.ndarray] | None = None
    """Draws the environment at that moment, where there is one."""
    clearance: float = 0.0
    """By how much the search kept clear of kappa, for the noise of the policy; a proven range allows for it, too."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The smallest change of the command that was found to make the policy choose the foil, or that there is none.

    Everything in it was checked again on the policy by the call that returned it.
    """

    status: Status
    stop: Stop
    """Why the search stopped."""
    original: np.ndarray
    """R_t, the command that was asked about."""
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    """The names of all actions."""
    phrases: tuple[str, ...]
    """What the agent would have done, for each action: "gone down", "stayed"."""
    valid_actions: tuple[int, ...]
    chosen: int
    foil: int
    kappa: float
    norm: Norm
    probabilities: np.ndarray
    """Of the valid actions under the original command, 0 for the others."""
    search: str
    """The name of the search that gave the answer."""
    seed: int
    queries: dict[str, int]
    """How often the policy was asked, by phase."""
    seconds: float
    """Wall time; questions that were answered together share it equally."""
    low: np.ndarray
    high: np.ndarray
    """The region: what could be asked for instead."""
    agent: str = ""
    """The name of the agent, if it was one."""
    step: int | None = None
    """The step of the episode, if it was one."""
    outside: tuple[int, ...] = ()
    """Objectives of which the original command asks for more or less than the agent was trained on."""
    kept: tuple[int, ...] = ()
    """Objectives that the user keeps as they are."""
    held: tuple[int, ...] = ()
    """Objectives that the user holds to a range of their own."""
    alone: tuple[int, ...] = ()
    """The objectives that were allowed to change, if it was to change few; empty if all were."""
    command: np.ndarray | None = None
    """R_cf, in short numbers: the command that is quoted, and that all that follows is about; None if none is known."""
    distance: float | None = None
    """Its scaled distance |D^-1 (R_cf - R_t)|."""
    margin: float | None = None
    """M_f(R_cf): by how much the foil wins there."""
    counterfactual_probabilities: np.ndarray | None = None
    """Of the valid actions under R_cf."""
    closest: np.ndarray | None = None
    """The closest valid command that was found, before it was rounded."""
    closest_distance: float | None = None
    """Its scaled distance, which is what proofs and tables of searches are about."""
    lower_bound: float = 0.0
    """No valid command is closer than this; 0 if nothing was proven, infinite if there is none at all."""
    certificate: Certificate | None = None
    """What was proven, and under which assumptions."""
    proven_range: ProvenRange | None = None
    """A box of commands around the answer, every one of which is proven to make the foil win."""
    consequence: Consequence | None = None
    """What the agent achieves under the new command, if it was rolled out."""
    original_consequence: Consequence | None = None
    """What it achieves under the original command, beside it."""
    start: Start | None = None
    """What the same change means for the command that was issued at the start, if it was an episode."""
    attainable: Attainable | None = None
    """The closest command known that makes the agent take the foil and deliver what was asked; None if not sought."""
    wanted: int = 1
    """How many different answers were asked for."""
    alternatives: tuple["Answer", ...] = field(default=())
    """Further answers that change other objectives, or change them in other directions."""
    preferences: bool = False
    """Whether commands are preferences, weights that sum to 1."""
    values: np.ndarray | None = None
    """What each action is worth under the original command, where the policy tells values; it chooses the most."""
    counterfactual_values: np.ndarray | None = None
    """The same under R_cf."""
    asked: Asked | None = field(default=None, metadata={"stored": False})
    """The question itself; None for an answer that was read from JSON."""

    @property
    def found(self) -> bool:
        return self.command is not None

    @property
    def change(self) -> np.ndarray | None:
        """delta = R_cf - R_t."""
        return None if self.command is None else self.command - self.original

    @property
    def total_queries(self) -> int:
        return sum(self.queries.values())

    def __str__(self) -> str:
        return str(show(self, "sentence"))

    def __repr__(self) -> str:
        size = "" if self.distance is None else f", distance {self.distance:.4g}"
        foil = f"{self.actions[self.foil]!r} instead of {self.actions[self.chosen]!r}"
        return f"<Answer: {foil}: {self.status.value}{size}, by {self.search}>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    def paragraph(self) -> str:
        """The answer at length: what changes and what stays, probabilities, consequence, caveat."""
        return str(show(self, "paragraph"))

    def plot(self, path: Any = None, *, axes: tuple[str | int, str | int] | None = None) -> Any:
        """The landscape of the foil with this answer on it, and the scene beside it, as a matplotlib figure.

        The axes are two objectives by name or number; by default those that the answer changes most.
        """
        return show(self, "plot", path, axes=axes)

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {"schema": SCHEMA, "sentence": str(self)}
        values |= {name: plain(getattr(self, name)) for name in _stored()}
        values["objectives"] = [asdict(objective) for objective in self.objectives]
        values["change"] = plain(self.change)
        return values

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Answer":
        with whole(values, SCHEMA, "answer"):
            read = cls(**record(_READERS, _LATER)(renamed(values, outcome="status", time="step")))
            _check_fit(read)
            return read

    @classmethod
    def from_json(cls, document: str) -> "Answer":
        return cls.from_dict(read_document(document, "an answer"))


def _stored() -> list[str]:
    return [entry.name for entry in fields(Answer) if entry.metadata.get("stored", True)]


def _check_fit(read: Answer) -> None:
    """Sentences and figures look things up by number: each number of an answer must have its objective or action."""
    size, actions = len(read.objectives), len(read.actions)
    vectors = {name: getattr(read, name) for name in ("original", "low", "high", "command", "closest")}
    if read.proven_range is not None:
        vectors["proven_range"] = read.proven_range.low
    if read.start is not None:
        vectors |= {"start: issued": read.start.issued, "start: command": read.start.command}
    if read.attainable is not None:
        vectors |= {f"attainable: {name}": getattr(read.attainable, name) for name in ("command", "asked")}
    for name, vector in vectors.items():
        if vector is not None and vector.shape != (size,):
            raise InvalidInput.expected(f"{name} with {size} numbers", vector.shape)
    for name in ("probabilities", "counterfactual_probabilities", "values", "counterfactual_values"):
        shares = getattr(read, name)
        if shares is not None and shares.shape != (actions,):
            raise InvalidInput.expected(f"{name} of {actions} actions", shares.shape)
    if len(read.phrases) != actions:
        raise InvalidInput.expected(f"phrases for {actions} actions", len(read.phrases))
    for name in ("outside", "kept", "held", "alone"):
        _check_numbers(name, getattr(read, name), size)
    _check_numbers("actions by number", (read.chosen, read.foil, *read.valid_actions), actions)
    told = [getattr(read, name) is not None for name in _FOUND]
    if any(told) != all(told):
        raise InvalidInput.expected(f"all of {', '.join(_FOUND)}, or none", "some of them")
    had = None if read.attainable is None else read.attainable.consequence
    for result in (read.consequence, read.original_consequence, had):
        if result is not None and size - result.achieved.size not in (0, 1):  # a horizon is no return
            raise InvalidInput.expected(f"consequences for {size} objectives", result.achieved.size)


_FOUND = ("command", "distance", "margin", "counterfactual_probabilities", "closest", "closest_distance")
"""What an answer has if a command was found."""


def _check_numbers(what: str, numbers: tuple[int, ...], count: int) -> None:
    if not all(0 <= number < count for number in numbers):
        raise InvalidInput.expected(f"{what} from 0 to {count - 1}", brief(list(numbers)))


def _kind(kind: type[Enum], *earlier: str) -> Reader:
    known = one_of(*(member.value for member in kind), *earlier)
    return lambda value: kind(known(value))


_size = within(integer, 0, MAX_INTEGER)
_READERS: dict[str, Reader] = {
    "status": _kind(Status, *EARLIER_STATUS),
    "stop": _kind(Stop),
    "objectives": several(objective),
    **dict.fromkeys(("actions", "phrases"), several(text)),
    **dict.fromkeys(("valid_actions", "outside", "kept", "held", "alone"), several(integer)),
    **dict.fromkeys(("chosen", "foil", "seed", "wanted"), _size),
    **dict.fromkeys(("kappa", "seconds"), finite),
    "lower_bound": number,
    **dict.fromkeys(("agent", "search"), text),
    "norm": one_of("l1", "l2", "linf"),
    "step": optional(_size),
    "queries": by_name(_size),
    **dict.fromkeys(("original", "probabilities", "low", "high"), sized(None)),
    **dict.fromkeys(("command", "closest", "counterfactual_probabilities"), optional(sized(None))),
    **dict.fromkeys(("distance", "closest_distance", "margin"), optional(finite)),
    "certificate": optional(Certificate.from_dict),
    "proven_range": optional(ProvenRange.from_dict),
    **dict.fromkeys(("consequence", "original_consequence"), optional(Consequence.from_dict)),
    "start": optional(Start.from_dict),
    "alternatives": several(lambda item: Answer.from_dict(item)),
}
"""Every stored field that an answer has had from the first version on."""
_values = optional(sized(None))
_LATER: dict[str, Reader] = {
    "preferences": flag,
    **dict.fromkeys(("values", "counterfactual_values"), _values),
    "attainable": optional(Attainable.from_dict),
}
"""What earlier versions did not write."""
