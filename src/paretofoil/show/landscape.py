"""Landscapes: the foil margin over two objectives of the command (paper, "Landscape and Grid Construction")."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretofoil.core.answer import Answer
from paretofoil.core.command import Objective
from paretofoil.core.document import (
    Reader,
    finite,
    integer,
    objective,
    plain,
    read_document,
    record,
    several,
    sized,
    whole,
    write_document,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch

RESOLUTION = 121
ZOOM = 2.5
"""How many times the largest change a window around close answers reaches."""
SMALLEST_REACH = 0.002
"""The scaled change below which a window zooms in no further."""
IN_SLICE = 1e-3
"""A command that is off by less than this (scaled) lies in the slice: a pixel is eight times as wide."""


@dataclass(frozen=True, eq=False, repr=False)
class Landscape:
    """The margin on a grid: a slice of the command space over two objectives."""

    objectives: tuple[Objective, ...]
    """Of the command, by its numbers."""
    command: np.ndarray
    """R_t, the command that was asked about."""
    through: np.ndarray
    """A command in the slice: all that is not on the two axes is as in this one."""
    scale: np.ndarray
    """The diagonal of D."""
    kappa: float
    p: int
    q: int
    """The objectives on the horizontal and the vertical axis."""
    x: np.ndarray  # (RESOLUTION,) true values of objective p
    y: np.ndarray  # (RESOLUTION,) true values of objective q
    margins: np.ndarray  # (len(y), len(x))
    slope: np.ndarray  # (2,): the gradient of the margin at the original command, in scaled coordinates

    @property
    def off(self) -> list[int]:
        """The objectives that are on neither axis."""
        return [i for i in range(self.command.size) if i not in (self.p, self.q)]

    def holds(self, command: np.ndarray) -> bool:
        """Whether a command lies in the slice."""
        return bool((np.abs(command - self.through) / self.scale <= IN_SLICE)[self.off].all())

    def __repr__(self) -> str:
        names = f"{self.objectives[self.p].name} and {self.objectives[self.q].name}"
        return f"<Landscape over {names}: {len(self.x)} x {len(self.y)} margins>"

    def to_json(self, indent: int | None = None) -> str:
        values = {name: plain(getattr(self, name)) for name in _PLAIN}
        objectives = [asdict(objective) for objective in self.objectives]
        return write_document({"schema": SCHEMA, "objectives": objectives, **values}, indent)

    @classmethod
    def from_json(cls, text: str) -> "Landscape":
        values = read_document(text, "a landscape")
        with whole(values, SCHEMA, "landscape"):
            read = cls(**record(_READERS)(values))
            _check_fit(read)
            return read


def _check_fit(read: Landscape) -> None:
    """The axes are objectives of the command, and the margins lie over them."""
    size = len(read.objectives)
    if any(vector.size != size for vector in (read.command, read.through, read.scale)):
        raise InvalidInput.expected(f"commands and scales of {size} numbers", read.command.size)
    if not (read.scale > 0).all():
        raise InvalidInput.expected("scales above 0", read.scale.tolist())
    if not (0 <= read.p < size and 0 <= read.q < size and read.p != read.q):
        raise InvalidInput.expected(f"two objectives from 0 to {size - 1}", (read.p, read.q))
    if read.margins.shape != (read.y.size, read.x.size):
        raise InvalidInput.expected(f"margins of shape {(read.y.size, read.x.size)}", read.margins.shape)


SCHEMA = "paretofoil/landscape/2"
_READERS: dict[str, Reader] = {
    "objectives": several(objective),
    **dict.fromkeys(("command", "through", "scale", "x", "y"), sized(None)),
    "margins": sized(None, None),
    "slope": sized(2),
    "kappa": finite,
    **dict.fromkeys(("p", "q"), integer),
}
_ARRAYS = ("command", "through", "scale", "x", "y", "margins", "slope")
_PLAIN = (*_ARRAYS, "kappa", "p", "q")


def landscape(
    question: Question,
    p: int | None = None,
    q: int | None = None,
    *,
    shown: Sequence[Answer] = (),
    through: np.ndarray | None = None,
    resolution: int = RESOLUTION,
) -> Landscape:
    """Query the margin on a grid over objectives p and q, in the slice through a command (by default the original).

    The grid covers the searched region, or the part of it around the answers that are to be shown if they are
    so close to the original command that they could not be told apart otherwise.
    """
    if question.space.simplex:
        raise InvalidInput.expected("commands of free numbers for a slice through them", "preferences, which sum to 1")
    first, second = two_objectives(question, shown)
    p = first if p is None else p
    q = (second if second != p else first) if q is None else q
    if p == q:
        raise InvalidInput.expected("two different objectives for the axes", f"{question.space.names[p]} twice")
    through = question.command if through is None else through
    (left, right), (bottom, top) = window(question, (p, q), shown)
    x, y = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
    batch = QuestionBatch([question])
    commands = np.repeat(through[None], resolution**2, axis=0)
    commands[:, p], commands[:, q] = np.tile(x, resolution), np.repeat(y, resolution)
    margins = batch.margins_at(np.zeros(len(commands), dtype=int), commands, "landscape")
    surface, space = margins.reshape(resolution, resolution), question.space
    named: Any = tuple(space.objectives)
    slope = _slope(batch, p, q)
    return Landscape(named, question.command, through, space.scale, question.kappa, p, q, x, y, surface, slope)


def window(question: Question, axes: Sequence[int], shown: Sequence[Answer]) -> list[tuple[float, float]]:
    """What to show of each objective on an axis: from its lowest to its highest value."""
    changes = _changes(question, shown)[:, axes]
    half = ZOOM * max(float(changes.max()), SMALLEST_REACH) if changes.size else 1.0
    return [_part(question, axis, half) for axis in axes]


def _part(question: Question, axis: int, half: float) -> tuple[float, float]:
    """The searched values of an objective within a scaled distance of the original command."""
    low, high = float(question.low[axis]), float(question.high[axis])
    center, scale = float(question.command[axis]), float(question.space.scale[axis])
    if low == high:  # one that is kept: its whole range, although nothing was searched there
        low = min(center, float(question.space.low[axis]))
        high = max(center, float(question.space.high[axis]))
    if low == high:
        low, high = center - scale / 2, center + scale / 2
    return (low, high) if half >= 0.5 else (max(low, center - half * scale), min(high, center + half * scale))


def _changes(question: Question, shown: Sequence[Answer]) -> np.ndarray:
    """(answers that were found, d): the scaled size of what each changes."""
    commands = [found.command for found in shown if found.command is not None]
    return np.abs(np.reshape(commands, (-1, question.space.size)) - question.command) / question.space.scale


def _slope(batch: QuestionBatch, p: int, q: int, h: float = 1e-3) -> np.ndarray:
    steps = np.zeros((4, batch.dim))
    steps[0, p], steps[1, p], steps[2, q], steps[3, q] = h, -h, h, -h
    up_p, down_p, up_q, down_q = batch.margins(np.zeros(4, dtype=int), steps, "landscape")
    return np.array([up_p - down_p, up_q - down_q]) / (2 * h)


def two_objectives(question: Question, answers: Sequence[Answer]) -> tuple[int, int]:
    """The two objectives that the answers change most; those that may move come first."""
    total = _changes(question, answers).sum(axis=0) + 1e-6 * (question.high > question.low)
    if total.size < 2:
        raise InvalidInput.expected("a question with two objectives or more for a landscape", "one objective")
    first, second = sorted(np.argsort(-total, kind="stable")[:2].tolist())
    return first, second
