"""How many entries of the command an answer changes (paper, "usually sparse, changing 1 or 2 entries")."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paretofoil.reproduce.authors_data import FEW_ENTRIES
from paretofoil.reproduce.measurement import share
from paretofoil.reproduce.paper import ENVIRONMENTS
from paretofoil.reproduce.plan import Plan
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion, cluster_interval, episodes_of
from paretofoil.study.table import Table

NOTABLE = 0.001
"""An entry changes if it changes by more than this share of its range."""
FEW = 2
"""Entries: those of which the paper says that usually no more change."""
Changed = Mapping[Row, int]
"""Of each row that has an answer, the number of entries that it changes."""


def entries_changed(row: Row, scale: np.ndarray, *, quoted: bool = False) -> int:
    """Of the closest command that was found, or of the one that is quoted."""
    answer = row.full_answer()
    command = answer.command if quoted else answer.closest
    return 0 if command is None else int((np.abs(command - answer.original) / scale > NOTABLE).sum())


def count_entries(plan: Plan, rows: Sequence[Row], *, quoted: bool = False) -> dict[Row, int]:
    """Of all rows that have an answer."""
    scales = {name: plan.load(environment).space.scale for name, environment in plan.names.items()}
    return {row: entries_changed(row, scales[row.case.agent], quoted=quoted) for row in rows if row.found}


def sparsity_table(plan: Plan, rows: Sequence[Row], searches: Sequence[str]) -> Table:
    """Environments and searches down; numbers of entries across."""
    found, short = count_entries(plan, rows), count_entries(plan, rows, quoted=True)
    lines: list[tuple[Any, ...]] = []
    begins = []
    for name in [*plan.agents, "all"]:
        begins.append(len(lines))
        size = None if name == "all" else plan.load(name).space.size
        for search in searches:
            mine = [r for r in found if r.search == search and name in ("all", plan.environment_of(r))]
            counts = np.bincount([min(found[r], FEW + 1) for r in mine], minlength=FEW + 2)
            few = cluster_interval(episodes_of(mine, lambda r: found[r] <= FEW))
            told = (share(mine, lambda r: found[r] <= FEW), few, share(mine, lambda r: short[r] <= FEW))
            lines.append((ENVIRONMENTS.get(name, "All"), search, size, len(mine), *map(int, counts[1:]), *told))
    columns = (
        *("environment", "search", "entries", "answers", "1 changes", "2 change", "more change"),
        *("at most two [95 % CI]", "cluster [95 % CI]", "as quoted: at most two [95 % CI]"),
    )
    note = (
        f"An entry changes if it moves by more than {100 * NOTABLE:g} % of its range. As quoted: of the command in "
        "short numbers, for which entries that hardly change are kept as they are where the foil still wins."
    )
    return Table("How many entries of the command change", columns, tuple(lines), note, rules=tuple(begins[1:]))


def sparsity_in_words(plan: Plan, rows: Sequence[Row]) -> str:
    """The claim, the authors' data and ours; where there are two entries in all it says nothing."""
    found = count_entries(plan, [row for row in rows if row.search == "cf-zoo"])
    sizes = {name: plan.load(environment).space.size for name, environment in plan.names.items()}
    wide = [row for row in found if sizes[row.case.agent] > FEW]
    everywhere, there = share(list(found), lambda r: found[r] <= FEW), share(wide, lambda r: found[r] <= FEW)
    return (
        "**Usually one or two entries change**, says the paper. Of the authors' published answers "
        f"{FEW_ENTRIES:.0%} change at most two; of CF-ZOO's on our agents {_percent(everywhere)}. Where a command has "
        f"two entries that is no wonder: where it has three or more, {_percent(there)} do. {_verdict(there)}"
    )


def _percent(proportion: Proportion) -> str:
    return f"{100 * proportion.rate:.1f} % ({proportion.successes:,} of {proportion.cases:,})"


def _verdict(proportion: Proportion) -> str:
    """By the interval of the share where it could be otherwise: more than half is usual."""
    if not proportion.cases:
        return "None of these agents has more."
    low, high = proportion.interval
    usual = "does not say whether that is more than half" if low <= 0.5 <= high else None
    return f"Wilson's interval {usual or ('says: usually' if low > 0.5 else 'says: not usually')}."
