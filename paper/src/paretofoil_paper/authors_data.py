"""What the authors' published rows say, as figures: read from their files, recomputed where the paper's differ.

Their code and rows are theirs (GPLv3); nothing of them is here but these numbers.
"""

from dataclasses import dataclass

REPOSITORY = "JoanikijChulev/Explainable-Multi-Objective-RL-with-PCNs"
COMMIT = "31a7b71"
SOURCE = f"`{REPOSITORY}` on GitHub, commit {COMMIT}"


@dataclass(frozen=True)
class Published:
    """One environment in the authors' result files."""

    fronts: int
    """Commands that were issued."""
    by_rays: int
    """Of the stress test's successes: how many the rays alone had found."""
    stress_median: float
    """Of the distances as reported, in units of the cut box."""
    whole_mean: float
    """The stress distances again, in units of the whole box, as the comparison's are."""
    whole_median: float
    zoo_median: float
    """Of CF-ZOO's distances in the comparison."""
    cw_median: float | None
    cw_greedy: int
    """White-CW's answers after which the foil is greedy, by whatever margin."""
    infeasible: int
    """Failures of the stress test for which their grid has no command."""
    missed: int
    """Those for which it has one."""
    errors: int = 0
    """Those for which the grid's run ended with an error."""
    second_grid: int = 0
    """Of the infeasible: those for which a second grid, behind the paper's diagnosis of budgets, has a command."""

    @property
    def known_possible(self) -> int:
        """Failures for which one of their grids has a command."""
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
"""By environment; cases, successes and mean distances are the paper's own (`reproduce/paper.py`)."""

THEIR_AGENTS = {"branch-path": (44, 34, 34), "deep-sea-treasure": (235, 87, 84)}
"""Cases, those that are possible, and those that CF-ZOO as run finds, of two agents that they have published, in their
box: measured by us (`benchmarks/authors_agents.py`). They are not the paper's agents, but have the same fronts."""
PUBLISHED_STEPS = {"breakable-bottles": 10, "resource-gathering": 12}
"""How long the one episode of the stress test lasted where chance decides; resets had no seed."""

ZOO_GREEDY = 640
"""CF-ZOO's answers in the comparison after which the foil is greedy, by whatever margin."""
BOTH_FOUND = 317
"""Cases of the comparison that both methods solve."""
BOTH_DISTANCES = {"white-cw": 0.207, "cf-zoo": 0.171}
"""Their mean distances over these."""
CW_CLOSER = 72
CW_ALONE = 5
ZERO_TO_KAPPA = 123
"""White-CW's answers whose margin lies between 0 and kappa, so that they count as failures."""

TAXONOMY = {"success": 2_513, "grid-infeasible": 444, "search-limited": 236, "unknown": 2}
"""The diagnosis with each case counted once: 2,422 + 91 are found; 531 - 87 have no command on either grid; of 240 + 87
that have one, 91 are found at 100k; the run of 2 ended with an error."""
RECOVERED = 91
"""Failures in which the large budget found something: 74 of the missed, 17 of the "infeasible"."""
SECOND_GRID = PUBLISHED["minecart"].second_grid

FEW_ENTRIES = 0.64
"""The share of answers that change at most two entries by more than a thousandth of their range."""


@dataclass(frozen=True)
class Spent:
    """The queries of one case in one study: rays, ZOO, and the last bisection of a success."""

    study: str
    told: int | None
    """The maximum of queries in the paper, where it tells one."""
    rays: int
    zoo: int
    last: int

    @property
    def total(self) -> int:
        return self.rays + self.zoo + self.last


SPENT = (
    Spent("stress test", 9_001, 2_984, 3_001, 16),
    Spent("comparison", 21_000, 20_983, 20_998, 16),
    Spent("Minecart example", None, 8_983, 8_998, 16),
    Spent("diagnosis at 100k", 100_000, 99_975, 100_000, 24),
)
"""Of a case that succeeds; where the directions run out, rays end earlier."""
FEW_DIRECTIONS = 145
"""Cases of the comparison in which they do ..."""
FEWEST_RAYS = 10_473
"""... and the fewest queries that rays then took."""
