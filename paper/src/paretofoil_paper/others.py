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
    """Read the recorded rows; White-CW may be missing."""
    studies: dict[str, Sequence[Row]] = {}
    for name, (searches, rule) in STUDIES.items():
        if (plan.out / "rows" / f"{name}.parquet").is_file():
            described = {label: describe_search(search) for label, search in searches.items()}
            studies[name] = plan.recorded_rows(name, {"searches": described, "rule": describe_rule(rule)})
    return OtherRows(*(studies.get(name, ()) for name in STUDIES))


def others_table(rows: OtherRows, ours: Mapping[str, Proportion]) -> Table:
    """Return the authors' agents: what is solved, what is proven infeasible, and the rates of the paper and of ours."""
    lines: list[tuple[Any, ...]] = []
    for environment in AGENTS:
        name, in_paper = agent_name(environment), OURS.get(environment, environment)
        exact = [row for row in rows.exact if row.case.agent == name]
        infeasible, undecided = (
            sum(row.status is status for row in exact) for status in (Status.PROVEN_INFEASIBLE, Status.NOT_FOUND)
        )
        zoo, boundary = (_rate(rows.stress, name, search) for search in (AS_RUN, "boundary"))
        white = [_rate(rows.comparison, name, search) for search in (WHITE_AS_RUN, WHITE_CONFIGURED)]
        paper = STRESS[in_paper]
        label = ENVIRONMENTS[in_paper] + (" (depth 6)" if in_paper != environment else "")
        proofs = (infeasible, undecided) if rows.exact else (None, None)
        rates = (
            *white[: len(white) if rows.comparison else 0],
            ours.get(in_paper),
            Proportion(paper.found, paper.cases),
        )
        lines.append((label, zoo.cases, zoo, boundary, *proofs, *rates))
    white_columns = ("White-CW, confidence 0 [95 % CI]", "White-CW, 0.05 [95 % CI]") if rows.comparison else ()
    columns = (
        *("environment", "cases", "CF-ZOO as run [95 % CI]", "Boundary [95 % CI]", "proven infeasible", "undecided"),
        *(*white_columns, "our agents: CF-ZOO [95 % CI]", "paper: CF-ZOO [95 % CI]"),
    )
    note = (
        "CF-ZOO and Boundary answer every case of the stress test; the exact search answers those that neither of them "
        "solves."
    ) + (" White-CW answers the cases of the comparison." if rows.comparison else "")
    return Table("The authors' published agents", columns, tuple(lines), note)


def _rate(rows: Sequence[Row], agent: str, search: str) -> Proportion:
    found = [row.found for row in rows if row.case.agent == agent and row.search == search]
    return Proportion(sum(found), len(found))


def agent_name(environment: str) -> str:
    return f"authors-{environment}"


def unsolved(out: Path) -> set[Case]:
    """Return the cases that neither CF-ZOO as run nor Boundary solves."""
    return unsolved_of(read_parquet(out / "rows" / f"{STRESS_STUDY}.parquet").rows)


def unsolved_of(rows: Iterable[Row]) -> set[Case]:
    rows = list(rows)
    return {row.case for row in rows} - {row.case for row in rows if row.found}
