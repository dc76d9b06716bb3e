"""A SQLite file that only one process writes, in whole transactions."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock

from filelock import FileLock, Timeout

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import MAX_CHARACTERS, brief_words


class StoreError(OSError):
    """A file could not be written. Its previous contents are intact."""


class Database:
    """A file and its lock. Several threads may use it, one at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.realpath(path))  # links to the same file share one lock
        if self.path.exists() and not self.path.is_file():
            raise InvalidInput.expected("a file to write", f"{self.path}, which is a folder or a device")
        self._turn = RLock()
        self._lock = FileLock(f"{self.path}.lock", thread_local=False)  # any thread may close the file
        self._take_lock()
        try:
            self.connection = sqlite3.connect(self.path, isolation_level=None, timeout=60, check_same_thread=False)
            self.connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            self.close()
            raise

    def _take_lock(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            open(self._lock.lock_file, "a").close()  # raises an error that says why; the lock would only wait
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(
                f"expected {self.path} to be free, got a file that another process is writing; wait for it, or stop it"
            ) from None
        except OSError as error:
            raise StoreError(
                f"expected a folder in which {self.path} can be written, got: {error.strerror or error}"
            ) from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection, for this thread alone."""
        with self._turn:
            yield self.connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, which an error rolls back."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def make_tables(self, statements: str) -> bool:
        """Create the tables of an empty file, within a transaction; return False if the file is not empty."""
        if self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return False
        for statement in filter(str.strip, statements.split(";")):
            self.connection.execute(statement)
        return True

    def close(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
        self._lock.release()


@contextmanager
def open_to_read(path: Path, what: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection to an existing file, which another process may be writing."""
    if not path.is_file():
        raise InvalidInput.expected(f"{what} at {path}", "no such file")
    connection = sqlite3.connect(path, timeout=60)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CHARACTERS)
    try:
        yield connection
    finally:
        connection.close()


def check_intact(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an error if pages of the file are damaged."""
    [first, *_] = [str(line) for (line,) in connection.execute("PRAGMA quick_check(1)")]
    if first != "ok":
        raise InvalidInput.expected(f"{path} to be intact", f"a damaged file ({brief_words(first)})")


def has_tables(connection: sqlite3.Connection, statements: str) -> bool:
    """Return whether a file holds exactly the tables of these statements, and no view, index or trigger.

    Views and triggers are programs that may never end. A file with a view or a trigger is not read.
    """
    return _layout(connection) == _layout_of(statements)


def _layout(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    entries = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {(str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in entries}


@cache
def _layout_of(statements: str) -> set[tuple[str, str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(statements)
        return _layout(connection)
    finally:
        connection.close()
