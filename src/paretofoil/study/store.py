"""One SQLite file per study: a row for each finished case and search, written in transactions."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretofoil.core.answer import Answer, Status
from paretofoil.core.document import MAX_CHARACTERS, text
from paretofoil.core.errors import InvalidInput
from paretofoil.study.case import Case
from paretofoil.study.database import Database, StoreError
from paretofoil.study.schema import CASE, ROW, RUN, SCHEMA, TABLES, check_about, read_columns, upgrade_row
from paretofoil.study.study import check_same


@dataclass(frozen=True)
class Row:
    """One finished case: everything but `seconds` is the same in every run."""

    case: Case
    search: str
    """The label of the search in its study."""
    agent_hash: str
    status: Status
    closest_distance: float | None
    """Scaled distance of the closest command, before it is rounded to the quoted one; None if none was found."""
    queries: int
    answer: str
    """The whole answer as JSON, with its timings set to 0."""
    seconds: float
    """Its share of its chunk's wall time, kept apart because no two runs agree on it."""

    @property
    def found(self) -> bool:
        return self.closest_distance is not None

    def full_answer(self) -> Answer:
        return Answer.from_json(self.answer)


@dataclass(frozen=True)
class Run:
    """One call that asked something; a study that was stopped and resumed has several."""

    engine: str
    workers: int | None
    """Local processes; None on a cluster of which only the address is known."""
    total: int
    """All questions of the study."""
    asked: int
    """Those that this run finished."""
    seconds: float
    """Wall time until the last of them was written."""
    machine: Mapping[str, Any]
    """Versions and hardware of the process that wrote them."""


class Store:
    """A study's file, opened by the one process that writes it."""

    def __init__(
        self, path: str | Path, configuration: Mapping[str, Any], about: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        with _explained(self.path):
            self._database = Database(self.path)
            try:
                self._begin(configuration, about or {})
            except BaseException:
                self.close()
                raise

    def _begin(self, configuration: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Make the tables of a new file, or check that an old one holds this very study.

        A file without any answer, which a failed start leaves, has nothing that could be mixed: it begins anew.
        """
        with self._database.writing() as connection:
            if not self._database.make_tables(TABLES):
                about_file = check_about(connection, self.path)
                if about_file["schema"] != SCHEMA:
                    raise InvalidInput(
                        f"expected a study of schema {SCHEMA}, got {self.path} of {about_file['schema']}: "
                        "it can be read, not continued; write the study to another file (--out)"
                    )
                stored = about_file["configuration"]
                if connection.execute("SELECT count(*) FROM answer").fetchone()[0]:
                    check_same(stored, json.loads(json.dumps(configuration)), self.path)
                    return
                connection.execute("DELETE FROM about")
                connection.execute("DELETE FROM run")
            values = {"schema": SCHEMA, "configuration": configuration, **about}
            connection.executemany(
                "INSERT INTO about VALUES (?, ?)", [(name, json.dumps(value)) for name, value in values.items()]
            )

    def finished(self) -> set[tuple[str, Case]]:
        """The (search, case) pairs that need not be asked again."""
        with _explained(self.path), self._database.reading() as connection:
            rows = connection.execute(f"SELECT search, {', '.join(CASE)} FROM answer").fetchall()
        return {(text(search), Case(**read_columns(CASE, case, self.path))) for search, *case in rows}

    def begin_run(self, engine: str, workers: int | None, total: int, machine: Mapping[str, Any]) -> int:
        """The number of a run that begins now; rows that are added under it count for it."""
        with _explained(self.path), self._database.writing() as connection:
            values = (engine, workers, total, json.dumps(machine))
            made = connection.execute("INSERT INTO run VALUES (NULL, ?, ?, ?, 0, 0.0, ?)", values)
        return int(made.lastrowid or 0)

    def add(self, rows: Sequence[Row], run: int, seconds: float) -> None:
        """All of them, or none; `seconds` is how long the run has taken so far."""
        values = [
            (
                *(r.case.agent, r.search, r.case.front, r.case.step, r.case.foil),
                *(r.agent_hash, r.status.value, r.closest_distance, r.queries, r.answer, r.seconds),
            )
            for r in rows
        ]
        with _explained(self.path), self._database.writing() as connection:
            connection.executemany("INSERT INTO answer VALUES (?,?,?,?,?,?,?,?,?,?,?)", values)
            connection.execute(
                "UPDATE run SET asked = asked + ?, seconds = ? WHERE number = ?", (len(rows), seconds, run)
            )

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences that say what is safe and what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise StoreError(
                f"{path} could not be written ({error}): the answers that are in it are safe. "
                f"Free some space, then go on with `paretofoil study resume {path}`"
            ) from None
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise StoreError(f"expected a place where {path} can be written, got: {error}") from None
        if isinstance(error, sqlite3.IntegrityError):
            raise StoreError(
                f"expected each answer once in {path}, got one twice ({error}); what is there is safe"
            ) from None
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreError(f"expected {path} to be free, got one that another process holds ({error})") from None
        raise InvalidInput.expected(f"{path} to be a study's file", f"another one ({error})") from None


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise InvalidInput.expected(f"a study's file at {path}", "no such file")
    with _explained(path):
        connection = sqlite3.connect(path, timeout=60)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CHARACTERS)
        try:
            yield connection
        finally:
            connection.close()


def read_about(path: str | Path) -> dict[str, Any]:
    """The configuration of a study and where it came from; may be read while the study runs."""
    with _reading(Path(path)) as connection:
        return check_about(connection, Path(path))


def read_runs(path: str | Path) -> list[Run]:
    """How a study was computed, run by run; one that was stopped at once has asked nothing."""
    with _reading(Path(path)) as connection:
        check_about(connection, Path(path))
        found = connection.execute(f"SELECT {', '.join(RUN)} FROM run ORDER BY number")
        return [Run(**read_columns(RUN, values, Path(path))) for values in found]


def read_rows(path: str | Path) -> list[Row]:
    """All rows in the order of agent, search, front, step, foil."""
    with _reading(Path(path)) as connection:
        check_about(connection, Path(path))
        return list(_read_rows(connection, Path(path)))


def _read_rows(connection: sqlite3.Connection, path: Path) -> Iterator[Row]:
    stored = connection.execute("SELECT * FROM answer ORDER BY agent, search, front, 4, foil")  # column 4 is the step
    names = [column[0] for column in stored.description]
    for values in stored:
        yield read_row(dict(zip(names, values, strict=True)), path)


def read_row(stored: Mapping[str, Any], path: Path) -> Row:
    """Return one row of a study's file or of a Parquet file, whichever version wrote it."""
    columns, values = {**CASE, **ROW}, upgrade_row(stored)
    read = read_columns(columns, [values.get(name) for name in columns], path)
    case = Case(**{name: read.pop(name) for name in CASE})
    return Row(**{**read, "case": case, "status": Status(read["status"])})
