"""Searches for the closest command: one module per method, with the contract of `core/search.py`."""

from typing import TYPE_CHECKING

from paretofoil.core.display import lazy_names
from paretofoil.search.registry import choose_search, register_search

if TYPE_CHECKING:
    from paretofoil.search.boundary import Boundary as Boundary
    from paretofoil.search.cf_zoo import CFZoo as CFZoo
    from paretofoil.search.exact import Exact as Exact
    from paretofoil.search.nearest_front import NearestFront as NearestFront

__getattr__, _names = lazy_names(
    __name__,
    {
        "paretofoil.search.boundary": ("Boundary",),
        "paretofoil.search.cf_zoo": ("CFZoo",),
        "paretofoil.search.exact": ("Exact",),
        "paretofoil.search.nearest_front": ("NearestFront",),
    },
)
__all__ = ["choose_search", "register_search", *_names]
