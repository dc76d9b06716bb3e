"""Agents of Stable-Baselines3 conditioned on goals or preferences: the answers of three searches to the same questions.

`benchmarks/goals.py` trains the agents and records the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.core.answer import Status
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.measurements import read_csv

FILE = "goals.csv"
EXACT = "exact"
PREFERENCES = "preferences"
"""The agent that is conditioned on weights of the objectives."""


@dataclass(frozen=True)
class GoalAnswer:
    """One answer, with the agent that it is about."""

    agent: str
    size: int
    """Coordinates of a goal, or objectives with a weight."""
    reached: int
    """Test episodes in which the agent reaches its goal, or the largest weighted return."""
    tests: int
    episode: int
    step: int
    foil: int
    search: str
    status: str
    distance: float | None
    """Scaled distance of the closest command that the search found."""
    queries: int
    boxes: int
    """Bound evaluations of the proof."""
    seconds: float
    """CPU time."""
    takes_foil: bool | None
    """Whether the model itself chooses the foil under the quoted command; None without an answer."""

    @property
    def question(self) -> tuple[str, int, int, int]:
        return self.agent, self.episode, self.step, self.foil


def read_goals(path: Path) -> list[GoalAnswer]:
    return read_csv(path, GoalAnswer)


def goals_table(rows: Sequence[GoalAnswer]) -> Table:
    """Return what each search solves, how close its answers are, and what they cost."""
    optimum = {row.question: row.distance for row in rows if row.search == EXACT}
    feasible = {row.question for row in rows if row.distance is not None}
    lines: list[tuple[Any, ...]] = []
    agents = dict.fromkeys((row.agent, row.search) for row in rows)
    for agent, search in agents:
        group = [row for row in rows if (row.agent, row.search) == (agent, search)]
        solved = [row for row in group if row.distance is not None]
        ratios = [row.distance / best for row in solved if (best := optimum[row.question])]  # type: ignore[operator]
        statuses = [row.status for row in group]
        proven = [statuses.count(status.value) for status in (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE)]
        lines.append(
            (
                f"{agent}, {search}",
                len(group),
                Proportion(len(solved), sum(row.question in feasible for row in group)),
                *(proven if search == EXACT else (None, None)),
                float(np.median(ratios)) if ratios else None,
                *(int(np.median([getattr(row, cost) for row in group])) for cost in ("queries", "boxes")),
                float(np.median([row.seconds for row in group])),
                f"{sum(bool(row.takes_foil) for row in solved)} of {len(solved)}",
            )
        )
    columns = (
        *("agent, search", "questions", "feasible ones solved [95 % CI]", "proven closest", "proven infeasible"),
        *("median distance / optimum", "median queries", "median bound evaluations", "median CPU s"),
        "the model takes the foil",
    )
    note = "Feasible: one of the searches finds a valid command. Queries, evaluations and times are over all questions."
    return Table("Agents conditioned on goals or preferences, by search", columns, tuple(lines), note)
