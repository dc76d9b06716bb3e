"""A policy with free features of its state, as the page shows it: one decision, with numbers that the visitor sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import plain, plain_fields
from paretofoil.core.policy import Policy, action_values, probabilities, query
from paretofoil.explanation.questions import FeatureAgent
from paretofoil.show.numbers import short

MAX_COMMAND = 64
"""Largest number of numbers that the page sets: those of a command, or of a command and a state."""


@dataclass(frozen=True, eq=False)
class StatePolicy(FeatureAgent):
    """A policy with free features of its state, without an environment. Nothing can be rolled out.

    The page sets its numbers: the command of the agent, if it has one, followed by the observation.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.actor is not None:
            raise InvalidInput.expected(
                f"{self.name} to have discrete actions (the page shows free features only for them)",
                "continuous actions",
            )
        count = self.features.num_commands + self.features.size
        if count > MAX_COMMAND:
            raise InvalidInput.expected(f"at most {MAX_COMMAND} numbers to set on the page", f"{count} in {self.name}")

    @property
    def discrete_policy(self) -> Policy:
        policy: Policy = self.policy
        return policy

    @property
    def example(self) -> np.ndarray:
        """Numbers to start with: the middle of the commands, and the example state of the features.

        Without an example state, each number of the state is zero, or the nearest value that a feature can have.
        """
        features, space, count = self.features, self.space, self.features.num_commands
        state = np.zeros(features.size) if features.example is None else features.example
        numbers = np.concatenate([(space.low + space.high)[:count] / 2, features.values(state[None])[0]])
        near = np.clip(numbers, space.low, space.high)
        return np.concatenate([near[:count], features.observations(state[None], near[None])[0]])

    def decision_of(self, numbers: Any) -> Decision:
        """Return the decision for the numbers of the page: a command, if the agent has one, and an observation."""
        count = self.features.num_commands
        what = "the command and the state" if count else "the state"
        numbers = as_vector(numbers, what, count + self.features.size)
        return self.decision_at(as_state(numbers[count:]), numbers[:count] if count else None)

    def observation(self) -> dict[str, Any]:
        """Return the names of the numbers that the page can set, and an example."""
        count = self.features.num_commands
        commands = [f"{o.name}, {o.unit}" if o.unit else o.name for o in self.space.command_objectives[:count]]
        names = [*commands, *self.features.number_names]
        return {"names": names, "example": _short_numbers(self.example), "num_commands": count}

    def as_episode(self, numbers: Sequence[float]) -> dict[str, Any]:
        """Return the decision for the numbers of the page, as the document of an episode of one step."""
        decision = self.decision_of(numbers)
        [scores] = query(self.policy, decision.state[None], decision.command[None])
        values = zip(self.space.command_objectives, decision.command.tolist(), strict=True)
        text = ", ".join(f"{o.name} {short(-value if o.cost else value)} {o.unit}".strip() for o, value in values)
        entry = {
            **plain_fields(decision),
            "state": _short_numbers(decision.state),
            "probabilities": plain(probabilities(self.policy, scores, decision.valid_actions)),
            "values": plain(action_values(self.policy, scores)),
            "command_text": text,
            "picture": "",
            "place": None,
        }
        return {
            "command": list(numbers),
            "decisions": [entry],
            "achieved": [],
            "command_text": text,
            "achieved_text": "",
            "delivered": None,
            "end_picture": "",
            "end_place": None,
        }


def as_state(numbers: np.ndarray) -> np.ndarray:
    """Return a state as float32; raise an error for numbers that float32 cannot hold."""
    with np.errstate(over="ignore"):
        return as_vector(numbers.astype(np.float32), "the state").astype(np.float32)


def _short_numbers(numbers: np.ndarray) -> list[float]:
    """Return float32 numbers with the fewest digits that identify them: 0.1 instead of 0.10000000149."""
    return [float(str(number)) for number in numbers.astype(np.float32)]
