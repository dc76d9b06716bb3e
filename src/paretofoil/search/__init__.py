"""Searches: one file per method, all with the contract of `core/search.py`; what they share is in `parts/`."""

from typing import TYPE_CHECKING

from paretofoil.core.lazy import lazy_names
from paretofoil.search.registry import choose_search, register_search

if TYPE_CHECKING:
    from paretofoil.search.boundary import Boundary as Boundary
    from paretofoil.search.cf_zoo import CFZoo as CFZoo
    from paretofoil.search.cf_zoo_as_run import CFZooAsRun as CFZooAsRun
    from paretofoil.search.exact import Exact as Exact
    from paretofoil.search.grid import Grid as Grid
    from paretofoil.search.local_zoo import LocalZoo as LocalZoo
    from paretofoil.search.nearest_front import NearestFront as NearestFront
    from paretofoil.search.projected_cw import ProjectedCW as ProjectedCW
    from paretofoil.search.reference import ReferenceCFZoo as ReferenceCFZoo
    from paretofoil.search.white_cw import WhiteCW as WhiteCW

__getattr__, _names = lazy_names(
    __name__,
    {
        "paretofoil.search.boundary": ("Boundary",),
        "paretofoil.search.cf_zoo": ("CFZoo",),
        "paretofoil.search.cf_zoo_as_run": ("CFZooAsRun",),
        "paretofoil.search.exact": ("Exact",),
        "paretofoil.search.grid": ("Grid",),
        "paretofoil.search.local_zoo": ("LocalZoo",),
        "paretofoil.search.nearest_front": ("NearestFront",),
        "paretofoil.search.projected_cw": ("ProjectedCW",),
        "paretofoil.search.reference": ("ReferenceCFZoo",),
        "paretofoil.search.white_cw": ("WhiteCW",),
    },
)
__all__ = ["choose_search", "register_search", *_names]
