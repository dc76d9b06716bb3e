"""Reading a study's file: JSON, field by field; whatever is amiss is one sentence that says where."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretofoil.core.document import (
    Reader,
    brief,
    by_name,
    finite,
    integer,
    one_of,
    read_document,
    record,
    several,
    text,
    whole,
    within,
)
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.web.study.plan import END, KINDS, SHOWN, Condition, Rating, Task, UserStudy

SCHEMA = "paretofoil/user-study/1"
MAX_BYTES = 1 << 20
MAX_ITEMS = 100
"""Tasks, conditions or ratings."""
MAX_POINTS = 11
"""Of a scale."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def read_user_study(path: Path) -> UserStudy:
    """The study that a file describes."""
    if not path.is_file():
        raise InvalidInput.expected(f"a user study's file at {path}", "something else" if path.exists() else "no file")
    if path.stat().st_size > MAX_BYTES:
        raise InvalidInput.expected(f"a user study of at most {MAX_BYTES:,} bytes", f"{path} with more")
    try:
        return parse_user_study(read_document(path.read_bytes(), "a user study"))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def parse_user_study(document: Any) -> UserStudy:
    """The study that a document describes."""
    with whole(document, SCHEMA, "user study"):
        found = _STUDY({name: value for name, value in document.items() if name != "schema"})
    found.setdefault("ratings", ())
    if not found["conditions"] or not found["tasks"]:
        raise InvalidInput.expected("at least one condition and one task", "none")
    lists = {"introduction": (), "thanks": ("Thank you for taking part.",), "seed": 0}
    return UserStudy(**{**lists, **found}, document=document)


def _only(fields: Mapping[str, Reader], others: Mapping[str, Reader] | None = None) -> Reader:
    """A reader of these fields that refuses any other: a misspelt one would silently change a study."""
    known = {**fields, **(others or {})}

    def read(value: Any) -> dict[str, Any]:
        for name in value if isinstance(value, Mapping) else ():
            if name not in known:
                raise InvalidInput.expected(f"fields among {', '.join(known)}", did_you_mean(name, known))
        for name in fields:
            if isinstance(value, Mapping) and name not in value:
                raise InvalidInput.expected(f"a field {name}", "none")
        return record(fields, others)(value)

    return read


def _items(read: Reader) -> Reader:
    """A reader of a list of objects, each with a name of its own, which an error tells."""

    def read_item(value: Any) -> Any:
        try:
            return read(value)
        except InvalidInput as error:
            name = value.get("name") if isinstance(value, Mapping) else None
            raise InvalidInput(f"{brief(name)}: {error}" if name is not None else str(error)) from None

    def read_all(value: Any) -> tuple[Any, ...]:
        found = several(read_item, MAX_ITEMS)(value)
        names = [item.name for item in found]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput.expected("each name once", f"{name} twice")
        return found

    return read_all


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value == END:
        raise InvalidInput.expected(
            f"a name of at most 63 small letters, digits and hyphens other than {END}", brief(value)
        )
    return value


def _filled(value: Any) -> str:
    found = text(value)
    if not found.strip():
        raise InvalidInput.expected("words", "none")
    return found


_paragraphs = several(_filled, MAX_ITEMS)
_moment = within(integer, 0, 1_000_000)
_seed = within(integer, 0, 2**32 - 1)


def _command(value: Any) -> tuple[float, ...]:
    found = several(finite, 64)(value)
    if not found:
        raise InvalidInput.expected("a command of some numbers", "none")
    return found


_CONDITION = _only({"name": _name}, {"shows": several(one_of(*SHOWN), len(SHOWN)), "instead": by_name(text)})
_RATING = _only(
    {"name": _name, "text": _filled, "low": _filled, "high": _filled},
    {"points": within(integer, 2, MAX_POINTS), "asked": one_of("task", END)},
)
_ANY_TASK = {"name": _name, "kind": one_of(*KINDS), "text": _filled, "command": _command}
_ONE = {**_ANY_TASK, "agent": text, "time": _moment}
_OTHERS = {"explained": several(_moment, MAX_ITEMS), "seed": _seed}
_TASKS = {
    "predict": _only(_ONE, _OTHERS),
    "steer": _only({**_ONE, "foil": text}, _OTHERS),
    "choose": _only({**_ANY_TASK, "agents": several(text, 2), "watched": _command}, _OTHERS),
}


def _task(value: Any) -> Task:
    kind = record({"kind": one_of(*KINDS)})(value)["kind"] if isinstance(value, Mapping) and "kind" in value else None
    found = _TASKS[kind or "predict"](value)
    agents = found.pop("agents", None) or (found.pop("agent"),)
    if kind == "choose" and len(set(agents)) != 2:
        raise InvalidInput.expected("two agents to choose from", brief(list(agents)))
    if kind == "predict" and any(time >= found["time"] for time in found.get("explained", ())):
        raise InvalidInput.expected("explained moments before the one that is predicted", "a later one")
    return Task(**{"watched": found["command"], **found}, agents=agents)


def _condition(value: Any) -> Condition:
    found = Condition(**_CONDITION(value))
    if "proofs" in found.shows and "counterfactuals" not in found.shows:
        raise InvalidInput.expected("proofs only with the counterfactuals that they are about", "proofs alone")
    return found


_STUDY = _only(
    {
        "title": _filled,
        "consent": _paragraphs,
        "conditions": _items(_condition),
        "tasks": _items(_task),
    },
    {
        "ratings": _items(lambda value: Rating(**_RATING(value))),
        "introduction": _paragraphs,
        "thanks": _paragraphs,
        "seed": _seed,
    },
)
