"""What ART moves in the place of a command: inputs x, and the commands low + x width that they stand for."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from paretofoil.core.question import Question

Inputs = Literal["unit", "padded", "raw"]
PADDING = 0.1
"""How far the padded form widens the region on each side, as a share of its width."""
RELAXATION = 0.01
"""How far the authors' code widens the box on each side, in units of the command: arctanh is finite on its edge."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Inputs of the objectives that can move, or of all, and the box that ART keeps them in."""

    question: Question
    moved: np.ndarray  # (d,) bool: the objectives that are inputs, m of them
    low: np.ndarray  # (m,): the command that an input of 0 stands for
    width: np.ndarray  # (m,): what an input of 1 adds
    clip_values: tuple[np.ndarray, np.ndarray]  # (m,) each, of inputs
    clamped: bool
    """Whether the network sees the region only; if not, just the answer is clipped."""

    @property
    def size(self) -> int:
        return int(self.moved.sum())

    def to_input(self, command: np.ndarray) -> np.ndarray:
        """The input that stands for a command."""
        return (command[self.moved] - self.low) / self.width

    def to_commands(self, x: np.ndarray) -> np.ndarray:
        """The commands (N, d) that the network sees for inputs x (N, m)."""
        commands = np.repeat(self.question.command[None], len(x), axis=0)
        commands[:, self.moved] = self.low + x * self.width
        return np.clip(commands, self.question.low, self.question.high) if self.clamped else commands

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """How much of a command its input moves (N, m): nothing where it is clamped."""
        low, high = self.question.low[self.moved], self.question.high[self.moved]
        asked = self.low + x * self.width
        return self.width * ((asked >= low) & (asked <= high) if self.clamped else np.ones_like(asked))

    def to_answer(self, x: np.ndarray) -> np.ndarray:
        """The command inside the region that an input (m,) stands for."""
        return np.clip(self.to_commands(x[None].astype(np.float64))[0], self.question.low, self.question.high)


def frame_of(question: Question, inputs: Inputs) -> Frame:
    """How a question is put to ART."""
    if inputs == "raw":
        everything = np.ones(question.space.dim, dtype=bool)
        room = (question.low - question.command - RELAXATION, question.high - question.command + RELAXATION)
        return Frame(question, everything, question.command, np.ones(len(everything)), room, clamped=False)
    moved = question.high > question.low
    low, width = question.low[moved], (question.high - question.low)[moved]
    padding = PADDING if inputs == "padded" else 0.0
    unit = np.zeros(len(low)), np.ones(len(low))
    return Frame(question, moved, low - padding * width, (1 + 2 * padding) * width, unit, clamped=True)
