"""Flip maps: every decision of an episode and every foil, with the change of the command that each needs."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import Objective
from paretofoil.core.display import show
from paretofoil.core.document import (
    brief,
    integer,
    objective,
    plain,
    read_document,
    record,
    several,
    sized,
    text,
    whole,
    write_document,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.frame import as_frame

SCHEMA = "paretofoil/flip-map/2"


@dataclass(frozen=True, eq=False, repr=False)
class FlipMap:
    """One answer for each moment and foil of an episode."""

    agent: str
    objectives: tuple[Objective, ...]
    """As the command asks for them."""
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
            t for t, a in zip(self.times, self.answers, strict=True) if a.status is not Status.PROVEN_INFEASIBLE
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
                "step": step,
                "chosen": a.actions[a.chosen],
                "foil": a.actions[a.foil],
                "status": a.status.value,
                "distance": a.distance,
                **{f"ask for {o.name}": number for o, number in zip(a.objectives, _numbers(a), strict=True)},
                "search": a.search,
                "queries": a.total_queries,
                "seconds": a.seconds,
                "sentence": str(a),
            }
            for step, a in zip(self.times, self.answers, strict=True)
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
            read = cls(**_READER(values))
            _check_fit(read)
            return read


_READER = record(
    {
        "agent": text,
        "objectives": several(objective),
        "actions": several(text),
        "command": sized(None),
        "achieved": sized(None),
        "taken": several(integer),
        "times": several(integer),
        "answers": several(Answer.from_dict),
    }
)


def _check_fit(read: FlipMap) -> None:
    """Each answer has a moment of the episode, and each action a name."""
    actions, moments = len(read.actions), len(read.taken)
    if len(read.times) != len(read.answers):
        raise InvalidInput.expected(f"{len(read.answers)} times, one for each answer", len(read.times))
    if not all(0 <= time < moments for time in read.times):
        raise InvalidInput.expected(f"times from 0 to {moments - 1}", brief(list(read.times)))
    used = {*read.taken, *(answer.foil for answer in read.answers)}
    if not all(0 <= action < actions for action in used):
        raise InvalidInput.expected(f"actions from 0 to {actions - 1}", brief(sorted(used)))
    if read.command.size != len(read.objectives) or any(_names(a) != _names(read) for a in read.answers):
        raise InvalidInput.expected("a command and answers with the same objectives", "others")


def _names(shown: FlipMap | Answer) -> list[str]:
    return [objective.name for objective in shown.objectives]


def _numbers(answer: Answer) -> list[float | None]:
    return [None] * len(answer.objectives) if answer.command is None else answer.command.tolist()
