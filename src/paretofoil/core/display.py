"""How values are shown is decided above them: here a value asks for it, and `paretofoil/__init__.py` says where it is.

Values must not import what draws them, and yet `print(answer)` and `answer.plot()` are what people type.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_places: dict[str, str] = {}


def register_displays(places: Mapping[str, str]) -> None:
    """Say which function shows what: {"Answer.plot": "package.module:function"}; it is loaded when first asked for."""
    _places.update(places)


def show(value: Any, form: str, *args: Any, **options: Any) -> Any:
    """The value in a form: words, HTML, a figure."""
    module, _, function = _places[f"{type(value).__name__}.{form}"].partition(":")
    return getattr(import_module(module), function)(value, *args, **options)
