"""Rows as Parquet."""

from dataclasses import replace
from pathlib import Path

import pytest
from studies import small_study

from paretofoil.core.errors import InvalidInput
from paretofoil.study import read_about, read_rows, read_runs, run_study

pytest.importorskip("pyarrow", reason="needs the parquet extra")
from paretofoil.study.parquet import export_parquet, read_parquet


@pytest.fixture
def study(tmp_path: Path) -> Path:
    run_study(small_study(tmp_path), tmp_path / "s.sqlite", workers=1)
    return tmp_path / "s.sqlite"


def test_a_parquet_file_holds_the_whole_study(study: Path) -> None:
    path = study.with_suffix(".parquet")
    assert export_parquet(study, path) == len(read_rows(study))
    kept = read_parquet(path)
    assert list(kept.rows) == read_rows(study)
    assert list(kept.runs) == read_runs(study)
    assert kept.configuration == read_about(study)["configuration"]


def test_answers_can_be_omitted(study: Path) -> None:
    small, large = study.with_name("small.parquet"), study.with_name("large.parquet")
    export_parquet(study, small, answers=False)
    export_parquet(study, large)
    assert list(read_parquet(small).rows) == [replace(row, answer="") for row in read_rows(study)]
    assert small.stat().st_size < large.stat().st_size


def test_a_file_without_a_study_is_an_error(tmp_path: Path) -> None:
    from pyarrow import parquet, table

    with pytest.raises(InvalidInput, match="no such file"):
        read_parquet(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(InvalidInput, match="to be a Parquet file"):
        read_parquet(tmp_path / "text.parquet")
    parquet.write_table(table({"agent": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match="configuration"):
        read_parquet(tmp_path / "other.parquet")
