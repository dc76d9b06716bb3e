"""The factor study: how feasible cases change if one choice in training is the authors' instead of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.study.table import Table
from paretofoil_paper.measurements import read_csv
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.statistics import Interval

SMALL = ("deep-sea-treasure", "reward-line", "branch-path", "collect-two")
"""Environments in which a training takes seconds."""
OURS, ALL = "ours", "all of these, and their steps"
TWO_LAYERS, SCALING, LOSS = "two-layer embeddings", "their scaling of commands", "loss over all actions"
ARCHIVE = "their archive"
FACTORS = (
    *(TWO_LAYERS, "width 256", "their observation", SCALING, LOSS),
    *("no polish", "their exploration", "their learning rate", ARCHIVE),
)
VARIANTS = (OURS, *FACTORS, ALL)
FILE = "factors.csv"
DIFFERENCE, INTERVAL = "DST: difference (points)", "Student [95 % CI]"


@dataclass(frozen=True)
class FactorAgent:
    """One agent, and how many of its cases are feasible."""

    environment: str
    variant: str
    seed: int
    front: int
    """Points of its front."""
    reached: int
    """Points that greedy rollouts reach."""
    cases: int
    feasible: int


def read_factors(path: Path) -> list[FactorAgent]:
    return read_csv(path, FactorAgent)


def factors_table(rows: Sequence[FactorAgent]) -> Table:
    """Return the share of feasible cases of each variant, and its difference from ours with an interval over seeds."""
    lines: list[tuple[Any, ...]] = []
    environments = [name for name in SMALL if any(row.environment == name for row in rows)]
    for variant in VARIANTS:
        group = {(r.environment, r.seed): r for r in rows if r.variant == variant}
        if not group:
            continue
        ours = {(r.environment, r.seed): r for r in rows if r.variant == OURS}
        shares = []
        for environment in environments:
            here = [_share(row) for (name, _), row in group.items() if name == environment]
            shares.append(float(np.mean(here)) if here else None)
        difference = (None, None) if variant == OURS else _difference(group, ours, "deep-sea-treasure")
        reached = sum(row.reached == row.front for row in group.values())
        lines.append((variant, *shares, *difference, f"{reached} of {len(group)}"))
    columns = (
        "variant",
        *(ENVIRONMENTS[name] for name in environments),
        *(DIFFERENCE, INTERVAL),
        "reach their front",
    )
    note = (
        "Feasible cases in % of all cases of the stress test, means over seeds. Differences are from *ours*; their "
        "intervals are Student's, over pairs of agents with the same seed, and are not corrected for their number. "
        "Last column: agents whose greedy rollouts reach every point of their front."
    )
    return Table("Feasible cases by one choice of the authors", columns, tuple(lines), note)


def _share(row: FactorAgent) -> float:
    return 100 * row.feasible / row.cases if row.cases else float("nan")


def _difference(
    group: dict[Any, FactorAgent], ours: dict[Any, FactorAgent], environment: str
) -> tuple[float | None, Interval | None]:
    """Return the mean difference over seeds with Student's 95 % interval."""
    from scipy.stats import t

    pairs = [_share(row) - _share(ours[key]) for key, row in group.items() if key[0] == environment and key in ours]
    if len(pairs) < 2:
        return None, None
    half = float(t.ppf(0.975, len(pairs) - 1) * np.std(pairs, ddof=1) / np.sqrt(len(pairs)))
    mean = float(np.mean(pairs))
    return mean, Interval((mean - half) / 100, (mean + half) / 100)
