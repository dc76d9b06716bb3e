"""The inputs that ART optimises: x stands for the command low + x width."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from paretofoil.core.question import Question

Inputs = Literal["unit", "padded", "raw"]
PADDING = 0.1
"""Widening of the region on each side with padding, as a share of its width."""
RELAXATION = 0.01
"""Widening of the region on each side in the authors' code, in units of the command; makes arctanh finite."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The inputs for the objectives that can change, or for all, and their bounds."""

    question: Question
    moved: np.ndarray  # (d,) bool: the objectives that are inputs, m of them
    low: np.ndarray  # (m,): the command that an input of 0 stands for
    width: np.ndarray  # (m,): what an input of 1 adds
    clip_values: tuple[np.ndarray, np.ndarray]  # (m,) each, of inputs
    clamped: bool
    """Whether commands are clipped before the network; otherwise only the answer is."""

    @property
    def size(self) -> int:
        return int(self.moved.sum())

    def to_input(self, command: np.ndarray) -> np.ndarray:
        """Return the input that stands for a command."""
        return (command[self.moved] - self.low) / self.width

    def to_commands(self, x: np.ndarray) -> np.ndarray:
        """Return the commands (N, d) of inputs x (N, m), as the network gets them."""
        commands = np.repeat(self.question.command[None], len(x), axis=0)
        commands[:, self.moved] = self.low + x * self.width
        return np.clip(commands, self.question.low, self.question.high) if self.clamped else commands

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives (N, m) of the commands with respect to their inputs; 0 where they are clipped."""
        low, high = self.question.low[self.moved], self.question.high[self.moved]
        commands = self.low + x * self.width
        return self.width * ((commands >= low) & (commands <= high) if self.clamped else np.ones_like(commands))

    def to_answer(self, x: np.ndarray) -> np.ndarray:
        """Return the command of an input (m,), clipped to the region."""
        return np.clip(self.to_commands(x[None].astype(np.float64))[0], self.question.low, self.question.high)


def frame_of(question: Question, inputs: Inputs) -> Frame:
    """Return the frame of a question for a kind of inputs."""
    if inputs == "raw":
        all_objectives = np.ones(question.space.dim, dtype=bool)
        room = (question.low - question.command - RELAXATION, question.high - question.command + RELAXATION)
        return Frame(question, all_objectives, question.command, np.ones(len(all_objectives)), room, clamped=False)
    moved = question.high > question.low
    low, width = question.low[moved], (question.high - question.low)[moved]
    padding = PADDING if inputs == "padded" else 0.0
    unit = np.zeros(len(low)), np.ones(len(low))
    return Frame(question, moved, low - padding * width, (1 + 2 * padding) * width, unit, clamped=True)
