"""What a study's file holds: its tables, its columns, and what it says about itself; anything else is refused."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from paretofoil.core.answer import Status
from paretofoil.core.document import (
    MAX_NUMBER,
    Reader,
    brief,
    by_name,
    finite,
    one_of,
    optional,
    read_document,
    record,
    text,
    whole,
    within,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.study.study import count, read_configuration, upgrade_configuration

SCHEMA = "paretofoil/study/5"
TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE answer (
    agent TEXT NOT NULL, search TEXT NOT NULL, front INTEGER NOT NULL, step INTEGER NOT NULL, foil INTEGER NOT NULL,
    agent_hash TEXT NOT NULL, status TEXT NOT NULL, closest_distance REAL, queries INTEGER NOT NULL,
    answer TEXT NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (agent, search, front, step, foil)
);
CREATE TABLE run (
    number INTEGER PRIMARY KEY, engine TEXT NOT NULL, workers INTEGER,
    total INTEGER NOT NULL, asked INTEGER NOT NULL, seconds REAL NOT NULL, machine TEXT NOT NULL
);
"""


OLD_SCHEMA = "paretofoil/study/4"
OLD_COLUMNS = {"time": "step", "outcome": "status", "distance": "closest_distance"}
OLD_TABLES = TABLES
for _old, _new in OLD_COLUMNS.items():
    OLD_TABLES = re.sub(rf"\b{_new}\b", _old, OLD_TABLES)
OLD_STATUSES = {
    "proven optimal": Status.PROVEN_CLOSEST.value,
    "not found within the budget": Status.NOT_FOUND.value,
}


def upgrade_row(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored row with the column names and status values of this version."""
    row = {OLD_COLUMNS.get(name, name): value for name, value in stored.items()}
    return {**row, "status": OLD_STATUSES.get(str(row.get("status")), row.get("status"))}


def _document(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput.expected("JSON as text", brief(value))
    return value


_size = within(finite, 0.0, MAX_NUMBER)
CASE: dict[str, Reader] = {"agent": text, **dict.fromkeys(("front", "step", "foil"), count)}
ROW: dict[str, Reader] = {
    "search": text,
    "agent_hash": text,
    "status": one_of(*(status.value for status in Status)),
    "closest_distance": optional(_size),
    "queries": count,
    "answer": _document,
    "seconds": _size,
}
RUN: dict[str, Reader] = {
    "engine": text,
    "workers": optional(count),
    **dict.fromkeys(("total", "asked"), count),
    "seconds": _size,
    "machine": lambda value: by_name(lambda item: item)(read_document(_document(value), "a machine")),
}
"""The columns, each with what it holds: SQLite itself takes a text where a number was declared."""


def read_columns(columns: Mapping[str, Reader], values: Sequence[Any], path: Path) -> dict[str, Any]:
    """The values of one row by the names of their columns."""
    try:
        return record(columns)(dict(zip(columns, values, strict=True)))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def check_about(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """What the file says about itself, once it is known to be a study's: its configuration and its agents' sources."""
    layout = _layout(connection)
    if layout == _layout_of(TABLES):
        schema = SCHEMA
    elif layout == _layout_of(OLD_TABLES):
        schema = OLD_SCHEMA
    else:
        raise InvalidInput.expected(f"{path} to be a study's file of schema {SCHEMA}", "another SQLite file")
    try:
        stored = connection.execute("SELECT name, value FROM about").fetchall()
        about = {text(name): read_document(_document(value), name) for name, value in stored}
        with whole(about, schema, "study"):
            read = record({"configuration": read_configuration}, {"sources": by_name(text)})(about)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    configuration = upgrade_configuration(about["configuration"])
    return {**about, "configuration": configuration, "sources": read.get("sources", {})}


def _layout(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Every table, view, index and trigger with the statement that made it.

    A file of another layout is not read: a view or a trigger is a program, and may be one that does not end.
    """
    made = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {(str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in made}


@cache
def _layout_of(tables: str) -> set[tuple[str, str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(tables)
        return _layout(connection)
    finally:
        connection.close()
