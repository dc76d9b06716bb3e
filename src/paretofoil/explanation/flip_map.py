"""Flip maps: every decision of an episode and every foil, with the change of the command that each needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from paretofoil.core.answer import Answer, QuestionRecord, Status
from paretofoil.core.command import Objective
from paretofoil.core.display import as_frame, show
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import Document, brief, upgrade_each


@dataclass(frozen=True, eq=False, repr=False)
class FlipMap(Document):
    """One answer for each step and foil of an episode."""

    SCHEMA: ClassVar[str] = "paretofoil/flip-map/3"

    agent: str
    objectives: tuple[Objective, ...]
    """As the command asks for them."""
    actions: tuple[str, ...]
    command: np.ndarray
    """The command that was issued at the start."""
    achieved: np.ndarray
    taken: tuple[int, ...]
    """The action of each moment."""
    steps: tuple[int, ...]
    """The step of each answer."""
    answers: tuple[Answer, ...]

    def distances(self) -> np.ndarray:
        """(moments, actions): the scaled distance of each answer; infinite where none was found, NaN if not asked."""
        distances = np.full((len(self.taken), len(self.actions)), np.nan)
        for step, found in zip(self.steps, self.answers, strict=True):
            distances[step, found.question.foil] = np.inf if found.quoted is None else found.quoted.distance
        return distances

    def easiest(self, count: int = 3) -> list[tuple[int, Answer]]:
        """The moments at which the agent is easiest to steer, the smallest change first."""
        found = [(t, a) for t, a in zip(self.steps, self.answers, strict=True) if a.found]
        return sorted(found, key=lambda item: (item[1].distance, item[0]))[:count]

    def unsteerable(self) -> list[int]:
        """The moments at which there were foils but none could be reached."""
        steered = {t for t, a in zip(self.steps, self.answers, strict=True) if a.found}
        return sorted(set(self.steps) - steered)

    def proven_unsteerable(self) -> list[int]:
        """Those of them at which every foil is proven to be infeasible."""
        open_questions = {
            t for t, a in zip(self.steps, self.answers, strict=True) if a.status is not Status.PROVEN_INFEASIBLE
        }
        return sorted(set(self.steps) - open_questions)

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
                "search": a.search.name,
                "queries": a.total_queries,
                "seconds": a.seconds,
                "sentence": str(a),
            }
            for step, a in zip(self.steps, self.answers, strict=True)
        )

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if values.get("schema") == "paretofoil/flip-map/2":
            values = {"steps" if name == "times" else name: value for name, value in values.items()}
            values["schema"] = cls.SCHEMA
        answers = {"answers": upgrade_each(Answer, values["answers"])} if "answers" in values else {}
        return {**values, **answers}

    def check(self) -> None:
        """Each answer has a step of the episode, and each action a name."""
        num_actions, num_steps = len(self.actions), len(self.taken)
        if len(self.steps) != len(self.answers):
            raise InvalidInput.expected(f"{len(self.answers)} steps, one for each answer", len(self.steps))
        if not all(0 <= step < num_steps for step in self.steps):
            raise InvalidInput.expected(f"steps from 0 to {num_steps - 1}", brief(list(self.steps)))
        for answer in self.answers:
            answer.check()
        used = {*self.taken, *(answer.question.foil for answer in self.answers)}
        if not all(0 <= action < num_actions for action in used):
            raise InvalidInput.expected(f"actions from 0 to {num_actions - 1}", brief(sorted(used)))
        if self.command.size != len(self.objectives):
            raise InvalidInput.expected(f"a command for {len(self.objectives)} objectives", self.command.size)
        for answer in self.answers:
            if _names(answer.question) != _names(self):
                raise InvalidInput.expected(f"answers about {_names(self)}", _names(answer.question))


def _names(shown: FlipMap | QuestionRecord) -> list[str]:
    return [objective.name for objective in shown.objectives]


def _numbers(answer: Answer) -> list[float | None]:
    return [None] * len(answer.objectives) if answer.command is None else answer.command.tolist()
