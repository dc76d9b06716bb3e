"""Local ZOO: CF-ZOO without its rays, the ablation behind the paper's argument."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget
from paretofoil.search.cf_zoo import ZooConfig, refine


@dataclass(frozen=True)
class LocalZoo(Search):
    """ZOO from the original command, without any seeding."""

    max_queries: int = ZooConfig.max_queries
    """The maximum of queries: one at the start and three for each iteration."""
    c: float = ZooConfig.c
    """The weight of the hinge term against the squared distance."""
    eta: float = ZooConfig.eta
    """The learning rate of ADAM, in scaled coordinates."""
    h: float = ZooConfig.h
    """The finite-difference step, in scaled coordinates."""
    seed: int = 0
    """The seed of the coordinates."""

    stochastic = True

    @property
    def name(self) -> str:
        return "local-zoo"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        budget = Budget(batch, limits)
        config = ZooConfig(self.max_queries, self.c, self.eta, self.h)
        refine(budget, np.zeros((batch.num_questions, batch.dim)), config, self.seed)
        return budget.findings()
