"""A policy with free features of its state, as the page shows it: one decision, with numbers that the visitor sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paretofoil.core.amounts import as_actor
from paretofoil.core.command import CommandSpace, as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.feature import Features
from paretofoil.core.json import plain
from paretofoil.core.policy import (
    Policy,
    action_values,
    greedy_actions,
    probabilities,
    query,
)
from paretofoil.explanation.questions import features_of
from paretofoil.show.numbers import short

MAX_COMMAND = 64
"""How many numbers a command has at most, and a state that is set on the page together with its command."""


@dataclass(frozen=True, eq=False)
class StatePolicy:
    """A policy of whose state some features may change. It has no environment: nothing rolls out.

    Where an agent has a command and its episode, this has numbers and the decision there: the command of the agent, if
    it has one, followed by the observation.
    """

    name: str
    policy: Policy
    actor: None = None
    """As agents with discrete actions have it."""

    def __post_init__(self) -> None:
        features = features_of(self.policy)
        if features is None:
            expected = f"{self.name} to be an agent (pf.Agent), or a policy with free features of its state"
            raise InvalidInput.expected(expected, type(self.policy).__name__)
        if as_actor(self.policy) is not None:
            raise InvalidInput.expected(
                f"{self.name} to have discrete actions (the page shows free features only for them)",
                "continuous actions",
            )
        count = features.num_commands + features.size
        if count > MAX_COMMAND:
            raise InvalidInput.expected(f"at most {MAX_COMMAND} numbers to set on the page", f"{count} in {self.name}")

    @property
    def features(self) -> Features:
        return self.policy.features  # type: ignore[attr-defined]

    @property
    def discrete_policy(self) -> Policy:
        return self.policy

    @property
    def space(self) -> CommandSpace:
        """The ranges of the free numbers."""
        return self.features.space

    @property
    def state_size(self) -> int:
        return self.features.size

    @property
    def example(self) -> np.ndarray:
        """Numbers to start with: the middle of the commands, and the state that is known.

        If none is known, it is zero; a feature that cannot be zero then has the nearest value that it can have.
        """
        features, space, count = self.features, self.space, self.features.num_commands
        state = np.zeros(self.state_size) if features.example is None else features.example
        numbers = np.concatenate([(space.low + space.high)[:count] / 2, features.values(state[None])[0]])
        near = np.clip(numbers, space.low, space.high)
        return np.concatenate([near[:count], features.observations(state[None], near[None])[0]])

    def split(self, numbers: Any) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the command of the agent, None if it has none, and the observation (float32)."""
        count = self.features.num_commands
        what = "the command and the state" if count else "the state"
        numbers = as_vector(numbers, what, count + self.state_size)
        return numbers[:count] if count else None, as_state(numbers[count:])

    @cached_property
    def actions(self) -> tuple[str, ...]:
        command, state = self.split(self.example)
        count = len(self._scores(state, self.features.complete(state, command)))
        return self.features.actions or tuple(f"action {i}" for i in range(count))

    @property
    def phrases(self) -> tuple[str, ...]:
        return self.features.phrases or tuple(f"chosen {action}" for action in self.actions)

    def _scores(self, state: np.ndarray, free: np.ndarray) -> np.ndarray:
        return query(self.policy, state[None], free[None])[0]

    def decision_at(self, numbers: Any) -> Decision:
        """Return the decision in a state under a command."""
        command, state = self.split(numbers)
        free, valid = self.features.complete(state, command), np.ones((1, len(self.actions)), dtype=bool)
        [action] = greedy_actions(self._scores(state, free)[None], valid).tolist()
        return Decision(state, free, tuple(range(len(self.actions))), action, np.zeros(free.size))

    def observation(self) -> dict[str, Any]:
        """Return the numbers that the page can set: their names, and an example."""
        count = self.features.num_commands
        commands = [f"{o.name}, {o.unit}" if o.unit else o.name for o in self.space.command_objectives[:count]]
        names = [*commands, *self.features.number_names]
        return {"names": names, "example": _short_numbers(self.example), "num_commands": count}

    def as_episode(self, numbers: Sequence[float]) -> dict[str, Any]:
        """Return the decision in a state under a command, as an episode of one step."""
        decision = self.decision_at(numbers)
        scores = self._scores(decision.state, decision.command)
        values = zip(self.space.command_objectives, decision.command.tolist(), strict=True)
        text = ", ".join(f"{o.name} {short(-value if o.cost else value)} {o.unit}".strip() for o, value in values)
        entry = {
            "step": 0,
            "state": _short_numbers(decision.state),
            "command": decision.command,
            "valid_actions": decision.valid_actions,
            "action": decision.action,
            "amounts": None,
            "collected": decision.collected,
            "probabilities": probabilities(self.policy, scores, decision.valid_actions),
            "values": action_values(self.policy, scores),
            "command_text": text,
            "picture": "",
            "place": None,
        }
        return {
            "command": list(numbers),
            "decisions": [plain(entry)],
            "achieved": [],
            "command_text": text,
            "achieved_text": "",
            "delivered": None,
            "end_picture": "",
            "end_place": None,
        }


def as_state(numbers: np.ndarray) -> np.ndarray:
    """Return a state as float32. Numbers beyond float32 are refused."""
    with np.errstate(over="ignore"):
        return as_vector(numbers.astype(np.float32), "the state").astype(np.float32)


def _short_numbers(numbers: np.ndarray) -> list[float]:
    """Return float32 numbers with the fewest digits that mean them: 0.1 instead of 0.10000000149."""
    return [float(str(number)) for number in numbers.astype(np.float32)]
