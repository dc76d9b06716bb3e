"""The features of observations in environments of Gymnasium, with names, units and ranges.

The ranges cover what occurs in episodes. Observation spaces may be wider, or have no bounds.
"""

from dataclasses import dataclass
from math import pi

from paretofoil.core.feature import Feature


@dataclass(frozen=True)
class Observations:
    """The features of an environment's observations, and the words for its actions."""

    features: tuple[Feature, ...]
    actions: tuple[str, ...]
    phrases: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many numbers an observation has."""
        return 1 + max(feature.place for feature in self.features)


def _digits(*digits: tuple[str, int, int]) -> tuple[Feature, ...]:
    """Return the features that one number of an observation encodes, by name, place value and largest value."""
    return tuple(Feature(name, {0: weight}, 0, most, whole=True, digit=True) for name, weight, most in digits)


_MOVES = ("left", "down", "right", "up"), ("gone left", "gone down", "gone right", "gone up")
_KNOWN = {
    "CartPole": Observations(
        (
            Feature("cart position", 0, -2.4, 2.4, "m"),
            Feature("cart velocity", 1, -3.0, 3.0, "m/s"),
            Feature("pole angle", 2, -0.2095, 0.2095, "rad"),
            Feature("pole velocity", 3, -3.5, 3.5, "rad/s"),
        ),
        ("left", "right"),
        ("pushed left", "pushed right"),
    ),
    "MountainCar": Observations(
        (Feature("position", 0, -1.2, 0.6), Feature("velocity", 1, -0.07, 0.07)),
        ("left", "coast", "right"),
        ("accelerated to the left", "coasted", "accelerated to the right"),
    ),
    "LunarLander": Observations(
        (
            Feature("horizontal position", 0, -1.0, 1.0),
            Feature("height", 1, 0.0, 1.5),
            Feature("horizontal speed", 2, -2.0, 2.0),
            Feature("vertical speed", 3, -2.0, 2.0),
            Feature("angle", 4, -pi / 2, pi / 2, "rad"),
            Feature("angular speed", 5, -2.0, 2.0),
            Feature("left leg contact", 6, 0, 1, whole=True),
            Feature("right leg contact", 7, 0, 1, whole=True),
        ),
        ("coast", "left engine", "main engine", "right engine"),
        ("coasted", "fired the left engine", "fired the main engine", "fired the right engine"),
    ),
    "Taxi": Observations(
        _digits(("taxi row", 100, 4), ("taxi column", 20, 4), ("passenger", 4, 4), ("destination", 1, 3)),
        ("south", "north", "east", "west", "pick up", "drop off"),
        ("gone south", "gone north", "gone east", "gone west", "picked up", "dropped off"),
    ),
    "CliffWalking": Observations(
        _digits(("row", 12, 3), ("column", 1, 11)),
        ("up", "right", "down", "left"),
        ("gone up", "gone right", "gone down", "gone left"),
    ),
    "FrozenLake": Observations(_digits(("row", 4, 3), ("column", 1, 3)), *_MOVES),
    "FrozenLake8x8": Observations(_digits(("row", 8, 7), ("column", 1, 7)), *_MOVES),
}


def find_observations(environment: str | None) -> Observations | None:
    """Return the features and words of an environment with this id ("CartPole-v1"); None if they are unknown."""
    return None if environment is None else _KNOWN.get(environment.rpartition("-v")[0] or environment)
