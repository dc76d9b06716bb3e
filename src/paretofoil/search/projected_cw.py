"""Projected C&W: Carlini and Wagner's objective with a projection instead of tanh; white-box, local, fast.

It keeps the baseline's idea (descend the distance plus c times the hinge, from the original command) and removes what
the change of variables costs at the edge of the box. All questions and all constants c descend at once, instead of
one after the other.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.errors import InvalidInput
from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents
from paretofoil.search.margin import MarginNetwork, foldable, margin_network, stack_networks
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
        why = ", so that projected C&W can take gradients (for a black box use CFZoo())"
        policy = foldable(batch.questions[0].policy, why)
        best = Incumbents(batch)
        folded = [policy.fold(question.state) for question in batch.questions]
        networks = [margin_network(f, question) for f, question in zip(folded, batch.questions, strict=True)]
        num_rivals = len(folded[0].biases[-1]) - 1  # of all actions, so that neighbours with fewer change nothing
        found, closest = self._descend(stack_networks(networks, num_rivals), batch)
        for row in range(len(networks)):
            batch.spend(row, "white-box", (self.iterations + 1) * len(self.constants))
        rows = np.flatnonzero(found)
        best.offer(rows, closest[rows], batch.margins(rows, closest[rows], "check"))
        return best.findings()

    def _descend(self, network: MarginNetwork, batch: QuestionBatch) -> tuple[np.ndarray, np.ndarray]:
        """For each question: whether any descent met a valid change (Q,), and the closest that was met (Q, d)."""
        low, high = batch.low[:, None], batch.high[:, None]  # (Q, 1, d)
        kappa = np.array([question.kappa + SLACK for question in batch.questions])[:, None]  # (Q, 1)
        c, each = np.array(self.constants)[:, None], np.arange(len(kappa))
        z = np.zeros((len(kappa), len(c), batch.dim))
        mean, variance = np.zeros_like(z), np.zeros_like(z)
        shortest, closest = np.full(len(kappa), np.inf), np.zeros((len(kappa), batch.dim))
        for step in range(1, self.iterations + 2):
            margin, slope = network.smallest_and_slopes(z)  # (Q, C), (Q, C, d)
            lengths = np.where(margin >= kappa, batch.distances(z), np.inf)  # (Q, C)
            best = lengths.argmin(axis=1)
            closer = lengths[each, best] < shortest
            shortest[closer], closest[closer] = lengths[each, best][closer], z[each, best][closer]
            gradient = 2 * z - c * (margin < kappa)[..., None] * slope
            mean = BETA1 * mean + (1 - BETA1) * gradient
            variance = BETA2 * variance + (1 - BETA2) * gradient**2
            move = (mean / (1 - BETA1**step)) / (np.sqrt(variance / (1 - BETA2**step)) + EPSILON)
            z = np.clip(z - self.learning_rate * move, low, high)
        return np.isfinite(shortest), closest
