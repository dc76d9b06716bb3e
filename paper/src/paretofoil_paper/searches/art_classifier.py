"""A policy at one state as an ART classifier. Imported only if ART is installed.

It uses NumPy, because an attack evaluates a small network thousands of times with one input, and ART's wrapper of torch
takes five times as long.
"""

from typing import Any

import numpy as np
from art.estimators import BaseEstimator
from art.estimators.classification.classifier import ClassGradientsMixin, ClassifierMixin

from paretofoil.core.program import Program
from paretofoil.core.question import Question
from paretofoil.proof.networks import MarginNetwork
from paretofoil_paper.searches.frame import Frame
from paretofoil_paper.searches.white_box_budget import WhiteBoxBudget


class AttackStoppedError(Exception):
    """A limit stopped the attack."""


class ArtClassifier(ClassGradientsMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Maps inputs of a frame to logits of the valid actions.

    Invalid actions are removed, which has the same effect as a logit of -1e9 (with infinite ones ART fails silently).
    The classifier counts its evaluations, stops the attack at the limits of the budget, and stores the closest valid
    command that was evaluated.
    """

    def __init__(self, question: Question, folded: Program, frame: Frame, level: float, budget: WhiteBoxBudget) -> None:
        super().__init__(model=None, clip_values=frame.clip_values)
        self.nb_classes = len(question.valid_actions)
        self.question, self.frame, self.level, self.budget = question, frame, level, budget
        self.closest = question.command
        self.target = question.valid_actions.index(question.foil)
        self.network = _network(folded, question)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (self.frame.size,)

    def predict(self, x: np.ndarray, **_: Any) -> np.ndarray:
        """Return the logits (N, valid) at inputs x (N, m)."""
        logits = self.network.margins(self._commands(x))
        self._remember(x, logits)
        return logits

    def class_gradient(self, x: np.ndarray, label: Any = None, **_: Any) -> np.ndarray:
        """Return the derivative (N, 1, m) of the logit `label` (N,) with respect to the inputs x (N, m)."""
        slopes = self.network.margins_and_slopes(self._commands(x))[1]  # (N, valid, d)
        chosen = slopes[np.arange(len(x)), label][:, self.frame.moved] * self.frame.slopes(x)
        return chosen[:, None, :]

    def fit(self, x: np.ndarray, y: np.ndarray, **_: Any) -> None:
        raise NotImplementedError("ArtClassifier wraps a trained policy and cannot be trained")

    def _commands(self, x: np.ndarray) -> np.ndarray:
        """Return the commands (N, d) of the inputs, and count an evaluation for each."""
        if not self.budget.spend("white-box", len(x)):
            raise AttackStoppedError
        return self.frame.to_commands(x.astype(np.float64))

    def _remember(self, x: np.ndarray, logits: np.ndarray) -> None:
        """Store the closest valid command among inputs (N, m) with logits (N, valid); ART loses it if it is stopped."""
        margins = logits[:, self.target] - np.delete(logits, self.target, axis=1).max(axis=1, initial=-np.inf)
        for one in x[margins >= self.level]:
            self.closest = min(self.closest, self.frame.to_answer(one), key=self._distance)

    def _distance(self, command: np.ndarray) -> float:
        """Return the distance of a command; infinite for the original command, which is not an answer."""
        distance = float(self.question.space.distance(command, self.question.command, self.question.norm))
        return distance if distance > 0 else np.inf


def _network(folded: Program, question: Question) -> MarginNetwork:
    """Return the network of the logits of the valid actions (as a network of margins)."""
    return MarginNetwork(folded.only(list(question.valid_actions)), pads=None)
