"""The figures that the paper prints, to be shown next to ours."""

from collections.abc import Iterable
from dataclasses import dataclass

ENVIRONMENTS = {
    "branch-path": "Branch-Path",
    "breakable-bottles": "B-Bottles",
    "collect-two": "Collect-Two",
    "deep-sea-treasure": "DST",
    "fruit-tree": "Fruit-Tree",
    "minecart": "Minecart",
    "resource-gathering": "R-Gather",
    "reward-line": "Reward-Line",
}
"""The environments in the order of the paper's tables: our name and the paper's."""


PAPER_NAMES = {"white-cw:as-run-0": "white-cw", "cf-zoo:as-run": "cf-zoo"}
"""Our searches with the settings behind the authors' data, and their names in the tables below."""


@dataclass(frozen=True)
class PaperRow:
    """One row of a table of success rates."""

    cases: int
    found: int
    distance: float | None = None
    """Mean scaled distance over the successes; None for totals."""


def total_of(rows: Iterable[PaperRow]) -> PaperRow:
    """Return the sum of rows; over all environments, the total that the paper prints."""
    rows = list(rows)
    return PaperRow(sum(row.cases for row in rows), sum(row.found for row in rows))


COMPARISON = {
    ("branch-path", "white-cw"): PaperRow(35, 7, 0.270),
    ("branch-path", "cf-zoo"): PaperRow(35, 25, 0.416),
    ("breakable-bottles", "white-cw"): PaperRow(8, 2, 0.017),
    ("breakable-bottles", "cf-zoo"): PaperRow(8, 6, 0.030),
    ("collect-two", "white-cw"): PaperRow(136, 29, 0.514),
    ("collect-two", "cf-zoo"): PaperRow(136, 136, 0.444),
    ("deep-sea-treasure", "white-cw"): PaperRow(136, 14, 0.014),
    ("deep-sea-treasure", "cf-zoo"): PaperRow(136, 50, 0.152),
    ("fruit-tree", "white-cw"): PaperRow(84, 83, 0.130),
    ("fruit-tree", "cf-zoo"): PaperRow(84, 84, 0.121),
    ("minecart", "white-cw"): PaperRow(240, 116, 0.098),
    ("minecart", "cf-zoo"): PaperRow(240, 208, 0.153),
    ("resource-gathering", "white-cw"): PaperRow(10, 0, None),
    ("resource-gathering", "cf-zoo"): PaperRow(10, 4, 1.186),
    ("reward-line", "white-cw"): PaperRow(148, 71, 0.380),
    ("reward-line", "cf-zoo"): PaperRow(148, 124, 0.363),
}
"""Table "Comparison of our perturbation method with a white-box C&W baseline"."""

STRESS = {
    "branch-path": PaperRow(44, 30, 0.466),
    "breakable-bottles": PaperRow(8, 6, 0.030),
    "collect-two": PaperRow(152, 152, 0.493),
    "deep-sea-treasure": PaperRow(243, 70, 0.641),
    "fruit-tree": PaperRow(672, 672, 0.231),
    "minecart": PaperRow(1846, 1341, 0.360),
    "resource-gathering": PaperRow(29, 10, 1.131),
    "reward-line": PaperRow(201, 141, 0.525),
}
"""Table "Stress test of CF-ZOO"."""

AUDIT = {"success": 2515, "grid-infeasible": 531, "search-limited": 149}
"""Table "CF-ZOO diagnosis"; 93 of the successes needed the budget of 100k."""
AUDIT_RECOVERED = 93

RUNTIME = {
    ("branch-path", "white-cw"): 9.44,
    ("branch-path", "cf-zoo"): 53.21,
    ("breakable-bottles", "white-cw"): 8.55,
    ("breakable-bottles", "cf-zoo"): 53.08,
    ("collect-two", "white-cw"): 7.98,
    ("collect-two", "cf-zoo"): 45.38,
    ("deep-sea-treasure", "white-cw"): 8.03,
    ("deep-sea-treasure", "cf-zoo"): 48.11,
    ("fruit-tree", "white-cw"): 10.21,
    ("fruit-tree", "cf-zoo"): 56.48,
    ("minecart", "white-cw"): 8.63,
    ("minecart", "cf-zoo"): 48.71,
    ("resource-gathering", "white-cw"): 11.37,
    ("resource-gathering", "cf-zoo"): 41.28,
    ("reward-line", "white-cw"): 9.07,
    ("reward-line", "cf-zoo"): 47.49,
    ("all", "white-cw"): 8.73,
    ("all", "cf-zoo"): 48.78,
}
"""Table "Mean runtime per counterfactual query", in seconds."""

BUDGET_RUNTIME = {
    10_000: (19.1, 0.8, 19.0),
    20_000: (43.7, 1.8, 43.5),
    30_000: (60.5, 2.5, 60.4),
    50_000: (101.4, 2.6, 102.1),
    75_000: (108.4, 3.5, 107.3),
    100_000: (176.0, 6.4, 178.0),
}
"""Mean, standard deviation and median wall-clock seconds per query budget."""
