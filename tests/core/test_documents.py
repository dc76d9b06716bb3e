"""JSON forms: what is written reads back unchanged, and what does not fit is refused with a sentence."""

import json
from typing import Any

import numpy as np
import pytest
from answers import TIME, TREASURE, achieved, answer, proven, proven_range

from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.landscape import Landscape


def decision() -> Decision:
    return Decision(np.array([0.5, 1.0], np.float32), np.array([8.0, -2.0]), (0, 1, 3), 3, np.array([0.0, -1.0]), 4)


def episode() -> Episode:
    return Episode(np.array([8.0, -3.0]), (decision(), decision()), np.array([5.0, -7.0]), True)


def the_landscape() -> Landscape:
    return Landscape(
        (TREASURE, TIME),
        np.array([8.0, -2.0]),
        np.array([8.0, -2.0]),
        np.array([123.0, 39.0]),
        0.05,
        0,
        1,
        np.array([1.0, 2.0]),
        np.array([-3.0, -2.0, -1.0]),
        np.zeros((3, 2)),
        np.array([0.1, 0.2]),
    )


def the_answer() -> Answer:
    return proven(
        [6.3, -2.0],
        proven_range=proven_range([1, -2], [6.3, -2]),
        consequence=achieved(5, -7),
        original_consequence=achieved(8, -8),
        alternatives=(answer([8.0, -1.0]),),
    )


def the_flip_map() -> FlipMap:
    a = the_answer()
    return FlipMap("mine", a.objectives, a.actions, a.original, np.array([8.0, -2.0]), (3, 3), (0, 1), (a, proven()))


DOCUMENTS: dict[str, Any] = {
    "decision": decision(),
    "episode": episode(),
    "landscape": the_landscape(),
    "answer": the_answer(),
    "flip map": the_flip_map(),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_json_survives_unchanged(name: str) -> None:
    value = DOCUMENTS[name]
    text = value.to_json()
    again = type(value).from_json(text)
    assert again.to_json() == text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_another_schema_is_refused(name: str) -> None:
    value = DOCUMENTS[name]
    broken = json.loads(value.to_json())
    broken["schema"] = "paretofoil/something-else/1"
    with pytest.raises(InvalidInput, match=f"expected {name} of schema"):
        type(value).from_json(json.dumps(broken))


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("text", ["{}", "[1, 2, 3]", "3", "null", '{"not": "a document"}'])
def test_json_that_is_no_such_document_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=f"expected {name} of schema paretofoil/"):
        type(DOCUMENTS[name]).from_json(text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_text_that_is_not_json_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"expected an? {name} as JSON, got text that is not JSON"):
        type(DOCUMENTS[name]).from_json("not json {{{")


FOR_READERS = {"schema", "sentence", "change"}
"""The schema has tests of its own; the others follow from the rest, and are written but not read."""


@pytest.mark.parametrize(
    ("name", "field"),
    [(name, field) for name, v in DOCUMENTS.items() for field in json.loads(v.to_json()) if field not in FOR_READERS],
)
def test_a_document_that_lacks_a_field_is_refused_by_the_name_of_the_field(name: str, field: str) -> None:
    broken = json.loads(DOCUMENTS[name].to_json())
    del broken[field]
    with pytest.raises(InvalidInput, match=f"expected a whole {name} of schema paretofoil/.*'{field}'"):
        type(DOCUMENTS[name]).from_json(json.dumps(broken))


REFUSED = [
    *[("decision", field, "x") for field in ("state", "command", "collected", "valid_actions", "action", "time")],
    *[("episode", field, "x") for field in ("command", "decisions", "achieved")],
    *[("landscape", field, "x") for field in ("command", "scale", "x", "y", "margins", "slope", "kappa", "p", "q")],
    *[("answer", field, "x") for field in ("outcome", "stop", "original", "objectives", "probabilities", "command")],
    *[("answer", field, "x") for field in ("lower_bound", "certificate", "proven_range", "consequence")],
    *[("flip map", field, "x") for field in ("objectives", "answers")],
]

REFUSED += [
    ("decision", "action", 3.5),
    ("decision", "time", 3.5),
    ("episode", "terminated", "x"),
    *[("landscape", field, None) for field in ("command", "scale", "x", "y", "margins", "slope")],
    *[("answer", field, "x") for field in ("actions", "valid_actions", "chosen", "foil", "kappa", "seed", "queries")],
    *[("answer", field, "x") for field in ("seconds", "distance", "margin")],
    *[("answer", field, 3.5) for field in ("norm", "search")],
    *[("answer", field, None) for field in ("original", "probabilities")],
    ("flip map", "agent", 3.5),
    *[("flip map", field, "x") for field in ("actions", "command", "achieved", "taken", "times")],
]


@pytest.mark.parametrize(
    ("name", "field", "wrong"),
    REFUSED,
)
def test_a_field_of_the_wrong_type_is_refused(name: str, field: str, wrong: Any) -> None:
    broken = json.loads(DOCUMENTS[name].to_json()) | {field: wrong}
    with pytest.raises(InvalidInput, match=r"^expected .*, got "):
        type(DOCUMENTS[name]).from_json(json.dumps(broken))
