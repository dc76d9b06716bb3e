"""The replies to a user study: one SQLite file, and its export as CSV.

A reply is on the disk before the page is told that it was stored. The file holds what was replied and how long it
took: no names, no addresses, no dates.
"""

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import MAX_CHARACTERS, brief_words, read_document
from paretofoil.study.database import Database, StoreError
from paretofoil.web.errors import Conflict, NotFound
from paretofoil.web.user_study.plan import Part, UserStudy, parse_user_study

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
MAX_PARTICIPANTS = 10_000


@dataclass(frozen=True)
class Participant:
    number: int
    """In the order of joining, from 0."""
    id: str
    condition: str


@dataclass(frozen=True)
class Reply:
    """A row of the table: what a participant replied on one screen."""

    number: int
    """The participant's number."""
    position: int
    """Of the screen in the participant's own order, from 0."""
    step: str
    """The name of the task, or "end"."""
    kind: str
    agents: str
    """The agents, in the order in which they were shown."""
    reply: str | None
    """An action, an agent, or the numbers of a command; None at the end, where there are only ratings."""
    truth: str | None
    correct: bool | None
    ratings: Mapping[str, int]
    seconds: float
    """From when the whole screen was visible to the reply."""
    away: float
    """Part of these seconds during which the page was hidden."""
    loads: int
    """How often the screen was loaded; more than once after a reload."""

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> "Reply":
        values = dict(zip(COLUMNS, row, strict=True))
        correct = None if values["correct"] is None else bool(values["correct"])
        return cls(**{**values, "correct": correct, "ratings": read_document(str(values["ratings"]), "ratings")})

    def to_row(self) -> list[Any]:
        values = {name: getattr(self, name) for name in COLUMNS}
        return list({**values, "ratings": json.dumps(dict(self.ratings), sort_keys=True)}.values())

    @property
    def content(self) -> tuple[Any, ...]:
        """What a reply says. If it is sent again, its times may differ."""
        return self.step, self.reply, self.ratings


COLUMNS = tuple(column.name for column in fields(Reply))
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM reply"


class Replies:
    """The file of the server that writes it. Several threads may use it."""

    def __init__(self, path: Path, study: UserStudy) -> None:
        """Create the file, or open one that holds replies to this study."""
        self.path = path
        with _sqlite_errors(self.path):
            self._database = Database(self.path)
            try:
                self._open(study)
            except BaseException:
                self.close()
                raise

    def _open(self, study: UserStudy) -> None:
        with self._database.writing() as connection:
            if self._database.make_tables(TABLES):
                document = study.model_dump(mode="json", by_alias=True, exclude_unset=True)
                rows = {"schema": SCHEMA, "study": document}.items()
                connection.executemany("INSERT INTO about VALUES (?, ?)", [(name, json.dumps(v)) for name, v in rows])
            elif _read_study(connection, self.path) != study:
                raise InvalidInput.expected(
                    f"{self.path} to hold replies to this study",
                    "replies to another one (choose a new file with --replies)",
                )

    def find(self, key: str) -> Participant:
        with _sqlite_errors(self.path), self._database.reading() as connection:
            participant = _participant(connection, key)
        if participant is None:
            raise NotFound.expected("a participant of this study", repr(key))
        return participant

    def join(self, key: str, condition_of: Callable[[int], str]) -> Participant:
        """Return the participant with that id, who is added if new; `condition_of(number)` returns the condition."""
        with _sqlite_errors(self.path), self._database.writing() as connection:
            participant = _participant(connection, key)
            if participant is None:
                number = connection.execute("SELECT count(*) FROM participant").fetchone()[0]
                if number >= MAX_PARTICIPANTS:
                    raise Conflict(f"this study already has {number:,} participants, which is the limit")
                participant = Participant(number, key, condition_of(number))
                row = (participant.number, participant.id, participant.condition)
                connection.execute("INSERT INTO participant VALUES (?, ?, ?)", row)
        return participant

    def count(self, participant: Participant) -> int:
        """Return how many replies a participant has given."""
        with _sqlite_errors(self.path), self._database.reading() as connection:
            rows = connection.execute("SELECT count(*) FROM reply WHERE number = ?", (participant.number,))
            return int(rows.fetchone()[0])

    def add(self, reply: Reply) -> None:
        """Store a reply. The same reply is stored once; another reply in its place is refused."""
        with _sqlite_errors(self.path), self._database.writing() as connection:
            place = (reply.number, reply.position)
            row = connection.execute(f"{_SELECT} WHERE number = ? AND position = ?", place).fetchone()
            if row is None:
                connection.execute(f"INSERT INTO reply VALUES ({', '.join('?' * len(COLUMNS))})", reply.to_row())
            elif Reply.from_row(row).content != reply.content:
                raise Conflict.expected("a screen without a reply", f"{reply.step}, which has another one")

    def close(self) -> None:
        self._database.close()


def _participant(connection: sqlite3.Connection, key: str) -> Participant | None:
    row = connection.execute("SELECT number, id, condition FROM participant WHERE id = ?", (key,)).fetchone()
    return None if row is None else Participant(*row)


def read_replies(path: Path) -> tuple[UserStudy, list[Participant], list[Reply]]:
    """Return a file's study, participants and replies. The study may be running."""
    if not path.is_file():
        raise InvalidInput.expected(f"a file of replies at {path}", "no such file")
    with _sqlite_errors(path):
        connection = sqlite3.connect(path, timeout=60)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CHARACTERS)
        try:
            study = _read_study(connection, path)
            people = connection.execute("SELECT number, id, condition FROM participant ORDER BY number").fetchall()
            rows = connection.execute(f"{_SELECT} ORDER BY number, position").fetchall()
        finally:
            connection.close()
    return study, [Participant(*row) for row in people], list(map(Reply.from_row, rows))


def _read_study(connection: sqlite3.Connection, path: Path) -> UserStudy:
    """Return the study whose replies a file holds."""
    tables = {str(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if tables != {statement.strip() for statement in TABLES.split(";") if statement.strip()}:
        raise InvalidInput.expected(f"{path} to hold the replies of a user study", "another SQLite file")
    about = {
        str(name): read_document(str(value), f"{path}") for name, value in connection.execute("SELECT * FROM about")
    }
    if about.get("schema") != SCHEMA or "study" not in about:
        raise InvalidInput.expected(f"{path} to be of schema {SCHEMA}", about.get("schema"))
    return parse_user_study(about["study"])


@contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot use {path} ({brief_words(error)}); the replies in it are safe") from None
    except sqlite3.DatabaseError as error:
        raise InvalidInput.expected(f"{path} to hold the replies of a user study", f"another file ({error})") from None


def replies_csv(path: Path) -> str:
    """Return all replies of a file as CSV, one line for each screen. Each rating has a column."""
    study, people, replies = read_replies(path)
    shows = {condition.name: condition.shows for condition in study.conditions}
    parts, ratings = get_args(Part), [rating.name for rating in study.ratings]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = ("position", "step", "kind", "agents", "reply", "truth", "correct", "seconds", "away", "loads")
    writer.writerow(["participant", "condition", *parts, *columns, *(f"rating_{name}" for name in ratings)])
    for reply in replies:
        person = people[reply.number]
        writer.writerow(
            [
                *(person.id, person.condition, *(int(part in shows[person.condition]) for part in parts)),
                *(reply.position + 1, reply.step, reply.kind, reply.agents, reply.reply, reply.truth),
                *("" if reply.correct is None else int(reply.correct), f"{reply.seconds:.3f}", f"{reply.away:.3f}"),
                *(reply.loads, *map(reply.ratings.get, ratings)),
            ]
        )
    return file.getvalue()
