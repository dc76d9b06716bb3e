"""Agents by training stage, and agents without trimming or without a preference for shorter episodes.

`benchmarks/trainings.py` trains them and records the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from paretofoil.study.table import Table
from paretofoil_paper.influence import auroc
from paretofoil_paper.measurements import read_csv
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.statistics import Interval

FILE = "trainings.csv"
STAGED = ("deep-sea-treasure", "reward-line", "branch-path")
STAGES = (0.05, 0.1, 0.3, 1.0)
"""Shares of the exploration's steps; only complete trainings have a polish."""
STAGED_SEEDS = range(30, 50)
ABLATED = STAGED
ABLATED_SEEDS = range(20, 25)
OURS = "ours"
VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "no trimming": {"trim": False},
    "no shorter-first": {"shorter_first": False},
}
MEASURES = {
    "feasible": "a valid command exists",
    "distance": "distance of the closest command",
    "changed": "share of entries that change",
    "ends_on_front": "episode under the answer ends on its front",
    "noise": "foil is still chosen under 1 % noise",
}
"""The measures of explanations by column, in percent."""
TESTS = len(MEASURES) * len(STAGED)


@dataclass(frozen=True)
class TrainedAgent:
    """One agent: its training, its front, and the means of the measures; None if they were not measured."""

    environment: str
    variant: str
    seed: int
    share: float
    known: int
    """Points of the environment's front."""
    reached: int
    """Of these, the points that greedy rollouts reach."""
    steps: float
    """Mean number of steps of greedy rollouts under the commands of its front."""
    feasible: float | None = None
    distance: float | None = None
    changed: float | None = None
    ends_on_front: float | None = None
    noise: float | None = None

    @property
    def well_trained(self) -> bool:
        return self.reached == self.known


def read_trainings(path: Path) -> list[TrainedAgent]:
    return read_csv(path, TrainedAgent)


def staged(rows: Sequence[TrainedAgent]) -> list[TrainedAgent]:
    return [row for row in rows if row.feasible is not None]


def stages_table(rows: Sequence[TrainedAgent]) -> Table:
    """Return how well each measure tells agents that reach the whole front from the others."""
    groups = {name: [row for row in staged(rows) if row.environment == name] for name in STAGED}
    lines: list[tuple[Any, ...]] = []
    for name, label in MEASURES.items():
        cells: list[Any] = []
        for group in groups.values():
            known = [row for row in group if getattr(row, name) is not None and not np.isnan(getattr(row, name))]
            well = [row.well_trained for row in known]
            area = auroc([getattr(row, name) for row in known], well)
            cells += (
                (None, None) if area is None else (100 * area, area_interval(area, sum(well), len(well) - sum(well)))
            )
        lines.append((label, *cells))
    columns = ("measure", *(c for name in groups for c in (ENVIRONMENTS[name], f"{ENVIRONMENTS[name]} [95 % CI]")))
    counts = "; ".join(
        f"{ENVIRONMENTS[name]} {sum(row.well_trained for row in group)} of {len(group)}"
        for name, group in groups.items()
    )
    note = (
        "AUROC in %: the probability that a well-trained agent has the larger value; below 50, it tends to have "
        "the smaller value. Well-trained: greedy rollouts reach every point of the environment's front "
        f"({counts} agents). Intervals: Newcombe's, with Bonferroni's correction; all {TESTS} hold together with 95 % "
        "confidence. A measure tells the agents apart if its interval excludes 50 %."
    )
    return Table("Well-trained and poorly trained agents, told apart by explanations", columns, tuple(lines), note)


def area_interval(area: float, first: int, second: int) -> Interval:
    """Return Newcombe's interval of an AUROC (2006, method 5), which has a width if the groups are separate.

    It is corrected for the number of tests.
    """
    half, z = (first + second) / 2 - 1, float(ndtri(1 - 0.025 / TESTS))

    def excess(value: float) -> float:
        spread = 1 + half * (1 - value) / (2 - value) + half * value / (1 + value)
        return (value - area) ** 2 - z**2 * value * (1 - value) * spread / (first * second)

    edge = 1e-9
    inside = min(max(area, edge), 1 - edge)
    low = brentq(excess, edge, inside) if excess(edge) > 0 else 0.0
    high = brentq(excess, inside, 1 - edge) if excess(1 - edge) > 0 else 1.0
    return Interval(float(low), float(high))


def mean_steps(rows: Sequence[TrainedAgent]) -> dict[tuple[str, str], float]:
    """Return the mean length of the rollouts of the ablation's agents, by variant and environment."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.seed in ABLATED_SEEDS:
            groups.setdefault((row.variant, row.environment), []).append(row.steps)
    return {key: float(np.mean(steps)) for key, steps in groups.items()}


def ablation_table(rows: Sequence[TrainedAgent]) -> Table:
    """Return what agents learn without trimming and without a preference for shorter episodes."""
    lengths = mean_steps(rows)
    names = [name for name in ABLATED if (OURS, name) in lengths]
    lines: list[tuple[Any, ...]] = []
    for variant in VARIANTS:
        group = [row for row in rows if row.seed in ABLATED_SEEDS and row.variant == variant]
        if group:
            reached = sum(row.well_trained for row in group)
            lines.append((variant, f"{reached} of {len(group)}", *(lengths.get((variant, name)) for name in names)))
    columns = ("variant", "reach the whole front", *(f"{ENVIRONMENTS[name]}: steps" for name in names))
    note = "Steps: mean length of greedy rollouts under the commands of the agent's front, over at most five seeds."
    return Table("Trimming and shorter-first", columns, tuple(lines), note)
