"""The number of entries of the command that an answer changes (paper, "usually sparse, changing 1 or 2 entries")."""

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
            few = (share(group, _is_few), mean_interval(group, _is_few))
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


def describe_sparsity(paper: Answers, reachable: Answers) -> str:
    """Compare the claim with the authors' data, with the same experiment on our agents, and with other searches.

    Commands of two entries cannot change more than two, so the verdict is about longer ones.
    """
    as_run = [one for one in paper if one.search == AS_RUN]
    others = {
        "`exact` in the same region": [one for one in paper if one.search == "exact"],
        "`cf-zoo` in the reachable region": [one for one in reachable if one.search == "cf-zoo"],
        "`exact` in the reachable region": [one for one in reachable if one.search == "exact"],
    }
    shares = "; ".join(f"{name} {_percent(group)} and {_percent(_wide(group))}" for name, group in others.items())
    verdicts = {verdict(_wide(group)) for group in (as_run, *others.values()) if _wide(group)}
    conclusion = " The result depends on the search region and the search." * (len(verdicts) > 1)
    unchanged = sum(one.closest == 0 for one in as_run)
    return (
        "**In practice, the explanations are usually sparse, changing 1 or 2 entries**, says the paper. At most two "
        f"entries change in {100 * FEW_ENTRIES:.0f} % of the authors' published answers. In the same experiment on our "
        f"agents (`{AS_RUN}`, the paper's search region, realised returns), at most two change in {_percent(as_run)} "
        f"of the answers, and in {_percent(_wide(as_run))} of those whose command has three or more entries "
        f"({verdict(_wide(as_run))}). By environment, the latter share is {_by_environment(_wide(as_run))}. "
        f"{unchanged:,} answers change no entry by more than the threshold of {100 * THRESHOLD:g} % of its range. The "
        "other searches have these two shares (of all answers, and of those whose command has three or more entries): "
        f"{shares}.{conclusion} The threshold is a share of the search region, and some regions are wide: Minecart's "
        "allows a fuel consumption of 200, while episodes need less than 2."
    )


def _is_few(one: ChangedEntries) -> bool:
    return one.few


def _wide(answers: Answers) -> list[ChangedEntries]:
    """Return the answers whose command has more than `FEW` entries."""
    return [one for one in answers if one.dim > FEW]


def _by_environment(answers: Answers) -> str:
    groups: dict[str, list[ChangedEntries]] = {}
    for one in answers:
        groups.setdefault(ENVIRONMENTS[one.environment], []).append(one)
    shares = {name: 100 * share(group, _is_few).rate for name, group in groups.items()}
    return ", ".join(f"{name} {rate:.1f} %" for name, rate in shares.items()) or "none"


def _percent(answers: Answers) -> str:
    few = share(answers, _is_few)
    return f"{100 * few.rate:.1f} % ({few.successes:,} of {few.cases:,})" if few.cases else "none (of 0)"


def verdict(answers: Answers) -> str:
    """Say whether more than half change few entries, by the cluster interval or, with few episodes, by Wilson's."""
    if not answers:
        return "no command has more"
    cluster, few = mean_interval(answers, _is_few), share(answers, _is_few)
    low, high = few.interval if np.isnan(cluster.low) else (cluster.low, cluster.high)
    if low <= 0.5 <= high:
        return "the interval contains one half"
    return f"the whole interval is {'above' if low > 0.5 else 'below'} one half"
