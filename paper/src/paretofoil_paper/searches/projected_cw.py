"""Projected C&W: Carlini and Wagner's objective with a projection instead of tanh; white-box, local and fast.

Like White-CW it minimises the distance plus c times the hinge, starting at the original command, but without a change
of variables, which hardly moves commands on the edge of the region. All questions and all constants c run together.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.proof.networks import MarginNetwork, margin_network, require_white_box
from paretofoil.search.budget import Closest
from paretofoil.search.cf_zoo import BETA1, BETA2, EPSILON, bias_corrections
from paretofoil_paper.searches.stacked import stack_rivals
from paretofoil_paper.searches.white_box_budget import WhiteBoxBudget
from paretofoil_paper.searches.white_cw import SLACK


@dataclass(frozen=True)
class ProjectedCW(Search):
    """Adam in scaled coordinates, projected to the search region after each step."""

    iterations: int = 500
    """Number of steps."""
    learning_rate: float = 0.01
    """Learning rate of Adam, in scaled coordinates."""
    constants: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    """The weights c of the hinge; all of them are run."""
    seed: int = 0
    """Not used; the search is deterministic."""

    access = "gradients"

    def __post_init__(self) -> None:
        if self.iterations < 0 or not self.constants or min(self.constants) <= 0 or self.learning_rate <= 0:
            raise InvalidInput.expected("iterations >= 0, a learning rate > 0 and constants > 0", self)

    @property
    def name(self) -> str:
        return "projected-cw"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        why = ", so that projected C&W can compute gradients (for a black-box policy use CFZoo())"
        policy = require_white_box(batch.questions[0].policy, why)
        budget = WhiteBoxBudget(batch, limits)
        folded = [policy.fold(question.state) for question in batch.questions]
        networks = [margin_network(f, question) for f, question in zip(folded, batch.questions, strict=True)]
        num_rivals = folded[0].num_outputs - 1  # of all actions, so that results do not depend on the batch
        closest = self._descend(stack_rivals(networks, num_rivals), budget)
        budget.check(closest.scaled_change, closest.found)
        return budget.findings()

    def _descend(self, network: MarginNetwork, budget: WhiteBoxBudget) -> Closest:
        """Return the closest change of each question that is valid by the folded network."""
        batch = budget.batch
        kappa = (batch.kappa + SLACK)[:, None]  # (Q, 1)
        c = np.array(self.constants)[:, None]
        rows = np.repeat(np.arange(batch.num_questions), len(c))
        z = np.zeros((batch.num_questions, len(c), batch.dim))
        mean, variance = np.zeros_like(z), np.zeros_like(z)
        closest = Closest(batch, batch.kappa + SLACK)
        for step in range(1, self.iterations + 2):
            if not budget.spend("white-box", len(c)):
                break
            margin, slope = network.smallest_and_slopes(z)  # (Q, C), (Q, C, d)
            closest.offer(rows, z.reshape(-1, batch.dim), margin.reshape(-1))
            gradient = 2 * z - c * (margin < kappa)[..., None] * slope
            mean = BETA1 * mean + (1 - BETA1) * gradient
            variance = BETA2 * variance + (1 - BETA2) * gradient**2
            correct1, correct2 = bias_corrections(step)
            move = (mean / correct1) / (np.sqrt(variance / correct2) + EPSILON)
            z = batch.project(rows, (z - self.learning_rate * move).reshape(-1, batch.dim)).reshape(z.shape)
        return closest
