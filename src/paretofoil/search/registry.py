"""The registry of searches by name, for the command line, the page, studies and "auto".

A search is imported when it is first used. Other packages add searches by an entry point of the group
`paretofoil.searches`: a function without arguments that calls `register_search`. Entry points are read when the names
are listed, or when a name is not registered yet.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from paretofoil.core.errors import InvalidInput, as_seed, did_you_mean
from paretofoil.core.options import Limits

if TYPE_CHECKING:
    from paretofoil.core.search import Search

AUTO = "auto"
AUTO_SECONDS = 10.0
"""Time limit per question of "auto", unless another one is given."""
PLUGINS = "paretofoil.searches"
"""The group of entry points by which other packages add searches."""


@dataclass(frozen=True)
class Method:
    """A registered search."""

    name: str
    kind: Any
    """The class, or "module:Class" to import it on first use."""
    summary: str
    """What the search does, in a few words."""
    preset: str | None = None
    """Settings by name (`Class.preset(name, seed)`); None for the defaults of the class."""

    def load(self) -> "type[Search]":
        """Return the class of the search."""
        if not isinstance(self.kind, str):
            return self.kind
        module, _, name = self.kind.partition(":")
        return getattr(import_module(module), name)

    def make(self, seed: int = 0) -> "Search":
        """Return the search with its settings and a seed."""
        kind: Any = self.load()
        search: Search = kind(seed=seed) if self.preset is None else kind.preset(self.preset, seed)
        return search


_methods: dict[str, Method] = {}


def register_search(name: str, kind: Any, summary: str, preset: str | None = None) -> None:
    """Register a search under a name, for the command line, the page and studies.

    Args:
        name: Name that users type.
        kind: Class of the search, or "module:Class", which is imported on first use.
        summary: What the search does, in a few words.
        preset: Settings by name (`kind.preset(preset, seed)`); None for the defaults of the class.
    """
    if not isinstance(kind, str | type):
        raise InvalidInput.expected('a class of searches, or "module:Class"', repr(kind))
    method = Method(name, kind, summary, preset)
    if name == AUTO or _methods.get(name, method) != method:
        raise InvalidInput.expected("a name that is not registered", repr(name))
    _methods[name] = method


def methods() -> list[Method]:
    """Return all registered searches, those of other packages included, in the order of registration."""
    _load_plugins()
    return list(_methods.values())


def find_method(name: str) -> Method:
    """Return the search with a registered name, or with a name of the form "name:preset"."""
    if name not in _methods:
        _load_plugins()
    if name in _methods:
        return _methods[name]
    base, _, preset = name.partition(":")
    if base in _methods and preset in getattr(_methods[base].load(), "presets", ()):
        return replace(_methods[base], name=name, preset=preset)
    raise InvalidInput.expected(f"a search among {AUTO}, {', '.join(_methods)}", did_you_mean(name, _methods))


def search_classes() -> "dict[str, type[Search]]":
    """Return the classes of all registered searches by their names, to restore searches from a study's file."""
    return {kind.__name__: kind for kind in (method.load() for method in methods())}


def choose_search(search: "str | Search", policy: Any, seed: int = 0, *, finite: bool = False) -> "Search":
    """Return a search by its name. "auto" is `exact` for white-box policies and `boundary` for black-box policies.

    If commands are few enough to query all of them (`finite`), "auto" is `exact` for black-box policies, too.
    """
    if not isinstance(search, str):
        if isinstance(search, type) or not callable(getattr(search, "run", None)):
            expected = "the name of a search, or a search with its settings, such as Exact()"
            raise InvalidInput.expected(expected, repr(search))
        return search
    if search == AUTO:
        from paretofoil.core.policy import is_white_box

        search = "exact" if finite or is_white_box(policy) else "boundary"
    return find_method(search).make(as_seed(seed))


def choose_limits(search: "str | Search", limits: Limits) -> Limits:
    """Return the limits of a question; "auto" has a default time limit, and other searches have none."""
    if search != AUTO or limits.seconds is not None:
        return limits
    return replace(limits, seconds=AUTO_SECONDS)


@cache
def _load_plugins() -> None:
    """Call the entry points of other packages once, and warn of those that fail."""
    for plugin in entry_points(group=PLUGINS):
        try:
            plugin.load()()
        except Exception as error:  # a broken package must not disable the other searches
            warnings.warn(f"could not register the searches of {plugin.value!r}: {error}", stacklevel=3)


_HOME = "paretofoil.search"
register_search("exact", f"{_HOME}.exact:Exact", "proves the closest command, or that there is none")
register_search("boundary", f"{_HOME}.boundary:Boundary", "follows the decision boundary; nearly optimal, no proof")
register_search("cf-zoo", f"{_HOME}.cf_zoo:CFZoo", "the paper's search (also cf-zoo:comparison, cf-zoo:thorough)")
register_search("nearest-front", f"{_HOME}.nearest_front:NearestFront", "the nearest front point that flips the action")
