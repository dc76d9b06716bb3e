"""Rows as Parquet: a study as it is published, small, with its configuration and runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import read_document, read_value
from paretofoil.study.store import Row, Run, read_about, read_row, read_rows, read_run, read_runs
from paretofoil.study.study import read_configuration, upgrade_configuration
from paretofoil.study.table import rows_table

ABOUT = b"paretofoil"
"""Key of the configuration and the runs in the file's metadata."""


@dataclass(frozen=True, eq=False)
class ParquetStudy:
    """The contents of a study's Parquet file."""

    configuration: Mapping[str, Any]
    runs: Sequence[Run]
    rows: Sequence[Row]
    """In the order of the study's file; `answer` is empty if answers were left out."""


def export_parquet(study: str | Path, path: Path, *, answers: bool = True) -> int:
    """Write the rows of a study's file, with or without the whole answers, and return their number."""
    pyarrow, parquet = require_pyarrow()
    rows, runs = read_rows(study), read_runs(study)
    cells = rows_table(path.stem, rows)
    columns = {name: [row[i] for row in cells.rows] for i, name in enumerate(cells.columns)}
    if not answers:
        del columns["answer"]
    about = {"configuration": read_about(study)["configuration"], "runs": [asdict(run) for run in runs]}
    table = pyarrow.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)})
    parquet.write_table(table, path, compression="zstd", compression_level=9)
    return len(rows)


def open_parquet(path: Path, what: str) -> tuple[Any, Any]:
    """Return the table of a file, and the document in its metadata."""
    pyarrow, parquet = require_pyarrow()
    if not path.is_file():
        raise InvalidInput.expected(f"{what} at {path}", "no such file")
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise InvalidInput.expected(f"{path} to be a Parquet file", error) from None
    return table, read_document((table.schema.metadata or {}).get(ABOUT, b"{}"), f"{path}")


def read_parquet(path: Path) -> ParquetStudy:
    """Return what `export_parquet` wrote, in this version or an older one."""
    table, about = open_parquet(path, "the rows of a study")
    missing = [name for name in ("configuration", "runs") if not isinstance(about, Mapping) or name not in about]
    if missing:
        raise InvalidInput.expected(f"{path} to hold the study's configuration and runs", f"no {missing[0]}")
    read_configuration(about["configuration"])
    runs = [read_run(run, path) for run in read_value(list[dict[str, Any]], about["runs"], f"the runs of {path}")]
    rows = [read_row({"answer": "", **line}, path) for line in table.to_pylist()]
    return ParquetStudy(upgrade_configuration(about["configuration"]), runs, rows)


def require_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidInput.missing("pyarrow", "parquet") from None
    return pyarrow, parquet
