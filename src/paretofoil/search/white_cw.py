"""White-CW: the paper's white-box baseline, Carlini and Wagner's attack through ART (paper, "White-Box Baseline").

ART works on inputs in a unit box and starts from their arctanh. A command on the edge of its box starts where tanh
is flat and hardly moves: that is the paper's baseline, and part of why it fails. `padded` widens the box by a tenth
on each side and clamps inside the network, which removes this defect and nothing else.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from paretofoil.errors import InvalidInput
from paretofoil.policy import FoldedPolicy
from paretofoil.question import Question, QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents
from paretofoil.search.margin import foldable

SLACK = 1e-4
"""The attack asks for kappa + SLACK: torch's float32 margins and the deployed policy's differ by less."""
PADDING = 0.1
"""How far the padded form widens the box on each side, as a share of its width."""


@dataclass(frozen=True)
class WhiteCW:
    """Fields and defaults are those of ART's CarliniL2Method; the confidence is the question's kappa."""

    padded: bool = False
    """Widen the unit box so that a command on the edge can move ("white-cw-padded")."""
    learning_rate: float = 0.01
    """The first step of ART's line search."""
    binary_search_steps: int = 10
    """How often the constant c is adjusted."""
    max_iter: int = 10
    """Iterations for each c."""
    initial_const: float = 0.01
    """The first c."""
    max_halving: int = 5
    """Halvings of the step in a line search."""
    max_doubling: int = 5
    """Doublings of the step in a line search."""
    seed: int = 0
    """Not used: the attack is deterministic; every search has one."""

    questions_at_once = 8
    """Not a field: each question is attacked by itself, so that studies send few at a time."""

    @property
    def name(self) -> str:
        return "white-cw-padded" if self.padded else "white-cw"

    def run(self, batch: QuestionBatch) -> list[Finding]:
        why = ", so that White-CW can take gradients (for a black box use CFZoo())"
        policy = foldable(batch.questions[0].policy, why)
        best = Incumbents(batch)
        with _art_at_work():
            for row, question in enumerate(batch.questions):
                z, evaluations = self._attack(question, policy.fold(question.state))
                batch.spend(row, "white-box", evaluations)
                rows, change = np.array([row]), batch.project(np.array([row]), z[None])
                best.offer(rows, change, batch.margins(rows, change, "check"))
        return best.findings()

    def _attack(self, question: Question, folded: FoldedPolicy) -> tuple[np.ndarray, int]:
        """The scaled change that ART returns (0 if it failed), and how often the network was evaluated."""
        from art.attacks.evasion import CarliniL2Method
        from art.estimators.classification import PyTorchClassifier
        from torch.nn import CrossEntropyLoss

        from paretofoil.search.unit_box import UnitBoxClassifier

        if (question.high <= question.low).all():
            return np.zeros(question.space.size), 0
        valid = list(question.valid_actions)
        module = UnitBoxClassifier(question, folded, PADDING if self.padded else 0.0)
        shape = (int(module.movable.sum()),)
        classifier = PyTorchClassifier(
            module, CrossEntropyLoss(), shape, len(valid), clip_values=(0.0, 1.0), device_type="cpu"
        )
        attack = CarliniL2Method(
            classifier,
            confidence=question.kappa + SLACK,
            targeted=True,
            learning_rate=self.learning_rate,
            binary_search_steps=self.binary_search_steps,
            max_iter=self.max_iter,
            initial_const=self.initial_const,
            max_halving=self.max_halving,
            max_doubling=self.max_doubling,
            batch_size=1,
            verbose=False,
        )
        start = module.to_unit(question.command)[None].astype(np.float32)
        target = np.eye(len(valid), dtype=np.float32)[[valid.index(question.foil)]]
        moved = module.to_command(attack.generate(start, y=target)[0].astype(np.float64))
        return (moved - question.command) / question.space.scale, module.evaluations


@contextmanager
def _art_at_work() -> Iterator[None]:
    """Import ART, quietly, and compute with one thread: networks are tiny and rows must not depend on threads."""
    import torch

    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ART's and its dependencies', nothing that a user could act on
        try:
            import art.attacks.evasion
            import art.estimators.classification  # noqa: F401
        except ImportError as error:
            raise InvalidInput.expected(
                "ART to be installed (pip install 'paretofoil[art]')", f"a Python without it ({error})"
            ) from None
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
