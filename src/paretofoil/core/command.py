"""Commands, their objectives and command spaces (paper, appendix "Scaled Command Coordinates").

An entry of a command may also be a feature of the state (`Objective.feature`). Searches treat it like an objective, and
sentences name it differently.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from paretofoil.core.errors import InvalidInput, as_whole, did_you_mean
from paretofoil.core.json import brief

NEGLIGIBLE_RANGE = 1e-9
"""An objective with a range up to this has scale 1 and does not change."""
LARGEST = float(np.finfo(np.float32).max)
"""The largest float32 number."""

Norm = Literal["l1", "l2", "linf"]
Shape = Literal["box", "simplex"]
"""box: commands are returns, each within its range. simplex: commands are preferences, which sum to 1."""


def length(z: np.ndarray, norm: Norm = "l2") -> np.ndarray:
    """Return the norm of scaled changes z (..., d)."""
    if norm == "l2":
        return np.sqrt((z * z).sum(axis=-1))
    return np.abs(z).sum(axis=-1) if norm == "l1" else np.abs(z).max(axis=-1)


def clip(z: np.ndarray | float, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """Return the nearest numbers between low and high; `np.clip` takes several times as long for small arrays."""
    return np.minimum(np.maximum(z, low), high)


@dataclass(frozen=True)
class Objective:
    """One entry of a command, with its name and unit."""

    name: str
    unit: str = ""
    """What the number counts ("steps"); empty for a plain value."""
    cost: bool = False
    """Whether rewards are negative costs, which are shown without their sign ("2 steps", not "-2 time")."""
    probability: bool = False
    """Whether a return is a probability. The event is bad if the objective is a cost, and otherwise good."""
    natural_low: float | None = None
    """The smallest return of an episode, or of the rest of one, if known."""
    natural_high: float | None = None
    """The largest return, if known; for time -1, because the rest of an episode has at least one step."""
    feature: bool = field(default=False, repr=False)  # not in the representation, which recorded studies hash
    """Whether the entry is a feature of the state, not a part of the agent's command."""
    whole: bool = field(default=False, repr=False)
    """Whether only whole numbers occur."""

    def __post_init__(self) -> None:
        low, high = self.limits
        if np.isnan(low) or np.isnan(high) or low > high:
            raise InvalidInput.expected(
                f"natural limits of {self.name} with the lower one first", f"{low:g} to {high:g}"
            )

    @property
    def limits(self) -> tuple[float, float]:
        """The natural limits; infinite if unknown."""
        low = -np.inf if self.natural_low is None else self.natural_low
        return low, np.inf if self.natural_high is None else self.natural_high


def command_objectives(objectives: Sequence[Objective], *, preferences: bool) -> tuple[Objective, ...]:
    """Return the objectives of commands; a weight has the name of its objective, but no unit and no sign."""
    return tuple(Objective(o.name) for o in objectives) if preferences else tuple(objectives)


def as_vector(values: Any, what: str, size: int | None = None) -> np.ndarray:
    """Return a read-only float64 vector, or raise InvalidInput if the values are not finite numbers."""
    try:
        vector = np.array(values, dtype=np.complex128 if np.iscomplexobj(values) else np.float64)
    except (TypeError, ValueError, RuntimeError):  # torch raises the last one for a tensor with gradients
        raise InvalidInput.expected(f"{what} to be a list of numbers", brief(values)) from None
    if vector.dtype.kind == "c":
        raise InvalidInput.expected(f"{what} to be real numbers", brief(vector.tolist()))
    if vector.ndim != 1 or vector.size == 0:
        shape = "" if vector.ndim == 0 else f" of shape {vector.shape}"
        raise InvalidInput.expected(f"{what} to be a non-empty list of numbers", f"{brief(vector.tolist())}{shape}")
    if size is not None and vector.size != size:
        raise InvalidInput.expected(f"{what} to have {size} numbers", f"{vector.size}: {vector.tolist()}")
    if not np.isfinite(vector).all():
        raise InvalidInput.expected(f"{what} to be finite", vector.tolist())
    if np.abs(vector).max() > LARGEST:
        raise InvalidInput.expected(f"{what} to be float32 numbers, at most {LARGEST:.2g} in size", vector.tolist())
    vector.setflags(write=False)
    return vector


def as_points(values: Any, what: str, size: int, count: int | None = None) -> np.ndarray:
    """Return points (count, size) as finite float64 numbers, or raise InvalidInput; an empty list has no points."""
    expected = f"{what} with {size} finite numbers"
    try:
        points = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput.expected(expected, brief(values)) from None
    points = points.reshape(0, size) if points.shape == (0,) else points
    if points.ndim != 2 or points.shape[1] != size or count not in (None, len(points)):
        raise InvalidInput.expected(expected, f"shape {points.shape}")
    if not np.isfinite(points).all():
        raise InvalidInput.expected(expected, brief(points.tolist()))
    return points


def format_numbers(numbers: np.ndarray) -> str:
    """Return the numbers of a command or a return as short text: "(8, -2.5)"."""
    return f"({', '.join(f'{number:g}' for number in numbers)})"


@dataclass(frozen=True, eq=False, repr=False)
class CommandSpace:
    """The commands of a box, or the preferences in a box, with their objectives.

    The box defines the scale D = diag(high - low) and the scaled distance. The scale of preferences is 1. Whole numbers
    and constraints exclude parts of the box.
    """

    low: np.ndarray
    high: np.ndarray
    objectives: Sequence[Objective | str] = field(default=())
    shape: Shape = "box"
    constraints: Sequence["str | Constraint"] = field(default=())
    """Linear constraints on commands: "gold <= silver", "2 gold + silver <= 10"."""

    def __post_init__(self) -> None:
        low = as_vector(self.low, "the lower bounds of the command space")
        high = as_vector(self.high, "the upper bounds of the command space", low.size)
        if (low > high).any():
            raise InvalidInput.expected("low <= high for every objective", f"{low.tolist()} and {high.tolist()}")
        names = self.objectives or [f"objective {i}" for i in range(low.size)]
        if isinstance(names, str) or not all(isinstance(name, str | Objective) for name in names):
            raise InvalidInput.expected("objectives as a list of names or of pf.Objective values", brief(names))
        objectives = tuple(Objective(o) if isinstance(o, str) else o for o in names)
        if len(objectives) != low.size or len({o.name for o in objectives}) != low.size:
            raise InvalidInput.expected(f"{low.size} different objective names", [o.name for o in objectives])
        if self.shape not in get_args(Shape):
            raise InvalidInput.expected("a shape among box, simplex", repr(self.shape))
        if self.simplex and not (low.min() >= 0 and low.sum() <= 1 <= high.sum()):
            raise InvalidInput.expected("ranges of weights that are at least 0 and can sum to 1", f"{low} to {high}")
        whole = np.array([o.whole for o in objectives])
        low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
        if (low > high).any():
            raise InvalidInput.expected("ranges that contain whole numbers", f"{self.low} to {self.high}")
        constraints = tuple(read_constraint(c, [o.name for o in objectives]) for c in self.constraints)
        if self.simplex and (whole.any() or constraints):
            raise InvalidInput.expected("preferences without constraints or whole numbers", self.constraints)
        values = {"low": low, "high": high, "objectives": objectives, "constraints": constraints}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def preferences(cls, objectives: Sequence[Objective | str]) -> "CommandSpace":
        """Return the space of all preferences: weights of at least 0 that sum to 1, one for each objective."""
        return cls(np.zeros(len(objectives)), np.ones(len(objectives)), objectives, "simplex")

    @property
    def simplex(self) -> bool:
        """Whether commands are preferences, which sum to 1."""
        return self.shape == "simplex"

    def __repr__(self) -> str:
        sides = zip(self.names, self.low, self.high, strict=True)
        parts = [f"{name} {low:.4g} to {high:.4g}" for name, low, high in sides]
        return f"<CommandSpace: {', '.join([*parts, *self.constraint_texts])}>"

    @property
    def constraint_texts(self) -> tuple[str, ...]:
        """The constraints as they were written."""
        return tuple(c.text for c in self.constraints)  # type: ignore[union-attr]

    @cached_property
    def whole(self) -> np.ndarray:
        """Which objectives are whole numbers: (d,) bool."""
        return np.array([o.whole for o in self.objectives])  # type: ignore[union-attr]

    @cached_property
    def is_box(self) -> bool:
        """Whether the whole box consists of commands."""
        return not (self.simplex or self.constraints or self.whole.any())

    @cached_property
    def half_spaces(self) -> tuple[np.ndarray, np.ndarray]:
        """The constraints as slopes (K, d) and bounds (K,): slopes . command <= bounds.

        They are normalised: for scaled changes, the absolute values of the slopes of a constraint sum to 1.
        """
        rows = [(np.array(c.slopes), c.bound) for c in self.constraints]  # type: ignore[union-attr]
        slopes, bounds = np.array([a for a, _ in rows]).reshape(-1, self.dim), np.array([b for _, b in rows])
        size = (np.abs(slopes) * self.scale).sum(axis=1)
        return slopes / size[:, None], bounds / size

    def allows(self, commands: np.ndarray) -> np.ndarray:
        """Return which commands (N, d) fulfil the constraints and are whole where they must be: (N,) bool."""
        slopes, bounds = self.half_spaces
        whole = np.round(commands[:, self.whole]) == commands[:, self.whole]
        fulfilled: np.ndarray = (commands @ slopes.T <= bounds + CONSTRAINT_SLACK).all(axis=1) & whole.all(axis=1)
        return fulfilled

    @property
    def dim(self) -> int:
        """The number of objectives."""
        return self.low.size

    @property
    def names(self) -> list[str]:
        return [o.name for o in self.objectives]  # type: ignore[union-attr]

    @cached_property
    def command_objectives(self) -> tuple[Objective, ...]:
        """The objectives of commands; `objectives` are those of returns."""
        return command_objectives(self.objectives, preferences=self.simplex)  # type: ignore[arg-type]

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and largest returns of an episode: the natural limits of the objectives."""
        low, high = zip(*(o.limits for o in self.objectives), strict=True)  # type: ignore[union-attr]
        return np.array(low), np.array(high)

    def possible(self) -> "CommandSpace":
        """Return the space without returns beyond the natural limits."""
        if self.simplex:
            return self  # preferences are not returns
        low, high = self.limits
        return replace(self, low=np.clip(self.low, low, high), high=np.clip(self.high, low, high))

    @cached_property
    def scale(self) -> np.ndarray:
        """The diagonal of D: the range of each objective, or 1 if it has none."""
        width = np.ones(self.dim) if self.simplex else self.high - self.low
        return np.where(width > NEGLIGIBLE_RANGE, width, 1.0)

    def index(self, name: str | int) -> int:
        """Return the index of an objective that is given by name or number."""
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        what = f"an objective among {', '.join(self.names)}"
        if isinstance(name, str):
            raise InvalidInput.expected(what, did_you_mean(name, self.names))
        number = as_whole(name, what)
        if not 0 <= number < self.dim:
            raise InvalidInput.expected(what, number)
        return number

    def outside(self, command: np.ndarray) -> np.ndarray:
        """Return which objectives of a command are outside the box: (d,) bool."""
        slack = 1e-6 * self.scale  # rounding errors of sums of rewards
        return (command < self.low - slack) | (command > self.high + slack)

    def checked(self, commands: np.ndarray, what: str) -> np.ndarray:
        """Return commands (..., d). Normalise preferences; raise InvalidInput if they are not weights that sum to 1."""
        return as_preferences(commands, what) if self.simplex else commands

    def project(self, commands: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the commands of this space within low, high (d,) that are nearest to the given ones (N, d)."""
        if not self.simplex:
            return np.clip(commands, low, high)
        return project(commands, *np.broadcast_arrays(low, high, commands)[:2])

    def distance(self, commands: np.ndarray, origin: np.ndarray, norm: Norm = "l2") -> np.ndarray:
        """Return the scaled distance |D^-1 (R - R_t)| of each command from the origin."""
        return length((commands - origin) / self.scale, norm)


CONSTRAINT_SLACK = 1e-9
"""Share of the ranges of its objectives by which rounding may violate a constraint."""


@dataclass(frozen=True)
class Constraint:
    """A half-space of commands: slopes . command <= bound."""

    text: str
    slopes: tuple[float, ...]
    bound: float


_TERM = re.compile(r"\s*([-+]?)\s*(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)?\s*\*?\s*(?:<(\d+)>)?\s*")


def read_constraint(text: "str | Constraint", names: Sequence[str]) -> Constraint:
    """Return a constraint between numbers with these names: "a <= b", "2 a + b >= 3"."""
    if isinstance(text, Constraint):
        return text
    expected = f'a constraint such as "{names[0]} <= {names[-1]}" or "2 {names[0]} + {names[-1]} <= 10"'
    if not isinstance(text, str):
        raise InvalidInput.expected(expected, brief(text))
    sides = re.split(r"([<>]=?|=+)", text)
    if len(sides) != 3 or sides[1][0] == "=":
        equal = " (for numbers that change together, link them: pf.Feature(name, {0: 1, 1: -1}, low, high))"
        raise InvalidInput.expected(expected, repr(text) + (equal if "=" in sides[1:2] else ""))
    slopes, constant = np.zeros(len(names)), 0.0
    for side, sign in ((sides[0], 1.0), (sides[2], -1.0)):
        for name in sorted(names, key=len, reverse=True):
            side = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f"<{names.index(name)}>", side)
        place = 0
        while place < len(side):
            term = _TERM.match(side, place)
            if term is None or term.end() == place or not (term[2] or term[3]) or (place and not term[1]):
                raise InvalidInput.expected(f"{expected}, with names among {', '.join(names)}", repr(text))
            number = sign * (-1.0 if term[1] == "-" else 1.0) * float(term[2] or 1.0)
            if term[3] is None:
                constant += number
            else:
                slopes[int(term[3])] += number
            place = term.end()
    if not slopes.any():
        raise InvalidInput.expected(f"{expected}, with names among {', '.join(names)}", repr(text))
    way = 1.0 if sides[1][0] == "<" else -1.0
    return Constraint(text, tuple((way * slopes).tolist()), -way * constant)


SUM_SLACK = 1e-6
"""Largest difference from 1 of the sum of given weights, which may be float32. Weights are divided by their sum."""
_SUMS = 1e-12
"""Weights whose sum differs from 1 by at most this are not changed."""


def as_preferences(weights: np.ndarray, what: str) -> np.ndarray:
    """Return weights (..., d), whose sum must be 1 up to float32 rounding, scaled to sum to 1 in float64."""
    total = weights.sum(axis=-1, keepdims=True)
    if (np.abs(total - 1.0) > SUM_SLACK).any() or (weights < -SUM_SLACK).any():
        raise InvalidInput.expected(f"{what} to be weights of at least 0 that sum to 1", weights.tolist())
    positive = np.maximum(weights, 0.0)
    scaled: np.ndarray = positive / positive.sum(axis=-1, keepdims=True)
    return np.where(np.abs(total - 1.0) > _SUMS, scaled, positive)


def project(weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the nearest weights (N, d) within low, high (N, d) that sum to 1.

    They are clip(weights - t) for the t at which they sum to 1. The sum is a decreasing, piecewise linear function of t
    with corners where a weight reaches a limit.
    """
    clipped = np.clip(weights, low, high)
    rows = np.flatnonzero((clipped != weights).any(axis=1) | (np.abs(weights.sum(axis=1) - 1.0) > _SUMS))
    if not len(rows):
        return clipped
    weights, low, high = weights[rows], low[rows], high[rows]
    corners = np.sort(np.concatenate([weights - low, weights - high], axis=1), axis=1)  # (n, 2 d) of t
    sums = np.clip(weights[:, None, :] - corners[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    after = np.clip((sums > 1.0).sum(axis=1), 1, corners.shape[1] - 1)  # the first corner with a sum of at most 1
    each = np.arange(len(rows))
    start, end = corners[each, after - 1], corners[each, after]
    above, drop = sums[each, after - 1] - 1.0, sums[each, after - 1] - sums[each, after]
    share = np.divide(above, drop, out=np.zeros_like(drop), where=drop > 0)
    moved = weights - (start + np.clip(share, 0.0, 1.0) * (end - start))[:, None]
    clipped[rows] = np.clip(moved, low, high)
    return clipped


def directions(free: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of changes of weights, as columns (d, d). Only the weights `free` (d,) may change.

    The first columns keep the sum of the free weights. The other columns, which are not used, change this sum or a
    locked weight.
    """
    count, order = int(free.sum()), np.flatnonzero(free)
    basis = np.zeros((len(free), len(free)))
    for k in range(1, count):  # Helmert's: the first k against the next
        basis[order[:k], k - 1] = 1.0 / np.sqrt(k * (k + 1.0))
        basis[order[k], k - 1] = -k / np.sqrt(k * (k + 1.0))
    if count:
        basis[order, count - 1] = 1.0 / np.sqrt(count)
    basis[np.flatnonzero(~free), np.arange(count, len(free))] = 1.0
    return basis


def reach(basis: np.ndarray, command: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest coordinates (d,) of the region along each column of the basis."""
    count = int((high > low).sum()) - 1
    ends = np.zeros((2, len(command)))
    for k in range(max(count, 0)):
        for side, sign in enumerate((-1.0, 1.0)):
            ends[side, k] = basis[:, k] @ (_farthest(sign * basis[:, k], low, high) - command)
    return np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)


def least(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the minimum of values (N, d) . w over weights w within low, high (d,) that sum to 1: (N,)."""
    order = np.argsort(values, axis=1, kind="stable")
    room = (high - low)[order]
    given = np.clip(1.0 - low.sum() - (np.cumsum(room, axis=1) - room), 0.0, room)
    total: np.ndarray = values @ low + (np.take_along_axis(values, order, axis=1) * given).sum(axis=1)
    return total


def _farthest(direction: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the weights of the region that are farthest along a direction."""
    weights, left = low.copy(), 1.0 - low.sum()
    for i in np.argsort(-direction, kind="stable"):
        weights[i] += min(left, high[i] - low[i])
        left -= weights[i] - low[i]
    return weights
