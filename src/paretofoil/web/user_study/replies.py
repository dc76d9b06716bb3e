"""The replies to a user study: an SQLite file, and its export as CSV.

A reply is on the disk before the page gets the response that it was stored. The file contains replies and times, but no
names, addresses or dates.
"""

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import Count, brief, brief_words, read_document, read_value
from paretofoil.study.database import Database, StoreError, check_intact, has_tables, open_to_read
from paretofoil.web.errors import Conflict, NotFound
from paretofoil.web.user_study.plan import Part, UserStudy, parse_user_study

SCHEMA = "paretofoil/user-study-replies/1"
STRICT_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE participant (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, condition TEXT NOT NULL) STRICT;
CREATE TABLE reply (
    number INTEGER NOT NULL, position INTEGER NOT NULL, step TEXT NOT NULL, kind TEXT NOT NULL, agents TEXT NOT NULL,
    reply TEXT, truth TEXT, correct INTEGER, ratings TEXT NOT NULL,
    seconds REAL NOT NULL, away REAL NOT NULL, loads INTEGER NOT NULL,
    PRIMARY KEY (number, position)
) STRICT;
"""
LOOSE_TABLES = STRICT_TABLES.replace(" STRICT", "")
"""The tables of earlier versions of the file, and of SQLite before 3.37."""
TABLES = STRICT_TABLES if sqlite3.sqlite_version_info >= (3, 37) else LOOSE_TABLES
MAX_PARTICIPANTS = 10_000
RECRUITED = "recruited "
"""In the table `about`, prefix of the id that a recruitment service has given to a participant."""


@dataclass(frozen=True)
class Participant:
    """A row of the table: a participant."""

    number: Count
    """Number of the participant, in the order of joining, from 0."""
    id: str
    condition: str


@dataclass(frozen=True)
class Reply:
    """A row of the table: the reply of a participant on one screen."""

    number: Count
    """The participant's number."""
    position: Count
    """Position of the screen in the order of the participant, from 0."""
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
    """Time from when the whole screen was visible to the reply."""
    away: float
    """Part of this time during which the page was hidden."""
    loads: int
    """Number of times that the screen was loaded."""

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> "Reply":
        values = dict(zip(COLUMNS, row, strict=True))
        correct = {0: False, 1: True}.get(values["correct"], values["correct"])
        ratings = read_document(str(values["ratings"]), "ratings")
        return read_value(cls, {**values, "correct": correct, "ratings": ratings}, "a reply")

    def to_row(self) -> list[Any]:
        values = {name: getattr(self, name) for name in COLUMNS}
        return list({**values, "ratings": json.dumps(dict(self.ratings), sort_keys=True)}.values())


COLUMNS = tuple(column.name for column in fields(Reply))
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM reply"


class Replies:
    """The file of replies, opened by the server that writes it. Several threads may use it."""

    def __init__(self, path: Path, study: UserStudy) -> None:
        """Create the file, or open one that holds replies to this study."""
        self.path = path
        with _reading_errors(path):
            self._database = Database(path)
        try:
            with _reading_errors(path), self._database.writing() as connection:
                if self._database.make_tables(TABLES):
                    document = study.model_dump(mode="json", by_alias=True, exclude_unset=True)
                    rows = [(name, json.dumps(value)) for name, value in {"schema": SCHEMA, "study": document}.items()]
                    connection.executemany("INSERT INTO about VALUES (?, ?)", rows)
                elif _read_all(connection, path)[0] != study:
                    got = "replies to another one (choose a new file with --replies)"
                    raise InvalidInput.expected(f"{path} to hold replies to this study", got)
        except BaseException:
            self.close()
            raise

    def find(self, key: str) -> Participant:
        with self._connection() as connection:
            participant = _participant(connection, key)
        if participant is None:
            raise NotFound.expected("a participant of this study", repr(key))
        return participant

    def join(self, key: str, condition_of: Callable[[int], str], ids: Mapping[str, str] | None = None) -> Participant:
        """Return the participant with an id. A new participant is added, with the condition `condition_of(number)`.

        `ids` are those of a recruitment service. If the first of them is known, return the participant who has it.
        """
        recruited = f"{RECRUITED}{next(iter((ids or {}).values()), '')}"
        with self._connection() as connection:
            row = connection.execute("SELECT value FROM about WHERE name = ?", (recruited,)).fetchone()
            key = json.loads(row[0])["participant"] if row else key
            participant = _participant(connection, key)
            if participant is None:
                number = connection.execute("SELECT count(*) FROM participant").fetchone()[0]
                if number >= MAX_PARTICIPANTS:
                    raise Conflict(f"this study already has {number:,} participants, which is the limit")
                participant = Participant(number, key, condition_of(number))
                connection.execute("INSERT INTO participant VALUES (?, ?, ?)", astuple(participant))
                if ids:
                    value = json.dumps({"participant": key, "ids": dict(ids)})
                    connection.execute("INSERT INTO about VALUES (?, ?)", (recruited, value))
        return participant

    def count(self, participant: Participant) -> int:
        with self._connection() as connection:
            rows = connection.execute("SELECT count(*) FROM reply WHERE number = ?", (participant.number,))
            return int(rows.fetchone()[0])

    def failed_checks(self, participant: Participant) -> int:
        """Return the number of attention checks that a participant has failed."""
        with self._connection() as connection:
            query = "SELECT count(*) FROM reply WHERE number = ? AND kind = 'check' AND correct = 0"
            return int(connection.execute(query, (participant.number,)).fetchone()[0])

    def add(self, reply: Reply) -> None:
        """Store a reply. Raise Conflict if the screen has a different reply; an equal one is not stored twice."""
        with self._connection() as connection:
            place = (reply.number, reply.position)
            row = connection.execute(f"{_SELECT} WHERE number = ? AND position = ?", place).fetchone()
            if row is None:
                connection.execute(f"INSERT INTO reply VALUES ({', '.join('?' * len(COLUMNS))})", reply.to_row())
            elif any(
                getattr(Reply.from_row(row), name) != getattr(reply, name) for name in ("step", "reply", "ratings")
            ):
                raise Conflict.expected("a screen without a reply", f"{reply.step}, which has another one")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction. Errors of SQLite are raised as StoreError."""
        try:
            with self._database.writing() as connection:
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"cannot use {self.path} ({brief_words(error)}); the replies in it are safe") from None

    def close(self) -> None:
        self._database.close()


def _participant(connection: sqlite3.Connection, key: str) -> Participant | None:
    row = connection.execute("SELECT number, id, condition FROM participant WHERE id = ?", (key,)).fetchone()
    return None if row is None else Participant(*row)


def read_replies(path: Path) -> tuple[UserStudy, list[Participant], list[Reply]]:
    """Return the study, participants and replies of a file. This works while the study runs."""
    with _reading_errors(path), open_to_read(path, "a file of replies") as connection:
        return _read_all(connection, path)


def _read_all(connection: sqlite3.Connection, path: Path) -> tuple[UserStudy, list[Participant], list[Reply]]:
    """Return the content of a file. All of it is checked, because it may have been changed or damaged."""
    if not any(has_tables(connection, tables) for tables in (STRICT_TABLES, LOOSE_TABLES)):
        raise InvalidInput.expected(f"{path} to hold the replies of a user study", "another SQLite file")
    check_intact(connection, path)
    about = {name: read_document(str(value), f"{path}") for name, value in connection.execute("SELECT * FROM about")}
    if about.get("schema") != SCHEMA or "study" not in about:
        raise InvalidInput.expected(f"{path} to be of schema {SCHEMA}", brief(about.get("schema")))
    try:
        study = parse_user_study(about["study"])
        rows = connection.execute("SELECT * FROM participant ORDER BY number").fetchall()
        names = ("number", "id", "condition")
        people = [read_value(Participant, dict(zip(names, row, strict=True)), "a participant") for row in rows]
        replies = [Reply.from_row(row) for row in connection.execute(f"{_SELECT} ORDER BY number, position")]
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    conditions = {condition.name for condition in study.conditions}
    for number, person in enumerate(people):
        if person.number != number:
            raise InvalidInput.expected(f"participant number {number} in {path}", person.number)
        if person.condition not in conditions:
            expected = f"a condition among {', '.join(sorted(conditions))} for participant {number} of {path}"
            raise InvalidInput.expected(expected, brief(person.condition))
    for reply in replies:
        if reply.number >= len(people):
            expected = f"replies of the {len(people)} participants of {path}"
            raise InvalidInput.expected(expected, f"one of participant {reply.number}")
    return study, people, replies


@contextmanager
def _reading_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as InvalidInput or StoreError, with a sentence."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            got = f"a damaged file, or a file of another kind ({brief_words(error)})"
            raise InvalidInput.expected(f"{path} to hold the replies of a user study", got) from None
        raise StoreError(f"cannot use {path} ({brief_words(error)}); the replies in it are safe") from None


def read_ids(path: Path) -> dict[str, dict[str, str]]:
    """Return the ids that a recruitment service has given, by participant."""
    with _reading_errors(path), open_to_read(path, "a file of replies") as connection:
        query = "SELECT value FROM about WHERE name LIKE ?"
        documents = [read_document(str(value), f"{path}") for (value,) in connection.execute(query, (f"{RECRUITED}%",))]
    return {str(document["participant"]): document["ids"] for document in documents}


def replies_csv(path: Path) -> str:
    """Return all replies of a file as CSV, one line for each screen. Each rating has a column."""
    study, people, replies = read_replies(path)
    ids, parameters = read_ids(path), study.recruitment.parameters if study.recruitment else ()
    shows = {condition.name: condition.shows for condition in study.conditions}
    parts, ratings = get_args(Part), [rating.name for rating in study.ratings]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = ("position", "step", "kind", "agents", "reply", "truth", "correct", "seconds", "away", "loads")
    writer.writerow(
        ["participant", "condition", *parts, *columns, *(f"rating_{name}" for name in ratings), *parameters]
    )
    for reply in replies:
        person = people[reply.number]
        writer.writerow(
            [
                *(person.id, person.condition, *(int(part in shows[person.condition]) for part in parts)),
                *(reply.position + 1, reply.step, reply.kind, reply.agents, reply.reply, reply.truth),
                *("" if reply.correct is None else int(reply.correct), f"{reply.seconds:.3f}", f"{reply.away:.3f}"),
                *(reply.loads, *map(reply.ratings.get, ratings), *map(ids.get(person.id, {}).get, parameters)),
            ]
        )
    return file.getvalue()
