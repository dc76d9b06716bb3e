"""The agents that the paper's authors published: how many cases each search solves, and what is proven infeasible.

Their checkpoints are under the GPLv3 and not part of this repository; `benchmarks/authors_agents.py` records the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paretofoil.core.answer import Status
from paretofoil.core.search import Search
from paretofoil.search import Boundary
from paretofoil.study import Case, CaseRule, Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.study import describe_rule, describe_search
from paretofoil.study.table import Table
from paretofoil_paper.budgets import Budgets
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, PAPER_STRESS, WHITE_AS_RUN, WHITE_CONFIGURED

IN_PAPER = {
    "branch-path": "branch-path_R",
    "breakable-bottles": "breakable-bottles-v0_R",
    "collect-two": "collect_two_R",
    "deep-sea-treasure": "dst_R",
    "fruit-tree-6": "fruit-tree-v0_R",
    "resource-gathering": "resource-gathering-v0_R",
    "reward-line": "reward-line_R",
}
"""The name of the authors' files for each environment; R: conditioned on returns, without a horizon."""
NOT_IN_PAPER = {"three-tree": "three-tree_R", "walkroom-2": "walkroom2_R", "walkroom-3": "walkroom3_R"}
"""The same for environments of their code that are not in the paper's tables."""
AGENTS = IN_PAPER | NOT_IN_PAPER
LABELS = {
    **ENVIRONMENTS,
    "fruit-tree-6": "Fruit-Tree (depth 6)",
    "three-tree": "Three-Tree",
    "walkroom-2": "WalkRoom 2",
    "walkroom-3": "WalkRoom 3",
}
OURS = {"fruit-tree-6": "fruit-tree"}
"""The environment of the paper's stress test, where it has another name; the authors published a tree of depth 6."""
MORE_CASES = replace(PAPER_STRESS, commands=2)
"""Every case of two commands: with all of its 68, WalkRoom 3 has 4,366 cases."""
WHITE_CASES = replace(PAPER_COMPARISON, commands=2)
"""The cases of two commands in the paper's comparison; the attack takes most of a second for each."""


@dataclass(frozen=True, eq=False)
class OtherStudy:
    """A study of some of the authors' agents."""

    agents: Mapping[str, str]
    searches: Mapping[str, Search]
    rule: CaseRule
    after: str | None = None
    """The study whose unsolved cases this one gets; None for all cases of the rule."""


_BUDGETS = Budgets()
_SEARCHES: Mapping[str, Search] = {AS_RUN: _BUDGETS.as_run, "boundary": Boundary()}
_EXACT: Mapping[str, Search] = {"exact": _BUDGETS.exact}
_WHITE = {name: _BUDGETS.comparison[name] for name in (WHITE_AS_RUN, WHITE_CONFIGURED)}
STRESS_STUDIES = {
    "authors-agents": OtherStudy(IN_PAPER, _SEARCHES, PAPER_STRESS),
    "authors-agents-more": OtherStudy(NOT_IN_PAPER, _SEARCHES, MORE_CASES),
}
EXACT_STUDIES = {
    f"{name}-exact": OtherStudy(study.agents, _EXACT, study.rule, after=name) for name, study in STRESS_STUDIES.items()
}
COMPARISON_STUDIES = {"authors-agents-comparison": OtherStudy(IN_PAPER, _WHITE, WHITE_CASES)}
STUDIES = STRESS_STUDIES | EXACT_STUDIES | COMPARISON_STUDIES


@dataclass(frozen=True, eq=False)
class OtherRows:
    """The rows of the authors' agents; empty if they were not recorded."""

    stress: Sequence[Row] = ()
    exact: Sequence[Row] = ()
    comparison: Sequence[Row] = ()


def other_rows(plan: Plan) -> OtherRows:
    """Read the rows of the studies that are recorded."""

    def rows(studies: Mapping[str, OtherStudy]) -> list[Row]:
        found: list[Row] = []
        for name, study in studies.items():
            if (plan.out / "rows" / f"{name}.parquet").is_file():
                described = {label: describe_search(search) for label, search in study.searches.items()}
                found += plan.recorded_rows(name, {"searches": described, "rule": describe_rule(study.rule)})
        return found

    return OtherRows(rows(STRESS_STUDIES), rows(EXACT_STUDIES), rows(COMPARISON_STUDIES))


def others_table(rows: OtherRows, ours: Mapping[str, Proportion]) -> Table:
    """Return the authors' agents: what is solved, what is proven infeasible, and the rates of the paper and of ours."""
    lines: list[tuple[Any, ...]] = []
    for environment in _recorded(rows.stress):
        name, in_paper = agent_name(environment), OURS.get(environment, environment)
        zoo, boundary = (_rate(rows.stress, name, search) for search in (AS_RUN, "boundary"))
        exact = [row.status for row in rows.exact if row.case.agent == name]
        proofs = [exact.count(status) for status in (Status.PROVEN_INFEASIBLE, Status.NOT_FOUND)]
        paper = STRESS.get(in_paper)
        published = None if paper is None else Proportion(paper.found, paper.cases)
        lines.append((LABELS[environment], zoo.cases, zoo, boundary, *proofs, ours.get(in_paper), published))
    columns = (
        *("environment", "cases", "CF-ZOO as run [95 % CI]", "Boundary [95 % CI]", "proven infeasible", "undecided"),
        *("our agents: CF-ZOO [95 % CI]", "paper: CF-ZOO [95 % CI]"),
    )
    note = (
        "CF-ZOO and Boundary answer every case of the stress test. For agents whose environment is not in the paper's "
        "tables, they answer the cases of only two commands. The exact search answers the cases that neither of them "
        "solves. The last two columns are about Fruit-Tree of depth 7."
    )
    return Table("The authors' published agents", columns, tuple(lines), note)


def white_table(rows: OtherRows) -> Table:
    """Return White-CW at both confidences, beside what CF-ZOO as run solves of the same cases."""
    lines: list[tuple[Any, ...]] = []
    infeasible = {row.case for row in rows.exact if row.status is Status.PROVEN_INFEASIBLE}
    names = _recorded(rows.comparison)
    groups = {LABELS[name]: {agent_name(name)} for name in names} | {"All": set(map(agent_name, names))}
    for label, agents in groups.items():
        answers = [row for row in rows.comparison if row.case.agent in agents]
        cases = {row.case for row in answers}
        zoo = [row.found for row in rows.stress if row.search == AS_RUN and row.case in cases]
        white = [
            Proportion(sum(row.found for row in group), len(group))
            for group in ([row for row in answers if row.search == s] for s in (WHITE_AS_RUN, WHITE_CONFIGURED))
        ]
        lines.append((label, len(cases), len(cases & infeasible), Proportion(sum(zoo), len(zoo)), *white))
    columns = (
        *("environment", "cases", "proven infeasible", "CF-ZOO as run [95 % CI]"),
        *("White-CW, confidence 0 [95 % CI]", "White-CW, 0.05 [95 % CI]"),
    )
    note = (
        "The cases are those of the paper's comparison, for two commands of each agent. CF-ZOO has the budget of the "
        "stress test, B = 3,001."
    )
    return Table("White-CW on the authors' agents", columns, tuple(lines), note, rules=(len(lines) - 1,))


def _recorded(rows: Sequence[Row]) -> list[str]:
    """Return the environments with rows, in the order of the tables."""
    names = {row.case.agent for row in rows}
    return [environment for environment in AGENTS if agent_name(environment) in names]


def _rate(rows: Sequence[Row], agent: str, search: str) -> Proportion:
    found = [row.found for row in rows if row.case.agent == agent and row.search == search]
    return Proportion(sum(found), len(found))


def agent_name(environment: str) -> str:
    return f"authors-{environment}"


def unsolved(rows: Sequence[Row]) -> set[Case]:
    """Return the cases that no search solves."""
    return {row.case for row in rows} - {row.case for row in rows if row.found}
