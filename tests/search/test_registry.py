"""The registry: names, presets, searches of other packages, and what "auto" is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from policies import LinearPolicy, random_pcn

from paretofoil.core.errors import InvalidInput
from paretofoil.search import NearestFront, registry
from paretofoil.search.registry import choose_search, find_method, methods, register_search, search_classes


@dataclass(frozen=True)
class Plugin:
    """An entry point of another package."""

    load: Any
    value: str = "other.package:register"


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The functions of the installed entry points, none at first, with a registry of its own."""
    functions: list[Any] = []
    names = ("exact", "boundary", "cf-zoo", "nearest-front")
    monkeypatch.setattr(registry, "_methods", {name: find_method(name) for name in names})
    monkeypatch.setattr(registry, "entry_points", lambda group: [Plugin(lambda f=f: f) for f in functions])
    registry._load_plugins.cache_clear()
    yield functions
    registry._load_plugins.cache_clear()


def test_auto_is_exact_for_white_box_and_boundary_for_black_box_policies() -> None:
    assert choose_search("auto", random_pcn(0)).name == "exact"
    assert choose_search("auto", LinearPolicy(None, None)).name == "boundary"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["auto", "exact"])
def test_a_name_can_be_registered_once(name: str) -> None:
    before = methods()
    with pytest.raises(InvalidInput, match=f"a name that is not registered, got '{name}'"):
        register_search(name, object, "another")
    assert methods() == before


def test_the_seed_reaches_every_search_and_is_at_least_0() -> None:
    for method in methods():
        assert choose_search(method.name, random_pcn(0), seed=7).seed == 7
    with pytest.raises(InvalidInput, match="a seed of at least 0, got -1"):
        choose_search("exact", random_pcn(0), seed=-1)


def test_the_library_alone_has_four_searches(plugins: list[Any]) -> None:
    assert [method.name for method in methods()] == ["exact", "boundary", "cf-zoo", "nearest-front"]


def test_searches_of_other_packages_are_registered_when_they_are_needed(plugins: list[Any]) -> None:
    calls = []

    def register() -> None:
        calls.append(1)
        register_search("nearby", NearestFront, "another")

    plugins.append(register)
    assert find_method("exact").name == "exact"
    assert not calls, "a search of the library needs no entry points"
    assert find_method("nearby").make(3) == NearestFront(3)
    assert [method.name for method in methods()][-1] == "nearby"
    assert search_classes()["NearestFront"] is NearestFront
    assert calls == [1]


def test_a_package_that_fails_disables_no_other_search(plugins: list[Any]) -> None:
    def broken() -> None:
        raise ImportError("no module named 'art'")

    plugins += [broken, lambda: register_search("nearby", NearestFront, "another")]
    with pytest.warns(UserWarning, match=r"could not register the searches of 'other.package:register': no module"):
        assert [method.name for method in methods()][-2:] == ["nearest-front", "nearby"]


def test_presets_are_found_by_name(plugins: list[Any]) -> None:
    assert choose_search("cf-zoo:thorough", random_pcn(0), seed=2).max_queries == 100_000  # type: ignore[attr-defined]
    for name in ("cf-zoo:quick", "exact:thorough", "thorough"):
        with pytest.raises(InvalidInput, match="a search among auto, exact, boundary, cf-zoo, nearest-front, got"):
            find_method(name)
