"""How values are shown is decided above them: here a value asks for it, and `paretofoil/__init__.py` says where it is.

Values must not import what draws them, and yet `print(answer)` and `answer.plot()` are what people type.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from paretofoil.core.errors import InvalidInput

_places: dict[str, str] = {}


def register_displays(places: Mapping[str, str]) -> None:
    """Say which function shows what: {"Answer.plot": "package.module:function"}; it is loaded when first asked for."""
    _places.update(places)


def show(value: Any, form: str, *args: Any, **options: Any) -> Any:
    """The value in a form: words, HTML, a figure."""
    module, _, function = _places[f"{type(value).__name__}.{form}"].partition(":")
    return getattr(import_module(module), function)(value, *args, **options)


def as_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """One line for each mapping, its keys as columns."""
    try:
        import pandas
    except ImportError:
        raise InvalidInput.expected("pandas to be installed (pip install pandas)", "a Python without it") from None
    return pandas.DataFrame(list(rows))


def lazy_names(package: str, places: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], list[str]]:
    """For a package: its `__getattr__`, and the names it gives. `places` has the names that each module gives."""
    homes = {name: module for module, names in places.items() for name in names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get, sorted(homes)
