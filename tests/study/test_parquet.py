"""Rows as Parquet."""

from dataclasses import replace
from pathlib import Path

import pytest
from studies import small_study

from paretofoil.core.errors import InvalidInput
from paretofoil.study import read_about, read_rows, read_runs, run_study

pytest.importorskip("pyarrow", reason="needs the parquet extra")
from paretofoil.study.parquet import export_parquet, open_parquet, read_parquet


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


def test_a_small_file_of_many_equal_rows_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal cells are stored once; in memory they would take all there is."""
    from pyarrow import array, parquet, table

    path, equal = tmp_path / "equal.parquet", array(["x" * 10_000] * 1_000)
    parquet.write_table(table({"answer": equal}), path, compression="zstd")
    assert path.stat().st_size < 10_000
    assert open_parquet(path, "rows")[0].num_rows == 1_000
    with monkeypatch.context() as patch:
        patch.setattr("paretofoil.study.parquet.MAX_BYTES", 1 << 20)
        with pytest.raises(InvalidInput, match=r"equal.parquet of at most 1,048,576 bytes, got \d,\d{3},\d{3}"):
            open_parquet(path, "rows")
    parquet.write_table(table({"answer": equal.dictionary_encode()}), path)
    with pytest.raises(InvalidInput, match="without dictionary encoding, got a dictionary-encoded column"):
        open_parquet(path, "rows")
    parquet.write_table(table({"agent": array([0] * 600_000)}), path)
    with pytest.raises(InvalidInput, match=r"equal.parquet of at most 500,000 rows, got 600,000"):
        open_parquet(path, "rows")
    parquet.write_table(table({str(number): [0] for number in range(101)}), path)
    with pytest.raises(InvalidInput, match=r"equal.parquet of at most 100 columns, got 101"):
        open_parquet(path, "rows")


def test_an_export_that_fails_leaves_the_old_file(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = study.with_suffix(".parquet")
    export_parquet(study, path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        export_parquet(study, path, answers=False)
    assert path.read_bytes() == before
