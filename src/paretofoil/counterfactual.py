"""Counterfactuals: the answers to questions, as values that serialise and speak."""

import json
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from paretofoil.command import Norm, Objective
from paretofoil.errors import InvalidInput
from paretofoil.outlook import Consequence, Outlook
from paretofoil.search.certificate import Certificate
from paretofoil.search.region import Region

SCHEMA = "paretofoil/counterfactual/1"


class Outcome(Enum):
    """How a question ended."""

    FOUND = "found"
    PROVEN_OPTIMAL = "proven optimal"
    PROVEN_INFEASIBLE = "proven infeasible"
    NOT_FOUND = "not found within the budget"


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The smallest change of the command that was found to make the policy choose the foil.

    Everything in it was checked again on the policy by the call that returned it.
    """

    outcome: Outcome
    original: np.ndarray
    """R_t, the command that was asked about."""
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    """The names of all actions."""
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
    command: np.ndarray | None = None
    """R_cf, the closest command found, or None."""
    distance: float | None = None
    """The scaled distance |D^-1 (R_cf - R_t)|."""
    margin: float | None = None
    """M_f(R_cf): by how much the foil wins."""
    rounded: np.ndarray | None = None
    """R_cf in short numbers, for reading aloud; the foil is still the greedy action there."""
    counterfactual_probabilities: np.ndarray | None = None
    """Of the valid actions under R_cf."""
    lower_bound: float = 0.0
    """No valid command is closer than this; 0 if nothing was proven, infinite if there is none at all."""
    certificate: Certificate | None = None
    """What was proven, and under which assumptions."""
    region: Region | None = None
    """A box of commands around the answer, every one of which is proven to make the foil win."""
    consequence: Consequence | None = None
    """What the agent achieves under the new command, if it was rolled out."""
    alternatives: tuple["Counterfactual", ...] = field(default=())
    """Further answers that change other objectives, or change them in other directions."""

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
        from paretofoil.show.sentence import one_line

        return one_line(self)

    def paragraph(self) -> str:
        """The answer at length: what changes and what stays, probabilities, consequence, caveat."""
        from paretofoil.show.sentence import paragraph

        return paragraph(self)

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {"schema": SCHEMA, "sentence": str(self)}
        for entry in fields(self):
            values[entry.name] = _plain(getattr(self, entry.name))
        values["change"] = _plain(self.change)
        return values

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Counterfactual":
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            got = values.get("schema") if isinstance(values, dict) else type(values).__name__
            raise InvalidInput.expected(f"a counterfactual of schema {SCHEMA}", got)
        try:
            return cls(**{entry.name: _READERS.get(entry.name, _as_is)(values[entry.name]) for entry in fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"expected a whole counterfactual of schema {SCHEMA}, got one in which {error}"
            ) from None

    @classmethod
    def from_json(cls, text: str) -> "Counterfactual":
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise InvalidInput.expected("a counterfactual as JSON", f"text that is not JSON ({error})") from None


def _plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts only; infinity is written as the string "infinity"."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and np.isinf(value):
        return "infinity"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Counterfactual | Certificate | Region):
        return value.to_dict()
    if isinstance(value, Objective | Consequence | Outlook):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    return value


def _as_is(value: Any) -> Any:
    return value


def _array(value: Any) -> np.ndarray | None:
    return None if value is None else np.array(value, dtype=np.float64)


def _outlook(value: dict[str, Any]) -> Outlook:
    return Outlook(**{**value, "achieved": np.array(value["achieved"]), "error": np.array(value["error"])})


_READERS: dict[str, Any] = {
    "outcome": Outcome,
    "objectives": lambda items: tuple(Objective(**item) for item in items),
    "actions": tuple,
    "valid_actions": tuple,
    **dict.fromkeys(("original", "probabilities", "command", "rounded", "counterfactual_probabilities"), _array),
    "lower_bound": float,  # float("infinity") reads it back
    "certificate": lambda value: None if value is None else Certificate.from_dict(value),
    "region": lambda value: None if value is None else Region.from_dict(value),
    "consequence": lambda value: (
        None if value is None else Consequence(_outlook(value["original"]), _outlook(value["counterfactual"]))
    ),
    "alternatives": lambda items: tuple(Counterfactual.from_dict(item) for item in items),
}
