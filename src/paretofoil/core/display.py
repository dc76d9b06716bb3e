"""Display of values, and names of packages that are imported at their first use.

Values of `core` cannot import the sentences and figures of `show`, which is a higher layer. `paretofoil/__init__.py`
registers the functions by name, so that `print(answer)` and `answer.plot()` work.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from paretofoil.core.errors import InvalidInput

_places: dict[str, str] = {}


def register_displays(places: Mapping[str, str]) -> None:
    """Register functions by class and form: {"Answer.plot": "package.module:function"}."""
    _places.update(places)


def show(value: Any, form: str, *args: Any, **options: Any) -> Any:
    """Return the sentence, HTML, figure or other form of a value, from the function that is registered for it."""
    module, _, function = _places[f"{type(value).__name__}.{form}"].partition(":")
    return getattr(import_module(module), function)(value, *args, **options)


def as_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return a pandas DataFrame with one row per mapping."""
    try:
        import pandas
    except ImportError:
        raise InvalidInput("pandas is not installed. Install it with: pip install pandas") from None
    return pandas.DataFrame(list(rows))


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package: the names that its stub `__init__.pyi` imports.

    A module is imported when one of its names is first used. Type checkers and editors read the stub.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    modules = {alias.name: str(statement.module) for statement in imports for alias in statement.names}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get, sorted(modules)
