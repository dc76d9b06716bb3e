"""The searches of the paper. They are imported when they are first used; see `__init__.py`."""

from paretofoil_paper.searches.at_most import AtMost as AtMost
from paretofoil_paper.searches.cf_zoo_as_run import CFZooAsRun as CFZooAsRun
from paretofoil_paper.searches.grid import Grid as Grid
from paretofoil_paper.searches.local_zoo import LocalZoo as LocalZoo
from paretofoil_paper.searches.projected_cw import ProjectedCW as ProjectedCW
from paretofoil_paper.searches.reference import ReferenceCFZoo as ReferenceCFZoo
from paretofoil_paper.searches.white_cw import WhiteCW as WhiteCW

def register() -> None: ...
