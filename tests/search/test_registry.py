"""How searches are named, and which one is taken where none is named."""

import pytest
from policies import LinearPolicy, random_pcn

from paretofoil.core.errors import InvalidInput
from paretofoil.search.registry import choose_search, methods, register_search


def test_where_no_search_is_named_the_one_that_proves_is_taken_if_it_can() -> None:
    assert choose_search("auto", random_pcn(0)).name == "exact"
    assert choose_search("auto", LinearPolicy(None, None)).name == "boundary"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["auto", "exact"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    before = methods()
    with pytest.raises(InvalidInput, match=f"a name that no search has yet, got '{name}'"):
        register_search(name, object, "another")
    assert methods() == before


def test_the_seed_reaches_every_search_and_is_at_least_0() -> None:
    for method in methods():
        assert choose_search(method.name, random_pcn(0), seed=7).seed == 7
    with pytest.raises(InvalidInput, match="a seed of at least 0, got -1"):
        choose_search("exact", random_pcn(0), seed=-1)
