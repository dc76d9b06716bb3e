"""The searches of the experiments with their budgets, and the sizes of their samples."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paretofoil.core.errors import InvalidInput
from paretofoil.core.search import Search
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront
from paretofoil_paper.paper_tables import BUDGET_RUNTIME
from paretofoil_paper.searches import CFZooAsRun, LocalZoo, ProjectedCW, WhiteCW


def _comparison_searches() -> dict[str, Search]:
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


def _ablation_searches() -> dict[str, Search]:
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
    """The paper's budgets by default, which the reports describe; smaller ones are for short trials.

    Every search gets the seed of the plan.
    """

    comparison: Mapping[str, Search] = field(default_factory=_comparison_searches)
    """By label: the paper's two methods as it describes them (white-cw with the defaults of ART), ours, and the paper's
    two methods with the settings of the authors' code."""
    stress: Search = field(default_factory=lambda: CFZoo.preset("stress"))
    """Answers every case of the stress test."""
    as_run: Search = field(default_factory=lambda: CFZooAsRun.preset("stress"))
    """The search of the stress test with the settings of the authors' code, in the paper's search region."""
    thorough: Search = field(default_factory=lambda: CFZoo.preset("thorough"))
    """Repeats the failures of the stress test with a larger budget."""
    as_run_thorough: Search = field(default_factory=lambda: CFZooAsRun.preset("thorough"))
    """Repeats the failures of `as_run` with a larger budget."""
    as_run_larger: tuple[int, ...] = (9_001, 21_000, 50_000)
    """Budgets at which CF-ZOO as run repeats its feasible failures: the paper's, that of its comparison, and the one
    that it recommends. The largest one is that of `as_run_thorough`."""
    exact: Search = field(default_factory=Exact)
    """Proves whether a case is feasible."""
    runtime: tuple[int, ...] = tuple(BUDGET_RUNTIME)
    """Budgets (directions and queries) at which CF-ZOO is timed; a subset of the paper's."""
    timed: int = 4
    """Number of cases per environment that are timed one at a time."""

    ablation: Mapping[str, Search] = field(default_factory=_ablation_searches)
    """The searches of the ablation by label, each limited to equal numbers of queries. Their own budgets are larger,
    except for the attacks and nearest-front, which end by themselves. cf-zoo:as-run is the one that is ablated."""
    ablation_queries: tuple[int, ...] = (100, 300, 1_000, 3_000, 9_000, 30_000)
    """Limits on the queries of a question, in rising order."""
    ablation_cases: int = 16
    """Number of cases per environment in the ablation."""

    def __post_init__(self) -> None:
        if not set(self.runtime) <= set(BUDGET_RUNTIME):
            raise InvalidInput.expected(f"budgets among {', '.join(map(str, BUDGET_RUNTIME))}", self.runtime)
        if self.timed < 1:
            raise InvalidInput.expected("timed of at least 1", self.timed)
        if self.ablation_cases < 1:
            raise InvalidInput.expected("ablation_cases of at least 1", self.ablation_cases)
        if not self.ablation_queries:
            raise InvalidInput.expected("at least one limit in ablation_queries", self.ablation_queries)
        if "cf-zoo:as-run" not in self.ablation:
            raise InvalidInput.expected("cf-zoo:as-run among the searches of the ablation", list(self.ablation))
