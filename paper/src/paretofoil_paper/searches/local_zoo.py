"""Local ZOO: CF-ZOO without rays, the ablation behind the paper's main claim."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget
from paretofoil.search.cf_zoo import ZOO_STREAM, ZooConfig, refine


@dataclass(frozen=True)
class LocalZoo(Search):
    """ZOO started at the original command, without seeding."""

    max_queries: int = ZooConfig.max_queries
    """Maximum number of queries: one at the start and three per iteration."""
    c: float = ZooConfig.c
    """Weight of the hinge term relative to the squared distance."""
    eta: float = ZooConfig.eta
    """Learning rate of Adam, in scaled coordinates."""
    h: float = ZooConfig.h
    """Finite-difference step, in scaled coordinates."""
    seed: int = 0
    """Seed of the coordinates."""

    stochastic = True

    @property
    def name(self) -> str:
        return "local-zoo"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        budget = Budget(batch, limits)
        config = ZooConfig(self.max_queries, self.c, self.eta, self.h)
        refine(budget, np.zeros((batch.num_questions, batch.dim)), config, (self.seed, ZOO_STREAM))
        return budget.findings()
