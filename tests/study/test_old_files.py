"""Studies that an older version wrote, with other column names, are still read."""

import json
import sqlite3
from pathlib import Path

import pytest
from study.studies import FAST, small_study

from paretofoil.core.errors import InvalidInput
from paretofoil.study import read_about, read_rows, read_runs, run_study
from paretofoil.study.parquet import export_parquet, read_parquet
from paretofoil.study.store import TABLES_4

OLD_SCHEMA = "paretofoil/study/4"
OLD_NAMES = {"step": "time", "status": "outcome", "closest_distance": "distance"}
OLD_VALUES = {"proven closest": "proven optimal", "not found": "not found within the budget"}


def old_configuration(configuration: dict) -> dict:
    rule = {("times" if key == "steps" else key): value for key, value in configuration["rule"].items()}
    return {**configuration, "rule": rule}


@pytest.fixture
def studies(tmp_path: Path) -> tuple[Path, Path]:
    """The same study, as this version and as the one before wrote it."""
    new, old = tmp_path / "new.sqlite", tmp_path / "old.sqlite"
    run_study(small_study(tmp_path, FAST), new, workers=1)
    source, target = sqlite3.connect(new), sqlite3.connect(old)
    target.executescript(TABLES_4)
    about = {name: json.loads(value) for name, value in source.execute("SELECT * FROM about")}
    about |= {"schema": OLD_SCHEMA, "configuration": old_configuration(about["configuration"])}
    target.executemany("INSERT INTO about VALUES (?, ?)", [(name, json.dumps(about[name])) for name in about])
    rows = [[OLD_VALUES.get(cell, cell) for cell in row] for *row, _ in source.execute("SELECT * FROM answer")]
    target.executemany(f"INSERT INTO answer VALUES ({','.join('?' * 11)})", rows)
    target.executemany(f"INSERT INTO run VALUES ({','.join('?' * 7)})", source.execute("SELECT * FROM run").fetchall())
    target.commit()
    source.close()
    target.close()
    return new, old


def test_an_old_file_has_the_rows_of_a_new_one(studies: tuple[Path, Path]) -> None:
    new, old = studies
    assert read_rows(old) == read_rows(new)
    assert read_runs(old) == read_runs(new)
    assert read_about(old)["configuration"] == read_about(new)["configuration"]


def test_an_old_file_is_not_continued(studies: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"old.sqlite of {OLD_SCHEMA}, which can be read but not resumed"):
        run_study(small_study(tmp_path, FAST), studies[1], workers=1)


def test_an_old_parquet_file_has_the_rows_of_a_new_one(studies: tuple[Path, Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    new, old = tmp_path / "new.parquet", tmp_path / "old.parquet"
    export_parquet(studies[0], new)
    table = parquet.read_table(new)
    about = json.loads(table.schema.metadata[b"paretofoil"])
    about["configuration"] = old_configuration(about["configuration"])
    column = [OLD_VALUES.get(value, value) for value in table["status"].to_pylist()]
    table = table.set_column(table.column_names.index("status"), "status", [column])
    table = table.rename_columns([OLD_NAMES.get(name, name) for name in table.column_names])
    parquet.write_table(table.replace_schema_metadata({b"paretofoil": json.dumps(about)}), old)
    assert read_parquet(old).rows == read_parquet(new).rows == read_rows(studies[0])
    assert read_parquet(old).configuration == read_parquet(new).configuration
