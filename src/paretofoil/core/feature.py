"""Features of the state that a question may change, alone or together with the command.

Searches see one command of all free numbers: the command of the agent, if it has one, and then the features. An
observation is base + E . features, and the base does not depend on the features.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paretofoil.core.command import CommandSpace, Objective, as_vector
from paretofoil.core.errors import InvalidInput, as_whole, did_you_mean
from paretofoil.core.json import brief


@dataclass(frozen=True)
class Feature:
    """A feature of the state that may change, with its name, unit and range."""

    name: str
    at: int | Mapping[int, float]
    """Index of the feature in the observation. If the feature changes several entries of the observation, or has
    another unit: the change of each entry, by index, when the feature changes by 1, such as {0: 1.0, 3: -2.0}. The
    value of the feature is the first of these entries divided by its factor."""
    low: float | None = None
    high: float | None = None
    """The range of the feature; by default that of the observation space."""
    unit: str = ""
    whole: bool = False
    """Whether only whole numbers occur."""
    digit: bool = False
    """Whether the entry of the observation encodes several whole features, as digits. The factor is then the place
    value of the digit, and the range holds the values of the digit."""

    def __post_init__(self) -> None:
        at = self.at if isinstance(self.at, Mapping) else {self.at: 1.0}
        places = {as_whole(place, f"a whole index for {self.name}"): factor for place, factor in at.items()}
        factors = as_vector(list(places.values()), f"the factors of {self.name}")
        if not factors.all() or min(places) < 0:
            raise InvalidInput.expected(f"indices of at least 0, with nonzero factors, for {self.name}", brief(self.at))
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise InvalidInput.expected(f"low <= high for {self.name}", f"{self.low} and {self.high}")
        if self.digit and not (self.whole and self.low is not None and self.high is not None):
            got = f"whole={self.whole}, low={self.low}, high={self.high}"
            raise InvalidInput.expected(f"whole=True and a range for the digit {self.name}", got)
        object.__setattr__(self, "at", dict(zip(places, factors.tolist(), strict=True)))

    @property
    def factors(self) -> dict[int, float]:
        """The change of each entry of the observation, by index, when the feature changes by 1."""
        return dict(self.at)  # type: ignore[arg-type]

    @property
    def place(self) -> int:
        """The index of the feature in the observation, or the first of several."""
        return next(iter(self.factors))

    @property
    def objective(self) -> Objective:
        return Objective(self.name, self.unit, feature=True, whole=self.whole)


@dataclass(frozen=True, eq=False)
class Features:
    """All free numbers: the command of the agent, if it has one, and features of its state."""

    features: tuple[Feature, ...]
    size: int
    """The size of the state."""
    commands: CommandSpace | None = None
    """The commands of the agent; None for an agent without a command."""
    constraints: Sequence[str] = ()
    """Linear constraints on the free numbers, such as "a <= b"."""
    actions: tuple[str, ...] | None = None
    """The names of the actions, if known."""
    phrases: tuple[str, ...] | None = None
    """The past participle of each action, if known: "pushed left"."""
    names: tuple[str, ...] | None = None
    """The names of all entries of the state, if known."""
    example: np.ndarray | None = None
    """A state of the agent, if known."""

    def __post_init__(self) -> None:
        if not self.features:
            raise InvalidInput.expected("at least one free feature", "none")
        for feature in self.features:
            if max(feature.factors) >= self.size:
                got = f"{feature.name} at index {max(feature.factors)}"
                raise InvalidInput.expected(f"features at the indices 0 to {self.size - 1} of the state", got)
            if feature.low is None or feature.high is None:
                advice = f"pf.Feature({feature.name!r}, {feature.place}, low=..., high=...)"
                raise InvalidInput.expected(f"a range of {feature.name}: {advice}", "none")
        alone = [feature.place for feature in self.features if not feature.digit]
        if len(set(alone)) < len(alone):
            raise InvalidInput.expected("features at different indices of the state", [f.name for f in self.features])
        if self.commands is not None and self.commands.simplex:
            raise InvalidInput.expected(
                "commands that are returns, because features of the state are free", "preferences"
            )
        _ = self.space

    @property
    def num_commands(self) -> int:
        """How many free numbers belong to the command of the agent."""
        return 0 if self.commands is None else self.commands.dim

    @cached_property
    def space(self) -> CommandSpace:
        """The ranges of all free numbers."""
        low, high = ([getattr(f, side) for f in self.features] for side in ("low", "high"))
        names: list[Any] = [f.objective for f in self.features]
        rules = tuple(self.constraints)
        if self.commands is not None:
            low, high = [*self.commands.low, *low], [*self.commands.high, *high]
            names, rules = [*self.commands.objectives, *names], (*self.commands.constraint_texts, *rules)
        return CommandSpace(np.array(low), np.array(high), names, constraints=rules)

    @property
    def number_names(self) -> list[str]:
        """The names of all entries of the state, with the units of free features."""
        return name_numbers(self.names or default_names(self.size), self.features)

    @cached_property
    def matrix(self) -> np.ndarray:
        """E: the change of each entry of the state with each feature (size, features)."""
        matrix = np.zeros((self.size, len(self.features)))
        for column, feature in enumerate(self.features):
            for place, factor in feature.factors.items():
                matrix[place, column] = factor
        return matrix

    def values(self, states: np.ndarray) -> np.ndarray:
        """Return the features (N, features) of states (N, size)."""
        values = np.empty((len(states), len(self.features)))
        for column, feature in enumerate(self.features):
            values[:, column] = states[:, feature.place].astype(np.float64) / feature.factors[feature.place]
            if feature.digit:
                count = feature.high - feature.low + 1  # type: ignore[operator]
                values[:, column] = (np.floor(values[:, column]) - feature.low) % count + feature.low
        return values

    def base(self, states: np.ndarray) -> np.ndarray:
        """Return states (N, size) with all free features set to 0, in float64."""
        return states - self.values(states) @ self.matrix.T

    def complete(self, state: np.ndarray, command: Any) -> np.ndarray:
        """Return all free numbers: the command of the agent, if it has one, and the features of the state (size,)."""
        state = as_vector(state, "the state", self.size)
        if (command is None) != (self.commands is None):
            expected = "no command: the agent has none" if self.commands is None else "the command of the agent"
            raise InvalidInput.expected(expected, brief(command))
        own = np.zeros(0) if command is None else as_vector(command, "the command", self.num_commands)
        return np.concatenate([own, self.values(state[None])[0]])

    def observations(self, states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return states (N, size) with their features replaced by those in the free numbers (N, d)."""
        changed: np.ndarray = self.base(states) + numbers[:, self.num_commands :] @ self.matrix.T
        return changed.astype(np.float32)


def read_features(free: Any, named: Sequence[Feature], names: Sequence[str]) -> tuple[Feature, ...]:
    """Return features that are given by name, by index in the observation, or as `Feature`.

    `named` are the features with known names. `names` are the names of all entries of the observation.
    """
    if isinstance(free, str | Feature) or not isinstance(free, Sequence):
        raise InvalidInput.expected("free=[...], a list of features", brief(free))
    by_name = {name: Feature(name, i) for i, name in enumerate(names)} | {feature.name: feature for feature in named}
    features = []
    for each in free:
        if isinstance(each, str):
            if each not in by_name:
                choices = ", ".join([feature.name for feature in named] or [*names[:8], *["..."] * (len(names) > 8)])
                expected = f"a feature among {choices}, or pf.Feature(name, index, low, high)"
                raise InvalidInput.expected(expected, did_you_mean(each, list(by_name)))
            each = by_name[each]
        elif not isinstance(each, Feature):
            number = as_whole(each, f"a feature as a name, an index from 0 to {len(names) - 1}, or a pf.Feature")
            if not 0 <= number < len(names):
                raise InvalidInput.expected(f"the index of a feature from 0 to {len(names) - 1}", number)
            each = next((f for f in named if f.at == {number: 1.0}), Feature(names[number], number))
        features.append(each)
    return tuple(features)


@dataclass(frozen=True, eq=False)
class FunctionPolicy:
    """A function of observations as a black-box policy whose command includes features; see `from_function`."""

    function: Callable[..., Any]
    features: Features

    @property
    def space(self) -> CommandSpace:
        """The ranges of all free numbers."""
        return self.features.space

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the scores (N, num_actions) of states (N, size) and free numbers (N, d)."""
        own = commands[:, : self.features.num_commands]
        observations = self.features.observations(states, commands)
        scores: np.ndarray = self.function(observations, own) if own.shape[1] else self.function(observations)
        return scores  # `query` checks it


def from_function(
    function: Callable[..., Any],
    state: Any,
    space: CommandSpace | None = None,
    *,
    free: Sequence[int | Feature],
    constraints: Sequence[str] = (),
) -> FunctionPolicy:
    """Return a function of observations as a policy with free features of the state.

    Args:
        function: observations (N, size) -> log-probabilities (N, num_actions), or with commands (N, d) as a second
            argument if there is a space.
        state: one observation.
        space: the range of commands; None for an agent without a command.
        free: features of the state that may change, `pf.Feature(name, index, low, high)`.
        constraints: linear constraints on the free numbers: "a <= b", "a + 2 b <= 10".
    """
    example = as_vector(np.ravel(state), "the state")
    given = read_features(free, (), default_names(example.size))
    return FunctionPolicy(function, Features(given, example.size, space, tuple(constraints), example=example))


def default_names(size: int) -> list[str]:
    """Return names for the entries of a state: "observation 0" and so on."""
    return [f"observation {i}" for i in range(size)]


def name_numbers(names: Sequence[str], features: Sequence[Feature]) -> list[str]:
    """Return the names of the entries of a state, with the names and units of features: "speed, m/s"."""
    better = list(names)
    for feature in features:
        if feature.factors == {feature.place: 1.0} and not feature.digit:
            better[feature.place] = f"{feature.name}, {feature.unit}" if feature.unit else feature.name
    return better
