"""The table of mutations is about the code as it is: a line that moved away is guarded by none of them."""

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def mutations(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return pytest.importorskip("mutations", reason="needs the benchmarks").MUTATIONS


def test_every_mutation_applies_to_its_file_exactly_once_and_leaves_it_python(mutations: Any) -> None:
    for mutation in mutations:
        source = (ROOT / "src" / "paretofoil" / mutation.file).read_text()
        assert source.count(mutation.old) == 1, mutation
        compile(source.replace(mutation.old, mutation.new), mutation.file, "exec")


def test_every_mutation_is_listed_once_with_tests_that_are_there(mutations: Any) -> None:
    listed = [(mutation.file, mutation.old, mutation.new) for mutation in mutations]
    assert len(set(listed)) == len(listed)
    assert all((ROOT / "tests" / test).is_file() for mutation in mutations for test in mutation.tests)


def test_the_page_of_the_mutations_tells_of_all_of_them_or_that_it_is_older(mutations: Any) -> None:
    page = " ".join((ROOT / "docs" / "results" / "mutants.md").read_text().split())
    assert f"of {len(mutations)} mutations are noticed" in page or f"the list has {len(mutations)} now" in page
