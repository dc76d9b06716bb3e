"""Another search, held to so many queries: how searches are compared at equal effort."""

from dataclasses import dataclass, replace
from typing import Any, cast

from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search


@dataclass(frozen=True)
class AtMost(Search):
    """A search that asks about no question more often than it is told; a white-box one is held to its evaluations."""

    search: Search
    """The search that is held; its seed is taken from here below."""
    queries: int
    """How often it may ask about each question."""
    seed: int = 0
    """The seed of the search."""

    stochastic = True

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise InvalidInput.expected("at least 1 query", self.queries)

    @property
    def name(self) -> str:
        return f"{self.search.name} at {self.queries:,}"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        held = replace(limits, queries=limits.fewer_queries(self.queries))
        seeded: Search = replace(cast(Any, self.search), seed=self.seed)
        return seeded.run(batch, held)
