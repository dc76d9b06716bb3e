"""The agents that the paper's authors published: how many cases each search solves, and what is proven infeasible.

Their checkpoints are under the GPLv3 and not part of this repository; `benchmarks/authors_agents.py` records the rows.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from paretofoil.core.search import Search
from paretofoil.search import Boundary
from paretofoil.study import Case, CaseRule, Row
from paretofoil.study.parquet import read_parquet
from paretofoil_paper.budgets import Budgets
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, PAPER_STRESS, WHITE_AS_RUN, WHITE_CONFIGURED

AGENTS = {
    "branch-path": "branch-path_R",
    "breakable-bottles": "breakable-bottles-v0_R",
    "collect-two": "collect_two_R",
    "deep-sea-treasure": "dst_R",
    "fruit-tree-6": "fruit-tree-v0_R",
    "resource-gathering": "resource-gathering-v0_R",
    "reward-line": "reward-line_R",
}
"""The name of the authors' files for each environment; R: conditioned on returns, without a horizon."""
STRESS_STUDY, EXACT_STUDY, COMPARISON_STUDY = "authors-agents", "authors-agents-exact", "authors-agents-comparison"
_BUDGETS = Budgets()
STUDIES: Mapping[str, tuple[Mapping[str, Search], CaseRule]] = {
    STRESS_STUDY: ({AS_RUN: _BUDGETS.as_run, "boundary": Boundary()}, PAPER_STRESS),
    EXACT_STUDY: ({"exact": _BUDGETS.exact}, PAPER_STRESS),
    COMPARISON_STUDY: (
        {name: _BUDGETS.comparison[name] for name in (WHITE_AS_RUN, WHITE_CONFIGURED)},
        PAPER_COMPARISON,
    ),
}
"""The studies in the order in which they run; the exact search gets the cases that no other search solves."""


def agent_name(environment: str) -> str:
    return f"authors-{environment}"


def unsolved(out: Path) -> set[Case]:
    """Return the cases that neither CF-ZOO as run nor Boundary solves."""
    return unsolved_of(read_parquet(out / "rows" / f"{STRESS_STUDY}.parquet").rows)


def unsolved_of(rows: Iterable[Row]) -> set[Case]:
    rows = list(rows)
    return {row.case for row in rows} - {row.case for row in rows if row.found}
