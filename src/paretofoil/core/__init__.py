"""The values that every other layer uses, the version of the package, and lazy imports."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def installed_versions(*packages: str) -> dict[str, str]:
    """Return the versions of this package, of Python, and of each given package that is installed."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"paretofoil": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` for a package whose stub `__init__.pyi` lists its names.

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
