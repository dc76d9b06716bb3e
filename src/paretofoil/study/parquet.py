"""Rows as Parquet: how a study is kept beside its reports, small, and with what it was computed with."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paretofoil.core.document import by_name, read_document, record, several
from paretofoil.core.errors import InvalidInput
from paretofoil.study.schema import RUN, read_columns
from paretofoil.study.store import Row, Run, read_about, read_row, read_rows, read_runs
from paretofoil.study.study import read_configuration, upgrade_configuration
from paretofoil.study.table import rows_table

ABOUT = b"paretofoil"
"""The name in the file's metadata under which configuration and runs stand."""


@dataclass(frozen=True, eq=False)
class KeptStudy:
    """A study as its Parquet file holds it."""

    configuration: Mapping[str, Any]
    runs: Sequence[Run]
    rows: Sequence[Row]
    """In the order of the study's file; an answer that was left out is empty."""


def export_parquet(study: str | Path, path: Path, *, answers: bool = True) -> int:
    """Write the rows of a study's file, with or without the whole answers, and return how many there are."""
    pyarrow, parquet = require_pyarrow()
    rows, runs = read_rows(study), read_runs(study)
    table = rows_table(path.stem, rows)
    names = [name for name in table.columns if answers or name != "answer"]
    columns = {name: [row[table.columns.index(name)] for row in table.rows] for name in names}
    about = {"configuration": read_about(study)["configuration"], "runs": [asdict(run) for run in runs]}
    made = pyarrow.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)})
    parquet.write_table(made, path, compression="zstd", compression_level=9)
    return len(rows)


def open_parquet(path: Path, what: str) -> tuple[Any, Any]:
    """The table in a file, and the document that was written with it."""
    pyarrow, parquet = require_pyarrow()
    if not path.is_file():
        raise InvalidInput.expected(f"{what} at {path}", "no such file")
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise InvalidInput.expected(f"{path} to be a Parquet file", error) from None
    return table, read_document((table.schema.metadata or {}).get(ABOUT, b"{}"), f"{path}")


def read_parquet(path: Path) -> KeptStudy:
    """What `export_parquet` wrote."""
    table, about = open_parquet(path, "the rows of a study")
    try:
        told = record({"configuration": read_configuration, "runs": several(by_name(lambda value: value))})(about)
    except KeyError as error:
        raise InvalidInput.expected(f"{path} to say what its rows were computed with", f"no {error}") from None
    runs = [Run(**read_columns(RUN, _values(RUN, run), path)) for run in told["runs"]]
    return KeptStudy(
        upgrade_configuration(about["configuration"]),
        runs,
        [read_row({"answer": "", **line}, path) for line in table.to_pylist()],
    )


def _values(columns: Mapping[str, Any], run: Mapping[str, Any]) -> list[Any]:
    """A run as the study's own file has it, where the machine is JSON."""
    return [json.dumps(run.get(name)) if name == "machine" else run.get(name) for name in columns]


def require_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidInput.expected(
            "pyarrow to be installed (pip install 'paretofoil[parquet]')", "a Python without it"
        ) from None
    return pyarrow, parquet
