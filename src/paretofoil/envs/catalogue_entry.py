"""What the catalogue knows about one environment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import BatchEnv


@dataclass(frozen=True, eq=False)
class CatalogueEntry:
    """One environment in the user's words, and how to step it with flat observations and action masks."""

    name: str
    """The short name, e.g. "deep-sea-treasure"."""
    gym_id: str
    """The Gymnasium id; "module:id" imports that module first, so that nothing is imported before it is needed."""
    objectives: tuple[Objective, ...]
    """One per number of the reward."""
    actions: tuple[str, ...]
    """The name of each action, in lower case."""
    max_steps: int
    """The step limit of an episode."""
    observation_size: int
    """The length of what `encode` returns."""
    encode: Callable[[Any], np.ndarray]
    """Raw observation -> flat float32 vector that tells any two states apart."""
    description: str = ""
    """One sentence."""
    phrases: tuple[str, ...] = ()
    """For sentences, what was done after each action ("gone down"); "chosen NAME" if left out."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment's constructor."""
    stochastic: bool = False
    """True if a step may have different outcomes."""
    mask: Callable[[Any], np.ndarray] | None = None
    """Unwrapped environment -> valid actions; without it the environment's own `action_masks()`, or all."""
    idle: int | None = None
    """The action that leaves the world to itself, where the world goes on: a masked action then does no more."""
    reference: tuple[float, ...] | None = None
    """The reference point of the hypervolume: worse than every return that matters."""
    paper_box: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """The lowest and the highest command of the box that the paper's authors set by hand, where they set one."""
    state: tuple[str, ...] = ()
    """The attributes of the unwrapped environment that hold its state. Naming them says that there are
    finitely many states: the environment is then tabulated and stepped by array look-ups."""
    chance: float = 0.0
    """The probability of the rare outcome of a step that draws a number (at most one `np_random.random()`)."""
    share_generator: Callable[[Any], None] | None = None
    """Makes the unwrapped environment draw from its own seeded generator, where it would use a global one."""
    batch: Callable[[int], BatchEnv] | None = None
    """A vectorised implementation of its own, made for a step limit."""
    locate: Callable[[np.ndarray], Any] | None = None
    """Flat observation -> a snapshot of `batch` in a running state that is seen like this."""
    draw: Callable[[Any], np.ndarray] | None = None
    """Unwrapped environment -> picture, where the environment's own one is not used."""
    set_state: Callable[[Any, Any], None] | None = None
    """(unwrapped environment, snapshot of `batch`) puts the environment into that state, to draw it."""

    def __post_init__(self) -> None:
        if not self.name or not self.gym_id:
            raise InvalidInput.expected("a name and a Gymnasium id", f"{self.name!r} and {self.gym_id!r}")
        for what, names in (("objective", [o.name for o in self.objectives]), ("action", list(self.actions))):
            if not names or len(set(names)) != len(names):
                raise InvalidInput.expected(f"at least one {what} and no {what} name twice", names)
        if self.phrases and len(self.phrases) != len(self.actions):
            raise InvalidInput.expected(f"a phrase for each of {len(self.actions)} actions", list(self.phrases))
        if self.idle is not None and not 0 <= self.idle < len(self.actions):
            raise InvalidInput.expected(f"an idle action from 0 to {len(self.actions) - 1}", self.idle)
        if self.max_steps < 1:
            raise InvalidInput.expected("a step limit of at least 1", self.max_steps)
        if self.reference is not None and len(self.reference) != len(self.objectives):
            raise InvalidInput.expected(f"a reference point of {len(self.objectives)} numbers", self.reference)
        if self.paper_box is not None and {len(side) for side in self.paper_box} != {len(self.objectives)}:
            raise InvalidInput.expected(f"a box with {len(self.objectives)} numbers on each side", self.paper_box)

    @property
    def finite(self) -> bool:
        """Whether the environment can be tabulated."""
        return bool(self.state)

    def valid_actions(self, unwrapped: Any) -> np.ndarray:
        """(num_actions,) bool: the valid actions in the state of an unwrapped environment."""
        mask = self.mask or getattr(type(unwrapped), "action_masks", None)
        if mask is None:
            return np.ones(len(self.actions), dtype=bool)
        valid = np.array(mask(unwrapped), dtype=bool)
        if valid.shape != (len(self.actions),):
            raise InvalidInput.expected(f"a mask of {len(self.actions)} actions", f"shape {valid.shape}")
        return valid


@dataclass(frozen=True)
class OneHot:
    """Encodes whole numbers 0..size-1 as one-hot vectors side by side; a number of size 1 is a flag and stays."""

    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def __call__(self, numbers: Any) -> np.ndarray:
        flat = np.zeros(self.size, dtype=np.float32)
        start = 0
        for number, size in zip(numbers, self.sizes, strict=True):
            if size == 1:
                flat[start] = number
            else:
                flat[start + int(number)] = 1.0
            start += size
        return flat


def reward_vector(reward: Any, environment: str) -> np.ndarray:
    """A finite float64 reward of the environment of that name.

    A float32 number becomes the shortest decimal that it stands for (0.8, not 0.800000012), because that is what its
    author wrote and what sums and sentences should show.
    """
    values = np.asarray(reward)
    if values.dtype == np.float32:
        values = values.astype(str)
    vector: np.ndarray = values.astype(np.float64)
    if not np.isfinite(vector).all():
        got = "NaN" if np.isnan(vector).any() else "one that is infinite"
        raise InvalidInput.expected(f"finite rewards from {environment}", got)
    return vector
