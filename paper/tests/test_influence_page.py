"""The page on goal influence: its measures are the usual ones, and it follows from its rows."""

from dataclasses import replace
from pathlib import Path

import pytest
from studies import saved_agent

from paretofoil_paper import Plan
from paretofoil_paper.influence import AUTHORS, auroc, influence_tables, spearman, step_influences
from paretofoil_paper.paper_tables import ENVIRONMENTS


def test_the_rank_correlation_is_1_for_any_rising_curve_and_none_where_nothing_varies() -> None:
    assert spearman([1, 2, 3, 4], [1, 10, 11, 100]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert spearman([1, 2], [1, 2]) is None


def test_the_area_under_the_curve_counts_pairs_in_order_and_ties_half() -> None:
    assert auroc([0.1, 0.2, 0.3, 0.4], [False, False, True, True]) == 1.0
    assert auroc([0.1, 0.2, 0.3, 0.2, 0.0], [True, False, True, True, False]) == pytest.approx((1 + 2 + 1.5) / 6)
    assert auroc([0.1, 0.2, 0.3], [True, True, True]) is None


@pytest.mark.parametrize("rare", [True, False])
def test_one_step_of_a_kind_has_no_curve(rare: bool) -> None:
    assert auroc([0.1, 0.2, 0.3], [rare, not rare, not rare]) is None


def test_the_authors_summary_has_every_environment_and_no_share_beyond_1() -> None:
    assert list(AUTHORS) == list(ENVIRONMENTS)
    assert {len(line) for line in AUTHORS.values()} == {11}
    assert all(number is None or abs(number) <= 1 for line in AUTHORS.values() for number in line[1:])


@pytest.mark.long
def test_rows_are_read_again_and_proofs_agree_with_the_scan(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    plan = Plan(tmp_path / "out", {"branch-path": str(saved_agent(tmp_path))}, workers=1)
    rows = step_influences(plan)
    assert step_influences(replace(plan, recorded=True)) == rows != []
    for row in rows:
        assert row.lower - 0.02 <= row.fraction <= row.upper + 0.02  # a grid of 100 x 100 is no exact area
        assert not (row.inert and row.active)
    scores, proofs = influence_tables(plan, rows)
    assert scores.rows[0][2] == proofs.rows[0][1] == len(rows)
