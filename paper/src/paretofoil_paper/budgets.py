"""What the experiments may spend: their searches, and how much is timed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paretofoil.core.errors import InvalidInput
from paretofoil.core.search import Search
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront
from paretofoil_paper.paper_tables import BUDGET_RUNTIME
from paretofoil_paper.searches import CFZooAsRun, LocalZoo, ProjectedCW, WhiteCW


def _compared() -> dict[str, Search]:
    return {
        "white-cw": WhiteCW(),
        "cf-zoo": CFZoo.preset("comparison"),
        "white-cw-padded": WhiteCW.preset("padded"),
        "projected-cw": ProjectedCW(),
        "boundary": Boundary(),
        "exact": Exact(),
        "white-cw:as-run": WhiteCW.preset("as-run"),
        "white-cw:as-run-0": WhiteCW.preset("as-run-0"),
        "cf-zoo:as-run": CFZooAsRun.preset("comparison"),
    }


def _held() -> dict[str, Search]:
    return {
        "cf-zoo": CFZoo(30_000, 30_001),
        "cf-zoo:as-run": CFZooAsRun(15_000, 30_000),
        "local-zoo": LocalZoo(30_001),
        "boundary": Boundary(30_000),
        "projected-cw": ProjectedCW(),
        "white-cw:as-run": WhiteCW.preset("as-run"),
        "nearest-front": NearestFront(),
    }


@dataclass(frozen=True)
class Budgets:
    """The paper's by default, of which the reports speak; smaller ones try the experiments out.

    Seeds are not part of it: every search gets that of the plan.
    """

    comparison: Mapping[str, Search] = field(default_factory=_compared)
    """By label: the paper's two methods by its text (white-cw with ART's defaults, and cf-zoo), ours behind them, exact
    among them, and the paper's two again with the settings that the authors ran them with."""
    stress: Search = field(default_factory=lambda: CFZoo.preset("stress"))
    """Asked about every case."""
    as_run: Search = field(default_factory=lambda: CFZooAsRun.preset("stress"))
    """The same as the authors ran it, in the box that they set."""
    thorough: Search = field(default_factory=lambda: CFZoo.preset("thorough"))
    """Asked again where the stress test's search failed."""
    as_run_thorough: Search = field(default_factory=lambda: CFZooAsRun.preset("thorough"))
    """The same as the authors ran it."""
    exact: Search = field(default_factory=Exact)
    """Proves what became of the failures."""
    runtime: tuple[int, ...] = tuple(BUDGET_RUNTIME)
    """Directions and queries at which CF-ZOO is timed, among those of the paper."""
    alone: int = 4
    """Cases of each environment that are timed one at a time."""

    held: Mapping[str, Search] = field(default_factory=_held)
    """Searches of the ablation, by label: held to equal numbers of queries, of which none but the attacks and the
    nearest front, which end by themselves, has fewer of its own; cf-zoo:as-run among them, whose choices are left out
    one at a time."""
    held_to: tuple[int, ...] = (100, 300, 1_000, 3_000, 9_000, 30_000)
    """Queries for each question, in rising order."""
    sample: int = 16
    """Cases of each environment that the ablation asks about."""

    def __post_init__(self) -> None:
        if not set(self.runtime) <= set(BUDGET_RUNTIME):
            raise InvalidInput.expected(f"budgets among {', '.join(map(str, BUDGET_RUNTIME))}", self.runtime)
        if self.alone < 1:
            raise InvalidInput.expected("at least 1 case that is timed alone", self.alone)
        if self.sample < 1 or not self.held_to or "cf-zoo:as-run" not in self.held:
            raise InvalidInput.expected("cases, queries and cf-zoo:as-run for the ablation", list(self.held))
