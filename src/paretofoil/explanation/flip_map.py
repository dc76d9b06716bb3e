"""Flip maps: the change of the command for every foil at every step of an episode."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.core.decision import EpisodeReport
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import as_frame, brief


def format_amounts(amounts: Sequence[float]) -> str:
    """Return amounts as a short text."""
    return ", ".join(f"{amount:.3g}" for amount in amounts)


@dataclass(frozen=True, eq=False, repr=False)
class FlipMap(EpisodeReport):
    """The answers for all steps and foils of an episode."""

    SCHEMA: ClassVar[str] = "paretofoil/flip-map/3"
    EARLIER: ClassVar = {"paretofoil/flip-map/2": {"times": "steps"}}

    taken: tuple[int, ...]
    """The action of each step of the episode; empty if actions are continuous."""
    steps: tuple[int, ...]
    """The step of each answer."""
    answers: tuple[Answer, ...]
    amounts: tuple[tuple[float, ...], ...] = ()
    """The amounts of each step of the episode; empty if actions are discrete."""

    @property
    def num_steps(self) -> int:
        """The number of steps of the episode."""
        return len(self.taken) or len(self.amounts)

    def distances(self) -> np.ndarray:
        """Return the distances (num_steps, num_actions): infinity if no command was found, NaN without a question."""
        distances = np.full((self.num_steps, len(self.actions)), np.nan)
        for step, answer in zip(self.steps, self.answers, strict=True):
            distances[step, answer.question.column] = np.inf if answer.quoted is None else answer.quoted.distance
        return distances

    def easiest(self, count: int = 3) -> list[tuple[int, Answer]]:
        """Return the steps and answers with the smallest changes, the smallest first."""
        pairs = zip(self.steps, self.answers, strict=True)
        changes = [(a.quoted.distance, step, a) for step, a in pairs if a.quoted is not None]
        return [(step, a) for _, step, a in sorted(changes, key=lambda item: item[:2])[:count]]

    def unsteerable(self) -> list[int]:
        """Return the steps with foils but without any counterfactual."""
        return self._steps_without(lambda answer: answer.found)

    def proven_unsteerable(self) -> list[int]:
        """Return the steps at which every foil is proven infeasible."""
        return self._steps_without(lambda answer: answer.status is not Status.PROVEN_INFEASIBLE)

    def _steps_without(self, condition: Callable[[Answer], bool]) -> list[int]:
        """Return the steps at which no answer fulfils a condition."""
        others = {step for step, answer in zip(self.steps, self.answers, strict=True) if condition(answer)}
        return sorted(set(self.steps) - others)

    def __repr__(self) -> str:
        reachable = sum(a.found for a in self.answers)
        agent = f" of {self.agent}" if self.agent else ""
        return f"<FlipMap{agent}: {self.num_steps} steps, {len(self.answers)} foils, {reachable} reachable>"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each step and foil; pandas must be installed."""
        return as_frame(
            {
                "step": step,
                "chosen": self.chosen_at(step),
                "foil": a.question.foil_name,
                "status": a.status.value,
                "distance": None if a.quoted is None else a.quoted.distance,
                **self._numbers(a.command),
                "search": a.search.name,
                "queries": a.total_queries,
                "seconds": a.search.seconds,
                "sentence": str(a),
            }
            for step, a in zip(self.steps, self.answers, strict=True)
        )

    def chosen_at(self, step: int) -> str:
        """Return the name of the action that was chosen at a step, or the chosen amounts."""
        return self.actions[self.taken[step]] if self.taken else format_amounts(self.amounts[step])

    def _numbers(self, command: np.ndarray | None) -> dict[str, float | None]:
        numbers = [None] * len(self.objectives) if command is None else command.tolist()
        return {
            o.name if o.feature else f"ask for {o.name}": number
            for o, number in zip(self.objectives, numbers, strict=True)
        }

    def check(self) -> None:
        """Check that each answer has a step of the episode, and each action a name."""
        super().check()
        num_actions, num_steps = len(self.actions), self.num_steps
        if len(self.steps) != len(self.answers):
            raise InvalidInput.expected(f"{len(self.answers)} steps, one for each answer", len(self.steps))
        if not all(0 <= step < num_steps for step in self.steps):
            raise InvalidInput.expected(f"steps from 0 to {num_steps - 1}", brief(list(self.steps)))
        for answer in self.answers:
            names = [[o.name for o in objectives] for objectives in (self.objectives, answer.question.objectives)]
            same_actions = bool(self.amounts) or answer.question.actions == self.actions
            if names[0] != names[1] or not same_actions or answer.question.column not in range(num_actions):
                raise InvalidInput.expected("answers with the objectives and actions of the map", repr(answer))
        if not all(0 <= action < num_actions for action in self.taken):
            raise InvalidInput.expected(f"actions from 0 to {num_actions - 1}", brief(list(self.taken)))
