"""CF-ZOO as run costs what the authors published, in every row that is kept."""

import json
from functools import cache
from pathlib import Path

import pytest

from paretofoil.core.answer import Status
from paretofoil.study.parquet import read_parquet
from paretofoil_paper import Plan
from paretofoil_paper.paper_tables import ENVIRONMENTS

pytest.importorskip("pyarrow", reason="needs the parquet extra")
RESULTS = Path(__file__).parents[1] / "results"
STUDIES = ["stress-as-run", "comparison"]
RAYS = ("command", "front", "endpoints", "bisection")


@cache
def spent(study: str) -> list[tuple[str, Status, int, int, int]]:
    """Environment, outcome, and the queries of the rays, of ZOO and of the final bisection, for each case."""
    rows = [row for row in read_parquet(RESULTS / "rows" / f"{study}.parquet").rows if row.search == "cf-zoo:as-run"]
    counts = [json.loads(row.answer)["search"]["queries"] for row in rows]
    environments = map(Plan(RESULTS).environment_of, rows)
    return [
        (environment, row.status, sum(count.get(phase, 0) for phase in RAYS), count["zoo"], count.get("final", 0))
        for environment, row, count in zip(environments, rows, counts, strict=True)
    ]


@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_all_eight_environments_are_asked_in_the_papers_box(study: str) -> None:
    assert {environment for environment, *_ in spent(study)} == set(ENVIRONMENTS)
    assert read_parquet(RESULTS / "rows" / f"{study}.parquet").configuration["rule"]["box"] == "paper"


@pytest.mark.parametrize("study", STUDIES)
def test_the_final_bisection_costs_16_queries_where_there_is_an_answer_and_none_elsewhere(study: str) -> None:
    for environment, outcome, *_, final in spent(study):
        assert final == (16 if outcome is Status.FOUND else 0), environment


def test_every_case_of_the_stress_test_costs_exactly_the_published_queries() -> None:
    for environment, _, rays, zoo, _ in spent("stress-as-run"):
        assert (rays, zoo) == (2_984, 3_001), environment


def test_every_case_of_the_comparison_costs_the_published_queries_unless_directions_run_out() -> None:
    """As in 145 of the authors' own 797 cases, where rays end earlier too."""
    assert sum(rays == 20_983 for _, _, rays, *_ in spent("comparison")) > len(spent("comparison")) / 2
    for environment, _, rays, zoo, _ in spent("comparison"):
        assert rays <= 20_983, environment
        assert zoo == 20_998, environment
