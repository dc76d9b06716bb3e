"""The number of entries of the command that an answer changes (paper, "usually sparse, changing 1 or 2 entries")."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.study import Row
from paretofoil.study.table import Table
from paretofoil_paper.measurements import share, share_and_interval
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.stress import paper_rows

THRESHOLD = 0.001
"""An entry counts as changed if it changes by more than this share of its range."""
FEW = 2
"""The paper says that usually no more entries than this change."""


@dataclass(frozen=True)
class ChangedEntries:
    """The number of entries of the command that one answer changes."""

    agent: str
    front: int
    environment: str
    search: str
    dim: int
    """Number of entries of the command."""
    closest: int
    """Entries that the closest command changes."""
    quoted: int
    """Entries that the quoted command changes."""

    @property
    def few(self) -> bool:
        return self.closest <= FEW


Answers = Sequence[ChangedEntries]


def count_changed(command: np.ndarray, original: np.ndarray, scale: np.ndarray) -> int:
    """Return how many entries change by more than `THRESHOLD` of their range."""
    return int((np.abs(command - original) / scale > THRESHOLD).sum())


def in_paper_region(plan: Plan) -> list[ChangedEntries]:
    """Count the changed entries of the paper's experiment; ranges are those of its search region."""
    agents = [load_agent(source) for source in plan.as_run.values()]
    return _count(plan, paper_rows(plan), {agent.name: agent.paper_space.scale for agent in agents})


def in_reachable_region(plan: Plan, rows: Iterable[Row]) -> list[ChangedEntries]:
    """Count the changed entries of rows in the reachable search region; ranges are those of training."""
    return _count(plan, rows, {name: plan.load(environment).space.scale for name, environment in plan.names.items()})


def _count(plan: Plan, rows: Iterable[Row], scales: Mapping[str, np.ndarray]) -> list[ChangedEntries]:
    counted = []
    for row in rows:
        answer = row.full_answer() if row.found else None
        if answer is None or answer.closest is None or answer.quoted is None:
            continue
        scale, original = scales[row.case.agent], answer.question.command
        closest, quoted = (count_changed(point.command, original, scale) for point in (answer.closest, answer.quoted))
        labels = (row.case.agent, row.case.front, plan.environment_of(row), row.search)
        counted.append(ChangedEntries(*labels, scale.size, closest, quoted))
    return counted


def sparsity_table(plan: Plan, region: str, answers: Answers, searches: Sequence[str]) -> Table:
    """Return the numbers of changed entries by environment and search."""
    lines: list[tuple[Any, ...]] = []
    rules = []
    for name in [*plan.agents, "all"]:
        rules.append(len(lines))
        for search in searches:
            group = [one for one in answers if one.search == search and name in ("all", one.environment)]
            dim = group[0].dim if group and name != "all" else None
            counts = np.bincount([min(one.closest, FEW + 1) for one in group], minlength=FEW + 2)
            few = share_and_interval(group, lambda one: one.few)
            cells = (*map(int, counts), *few, share(group, lambda one: one.quoted <= FEW))
            lines.append((ENVIRONMENTS.get(name, "All"), search, dim, len(group), *cells))
    columns = (
        *("environment", "search", "entries", "answers", "0 change", "1 changes", "2 change", "more change"),
        *("at most two [95 % CI]", "cluster [95 % CI]", "quoted: at most two [95 % CI]"),
    )
    note = (
        f"An entry counts as changed if it moves by more than {100 * THRESHOLD:g} % of its range in this region. "
        "Quoted: the command in short numbers; small changes of an entry are undone if the foil still wins."
    )
    title = f"Number of entries of the command that change, in {region}"
    return Table(title, columns, tuple(lines), note, rules=tuple(rules[1:]))


def long_commands(answers: Answers) -> list[ChangedEntries]:
    """Return the answers whose command has more than `FEW` entries: shorter ones cannot change more."""
    return [one for one in answers if one.dim > FEW]
