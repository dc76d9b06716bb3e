"""The authors' figures: they fit the paper's where the paper's follow from the published rows."""

import pytest

from paretofoil.study.statistics import Proportion
from paretofoil_paper.authors_data import (
    CW_ALONE,
    PUBLISHED,
    PUBLISHED_QUERIES,
    RECOVERED,
    SECOND_GRID,
    TAXONOMY,
    ZERO_TO_KAPPA,
)
from paretofoil_paper.paper_tables import AUDIT, AUDIT_RECOVERED, COMPARISON, ENVIRONMENTS, STRESS, total_of


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_failure_of_the_papers_stress_test_has_a_fate(name: str) -> None:
    theirs, paper = PUBLISHED[name], STRESS[name]
    assert theirs.infeasible + theirs.missed + theirs.errors == paper.cases - paper.found
    assert theirs.by_rays <= paper.found


def test_the_first_grid_gives_the_papers_infeasible_cases() -> None:
    assert sum(p.infeasible for p in PUBLISHED.values()) == AUDIT["grid-infeasible"]
    missed, errors = (sum(getattr(p, kind) for p in PUBLISHED.values()) for kind in ("missed", "errors"))
    assert (missed, errors) == (240, 2)
    assert AUDIT["search-limited"] == missed - RECOVERED  # as the paper counts
    assert RECOVERED + errors == AUDIT_RECOVERED


def test_the_consistent_diagnosis_counts_each_case_once() -> None:
    found = total_of(STRESS.values()).found
    assert sum(TAXONOMY.values()) == sum(AUDIT.values()) == 3195
    assert TAXONOMY["success"] == found + RECOVERED
    assert TAXONOMY["grid-infeasible"] == AUDIT["grid-infeasible"] - SECOND_GRID
    assert TAXONOMY["search-limited"] == 240 + SECOND_GRID - RECOVERED
    recall = Proportion(TAXONOMY["success"], TAXONOMY["success"] + TAXONOMY["search-limited"])
    assert str(recall).startswith("91.4")


def test_a_greedy_foil_gives_white_cw_its_larger_rate() -> None:
    greedy = sum(p.cw_greedy for p in PUBLISHED.values())
    strict = total_of(COMPARISON[name, "white-cw"] for name in ENVIRONMENTS)
    assert str(Proportion(greedy, strict.cases)).startswith("55.8")
    assert greedy - strict.found == ZERO_TO_KAPPA
    for name, theirs in PUBLISHED.items():
        assert COMPARISON[name, "white-cw"].found <= theirs.cw_greedy <= COMPARISON[name, "white-cw"].cases
    assert strict.found == CW_ALONE + 317


def test_queries_add_up_to_the_published_totals() -> None:
    assert [s.total for s in PUBLISHED_QUERIES] == [6_001, 41_997, 17_997, 199_999]
