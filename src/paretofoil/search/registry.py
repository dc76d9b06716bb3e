"""The one registry of searches: the command line, studies, the contract tests and "auto" all read it.

It imports no search before one is asked for.
"""

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.limit import Limits
from paretofoil.core.whole_number import as_seed

if TYPE_CHECKING:
    from paretofoil.core.policy import Policy
    from paretofoil.core.search import Search

AUTO = "auto"
AUTO_SECONDS = 10.0
"""What "auto" may take for a question unless it is told otherwise: a first question must not run for an hour."""


@dataclass(frozen=True)
class Method:
    """A search by the name that is typed."""

    name: str
    kind: Any
    """Its class, or "module:Class", which is imported when it is first asked for."""
    summary: str
    """What it does, in a few words."""
    preset: str | None = None
    """Settings of the class by name (`Class.preset(name, seed)`); None for its defaults."""

    def load(self) -> "type[Search]":
        if not isinstance(self.kind, str):
            return self.kind
        module, _, name = self.kind.partition(":")
        return getattr(import_module(module), name)

    def make(self, seed: int = 0) -> "Search":
        kind: Any = self.load()
        made: Search = kind(seed=seed) if self.preset is None else kind.preset(self.preset, seed)
        return made


_methods: dict[str, Method] = {}


def register_search(name: str, kind: Any, summary: str, preset: str | None = None) -> None:
    """Give a search a name; from then on it is a search like every other."""
    if name in _methods or name == AUTO:
        raise InvalidInput.expected("a name that no search has yet", repr(name))
    _methods[name] = Method(name, kind, summary, preset)


@cache
def load_plugins() -> None:
    """Let other installed packages register their searches (entry point group `paretofoil.searches`)."""
    for plugin in entry_points(group="paretofoil.searches"):
        plugin.load()()


def methods() -> list[Method]:
    """Every registered search, in the order of registration."""
    load_plugins()
    return list(_methods.values())


def find_method(name: str) -> Method:
    if name not in _methods:
        load_plugins()
    if name not in _methods:
        raise InvalidInput.expected(f"a search among {AUTO}, {', '.join(_methods)}", did_you_mean(name, _methods))
    return _methods[name]


def search_classes() -> "dict[str, type[Search]]":
    """Every class of a registered search by its name, to restore searches from a study's file."""
    return {kind.__name__: kind for kind in (method.load() for method in methods())}


def choose_search(search: "str | Search", policy: "Policy", seed: int = 0) -> "Search":
    """A search by its name; "auto" proves where the policy can be looked into, and samples where it cannot."""
    if not isinstance(search, str):
        return search
    if search == AUTO:
        from paretofoil.core.policy import is_white_box

        search = "exact" if is_white_box(policy) else "boundary"
    return find_method(search).make(as_seed(seed))


def choose_limits(search: "str | Search", limits: Limits) -> Limits:
    """The limits of a question: a search that is named has those that are given, "auto" one of time in any case."""
    if search != AUTO or limits.seconds is not None:
        return limits
    return replace(limits, seconds=AUTO_SECONDS)


_HOME = "paretofoil.search"
register_search("exact", f"{_HOME}.exact:Exact", "proves its answer closest, or that there is none")
register_search("boundary", f"{_HOME}.boundary:Boundary", "a black-box search that is nearly as close")
register_search("cf-zoo", f"{_HOME}.cf_zoo:CFZoo", "the paper's black-box search as written, at the budget it tells")
register_search("cf-zoo:comparison", f"{_HOME}.cf_zoo:CFZoo", "at the budget of its comparison", "comparison")
register_search("cf-zoo:thorough", f"{_HOME}.cf_zoo:CFZoo", "at a budget of 100,000", "thorough")
register_search("nearest-front", f"{_HOME}.nearest_front:NearestFront", "the nearest front point that flips the action")
