"""Searches: one file per method, all with the same contract (`finding.py`)."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace

from paretofoil.errors import InvalidInput, did_you_mean
from paretofoil.policy import FoldablePolicy, Policy
from paretofoil.search.boundary import Boundary
from paretofoil.search.cf_zoo import CFZoo
from paretofoil.search.exact import Exact
from paretofoil.search.finding import Finding, Search
from paretofoil.search.grid import Grid
from paretofoil.search.nearest_front import NearestFront
from paretofoil.search.projected_cw import ProjectedCW
from paretofoil.search.reference import ReferenceCFZoo
from paretofoil.search.white_cw import WhiteCW
from paretofoil.search.zoo import LocalZoo

__all__ = [
    "SEARCHES",
    "SEARCH_CLASSES",
    "Boundary",
    "CFZoo",
    "Exact",
    "Finding",
    "Grid",
    "LocalZoo",
    "NearestFront",
    "ProjectedCW",
    "ReferenceCFZoo",
    "Search",
    "WhiteCW",
    "choose_search",
    "limit_search",
]

SEARCH_CLASSES = (
    Boundary,
    CFZoo,
    Exact,
    Grid,
    LocalZoo,
    NearestFront,
    ProjectedCW,
    ReferenceCFZoo,
    WhiteCW,
)
"""Every search; each is a dataclass whose fields are its configuration."""

SEARCHES: dict[str, Callable[[int], Search]] = {
    "exact": lambda seed: Exact(seed=seed),
    "boundary": lambda seed: Boundary(seed=seed),
    "cf-zoo": lambda seed: CFZoo(seed=seed),
    "cf-zoo:comparison": lambda seed: CFZoo.preset("comparison", seed),
    "cf-zoo:thorough": lambda seed: CFZoo.preset("thorough", seed),
    "local-zoo": lambda seed: LocalZoo(seed=seed),
    "nearest-front": lambda seed: NearestFront(seed=seed),
    "white-cw": lambda seed: WhiteCW(seed=seed),
    "white-cw-padded": lambda seed: WhiteCW(padded=True, seed=seed),
    "projected-cw": lambda seed: ProjectedCW(seed=seed),
    "grid": lambda seed: Grid(seed=seed),
}
"""The searches by the name they have on the command line, each made from a seed."""


def limit_search(search: Search, *, seconds: float | None = None, queries: int | None = None) -> Search:
    """The same search with a limit of time or queries, after which it returns the best answer so far."""
    limits: dict[str, float | int] = {}
    known: set[str] = {field.name for field in fields(search)} if is_dataclass(search) else set()
    if seconds is not None:
        limits["seconds"] = seconds
    if queries is not None:
        limits["max_queries"] = queries
        if "directions" in known:  # CF-ZOO: its two phases have the same budget, as in the paper
            limits["directions"] = queries
    if not set(limits) <= known:
        missing = " and ".join(sorted(set(limits) - known))
        raise InvalidInput.expected(f"a search that can be limited by {missing}", search.name)
    return replace(search, **limits) if limits else search  # type: ignore[type-var]


def choose_search(search: str | Search, policy: Policy, seed: int = 0) -> Search:
    """A search by its name; "auto" proves where the policy can be looked into, and samples where it cannot."""
    if not isinstance(search, str):
        return search
    if search == "auto":
        search = "exact" if isinstance(policy, FoldablePolicy) else "boundary"
    if search not in SEARCHES:
        raise InvalidInput.expected(f"a search among auto, {', '.join(SEARCHES)}", did_you_mean(search, SEARCHES))
    if seed < 0:
        raise InvalidInput.expected("a seed of at least 0", seed)
    return SEARCHES[search](seed)
