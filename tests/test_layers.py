"""Folders are layers: imports go one way, at the top of a module and inside functions."""

import ast
import functools
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import paretofoil

ROOT = Path(paretofoil.__file__).parent
LAYERS = ("core", "envs", "pcn", "agents", "proof", "search", "explanation", "study", "show", "web", "cli")
"""From the bottom up, as in CONTRIBUTING.md."""
DOORS = ("__init__", "__main__")
"""The only modules at the root; nothing imports them."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def imports_of(source: str, *, types: bool = True) -> set[str]:
    """Return the modules of the package that a source imports, also inside functions.

    With `types` also what is imported under TYPE_CHECKING alone, which never runs.
    """
    tree = ast.parse(source)
    if not types:
        kept = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))]
        tree.body = kept
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in inner}
    return {name for name in found if name.split(".")[0] == "paretofoil"}


@functools.cache
def inner_imports(*, types: bool = True) -> dict[str, set[str]]:
    """Return what each module below the root imports; with `types` also under TYPE_CHECKING."""
    inside = [name for name in MODULES if name.count(".") and name != "paretofoil.__main__"]
    return {name: imports_of(MODULES[name].read_text(), types=types) for name in inside}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def up_calls(graph: dict[str, set[str]]) -> list[str]:
    return [
        f"{name} imports {imported}"
        for name, all_imported in graph.items()
        for imported in sorted(all_imported)
        if imported == "paretofoil" or LAYERS.index(layer_of(imported)) > LAYERS.index(layer_of(name))
    ]


def cycle_in(graph: dict[str, set[str]]) -> list[str] | None:
    """Return a cycle of modules, or None."""
    try:
        TopologicalSorter({name: imported - {name} for name, imported in graph.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def test_no_module_is_left_loose_at_the_root() -> None:
    assert {path.stem for path in ROOT.glob("*.py")} == set(DOORS)
    assert {path.name for path in ROOT.iterdir() if any(path.glob("*.py"))} == set(LAYERS)


def test_imports_go_down_only() -> None:
    assert up_calls(inner_imports()) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycle_in(inner_imports(types=False)) is None


def test_an_up_call_and_a_circle_would_be_noticed() -> None:
    lazy = "def f():\n    from paretofoil.show.sentences import one_line\n"
    assert up_calls({"paretofoil.core.answer": imports_of(lazy)}) == [
        "paretofoil.core.answer imports paretofoil.show.sentences"
    ]
    assert cycle_in({"a": {"b"}, "b": {"a"}}) is not None


@pytest.mark.parametrize("package", ["core.answer", "core.search", "search.registry", "explanation.ask"])
def test_values_load_nothing_heavy(package: str) -> None:
    heavy = {"gymnasium", "torch", "scipy.stats", "matplotlib"}
    told = f"import sys, paretofoil.{package}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_layer_is_drawn_in_contributing() -> None:
    page = (ROOT.parents[1] / "CONTRIBUTING.md").read_text()
    drawn = [
        line.split()[0].rstrip("/") for line in page.splitlines() if line.split() and line.split()[0][:-1] in LAYERS
    ]
    assert tuple(drawn) == LAYERS
