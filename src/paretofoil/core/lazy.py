"""Names that load their module when they are first used, so that `paretofoil --help` stays quick."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, places: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], list[str]]:
    """For a package: its `__getattr__`, and the names it gives. `places` has the names that each module gives."""
    homes = {name: module for module, names in places.items() for name in names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get, sorted(homes)
