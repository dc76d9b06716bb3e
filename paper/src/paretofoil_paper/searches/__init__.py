"""Searches that only the paper needs: one module per method, with the contract of `paretofoil.core.search`."""

from typing import TYPE_CHECKING

from paretofoil.core.lazy import lazy_names

if TYPE_CHECKING:
    from paretofoil_paper.searches.at_most import AtMost as AtMost
    from paretofoil_paper.searches.cf_zoo_as_run import CFZooAsRun as CFZooAsRun
    from paretofoil_paper.searches.grid import Grid as Grid
    from paretofoil_paper.searches.local_zoo import LocalZoo as LocalZoo
    from paretofoil_paper.searches.projected_cw import ProjectedCW as ProjectedCW
    from paretofoil_paper.searches.reference import ReferenceCFZoo as ReferenceCFZoo
    from paretofoil_paper.searches.white_cw import WhiteCW as WhiteCW

_HOME = "paretofoil_paper.searches"
__getattr__, __all__ = lazy_names(
    __name__,
    {
        f"{_HOME}.at_most": ("AtMost",),
        f"{_HOME}.cf_zoo_as_run": ("CFZooAsRun",),
        f"{_HOME}.grid": ("Grid",),
        f"{_HOME}.local_zoo": ("LocalZoo",),
        f"{_HOME}.projected_cw": ("ProjectedCW",),
        f"{_HOME}.reference": ("ReferenceCFZoo",),
        f"{_HOME}.white_cw": ("WhiteCW",),
    },
)


def register() -> None:
    """Register the searches by name; `paretofoil` calls this through the entry point group `paretofoil.searches`."""
    from paretofoil.search.registry import register_search

    as_run, white_cw = f"{_HOME}.cf_zoo_as_run:CFZooAsRun", f"{_HOME}.white_cw:WhiteCW"
    register_search("cf-zoo:reference", f"{_HOME}.reference:ReferenceCFZoo", "CF-ZOO, one query at a time")
    register_search("cf-zoo:as-run", as_run, "CF-ZOO as the authors' code runs it, at the 3,001 of their stress test")
    register_search("cf-zoo:as-run-comparison", as_run, "as run, at the 21,000 of their comparison", "comparison")
    register_search("cf-zoo:as-run-thorough", as_run, "as run, at the 100,000 of their diagnosis", "thorough")
    register_search("local-zoo", f"{_HOME}.local_zoo:LocalZoo", "CF-ZOO without its rays")
    register_search("white-cw", white_cw, "Carlini and Wagner's white-box attack through ART, with ART's defaults")
    register_search("white-cw-padded", white_cw, "the same, in a wider box", "padded")
    register_search("white-cw:as-run", white_cw, "the same, with the settings of the authors' code", "as-run")
    register_search("white-cw:as-run-0", white_cw, "as run, with confidence 0, as in the authors' data", "as-run-0")
    register_search("projected-cw", f"{_HOME}.projected_cw:ProjectedCW", "the objective of White-CW, projected; fast")
    register_search("grid", f"{_HOME}.grid:Grid", "the paper's audit: 200 values per objective")
