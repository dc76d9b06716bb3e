"""Studies as Parquet files: the rows with the configuration and the runs, small enough to publish."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import write_atomically
from paretofoil.core.json import brief_words, read_document, read_value
from paretofoil.study.store import Row, Run, read_about, read_row, read_rows, read_runs
from paretofoil.study.study import read_configuration
from paretofoil.study.table import rows_table

ABOUT = b"paretofoil"
"""The key in the file's metadata under which configuration and runs are stored."""
MAX_ROWS, MAX_COLUMNS, MAX_BYTES = 500_000, 100, 1 << 30
"""Limits of a file that is read, because a small file can hold many equal rows."""


@dataclass(frozen=True, eq=False)
class ParquetStudy:
    """The contents of a study's Parquet file."""

    configuration: Mapping[str, Any]
    runs: Sequence[Run]
    rows: Sequence[Row]
    """In the order of the study's file; `answer` is empty if answers were left out."""


def export_parquet(study: str | Path, path: Path, *, answers: bool = True) -> int:
    """Write the rows of a study's file, with or without the whole answers, and return their number."""
    rows, runs = read_rows(study), read_runs(study)
    cells = rows_table(path.stem, rows)
    columns = {name: [row[i] for row in cells.rows] for i, name in enumerate(cells.columns)}
    if not answers:
        del columns["answer"]
    about = {"configuration": read_about(study)["configuration"], "runs": [asdict(run) for run in runs]}
    write_parquet(path, columns, about)
    return len(rows)


def write_parquet(path: Path, columns: Mapping[str, Sequence[Any]], about: Mapping[str, Any]) -> None:
    """Write columns to a file, with `about` as its metadata."""
    pyarrow, parquet = require_pyarrow()
    file = io.BytesIO()
    table = pyarrow.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)})
    parquet.write_table(table, file, compression="zstd", compression_level=9)
    write_atomically(path, file.getvalue())


def open_parquet(path: Path, what: str) -> tuple[Any, Any]:
    """Return the table of a file, and the document in its metadata. The table is read in parts, within the limits."""
    pyarrow, parquet = require_pyarrow()
    if not path.is_file():
        raise InvalidInput.expected(f"{what} at {path}", "no such file")
    try:
        with parquet.ParquetFile(path) as file:
            about = file.metadata
            stored = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
            _check_limit(path, "rows", about.num_rows, MAX_ROWS)
            _check_limit(path, "columns", about.num_columns, MAX_COLUMNS)
            _check_limit(path, "bytes", stored, MAX_BYTES)
            if any(map(pyarrow.types.is_dictionary, file.schema_arrow.types)):
                raise InvalidInput.expected(f"{path} without dictionary encoding", "a dictionary-encoded column")
            batches, size = [], 0
            # No row is larger than all that is stored, so that each part stays within the limit.
            for batch in file.iter_batches(max(1, min(10_000, MAX_BYTES // max(stored, 1)))):
                size += batch.nbytes
                _check_limit(path, "bytes", size, MAX_BYTES)
                batches.append(batch)
            table = pyarrow.Table.from_batches(batches, file.schema_arrow)
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInput.expected(f"{path} to be a Parquet file", brief_words(error)) from None
    return table, read_document((table.schema.metadata or {}).get(ABOUT, b"{}"), f"{path}")


def _check_limit(path: Path, what: str, number: int, most: int) -> None:
    if number > most:
        raise InvalidInput.expected(f"{path} of at most {most:,} {what}", f"{number:,}")


@dataclass(frozen=True)
class _About:
    """The metadata of a file."""

    configuration: dict[str, Any]
    runs: list[Run]


def read_parquet(path: Path) -> ParquetStudy:
    """Return what `export_parquet` wrote, in this version or an older one."""
    table, stored = open_parquet(path, "the rows of a study")
    about = read_value(_About, stored, f"{path}")
    rows = [read_row({"answer": "", **line}, path) for part in table.to_batches() for line in part.to_pylist()]
    return ParquetStudy(read_configuration(about.configuration), about.runs, rows)


def require_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidInput.missing("pyarrow", "parquet") from None
    return pyarrow, parquet
