"""A policy with free features of its state, as the page shows it: one decision, in a state that the visitor sets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paretofoil.core.amounts import as_actor
from paretofoil.core.command import CommandSpace, as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.feature import Features, default_names
from paretofoil.core.json import plain
from paretofoil.core.policy import (
    Policy,
    WhiteBoxPolicy,
    action_values,
    greedy_actions,
    probabilities,
    query,
    tells_values,
)
from paretofoil.explanation.questions import features_of
from paretofoil.show.numbers import short
from paretofoil.web.models import MAX_COMMAND


@dataclass(frozen=True, eq=False)
class StatePolicy:
    """A policy without a command, of whose state some features may change. It has no environment: nothing rolls out.

    Where an agent has a command and its episode, this has an observation and the decision there.
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
        if features.commands is not None:
            raise InvalidInput.expected(f"{self.name} to have free features and no command", "both")
        if as_actor(self.policy) is not None:
            raise InvalidInput.expected(f"{self.name} to have discrete actions beside free features", "continuous ones")
        if features.size > MAX_COMMAND:
            raise InvalidInput.expected(f"a state of at most {MAX_COMMAND} numbers to set on the page", features.size)

    @property
    def features(self) -> Features:
        return self.policy.features  # type: ignore[attr-defined]

    @property
    def discrete_policy(self) -> Policy:
        return self.policy

    @property
    def space(self) -> CommandSpace:
        """The ranges of the features."""
        return self.features.space

    @property
    def state_size(self) -> int:
        return self.features.size

    @cached_property
    def example(self) -> np.ndarray:
        """A state to start with: zeros, and where a feature cannot be zero, the nearest value that it can have."""
        zeros = np.zeros((1, self.state_size))
        values = np.clip(self.features.values(zeros), self.space.low, self.space.high)
        return self.features.observations(zeros, values)[0]

    @cached_property
    def actions(self) -> tuple[str, ...]:
        count = len(self._scores(self.example))
        return self.features.actions or tuple(f"action {i}" for i in range(count))

    @property
    def phrases(self) -> tuple[str, ...]:
        return self.features.phrases or tuple(f"chosen {action}" for action in self.actions)

    def _scores(self, state: np.ndarray) -> np.ndarray:
        numbers = self.features.complete(state, None)
        return query(self.policy, state[None], numbers[None])[0]

    def decision_at(self, observation: Any) -> Decision:
        """Return the decision in a state."""
        state = as_vector(observation, "the state", self.state_size).astype(np.float32)
        numbers, valid = self.features.complete(state, None), np.ones((1, len(self.actions)), dtype=bool)
        [action] = greedy_actions(self._scores(state)[None], valid).tolist()
        return Decision(state, numbers, tuple(range(len(self.actions))), action, np.zeros(numbers.size))

    def summary(self, name: str) -> dict[str, Any]:
        """Return what the list of agents shows of it."""
        return {
            "name": name,
            "title": name,
            "environment": name,
            "about": "A policy that is explained by features of its state. You set the state.",
            "objectives": [asdict(objective) for objective in self.space.objectives],  # type: ignore[arg-type]
            "actions": list(self.actions),
            "front_size": 0,
            "early": False,
            "uploaded": False,
            "siblings": [],
            "picture": None,
        }

    def document(self, name: str) -> dict[str, Any]:
        """Return its description for the page, with the fields of an agent; what it has not is empty."""
        space, names = self.space, default_names(self.state_size)
        for feature in self.features.features:
            if feature.factors == {feature.place: 1.0} and not feature.digit:
                names[feature.place] = f"{feature.name}, {feature.unit}" if feature.unit else feature.name
        return {
            **self.summary(name),
            "phrases": list(self.phrases),
            "space": {"kind": space.shape, **plain({"low": space.low, "high": space.high, "scale": space.scale})},
            "observation": {"names": names, "example": _short_numbers(self.example)},
            "front": [],
            "front_texts": [],
            "achieved": None,
            "reached": None,
            "stochastic": False,
            "step_limit": 1,
            "horizon": False,
            "values": tells_values(self.policy),
            "paper_box": False,
            "provenance": {},
            "white_box": isinstance(self.policy, WhiteBoxPolicy),
            "amounts": None,
            "atlas": False,
            "returns": [],
            "cells": [],
            "guide": None,
        }

    def as_episode(self, observation: Sequence[float]) -> dict[str, Any]:
        """Return the decision in a state, as an episode of one step."""
        decision = self.decision_at(observation)
        scores = self._scores(decision.state)
        values = zip(self.space.command_objectives, decision.command.tolist(), strict=True)
        text = ", ".join(f"{o.name} {short(value)} {o.unit}".strip() for o, value in values)
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
            "command": list(observation),
            "decisions": [plain(entry)],
            "achieved": [],
            "command_text": text,
            "achieved_text": "",
            "delivered": None,
            "end_picture": "",
            "end_place": None,
        }


def _short_numbers(numbers: np.ndarray) -> list[float]:
    """Return float32 numbers with the fewest digits that mean them: 0.1 instead of 0.10000000149."""
    return [float(str(number)) for number in numbers.astype(np.float32)]
