"""CF-ZOO, the paper's search: front-seeded rays, bisection, then ZOO-ADAM; black-box queries only."""

from dataclasses import dataclass
from typing import ClassVar

from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.rays import Directions, search_rays
from paretofoil.search.parts.zoo import ZooConfig, refine


@dataclass(frozen=True)
class CFZoo(Search):
    """Fields are the paper's hyperparameters (Table "CF-ZOO hyperparameters"); the defaults are its stress test's."""

    directions: int = 9_001
    """How many random directions the ray phase tries: one query each, 16 more for each successful ray."""
    max_queries: int = 9_001
    """The maximum of queries of the ZOO phase: one at the start and three for each iteration."""
    bisections: int = 16
    """Binary-search steps along each successful ray."""
    c: float = ZooConfig.c
    """The weight of the hinge term against the squared distance."""
    eta: float = ZooConfig.eta
    """The learning rate of ADAM, in scaled coordinates."""
    h: float = ZooConfig.h
    """The finite-difference step, in scaled coordinates."""
    seed: int = 0
    """The seed of the random directions and coordinates."""
    sampling: Directions = "mirror"
    """How directions are kept inside the prior: mirrored into it, or drawn again ("reject", the paper's letter)."""

    presets: ClassVar[dict[str, int]] = {"stress": 9_001, "comparison": 21_000, "thorough": 100_000}
    """The paper's budgets: so many directions, and so many queries of the ZOO phase."""
    stochastic = True

    def __post_init__(self) -> None:
        for field in ("directions", "max_queries", "bisections"):
            if getattr(self, field) < 0:
                raise InvalidInput.expected(f"{field} of at least 0", getattr(self, field))

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "CFZoo":
        """Return the search with one of the paper's budgets."""
        if name not in cls.presets:
            raise InvalidInput.expected(f"a preset among {', '.join(cls.presets)}", repr(name))
        return cls(directions=cls.presets[name], max_queries=cls.presets[name], seed=seed)

    @property
    def name(self) -> str:
        return "cf-zoo"

    @property
    def zoo(self) -> ZooConfig:
        return ZooConfig(self.max_queries, self.c, self.eta, self.h)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        """A limit of queries is for both phases: at least half of it is left to ZOO."""
        budget = Budget(batch, limits)
        kept = budget.keep_back(0.5)
        seeds = search_rays(
            budget, directions=self.directions, steps=self.bisections, seed=self.seed, how=self.sampling
        )
        budget.left += kept
        refine(budget, seeds, self.zoo, self.seed)
        return budget.findings()
