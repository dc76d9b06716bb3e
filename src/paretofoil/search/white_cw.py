"""White-CW: the paper's white-box baseline, Carlini and Wagner's attack through ART (paper, "White-Box Baseline").

ART works on inputs in a unit box and starts from their arctanh. A command on the edge of its box starts where tanh
is flat and hardly moves: that is the paper's baseline, and part of why it fails. `padded` widens the box by a tenth
on each side and clamps inside the network, which removes this defect and nothing else.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.errors import InvalidInput
from paretofoil.policy import FoldablePolicy, FoldedPolicy
from paretofoil.question import Question, QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents

if TYPE_CHECKING:
    import torch

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
        policy = batch.questions[0].policy
        if not isinstance(policy, FoldablePolicy):
            wanted = "a policy with fold(state), so that White-CW can take gradients (for a black box use CFZoo())"
            raise InvalidInput.expected(wanted, type(policy).__name__)
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
        from torch import nn

        movable = question.high > question.low
        if not movable.any():
            return np.zeros(question.space.size), 0
        valid = list(question.valid_actions)
        module = _unit_box_network(question, folded, PADDING if self.padded else 0.0)
        classifier = PyTorchClassifier(
            module, nn.CrossEntropyLoss(), (int(movable.sum()),), len(valid), clip_values=(0.0, 1.0), device_type="cpu"
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


def _unit_box_network(question: Question, folded: FoldedPolicy, padding: float) -> Any:
    """A torch module: unit-box inputs of the objectives that can move -> logits of the valid actions.

    Invalid actions are sliced away: infinite logits would make ART fail silently.
    """
    import torch
    from torch import nn

    movable = question.high > question.low
    width = (question.high - question.low)[movable]
    low, wide = question.low[movable] - padding * width, (1 + 2 * padding) * width
    weights, biases = list(folded.weights), list(folded.biases)
    valid = list(question.valid_actions)
    weights[-1], biases[-1] = weights[-1][valid], biases[-1][valid]
    biases[0] = biases[0] + weights[0][:, ~movable] @ question.command[~movable]
    weights[0] = weights[0][:, movable]
    activations = [{"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}[a] for a in folded.activations]

    class UnitBoxNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.evaluations = 0
            self.layers = nn.ModuleList([nn.Linear(w.shape[1], w.shape[0]) for w in weights])
            with torch.no_grad():
                for layer, weight, bias in zip(self.layers, weights, biases, strict=True):
                    layer.weight.copy_(torch.from_numpy(weight))
                    layer.bias.copy_(torch.from_numpy(bias))
            for name, value in (("low", low), ("wide", wide), ("lowest", question.low), ("highest", question.high)):
                vector = value if name in ("low", "wide") else value[movable]
                self.register_buffer(name, torch.tensor(vector, dtype=torch.float32))

        def forward(self, x: "torch.Tensor") -> "torch.Tensor":
            self.evaluations += len(x)
            hidden = torch.clamp(self.low + x * self.wide, self.lowest, self.highest)
            for layer, activation in zip(self.layers, [*activations, nn.Identity()], strict=True):
                hidden = activation(layer(hidden))
            return hidden

        def to_unit(self, command: np.ndarray) -> np.ndarray:
            return (command[movable] - low) / wide

        def to_command(self, x: np.ndarray) -> np.ndarray:
            command = question.command.copy()
            command[movable] = np.clip(low + x * wide, question.low[movable], question.high[movable])
            return command

    return UnitBoxNetwork()


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
