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

from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.core.threads import one_thread
from paretofoil.proof.margin import foldable
from paretofoil.search.parts.budget import Budget

SLACK = 1e-4
"""The attack asks for kappa + SLACK: torch's float32 margins and the deployed policy's differ by less."""
PADDING = 0.1
"""How far the padded form widens the box on each side, as a share of its width."""


@dataclass(frozen=True)
class WhiteCW(Search):
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

    access = "gradients"
    questions_at_once = 8  # each is attacked by itself

    @property
    def name(self) -> str:
        return "white-cw-padded" if self.padded else "white-cw"

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "WhiteCW":
        """ "padded", the one form that has a name of its own."""
        if name != "padded":
            raise InvalidInput.expected("the preset padded", repr(name))
        return cls(padded=True, seed=seed)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        why = ", so that White-CW can take gradients (for a black box use CFZoo())"
        policy = foldable(batch.questions[0].policy, why)
        findings = []
        with _art_at_work():
            for row, question in enumerate(batch.questions):
                budget = Budget(batch, limits, rows=np.array([row]))
                budget.check(self._attack(question, policy.fold(question.state), budget)[None], np.array([True]))
                findings += budget.findings()
        return findings

    def _attack(self, question: Question, folded: FoldedPolicy, budget: Budget) -> np.ndarray:
        """The scaled change that ART returns, 0 if it failed; where a limit stops it, the closest it had come by."""
        from art.attacks.evasion import CarliniL2Method
        from art.estimators.classification import PyTorchClassifier
        from torch.nn import CrossEntropyLoss

        from paretofoil.search.parts.art_classifier import ArtClassifier, AttackStoppedError

        if (question.high <= question.low).all():
            return np.zeros(question.space.size)
        valid = list(question.valid_actions)
        level = float(budget.batch.kappa[budget.rows[0]]) + SLACK
        module = ArtClassifier(question, folded, PADDING if self.padded else 0.0, level, budget)
        shape = (int(module.movable.sum()),)
        classifier = PyTorchClassifier(
            module, CrossEntropyLoss(), shape, len(valid), clip_values=(0.0, 1.0), device_type="cpu"
        )
        attack = CarliniL2Method(
            classifier,
            confidence=level,
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
        try:
            moved = module.to_command(attack.generate(start, y=target)[0].astype(np.float64))
        except AttackStoppedError:
            moved = module.closest
        return (moved - question.command) / question.space.scale


@contextmanager
def _art_at_work() -> Iterator[None]:
    """Import ART, quietly, and compute with one thread: networks are tiny and rows must not depend on threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ART's and its dependencies', nothing that a user could act on
        try:
            import art.attacks.evasion
            import art.estimators.classification  # noqa: F401
        except ImportError as error:
            raise InvalidInput.expected(
                "ART to be installed (pip install 'paretofoil[art]')", f"a Python without it ({error})"
            ) from None
        with one_thread():
            yield
