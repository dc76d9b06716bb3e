"""Figures from the authors' published rows: read from their files, or recomputed where the paper differs.

Their code and rows are under the GPLv3; this module contains only numbers derived from them.
"""

from dataclasses import dataclass

REPOSITORY = "JoanikijChulev/Explainable-Multi-Objective-RL-with-PCNs"
COMMIT = "31a7b71"
SOURCE = f"`{REPOSITORY}` on GitHub, commit {COMMIT}"


@dataclass(frozen=True)
class Published:
    """Figures of one environment."""

    fronts: int
    """Number of commands that were issued."""
    by_rays: int
    """Number of successes of the stress test that the rays found before ZOO."""
    stress_median: float
    """Median of the reported distances, in units of the cut region."""
    whole_mean: float
    """Mean of the stress distances in units of the whole region, as in the comparison."""
    whole_median: float
    zoo_median: float
    """Median distance of CF-ZOO in the comparison."""
    cw_median: float | None
    cw_greedy: int
    """Number of White-CW's answers that make the foil greedy, by any margin."""
    infeasible: int
    """Number of failures of the stress test for which their grid has no valid command."""
    missed: int
    """Number of failures for which it has one."""
    errors: int = 0
    """Number of failures whose grid run ended with an error."""
    second_grid: int = 0
    """Number of infeasible failures for which a second grid, that of the diagnosis of budgets, has a valid command."""

    @property
    def known_feasible(self) -> int:
        """Number of failures for which one of their grids has a valid command."""
        return self.missed + self.second_grid


PUBLISHED = {
    "branch-path": Published(3, 27, 0.438, 0.378, 0.285, 0.319, 0.258, 17, 10, 4),
    "breakable-bottles": Published(1, 6, 0.029, 0.030, 0.029, 0.029, 0.017, 3, 2, 0),
    "collect-two": Published(12, 152, 0.529, 0.469, 0.487, 0.463, 0.531, 97, 0, 0),
    "deep-sea-treasure": Published(10, 69, 0.667, 0.202, 0.062, 0.041, 0.009, 16, 170, 3),
    "fruit-tree": Published(96, 672, 0.151, 0.158, 0.103, 0.087, 0.089, 84, 0, 0),
    "minecart": Published(22, 1299, 0.246, 0.212, 0.118, 0.067, 0.039, 134, 273, 232, second_grid=87),
    "resource-gathering": Published(1, 10, 1.285, 1.131, 1.285, 1.305, None, 0, 17, 0, 2),
    "reward-line": Published(11, 134, 0.408, 0.352, 0.239, 0.245, 0.217, 94, 59, 1),
}
"""By environment; cases, successes and mean distances are in `paper_tables`."""

ZOO_GREEDY = 640
"""Number of CF-ZOO's answers in the comparison that make the foil greedy, by any margin."""
BOTH_FOUND = 317
"""Number of cases of the comparison that both methods solve."""
BOTH_DISTANCES = {"white-cw": 0.207, "cf-zoo": 0.171}
"""The mean distances of both methods over these cases."""
CW_CLOSER = 72
"""Number of these cases in which White-CW is closer."""
CW_ALONE = 5
"""Number of cases that only White-CW solves."""
ZERO_TO_KAPPA = 123
"""Number of White-CW's answers with a margin between 0 and kappa, which count as failures."""

TAXONOMY = {"success": 2_513, "grid-infeasible": 444, "search-limited": 236, "unknown": 2}
"""The diagnosis with each case counted once: 2,422 + 91 are solved; 531 - 87 have no valid command on either grid; of
240 + 87 that have one, 91 are solved at 100k; the grid run of 2 ended with an error."""
RECOVERED = 91
"""Number of failures that the large budget solves: 74 of the missed and 17 of the "infeasible" ones."""
SECOND_GRID = PUBLISHED["minecart"].second_grid

ORIGINAL_MINECART = 22
"""Points of Minecart's front in the code of Reymond et al. 2022 (`mathieu-reymond/pareto-conditioned-networks` on
GitHub, ccs/minecart.npy), with which they evaluate PCN."""

FEW_ENTRIES = 0.64
"""Share of the answers that change at most two entries by more than a thousandth of their range."""


@dataclass(frozen=True)
class PublishedQueries:
    """The queries of one solved case in one study."""

    study: str
    stated: int | None
    """The maximum of queries that the paper states, if it does."""
    rays: int
    zoo: int
    final: int
    """Queries of the final bisection."""

    @property
    def total(self) -> int:
        return self.rays + self.zoo + self.final


PUBLISHED_QUERIES = (
    PublishedQueries("stress test", 9_001, 2_984, 3_001, 16),
    PublishedQueries("comparison", 21_000, 20_983, 20_998, 16),
    PublishedQueries("Minecart example", None, 8_983, 8_998, 16),
    PublishedQueries("diagnosis at 100k", 100_000, 99_975, 100_000, 24),
)
"""The rays end earlier where the directions are used up."""
FEW_DIRECTIONS = 145
"""Number of cases of the comparison in which the directions are used up."""
FEWEST_RAYS = 10_473
"""The smallest number of ray queries in these cases."""

OWN_CODE = {"questions": 193, "solved": 152, "close": 124, "largest": 0.06}
"""Our `cf-zoo:as-run` against the authors' own functions, called with our policies, on 50 questions of the stress test
in each of DST, Branch-Path (43), Reward-Line and Minecart. Both solve the same questions. Of the solved ones, `close`
commands differ by at most 0.1 % of the range, and none by more than `largest`. Measured once; their code is not part
of this repository."""
