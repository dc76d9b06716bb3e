"""The public names of `paretofoil.search`. They are imported when they are first used; see `__init__.py`."""

from paretofoil.core.search import Finding as Finding
from paretofoil.core.search import Search as Search
from paretofoil.search.boundary import Boundary as Boundary
from paretofoil.search.cf_zoo import CFZoo as CFZoo
from paretofoil.search.exact import Exact as Exact
from paretofoil.search.nearest_front import NearestFront as NearestFront
from paretofoil.search.registry import choose_search as choose_search
from paretofoil.search.registry import register_search as register_search
