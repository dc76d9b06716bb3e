"""The searches that only reproduce the paper: one module per method, with the contract of `paretofoil.core.search`."""

from paretofoil.core import lazy_names

_HOME = "paretofoil_paper.searches"
__getattr__, __all__ = lazy_names(__name__, __file__)


def register() -> None:
    """Register the searches by name; `paretofoil` calls this through the entry point group `paretofoil.searches`."""
    from paretofoil.search.registry import register_search

    as_run, white_cw = f"{_HOME}.cf_zoo_as_run:CFZooAsRun", f"{_HOME}.white_cw:WhiteCW"
    register_search("cf-zoo:reference", f"{_HOME}.reference:ReferenceCFZoo", "CF-ZOO, one query at a time")
    register_search("cf-zoo:as-run", as_run, "CF-ZOO with the settings of the authors' code, B = 3,001")
    register_search("cf-zoo:as-run-comparison", as_run, "cf-zoo:as-run with B = 21,000", "comparison")
    register_search("cf-zoo:as-run-thorough", as_run, "cf-zoo:as-run with B = 100,000", "thorough")
    register_search("local-zoo", f"{_HOME}.local_zoo:LocalZoo", "CF-ZOO without rays")
    register_search("white-cw", white_cw, "Carlini and Wagner's white-box attack, with the defaults of ART")
    register_search("white-cw-padded", white_cw, "white-cw in a wider region", "padded")
    register_search("white-cw:as-run", white_cw, "white-cw with the settings of the authors' code", "as-run")
    register_search(
        "white-cw:as-run-0", white_cw, "white-cw:as-run with confidence 0, as in the authors' data", "as-run-0"
    )
    register_search(
        "projected-cw", f"{_HOME}.projected_cw:ProjectedCW", "the objective of white-cw with projected gradients (fast)"
    )
    register_search("grid", f"{_HOME}.grid:Grid", "the paper's grid: 200 values per objective")
