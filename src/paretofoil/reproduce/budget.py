"""What the experiments may spend: their searches, and how much is timed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paretofoil.core.errors import InvalidInput
from paretofoil.core.search import Search
from paretofoil.reproduce.paper import BUDGET_RUNTIME
from paretofoil.search import Boundary, CFZoo, Exact, ProjectedCW, WhiteCW


def _compared() -> dict[str, Search]:
    return {
        "white-cw": WhiteCW(),
        "cf-zoo": CFZoo.preset("comparison"),
        "white-cw-padded": WhiteCW.preset("padded"),
        "projected-cw": ProjectedCW(),
        "boundary": Boundary(),
        "exact": Exact(),
    }


@dataclass(frozen=True)
class Budgets:
    """The paper's by default, of which the reports speak; smaller ones try the experiments out.

    Seeds are not part of it: every search gets that of the plan.
    """

    comparison: Mapping[str, Search] = field(default_factory=_compared)
    """By label: the paper's two methods (white-cw and cf-zoo) first, ours behind them, exact among them."""
    stress: Search = field(default_factory=lambda: CFZoo.preset("stress"))
    """Asked about every case."""
    thorough: Search = field(default_factory=lambda: CFZoo.preset("thorough"))
    """Asked again where the stress test's search failed."""
    exact: Search = field(default_factory=Exact)
    """Proves what became of the failures."""
    runtime: tuple[int, ...] = tuple(BUDGET_RUNTIME)
    """Directions and queries at which CF-ZOO is timed, among those of the paper."""
    alone: int = 4
    """Cases of each environment that are timed one at a time."""

    def __post_init__(self) -> None:
        if not set(self.runtime) <= set(BUDGET_RUNTIME):
            raise InvalidInput.expected(f"budgets among {', '.join(map(str, BUDGET_RUNTIME))}", self.runtime)
        if self.alone < 1:
            raise InvalidInput.expected("at least 1 case that is timed alone", self.alone)
