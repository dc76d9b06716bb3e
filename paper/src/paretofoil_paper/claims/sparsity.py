"""How many entries of the command an answer changes (paper, "usually sparse, changing 1 or 2 entries")."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.study import Row
from paretofoil.study.table import Table
from paretofoil_paper.authors_data import FEW_ENTRIES
from paretofoil_paper.measurements import mean_interval, share
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN
from paretofoil_paper.stress import paper_rows

NOTABLE = 0.001
"""An entry changes if it changes by more than this share of its range."""
FEW = 2
"""Entries: those of which the paper says that usually no more change."""


def entries_changed(row: Row, scale: np.ndarray, *, quoted: bool = False) -> int:
    """Of the closest command that was found, or of the one that is quoted."""
    answer = row.full_answer()
    one = answer.quoted if quoted else answer.closest
    return 0 if one is None else int((np.abs(one.command - answer.question.command) / scale > NOTABLE).sum())


@dataclass(frozen=True)
class Changed:
    """How many entries of the command one answer changes."""

    agent: str
    front: int
    environment: str
    search: str
    size: int
    """Entries of the command."""
    entries: int
    """Those that the closest command changes ..."""
    quoted: int
    """... and the one that is quoted."""

    @property
    def few(self) -> bool:
        return self.entries <= FEW


Answers = Sequence[Changed]


def in_papers_box(plan: Plan) -> list[Changed]:
    """The answers of the paper's own experiment, and the closest ones there; ranges are those of its box."""
    agents = [load_agent(source) for source in plan.as_run.values()]
    return _count(plan, paper_rows(plan), {agent.name: agent.paper_space.scale for agent in agents})


def in_reachable_box(plan: Plan, rows: Iterable[Row]) -> list[Changed]:
    """The answers of rows that were asked about what is reachable; ranges are those that the agent was trained on."""
    return _count(plan, rows, {name: plan.load(environment).space.scale for name, environment in plan.names.items()})


def _count(plan: Plan, rows: Iterable[Row], scales: Mapping[str, np.ndarray]) -> list[Changed]:
    counted = []
    for row in (row for row in rows if row.found):
        scale = scales[row.case.agent]
        told = (row.case.agent, row.case.front, plan.environment_of(row), row.search, scale.size)
        counted.append(Changed(*told, entries_changed(row, scale), entries_changed(row, scale, quoted=True)))
    return counted


def sparsity_table(plan: Plan, box: str, answers: Answers, searches: Sequence[str]) -> Table:
    """Environments and searches down; numbers of entries across."""
    lines: list[tuple[Any, ...]] = []
    begins = []
    for name in [*plan.agents, "all"]:
        begins.append(len(lines))
        for search in searches:
            mine = [one for one in answers if one.search == search and name in ("all", one.environment)]
            size = mine[0].size if mine and name != "all" else None
            counts = np.bincount([min(one.entries, FEW + 1) for one in mine], minlength=FEW + 2)
            few = (share(mine, lambda one: one.few), mean_interval(mine, lambda one: one.few))
            told = (*map(int, counts), *few, share(mine, lambda one: one.quoted <= FEW))
            lines.append((ENVIRONMENTS.get(name, "All"), search, size, len(mine), *told))
    columns = (
        *("environment", "search", "entries", "answers", "0 change", "1 changes", "2 change", "more change"),
        *("at most two [95 % CI]", "cluster [95 % CI]", "as quoted: at most two [95 % CI]"),
    )
    note = (
        f"An entry changes if it moves by more than {100 * NOTABLE:g} % of its range in this box. As quoted: of the "
        "command in short numbers, for which entries that hardly change are kept as they are where the foil still wins."
    )
    title = f"How many entries of the command change: {box}"
    return Table(title, columns, tuple(lines), note, rules=tuple(begins[1:]))


def sparsity_in_words(papers: Answers, reachable: Answers) -> str:
    """The claim, the authors' data and the same experiment on our agents; then the other box and the closest answers.

    Where a command has two entries in all it says nothing, so that the verdict is about the others.
    """
    as_run = [one for one in papers if one.search == AS_RUN]
    others = {
        "the closest answers in that box (`exact`)": [one for one in papers if one.search == "exact"],
        "CF-ZOO as the text tells it, in the box of what is reachable": [r for r in reachable if r.search == "cf-zoo"],
        "the closest answers there": [one for one in reachable if one.search == "exact"],
    }
    told = "; of ".join(f"{name} {_percent(mine)}, {_percent(_wide(mine))}" for name, mine in others.items())
    verdicts = {verdict(_wide(mine)) for mine in (as_run, *others.values()) if _wide(mine)}
    decide = " So the box and the search decide it." * (len(verdicts) > 1)
    unchanged = sum(one.entries == 0 for one in as_run)
    return (
        "**In practice, the explanations are usually sparse, changing 1 or 2 entries**, says the paper. Of the "
        f"authors' published answers {100 * FEW_ENTRIES:.0f} % change at most two. In the same experiment on our "
        f"agents (`{AS_RUN}`, the paper's box, realised returns where chance plays) {_percent(as_run)} do. Where a "
        f"command has two entries that is no wonder; where it has three or more {_percent(_wide(as_run))} do: "
        f"{verdict(_wide(as_run))}. By environment these are {_each(_wide(as_run))}; {unchanged:,} answers change no "
        "entry by as much as counts. At most two change, of all and of those with three or more entries, of "
        f"{told}.{decide} An entry counts by the range of its box, and the paper's box can be wide: of Minecart's 200 "
        "of fuel episodes need less than 2."
    )


def _wide(answers: Answers) -> list[Changed]:
    """Those that could change more than a few."""
    return [one for one in answers if one.size > FEW]


def _each(answers: Answers) -> str:
    """The shares of those that change few, by environment."""
    groups: dict[str, list[Changed]] = {}
    for one in answers:
        groups.setdefault(ENVIRONMENTS[one.environment], []).append(one)
    shares = {name: 100 * share(mine, lambda one: one.few).rate for name, mine in groups.items()}
    return ", ".join(f"{name} {rate:.1f} %" for name, rate in shares.items()) or "none"


def _percent(answers: Answers) -> str:
    found = share(answers, lambda one: one.few)
    return f"{100 * found.rate:.1f} % ({found.successes:,} of {found.cases:,})" if found.cases else "none (of none)"


def verdict(answers: Answers) -> str:
    """Whether more than half change few: by the cluster interval, or Wilson's where episodes are too few for it."""
    if not answers:
        return "no command has more"
    cluster, found = mean_interval(answers, lambda one: one.few), share(answers, lambda one: one.few)
    low, high = found.interval if np.isnan(cluster.low) else (cluster.low, cluster.high)
    if low <= 0.5 <= high:
        return "by the interval it may be more than half, or less"
    return f"by the interval {'more' if low > 0.5 else 'less'} than half"
