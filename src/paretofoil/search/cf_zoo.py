"""CF-ZOO, the paper's search: front-seeded rays, bisection, then ZOO-ADAM; black-box queries only."""

from dataclasses import dataclass

from paretofoil.errors import InvalidInput
from paretofoil.question import QuestionBatch
from paretofoil.search.finding import Finding
from paretofoil.search.incumbent import Incumbents
from paretofoil.search.rays import Directions, search_rays
from paretofoil.search.zoo import ZooConfig, refine


@dataclass(frozen=True)
class CFZoo:
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
    seconds: float | None = None
    """Stop the ZOO phase after this time with the best answer so far; None for no limit."""

    def __post_init__(self) -> None:
        for field in ("directions", "max_queries", "bisections"):
            if getattr(self, field) < 0:
                raise InvalidInput.expected(f"{field} of at least 0", getattr(self, field))

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "CFZoo":
        """The paper's budgets by name: stress, comparison, thorough."""
        if name not in PRESETS:
            raise InvalidInput.expected(f"a preset among {', '.join(PRESETS)}", repr(name))
        return cls(directions=PRESETS[name], max_queries=PRESETS[name], seed=seed)

    @property
    def name(self) -> str:
        return "cf-zoo"

    @property
    def zoo(self) -> ZooConfig:
        return ZooConfig(self.max_queries, self.c, self.eta, self.h, self.seconds)

    def run(self, batch: QuestionBatch) -> list[Finding]:
        best = Incumbents(batch)
        seeds = search_rays(
            batch, best, directions=self.directions, steps=self.bisections, seed=self.seed, how=self.sampling
        )
        finished = refine(batch, seeds, best, self.zoo, self.seed)
        return best.findings(stopped_early=not finished)


PRESETS = {"stress": 9_001, "comparison": 21_000, "thorough": 100_000}
