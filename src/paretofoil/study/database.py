"""A SQLite file that one process writes: locked against the others, every change on the disk whole or not at all."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from filelock import FileLock, Timeout


class StoreError(OSError):
    """The file could not be written; what it held before is intact."""


class Database:
    """The file and its lock. It may be used from several threads, by turns."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()  # one lock, whatever the path that leads here
        self._turn = RLock()
        self._lock = FileLock(f"{self.path}.lock")
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
            open(self._lock.lock_file, "a").close()  # an error that says why, where the lock would only wait
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(
                f"expected {self.path} to be free, got one that another process is writing; wait for it, or stop it"
            ) from None
        except OSError as error:
            raise StoreError(f"expected a place to write {self.path}, got: {error.strerror or error}") from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        with self._turn:
            yield self.connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: what is done in it is kept if it ends well, and never happened if it does not."""
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
        """Make the tables of an empty file, within a transaction; False if there are some already."""
        if self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return False
        for statement in filter(str.strip, statements.split(";")):
            self.connection.execute(statement)
        return True

    def close(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
        self._lock.release()
