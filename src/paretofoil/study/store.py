"""The SQLite file of a study, with one row per finished case and search. Files with other contents are refused."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from paretofoil.core.answer import Answer, Status
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import Count, brief, read_document, read_value
from paretofoil.study.case import Case
from paretofoil.study.database import Database, StoreError, check_intact, has_tables, open_to_read
from paretofoil.study.study import check_same, read_configuration

SCHEMA = "paretofoil/study/6"
TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE answer (
    agent TEXT NOT NULL, search TEXT NOT NULL, front INTEGER NOT NULL, step INTEGER NOT NULL, foil INTEGER NOT NULL,
    agent_hash TEXT NOT NULL, status TEXT NOT NULL, closest_distance REAL, queries INTEGER NOT NULL,
    answer TEXT NOT NULL, seconds REAL NOT NULL, checksum TEXT NOT NULL,
    PRIMARY KEY (agent, search, front, step, foil)
) STRICT;
CREATE TABLE run (
    number INTEGER PRIMARY KEY, engine TEXT NOT NULL, workers INTEGER,
    total INTEGER NOT NULL, asked INTEGER NOT NULL, seconds REAL NOT NULL, machine TEXT NOT NULL
) STRICT;
"""
LOOSE_TABLES = TABLES.replace(" STRICT", "")
TABLES = TABLES if sqlite3.sqlite_version_info >= (3, 37) else LOOSE_TABLES
TABLES_5 = LOOSE_TABLES.replace(", checksum TEXT NOT NULL", "")
OLD_COLUMNS = {"time": "step", "outcome": "status", "distance": "closest_distance"}
_OLD_NAMES = {new: old for old, new in OLD_COLUMNS.items()}
TABLES_4 = re.sub(rf"\b({'|'.join(_OLD_NAMES)})\b", lambda name: _OLD_NAMES[name[0]], TABLES_5)
SCHEMAS = {TABLES: SCHEMA, LOOSE_TABLES: SCHEMA, TABLES_5: "paretofoil/study/5", TABLES_4: "paretofoil/study/4"}
"""The schemas that can be read, by their tables."""
OLD_STATUSES = {
    "proven optimal": Status.PROVEN_CLOSEST.value,
    "not found within the budget": Status.NOT_FOUND.value,
}


NonNegative = Annotated[float, msgspec.Meta(ge=0.0)]


@dataclass(frozen=True)
class Row:
    """The answer of one search to one case. All values but `seconds` are equal in every run."""

    case: Case
    search: str
    """Label of the search in the study."""
    agent_hash: str
    status: Status
    closest_distance: NonNegative | None
    """Scaled distance of the closest command, before it is rounded to the quoted one; None if none was found."""
    queries: Count
    answer: str
    """The whole answer as JSON, with timings set to 0."""
    seconds: NonNegative
    """Wall time: that of the chunk, divided by its number of questions."""

    @property
    def found(self) -> bool:
        return self.closest_distance is not None

    def cells(self) -> tuple[Any, ...]:
        """Return the values of `COLUMNS`."""
        case, distance = self.case, None if self.closest_distance is None else float(self.closest_distance)
        key = (case.agent, self.search, case.front, case.step, case.foil, self.agent_hash)
        return (*key, self.status.value, distance, self.queries, self.answer, float(self.seconds))

    def full_answer(self) -> Answer:
        return Answer.from_json(self.answer)


@dataclass(frozen=True)
class Run:
    """One call of `run_study`. A study that was stopped and resumed has several runs."""

    engine: str
    workers: Count | None
    """Number of local processes; None on a cluster at an address."""
    total: Count
    """Number of questions of the study."""
    asked: Count
    """Number of questions that this run finished."""
    seconds: NonNegative
    """Wall time until the last of these questions was written."""
    machine: dict[str, Any]
    """Versions and hardware of the process that wrote the rows."""


COLUMNS = (
    *("agent", "search", "front", "step", "foil", "agent_hash", "status", "closest_distance", "queries"),
    *("answer", "seconds"),
)


def read_row(stored: Mapping[str, Any], path: Path) -> Row:
    """Return a row of a SQLite or Parquet file, with the column names and status values of any version."""
    values = {OLD_COLUMNS.get(name, name): value for name, value in stored.items()}
    values["status"] = OLD_STATUSES.get(str(values.get("status")), values.get("status"))
    answer = _read_text(values.get("answer"), f"an answer in {path}")  # may be longer than other texts
    case = {field.name: values.get(field.name) for field in fields(Case)}
    return replace(read_value(Row, {**values, "case": case, "answer": ""}, f"a row of {path}"), answer=answer)


def _read_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput.expected(f"{what} as JSON text", brief(value))
    return value


class Store(AbstractContextManager["Store"]):
    """The file of a study, opened by the one process that writes it."""

    def __init__(
        self, path: str | Path, configuration: Mapping[str, Any], about: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        with _explain_errors(self.path):
            self._database = Database(self.path)
            try:
                self._begin(configuration, about or {})
            except BaseException:
                self.close()
                raise

    def _begin(self, configuration: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Create the tables of a new file, or check that an existing one holds the same study.

        A file without answers, which a failed start may leave, is written again.
        """
        with self._database.writing() as connection:
            if not self._database.make_tables(TABLES):
                stored = _read_about(connection, self.path)
                if stored["schema"] != SCHEMA:
                    raise InvalidInput(
                        f"expected a study of schema {SCHEMA}, got {self.path} of {stored['schema']}, "
                        "which can be read but not resumed; choose a new file for the study (--out)"
                    )
                if connection.execute("SELECT count(*) FROM answer").fetchone()[0]:
                    check_same(stored["configuration"], json.loads(json.dumps(configuration)), self.path)
                    return
                connection.execute("DELETE FROM about")
                connection.execute("DELETE FROM run")
            values = {"schema": SCHEMA, "configuration": configuration, **about}
            connection.executemany(
                "INSERT INTO about VALUES (?, ?)", [(name, json.dumps(value)) for name, value in values.items()]
            )

    def count(self) -> int:
        """Return the number of answers. Raise an error if one of them is damaged or was changed."""
        with _explain_errors(self.path), self._database.reading() as connection:
            return sum(1 for _ in _each_row(connection, self.path))

    def finished(self, agent: str, search: str, first: int, last: int) -> set[Case]:
        """Return the cases that a search has answered for front commands number `first` to `last` of an agent."""
        query = "SELECT front, step, foil FROM answer WHERE agent = ? AND search = ? AND front BETWEEN ? AND ?"
        with _explain_errors(self.path), self._database.reading() as connection:
            return {Case(agent, *place) for place in connection.execute(query, (agent, search, first, last))}

    def begin_run(self, engine: str, workers: int | None, total: int, machine: Mapping[str, Any]) -> int:
        """Return the number of a new run, for `add`."""
        with _explain_errors(self.path), self._database.writing() as connection:
            values = (engine, workers, total, json.dumps(machine))
            inserted = connection.execute("INSERT INTO run VALUES (NULL, ?, ?, ?, 0, 0.0, ?)", values)
        return int(inserted.lastrowid or 0)

    def add(self, rows: Sequence[Row], run: int, seconds: float) -> None:
        """Write all rows in one transaction; `seconds` is the wall time of the run until now."""
        values = [(*row.cells(), _checksum(row.cells())) for row in rows]
        with _explain_errors(self.path), self._database.writing() as connection:
            connection.executemany(f"INSERT INTO answer VALUES ({', '.join('?' * len(values[0]))})", values)
            connection.execute(
                "UPDATE run SET asked = asked + ?, seconds = ? WHERE number = ?", (len(rows), seconds, run)
            )

    def close(self) -> None:
        self._database.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def read_about(path: str | Path) -> dict[str, Any]:
    """Return the configuration of a study and the sources of its agents. The study may be running."""
    with _reading(path) as (_, about):
        return about


def read_runs(path: str | Path) -> list[Run]:
    """Return the runs of a study in order. A run that was stopped at once has no answers."""
    with _reading(path) as (connection, _):
        what, runs = f"the machine of a run of {path}", []
        for row in _select(connection, "run ORDER BY number"):
            machine = read_document(_read_text(row["machine"], what), what)
            runs.append(read_value(Run, {**row, "machine": machine}, f"a run of {path}"))
        return runs


def read_rows(path: str | Path) -> list[Row]:
    """Return all rows, ordered by agent, search, front, step and foil."""
    return list(each_row(path))


def each_row(path: str | Path) -> Iterator[Row]:
    """Yield the rows in the order of `read_rows`, without holding all of them in memory."""
    with _reading(path) as (connection, _):
        yield from _each_row(connection, Path(path))


def _each_row(connection: sqlite3.Connection, path: Path) -> Iterator[Row]:
    """Yield all rows in order. A wrong checksum is an error; old files have no checksums."""
    for stored in _select(connection, "answer ORDER BY agent, search, front, 4, foil"):  # 4: step, once called time
        checksum = stored.pop("checksum", None)
        if checksum is not None and checksum != _checksum(tuple(stored.values())):
            raise InvalidInput.expected(f"{path} to be unchanged", f"a changed row: {brief(stored)}")
        yield read_row(stored, path)


def _checksum(values: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps(values, default=repr).encode()).hexdigest()[:16]


def _select(connection: sqlite3.Connection, source: str) -> Iterator[dict[str, Any]]:
    """Yield the selected rows as dictionaries by column name."""
    cursor = connection.execute(f"SELECT * FROM {source}")
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, values, strict=True)) for values in cursor)


@contextmanager
def _reading(path: str | Path) -> Iterator[tuple[sqlite3.Connection, dict[str, Any]]]:
    """Yield a connection to a study's file, and the file's metadata."""
    path = Path(path)
    with _explain_errors(path), open_to_read(path, "a study's file") as connection:
        yield connection, _read_about(connection, path)


def _read_about(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """Return the schema, configuration and sources in a study's file, or raise an error for any other file."""
    check_intact(connection, path)
    schema = next((name for tables, name in SCHEMAS.items() if has_tables(connection, tables)), None)
    if schema is None:
        raise InvalidInput.expected(f"{path} to be a study's file of schema {SCHEMA}", "a SQLite file of other tables")
    stored = connection.execute("SELECT name, value FROM about").fetchall()
    about = {str(name): read_document(_read_text(value, f"{name} of {path}"), f"{path}") for name, value in stored}
    if about.get("schema") != schema:
        raise InvalidInput.expected(f"{path} to be of schema {schema}", brief(about.get("schema")))
    try:
        configuration = read_configuration(about.get("configuration"))
        sources = read_value(dict[str, str], about.get("sources", {}), "the sources of a study")
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    return {**about, "configuration": configuration, "sources": sources}


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into messages that say what to do."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise StoreError(
                f"{path} could not be written ({error}): the answers in it are safe. "
                f"Free some space, then continue with `paretofoil study resume {path}`"
            ) from None
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise StoreError(f"expected a folder in which {path} can be written, got: {error}") from None
        if isinstance(error, sqlite3.IntegrityError):
            raise StoreError(f"expected each answer once in {path}, got one twice ({error})") from None
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreError(f"expected {path} to be free, got a file that another process holds ({error})") from None
        raise InvalidInput.expected(f"{path} to be a study's file", f"a file of another kind ({error})") from None
