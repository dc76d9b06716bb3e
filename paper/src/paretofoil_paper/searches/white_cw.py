"""White-CW: Carlini and Wagner's white-box attack from ART (paper, "White-Box Baseline").

The paper names the attack, not its settings. `WhiteCW()` has the defaults of ART, with inputs scaled to 0 to 1. The
preset "as-run" has the settings, inputs and relaxation of the authors' code; "as-run-0" has the confidence that their
data show. ART starts at the arctanh of its inputs, so a command on the edge of the region starts where tanh is flat and
hardly moves. The preset "padded" removes this defect: it widens the region by a tenth on each side and clips commands
before the network.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.core.threads import one_thread
from paretofoil.proof.networks import require_white_box
from paretofoil_paper.searches.frame import Inputs, frame_of
from paretofoil_paper.searches.white_box_budget import WhiteBoxBudget

SLACK = 1e-4
"""Added to kappa in the attack; more than the rounding of ART's float32 commands changes the margins."""


@dataclass(frozen=True)
class WhiteCW(Search):
    """The fields and defaults of ART's CarliniL2Method, except for the confidence."""

    inputs: Inputs = "unit"
    """Inputs of ART: the region scaled to 0 to 1, the padded region, or the change in units of the command."""
    confidence: float | None = None
    """Margin that the attack requires; None for the question's kappa plus `SLACK`."""
    learning_rate: float = 0.01
    """First step of ART's line search."""
    binary_search_steps: int = 10
    """Number of adjustments of the constant c."""
    max_iter: int = 10
    """Number of iterations for each c."""
    initial_const: float = 0.01
    """The first c."""
    max_halving: int = 5
    """Maximum number of halvings of the step in a line search."""
    max_doubling: int = 5
    """Maximum number of doublings of the step in a line search."""
    seed: int = 0
    """Not used; the attack is deterministic."""

    access = "gradients"
    questions_at_once = 8  # the attack treats them one by one

    def __post_init__(self) -> None:
        if self.inputs not in get_args(Inputs):
            raise InvalidInput.expected(f"inputs among {', '.join(get_args(Inputs))}", repr(self.inputs))
        if self.confidence is not None and self.confidence < 0:
            raise InvalidInput.expected("a confidence of at least 0, or None for kappa", self.confidence)

    @property
    def name(self) -> str:
        if self.inputs == "raw":
            return "white-cw:as-run-0" if self.confidence == 0 else "white-cw:as-run"
        return "white-cw-padded" if self.inputs == "padded" else "white-cw"

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "WhiteCW":
        """Return a variant by name: padded, as-run or as-run-0."""
        if name not in PRESETS:
            raise InvalidInput.expected(f"a preset among {', '.join(PRESETS)}", repr(name))
        return replace(PRESETS[name], seed=seed)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        why = ", so that White-CW can compute gradients (for a black-box policy use CFZoo())"
        policy = require_white_box(batch.questions[0].policy, why)
        findings = []
        with _art_at_work():
            for row, question in enumerate(batch.questions):
                budget = WhiteBoxBudget(batch, limits, rows=np.array([row]))
                budget.check(self._attack(question, policy.fold(question.state), budget)[None], np.array([True]))
                findings += budget.findings()
        return findings

    def _attack(self, question: Question, folded: Program, budget: WhiteBoxBudget) -> np.ndarray:
        """Return ART's scaled change, 0 if it failed; if a limit stops it, the closest valid change so far."""
        from art.attacks.evasion import CarliniL2Method

        from paretofoil_paper.searches.art_classifier import ArtClassifier, AttackStoppedError

        if question.space.simplex:
            question, folded = _turned(question, folded)
        if (question.high <= question.low).all():
            return np.zeros(question.space.dim)
        level = float(budget.batch.kappa[budget.rows[0]]) + SLACK if self.confidence is None else self.confidence
        frame = frame_of(question, self.inputs)
        classifier = ArtClassifier(question, folded, frame, level, budget)
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
        start = frame.to_input(question.command)[None].astype(np.float32)
        target = np.eye(classifier.nb_classes, dtype=np.float32)[[classifier.target]]
        try:
            moved = frame.to_answer(attack.generate(start, y=target)[0])
        except AttackStoppedError:
            moved = classifier.closest
        return (moved - question.command) / question.space.scale


def _turned(question: Question, folded: Program) -> tuple[Question, Program]:
    """Return a question about preferences as one about rotated changes in a box, since ART supports only boxes."""
    size, (low, high) = question.space.dim, question.room
    turned = folded.moved(question.command, question.basis, diagonal=False)
    box, nowhere = CommandSpace(np.zeros(size), np.ones(size)), np.zeros(size)
    return replace(question, space=box, command=nowhere, low=low, high=high, front=np.zeros((0, size))), turned


_AS_RUN = WhiteCW("raw", 0.05, learning_rate=0.001, binary_search_steps=3, max_iter=250, initial_const=1.0)
PRESETS = {"padded": WhiteCW("padded"), "as-run": _AS_RUN, "as-run-0": replace(_AS_RUN, confidence=0.0)}


@contextmanager
def _art_at_work() -> Iterator[None]:
    """Import ART without its warnings, and compute with one thread, so that rows do not depend on threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ART and its dependencies; users cannot act on them
        try:
            import art.attacks.evasion
            import art.estimators.classification.classifier  # noqa: F401
        except ImportError as error:
            words = f"ART is not installed ({error}). Install it with: pip install 'paretofoil-paper[art]'"
            raise InvalidInput(words) from None
        with one_thread():
            yield
