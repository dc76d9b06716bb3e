"""A search with a maximum number of queries, to compare searches at equal cost."""

from dataclasses import dataclass, replace
from typing import Any, cast

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search


@dataclass(frozen=True)
class AtMost(Search):
    """Run another search with a limit of queries per question; for white-box searches, of evaluations."""

    search: Search
    """The search to run; its seed is replaced by the one below."""
    queries: int
    """Maximum number of queries per question."""
    seed: int = 0
    """Seed of the search."""

    stochastic = True

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise InvalidInput.expected("at least 1 query", self.queries)

    @property
    def name(self) -> str:
        return f"{self.search.name} at {self.queries:,}"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        limited = replace(limits, queries=limits.fewer_queries(self.queries))
        seeded: Search = replace(cast(Any, self.search), seed=self.seed)
        return seeded.run(batch, limited)
