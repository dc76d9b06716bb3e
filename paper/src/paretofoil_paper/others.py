"""The agents that the paper's authors published: how many cases each search solves, and what is proven infeasible.

Their checkpoints are under the GPLv3 and not part of this repository; `benchmarks/authors_agents.py` records the rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretofoil.core.answer import Status
from paretofoil.core.search import Search
from paretofoil.study import Case, CaseRule, Row
from paretofoil.study.parquet import read_parquet
from paretofoil.study.statistics import Proportion
from paretofoil.study.study import describe_rule, describe_search
from paretofoil.study.table import Table
from paretofoil_paper.budgets import Budgets, boundary
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS
from paretofoil_paper.plan import Plan
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
    STRESS_STUDY: ({AS_RUN: _BUDGETS.as_run, "boundary": boundary()}, PAPER_STRESS),
    EXACT_STUDY: ({"exact": _BUDGETS.exact}, PAPER_STRESS),
    COMPARISON_STUDY: (
        {name: _BUDGETS.comparison[name] for name in (WHITE_AS_RUN, WHITE_CONFIGURED)},
        PAPER_COMPARISON,
    ),
}
"""The studies in the order in which they run; the exact search gets the cases that no other search solves."""


OURS = {"fruit-tree-6": "fruit-tree"}
"""The environment of the paper's stress test, where it has another name; the authors published a tree of depth 6."""


@dataclass(frozen=True, eq=False)
class OtherRows:
    """The rows of the authors' agents; empty if they were not recorded."""

    stress: Sequence[Row] = ()
    exact: Sequence[Row] = ()
    comparison: Sequence[Row] = ()


def other_rows(plan: Plan) -> OtherRows:
    """Read the recorded rows."""
    studies = []
    for name, (searches, rule) in STUDIES.items():
        if not (plan.out / "rows" / f"{name}.parquet").is_file():
            return OtherRows()
        described = {label: describe_search(search) for label, search in searches.items()}
        studies.append(plan.recorded_rows(name, {"searches": described, "rule": describe_rule(rule)}))
    stress, exact, comparison = studies
    return OtherRows(stress, exact, comparison)


def others_table(rows: OtherRows) -> Table:
    """Return the authors' agents: what is solved, what is proven infeasible, and the rates of the paper and of ours."""
    lines: list[tuple[Any, ...]] = []
    for environment in AGENTS:
        name, ours = agent_name(environment), OURS.get(environment, environment)
        of_agent = [row for row in rows.stress if row.case.agent == name]
        zoo, boundary = (
            Proportion(sum(row.found for row in of_agent if row.search == search), len(of_agent) // 2)
            for search in (AS_RUN, "boundary")
        )
        exact = [row for row in rows.exact if row.case.agent == name]
        infeasible = sum(row.status is Status.PROVEN_INFEASIBLE for row in exact)
        undecided = sum(row.status is Status.NOT_FOUND for row in exact)
        white = [
            Proportion(sum(row.found for row in group), len(group))
            for group in (
                [row for row in rows.comparison if row.case.agent == name and row.search == search]
                for search in (WHITE_AS_RUN, WHITE_CONFIGURED)
            )
        ]
        paper = STRESS[ours]
        label = ENVIRONMENTS[ours] + (" (depth 6)" if ours != environment else "")
        cells = (zoo, boundary, infeasible, undecided, *white, Proportion(paper.found, paper.cases))
        lines.append((label, zoo.cases, *cells))
    columns = (
        *("environment", "cases", "CF-ZOO as run [95 % CI]", "Boundary [95 % CI]", "proven infeasible", "undecided"),
        *("White-CW, confidence 0 [95 % CI]", "White-CW, 0.05 [95 % CI]", "paper: CF-ZOO [95 % CI]"),
    )
    note = (
        "CF-ZOO, Boundary and the exact search answer every case of the stress test; the exact search got the cases "
        "that neither of the others solves. White-CW answers the cases of the comparison."
    )
    return Table("The authors' published agents", columns, tuple(lines), note)


def agent_name(environment: str) -> str:
    return f"authors-{environment}"


def unsolved(out: Path) -> set[Case]:
    """Return the cases that neither CF-ZOO as run nor Boundary solves."""
    return unsolved_of(read_parquet(out / "rows" / f"{STRESS_STUDY}.parquet").rows)


def unsolved_of(rows: Iterable[Row]) -> set[Case]:
    rows = list(rows)
    return {row.case for row in rows} - {row.case for row in rows if row.found}
