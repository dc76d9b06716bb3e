"""A policy at one state as an ART classifier. Imported only where ART is installed.

Plain NumPy: an attack evaluates a tiny network thousands of times, one input at a time, and ART's own wrapper of torch
takes five times as long for it.
"""

from typing import Any

import numpy as np
from art.estimators import BaseEstimator
from art.estimators.classification.classifier import ClassGradientsMixin, ClassifierMixin

from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question
from paretofoil.proof.networks import MarginNetwork
from paretofoil.search.budget import Budget
from paretofoil_paper.searches.frame import Frame


class AttackStoppedError(Exception):
    """A limit came before the attack's own end."""


class ArtClassifier(ClassGradientsMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Inputs of a frame -> logits of the valid actions.

    Invalid actions are sliced away, which does to the attack what a logit of -1e9 does (infinite ones would make ART
    fail silently). It counts its evaluations, stops the attack at the budget's limits, and remembers the closest
    valid command that it was asked about.
    """

    def __init__(self, question: Question, folded: FoldedPolicy, frame: Frame, level: float, budget: Budget) -> None:
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
        """Logits (N, valid) at inputs x (N, m)."""
        logits = self.network.margins(self._seen(x))
        self._remember(x, logits)
        return logits

    def class_gradient(self, x: np.ndarray, label: Any = None, **_: Any) -> np.ndarray:
        """The derivative of one logit for each input: x (N, m), label (N,) -> (N, 1, m)."""
        slopes = self.network.margins_and_slopes(self._seen(x))[1]  # (N, valid, d)
        chosen = slopes[np.arange(len(x)), label][:, self.frame.moved] * self.frame.slopes(x)
        return chosen[:, None, :]

    def fit(self, x: np.ndarray, y: np.ndarray, **_: Any) -> None:
        raise NotImplementedError("a policy is not trained here")

    def _seen(self, x: np.ndarray) -> np.ndarray:
        """The commands (N, d) that the network sees; each is an evaluation."""
        if not self.budget.spend("white-box", len(x)):
            raise AttackStoppedError
        return self.frame.to_commands(x.astype(np.float64))

    def _remember(self, x: np.ndarray, logits: np.ndarray) -> None:
        """Inputs (N, m) and logits (N, valid): ART itself forgets them when it is stopped."""
        margins = logits[:, self.target] - np.delete(logits, self.target, axis=1).max(axis=1, initial=-np.inf)
        for one in x[margins >= self.level]:
            self.closest = min(self.closest, self.frame.to_answer(one), key=self._distance)

    def _distance(self, command: np.ndarray) -> float:
        """Of a command that was met; the original itself is no answer."""
        size = float(self.question.space.distance(command, self.question.command, self.question.norm))
        return size if size > 0 else np.inf


def _network(folded: FoldedPolicy, question: Question) -> MarginNetwork:
    """The logits of the valid actions, in the place of margins."""
    valid, last = list(question.valid_actions), len(folded.weights) - 1
    weights = (*folded.weights[:last], folded.weights[last][valid])
    biases = (*folded.biases[:last], folded.biases[last][valid])
    return MarginNetwork(weights, biases, folded.activations, pads=())
