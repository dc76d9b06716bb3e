"""Flip maps: every decision of an episode and every foil, with the change of the command that each needs."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretofoil.core.answer import Answer, Outcome
from paretofoil.core.command import Objective
from paretofoil.core.display import show
from paretofoil.core.document import array, integer, plain, read_document, several, text, whole, write_document
from paretofoil.core.frame import as_frame

SCHEMA = "paretofoil/flip-map/2"


@dataclass(frozen=True, eq=False, repr=False)
class FlipMap:
    """One answer for each moment and foil of an episode."""

    agent: str
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    command: np.ndarray
    """The command that was issued at the start."""
    achieved: np.ndarray
    taken: tuple[int, ...]
    """The action of each moment."""
    times: tuple[int, ...]
    """The moment of each answer."""
    answers: tuple[Answer, ...]

    def distances(self) -> np.ndarray:
        """(moments, actions): the scaled distance of each answer; infinite where none was found, NaN if not asked."""
        distances = np.full((len(self.taken), len(self.actions)), np.nan)
        for time, found in zip(self.times, self.answers, strict=True):
            distances[time, found.foil] = np.inf if found.distance is None else found.distance
        return distances

    def easiest(self, count: int = 3) -> list[tuple[int, Answer]]:
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

    def __repr__(self) -> str:
        found = sum(a.found for a in self.answers)
        return f"<FlipMap of {self.agent}: {len(self.taken)} moments, {len(self.answers)} foils, {found} reachable>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    def plot(self, path: Any = None) -> Any:
        """Time across, foils down, coloured by how far the command must move, as a matplotlib figure."""
        return show(self, "plot", path)

    def to_frame(self) -> Any:
        """One line for each moment and foil, as a pandas DataFrame (pandas must be installed)."""
        return as_frame(
            {
                "time": time,
                "chosen": a.actions[a.chosen],
                "foil": a.actions[a.foil],
                "outcome": a.outcome.value,
                "distance": a.distance,
                **{f"ask for {o.name}": number for o, number in zip(a.objectives, _numbers(a), strict=True)},
                "search": a.search,
                "queries": a.total_queries,
                "seconds": a.seconds,
                "sentence": str(a),
            }
            for time, a in zip(self.times, self.answers, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {"schema": SCHEMA, "agent": self.agent}
        names = ("actions", "command", "achieved", "taken", "times", "answers")
        values |= {name: plain(getattr(self, name)) for name in names}
        return {**values, "objectives": [asdict(objective) for objective in self.objectives]}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_json(cls, document: str) -> "FlipMap":
        values = read_document(document, "a flip map")
        with whole(values, SCHEMA, "flip map"):
            return cls(
                agent=text(values["agent"]),
                objectives=several(lambda item: Objective(**item))(values["objectives"]),
                actions=several(text)(values["actions"]),
                command=array(values["command"]),
                achieved=array(values["achieved"]),
                taken=several(integer)(values["taken"]),
                times=several(integer)(values["times"]),
                answers=several(Answer.from_dict)(values["answers"]),
            )


def _numbers(answer: Answer) -> list[float | None]:
    return [None] * len(answer.objectives) if answer.command is None else answer.command.tolist()
