"""One SQLite file of a user study's replies: each is on the disk before the page is told that it was taken.

It holds what was done and how long it took: no names, no addresses, no dates.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretofoil.core.document import MAX_CHARACTERS, brief_words, read_document
from paretofoil.core.errors import InvalidInput
from paretofoil.study.database import Database, StoreError
from paretofoil.web.errors import Taken, Unknown

SCHEMA = "paretofoil/user-study-replies/1"
TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE participant (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, condition TEXT NOT NULL);
CREATE TABLE reply (
    number INTEGER NOT NULL, position INTEGER NOT NULL, step TEXT NOT NULL, kind TEXT NOT NULL, agents TEXT NOT NULL,
    reply TEXT, truth TEXT, correct INTEGER, ratings TEXT NOT NULL,
    seconds REAL NOT NULL, away REAL NOT NULL, loads INTEGER NOT NULL,
    PRIMARY KEY (number, position)
);
"""
COLUMNS = (
    *("number", "position", "step", "kind", "agents", "reply", "truth", "correct"),
    *("ratings", "seconds", "away", "loads"),
)
MOST_PARTICIPANTS = 10_000


@dataclass(frozen=True)
class Participant:
    number: int
    """In the order of coming, from 0 on."""
    id: str
    condition: str


@dataclass(frozen=True)
class Reply:
    """What a participant did at one step."""

    number: int
    """The participant's."""
    position: int
    """Of the step in the participant's own order, from 0 on."""
    step: str
    kind: str
    agents: str
    """Who was met, in the order in which they were seen."""
    reply: str | None
    """An action, an agent, or the numbers of a command; None at the end, where there are only ratings."""
    truth: str | None
    correct: bool | None
    ratings: Mapping[str, int]
    seconds: float
    """From when all of the step could be seen until it was done."""
    away: float
    """Of these, with the page out of sight."""
    loads: int
    """How often the step was loaded; more than once after a reload."""


class Replies:
    """The file, held by the one server that writes it. It may be used from several threads."""

    def __init__(self, path: Path, document: Mapping[str, Any]) -> None:
        self.path = path
        with _explained(self.path):
            self._database = Database(self.path)
            try:
                self._begin(document)
            except BaseException:
                self.close()
                raise

    def _begin(self, document: Mapping[str, Any]) -> None:
        """Make the tables of a new file, or check that an old one is of this very study."""
        with self._database.writing() as connection:
            if self._database.make_tables(TABLES):
                values = {"schema": SCHEMA, "study": document}
                told = [(name, json.dumps(value, sort_keys=True)) for name, value in values.items()]
                connection.executemany("INSERT INTO about VALUES (?, ?)", told)
            elif _about(connection, self.path)["study"] != document:
                raise InvalidInput.expected(
                    f"{self.path} to hold replies to this very study", "those to another (give --replies a new file)"
                )

    def find(self, key: str) -> Participant:
        with _explained(self.path), self._database.reading() as connection:
            row = _row_of(connection, key)
        if row is None:
            raise Unknown.expected("a participant of this study", "one that is not known")
        return Participant(*row)

    def join(self, key: str, condition_of: Callable[[int], str]) -> Participant:
        """The participant of that id, who is new unless already there; `condition_of(number)` tells the condition."""
        with _explained(self.path), self._database.writing() as connection:
            row = _row_of(connection, key)
            if row is None:
                number = connection.execute("SELECT count(*) FROM participant").fetchone()[0]
                if number >= MOST_PARTICIPANTS:
                    raise Taken.expected(f"at most {MOST_PARTICIPANTS:,} participants", "one more")
                row = (number, key, condition_of(number))
                connection.execute("INSERT INTO participant VALUES (?, ?, ?)", row)
        return Participant(*row)

    def of(self, participant: Participant) -> list[Reply]:
        """In the order of their steps."""
        asked = f"SELECT {', '.join(COLUMNS)} FROM reply WHERE number = ? ORDER BY position"
        with _explained(self.path), self._database.reading() as connection:
            rows = connection.execute(asked, (participant.number,)).fetchall()
        return [_reply(row) for row in rows]

    def add(self, reply: Reply) -> None:
        """Keep a reply; one that is there already is not there twice, and another in its place is refused."""
        with _explained(self.path), self._database.writing() as connection:
            asked = f"SELECT {', '.join(COLUMNS)} FROM reply WHERE number = ? AND position = ?"
            row = connection.execute(asked, (reply.number, reply.position)).fetchone()
            if row is None:
                values = [getattr(reply, name) for name in COLUMNS]
                values[COLUMNS.index("ratings")] = json.dumps(dict(reply.ratings), sort_keys=True)
                connection.execute(f"INSERT INTO reply VALUES ({', '.join('?' * len(COLUMNS))})", values)
            elif not _same(_reply(row), reply):
                raise Taken.expected("a step without a reply", f"{reply.step}, which has another one")

    def close(self) -> None:
        self._database.close()


def read_replies(path: Path) -> tuple[dict[str, Any], list[Participant], list[Reply]]:
    """A file's study, participants and replies; may be read while the study runs."""
    if not path.is_file():
        raise InvalidInput.expected(f"a file of replies at {path}", "no such file")
    with _explained(path):
        connection = sqlite3.connect(path, timeout=60)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CHARACTERS)
        try:
            about = _about(connection, path)
            people = connection.execute("SELECT number, id, condition FROM participant ORDER BY number").fetchall()
            rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM reply ORDER BY number, position").fetchall()
        finally:
            connection.close()
    return about["study"], [Participant(*row) for row in people], [_reply(row) for row in rows]


def _row_of(connection: sqlite3.Connection, key: str) -> tuple[int, str, str] | None:
    found = connection.execute("SELECT number, id, condition FROM participant WHERE id = ?", (key,))
    row: tuple[int, str, str] | None = found.fetchone()
    return row


def _about(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """What the file says about itself; one with other tables is not read."""
    made = {str(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if made != {statement.strip() for statement in TABLES.split(";") if statement.strip()}:
        raise InvalidInput.expected(f"{path} to hold the replies of a user study", "another SQLite file")
    rows = connection.execute("SELECT name, value FROM about")
    about = {str(name): read_document(str(value), f"{path}") for name, value in rows}
    if about.get("schema") != SCHEMA or "study" not in about:
        raise InvalidInput.expected(f"{path} to be of schema {SCHEMA}", about.get("schema"))
    return about


def _reply(row: tuple[Any, ...]) -> Reply:
    values = dict(zip(COLUMNS, row, strict=True))
    right = values["correct"]
    ratings = read_document(str(values["ratings"]), "ratings")
    return Reply(**{**values, "correct": None if right is None else bool(right), "ratings": ratings})


def _same(first: Reply, second: Reply) -> bool:
    """Whether they say the same; a page that sends a reply again has let some time pass."""
    return (first.step, first.reply, first.ratings) == (second.step, second.reply, second.ratings)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} could not be used ({brief_words(error)}): the replies that are in it are safe"
        ) from None
    except sqlite3.DatabaseError as error:
        raise InvalidInput.expected(f"{path} to hold the replies of a user study", f"another file ({error})") from None
