"""The page on goal influence: its measures are the usual ones, and it follows from its rows."""

from dataclasses import replace
from pathlib import Path

import pytest
from studies import saved_agent

from paretofoil.study.parquet import open_parquet
from paretofoil_paper import Plan, experiment
from paretofoil_paper.influence import AUTHORS, StepInfluence, _findings, auroc, describe_probes, spearman
from paretofoil_paper.measurements import read_measurements
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


def step(flip: float, fraction: float, *, nearest: float | None = 0.1) -> StepInfluence:
    """One that is neither proven to change nor proven inert."""
    return StepInfluence("a", 0, 0, flip, 0.0, 0.0, flip, fraction, nearest, 0.0, 1.0, False, 1)


def test_probes_and_scan_that_say_the_opposite_are_counted_and_the_others_ranked() -> None:
    against = [step(0.9, 0.1), step(0.1, 0.9), step(0.8, 0.2), step(0.2, 0.8)]
    alike = [step(share, share) for share in (0.1, 0.3, 0.9)]
    said = describe_probes(against + alike, [step(0.9, 0.1), step(0.9, 0.9)])
    assert "At 4 of 7 steps the majority of the probes and the majority of the scan disagree" in said
    assert "(elsewhere at 1 of 2)" in said
    assert "at the other 3 steps the correlation is 1.00" in said
    rank = spearman([r.kl for r in against + alike], [r.fraction for r in against + alike])
    assert f"the Spearman correlation of KL is {rank:.2f}" in said


def test_undecided_steps_are_counted_once() -> None:
    met, missed = step(0.5, 0.5), step(0.0, 0.0, nearest=None)
    assert "2 are undecided with this number of boxes, and the scan found a change at all of these" in _findings(
        [met, met]
    )
    assert "2 are undecided with this number of boxes, and the scan found a change at 1 of these" in _findings(
        [met, missed]
    )


@pytest.mark.long
def test_the_page_is_made_again_from_its_rows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    plan = Plan(tmp_path / "out", {"branch-path": str(saved_agent(tmp_path))}, workers=1)
    report = experiment("influence")(plan)
    again = experiment("influence")(replace(plan, recorded=True))
    assert again.to_markdown() == report.to_markdown()


@pytest.mark.long
def test_rows_and_proofs_agree_with_the_scan(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    plan = Plan(tmp_path / "out", {"branch-path": str(saved_agent(tmp_path))}, workers=1)
    experiment("influence")(plan)
    path = plan.out / "rows" / "influence.parquet"
    rows = read_measurements(path, StepInfluence, open_parquet(path, "rows")[1])
    assert rows
    for row in rows:
        assert row.lower - 0.02 <= row.fraction <= row.upper + 0.02  # a grid of 100 x 100 is no exact area
        assert not (row.inert and row.active)
