"""Replies as CSV: one line for each step that a participant has done."""

import csv
import io
from pathlib import Path
from typing import Any

from paretofoil.web.study.file import parse_user_study
from paretofoil.web.study.plan import SHOWN
from paretofoil.web.study.replies import Participant, Reply, read_replies

COLUMNS = (
    *("participant", "condition", *SHOWN),
    *("position", "step", "kind", "agents", "reply", "truth", "correct", "seconds", "away", "loads"),
)


def replies_csv(path: Path) -> str:
    """All replies of a file; a column for each rating, empty where it was not asked."""
    document, people, replies = read_replies(path)
    study = parse_user_study(document)
    shows = {condition.name: condition.shows for condition in study.conditions}
    ratings = [rating.name for rating in study.ratings]
    known = {person.number: person for person in people}
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"rating_{name}" for name in ratings)])
    for reply in replies:
        person = known[reply.number]
        writer.writerow([*_cells(person, shows[person.condition], reply), *map(reply.ratings.get, ratings)])
    return made.getvalue()


def _cells(person: Participant, shows: tuple[str, ...], reply: Reply) -> list[Any]:
    right = None if reply.correct is None else int(reply.correct)
    return [
        *(person.id, person.condition, *(int(shown in shows) for shown in SHOWN)),
        *(reply.position + 1, reply.step, reply.kind, reply.agents, reply.reply, reply.truth, right),
        *(f"{reply.seconds:.3f}", f"{reply.away:.3f}", reply.loads),
    ]
