"""Projected C&W: Carlini and Wagner's objective with a projection instead of tanh; white-box, local, fast.

It keeps the baseline's idea (descend the distance plus c times the hinge, from the original command) and removes what
the change of variables costs at the edge of the box. All constants c are tried at once instead of one after the
other, so that a question is one vectorised descent.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.errors import InvalidInput
from paretofoil.policy import FoldablePolicy
from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents
from paretofoil.search.margin import MarginNetwork, margin_network
from paretofoil.search.white_cw import SLACK

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class ProjectedCW:
    """Adam in scaled coordinates, clipped to the region after each step."""

    iterations: int = 500
    """Steps of the descent."""
    learning_rate: float = 0.01
    """The step of Adam, in scaled coordinates."""
    constants: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    """The weights c of the hinge, all tried."""
    seed: int = 0
    """Not used: the descent is deterministic; every search has one."""

    def __post_init__(self) -> None:
        if self.iterations < 0 or not self.constants or min(self.constants) <= 0 or self.learning_rate <= 0:
            raise InvalidInput.expected("iterations >= 0, a learning rate > 0 and constants > 0", self)

    @property
    def name(self) -> str:
        return "projected-cw"

    def run(self, batch: QuestionBatch) -> list[Finding]:
        policy = batch.questions[0].policy
        if not isinstance(policy, FoldablePolicy):
            wanted = "a policy with fold(state), so that projected C&W can take gradients (for a black box use CFZoo())"
            raise InvalidInput.expected(wanted, type(policy).__name__)
        best = Incumbents(batch)
        for row, question in enumerate(batch.questions):
            network = margin_network(policy.fold(question.state), question)
            closest = self._descend(network, batch.low[row], batch.high[row], question.kappa + SLACK)
            batch.spend(row, "white-box", (self.iterations + 1) * len(self.constants))
            if closest is not None:
                rows = np.array([row])
                best.offer(rows, closest[None], batch.margins(rows, closest[None], "check"))
        return best.findings()

    def _descend(self, network: MarginNetwork, low: np.ndarray, high: np.ndarray, kappa: float) -> np.ndarray | None:
        """The closest change (d,) with a margin of at least kappa that any of the descents met."""
        c = np.array(self.constants)[:, None]  # (C, 1)
        z = np.zeros((len(c), len(low)))
        mean, variance, closest, shortest = np.zeros_like(z), np.zeros_like(z), None, np.inf
        for step in range(1, self.iterations + 2):
            margins, slopes = network.margins_and_slopes(z)  # (C, rivals), (C, rivals, d)
            worst = margins.argmin(axis=1)
            margin, slope = margins[np.arange(len(z)), worst], slopes[np.arange(len(z)), worst]
            lengths = np.where(margin >= kappa, np.sqrt((z * z).sum(axis=1)), np.inf)
            if lengths.min() < shortest:
                closest, shortest = z[lengths.argmin()].copy(), float(lengths.min())
            gradient = 2 * z - c * np.where(margin < kappa, 1.0, 0.0)[:, None] * slope
            mean = BETA1 * mean + (1 - BETA1) * gradient
            variance = BETA2 * variance + (1 - BETA2) * gradient**2
            move = (mean / (1 - BETA1**step)) / (np.sqrt(variance / (1 - BETA2**step)) + EPSILON)
            z = np.clip(z - self.learning_rate * move, low, high)
        return closest
