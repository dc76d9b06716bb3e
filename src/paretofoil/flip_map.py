"""Flip maps: every decision of an episode and every foil, with the change of the command that each needs."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.counterfactual import Counterfactual, Outcome
from paretofoil.errors import InvalidInput

SCHEMA = "paretofoil/flip-map/1"


@dataclass(frozen=True, eq=False)
class FlipMap:
    """One answer for each moment and foil of an episode."""

    agent: str
    command: np.ndarray
    """The command that was issued at the start."""
    achieved: np.ndarray
    taken: tuple[int, ...]
    """The action of each moment."""
    times: tuple[int, ...]
    """The moment of each answer."""
    answers: tuple[Counterfactual, ...]

    def distances(self) -> np.ndarray:
        """(moments, actions): the scaled distance of each answer; infinite where none was found, NaN if not asked."""
        actions = len(self.answers[0].actions) if self.answers else 0
        grid = np.full((len(self.taken), actions), np.nan)
        for time, found in zip(self.times, self.answers, strict=True):
            grid[time, found.foil] = np.inf if found.distance is None else found.distance
        return grid

    def easiest(self, count: int = 3) -> list[tuple[int, Counterfactual]]:
        """The moments at which the agent is easiest to steer, the smallest change first."""
        found = [(t, a) for t, a in zip(self.times, self.answers, strict=True) if a.found]
        return sorted(found, key=lambda item: (item[1].distance, item[0]))[:count]

    def unsteerable(self) -> list[int]:
        """The moments at which there were foils but none could be reached."""
        steered = {t for t, a in zip(self.times, self.answers, strict=True) if a.found}
        return sorted(set(self.times) - steered)

    def proven_unsteerable(self) -> list[int]:
        """Those of them at which every foil is proven to be infeasible."""
        open_questions = {
            t for t, a in zip(self.times, self.answers, strict=True) if a.outcome is not Outcome.PROVEN_INFEASIBLE
        }
        return sorted(set(self.times) - open_questions)

    def to_json(self, indent: int | None = None) -> str:
        values: dict[str, Any] = {
            "schema": SCHEMA,
            "agent": self.agent,
            "command": self.command.tolist(),
            "achieved": self.achieved.tolist(),
            "taken": list(self.taken),
            "times": list(self.times),
            "answers": [a.to_dict() for a in self.answers],
        }
        return json.dumps(values, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "FlipMap":
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInput.expected("a flip map as JSON", f"text that is not JSON ({error})") from None
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            raise InvalidInput.expected(f"a flip map of schema {SCHEMA}", "another value")
        return cls(
            agent=values["agent"],
            command=np.array(values["command"]),
            achieved=np.array(values["achieved"]),
            taken=tuple(values["taken"]),
            times=tuple(values["times"]),
            answers=tuple(Counterfactual.from_dict(item) for item in values["answers"]),
        )
