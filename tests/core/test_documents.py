"""JSON forms: what is written reads back unchanged, and what does not fit is refused with a sentence."""

import json
from typing import Any

import numpy as np
import pytest
from answers import TIME, TREASURE, achieved, answer, attainable, proven, proven_range

from paretofoil.core.answer import Answer
from paretofoil.core.attainable import Attainable
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.document import (
    MAX_INTEGER,
    by_name,
    finite,
    integer,
    number,
    objective,
    one_of,
    optional,
    read_document,
    record,
    several,
    sized,
    text,
    within,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.start import Start
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
        np.array([6.3, -2.0]),
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
        start=Start(np.array([8.0, -8.0]), np.array([6.3, -8.0]), False),
        attainable=attainable([5.0, -1.0], (0.0, -6.0)),
        agent="mine",
        step=6,
        kept=(1,),
        wanted=3,
        alternatives=(answer([8.0, -1.0], attainable=Attainable(7)),),
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


LATER = {"preferences", "values", "counterfactual_values", "attainable"}
"""What earlier versions did not write, and so may be missing."""
FOR_READERS = {"schema", "sentence", "change", *LATER}
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


PARTS = {
    "certificate": the_answer().certificate,
    "consequence": the_answer().consequence,
    "attainable command": the_answer().attainable,
    "proven range": the_answer().proven_range,
    "start": the_answer().start,
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_lacks_a_field_is_refused_by_both_names(name: str) -> None:
    part: Any = PARTS[name]
    values = part.to_dict()
    for field in values.keys() - {"gap", "assumptions"}:  # which follow from the rest
        lacking = {key: value for key, value in values.items() if key != field}
        with pytest.raises(InvalidInput, match=f"expected a whole {name}, got one in which '{field}' is missing"):
            type(part).from_dict(lacking)


REFUSED = [
    *[("decision", field, "x") for field in ("state", "command", "collected", "valid_actions", "action", "step")],
    *[("episode", field, "x") for field in ("command", "decisions", "achieved")],
    *[
        ("landscape", field, "x")
        for field in ("command", "through", "scale", "x", "y", "margins", "slope", "kappa", "p", "q")
    ],
    *[("answer", field, "x") for field in ("status", "stop", "original", "objectives", "probabilities", "command")],
    *[("answer", field, "x") for field in ("closest", "lower_bound", "certificate", "proven_range", "consequence")],
    *[("flip map", field, "x") for field in ("objectives", "answers")],
]

REFUSED += [
    ("decision", "action", 3.5),
    ("decision", "step", 3.5),
    ("episode", "terminated", "x"),
    *[("landscape", field, None) for field in ("command", "through", "scale", "x", "y", "margins", "slope")],
    *[("answer", field, "x") for field in ("actions", "valid_actions", "chosen", "foil", "kappa", "seed", "queries")],
    *[("answer", field, "x") for field in ("seconds", "distance", "closest_distance", "margin", "low", "high")],
    *[("answer", field, "x") for field in ("phrases", "outside", "kept", "held", "alone", "step", "start", "wanted")],
    *[("answer", field, 3.5) for field in ("norm", "search", "agent", "step", "kept")],
    *[("answer", "attainable", wrong) for wrong in ("x", 3.5, [], {}, {"tried": 3})],
    *[("answer", field, None) for field in ("original", "probabilities", "low", "high", "wanted")],
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


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("9" * 5000, "whole numbers of at most 18,446,744,073,709,551,616, got one of 5,000 digits"),
        ("[" * 101 + "]" * 101, "a value with at most 100 lists in each other, got more"),
        ("[" * 100_000 + "]" * 100_000, "a value with at most 100 lists in each other, got more"),
        ('{"a":' * 101 + "1" + "}" * 101, "a value with at most 100 lists in each other, got more"),
        ("[1, NaN]", "expected finite numbers, got NaN"),
        ("[-Infinity]", "expected finite numbers, got -Infinity"),
    ],
)
def test_json_beyond_the_limits_is_refused(document: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_document(document, "a value")


def test_json_at_the_limits_is_read() -> None:
    assert read_document(str(MAX_INTEGER), "a value") == MAX_INTEGER
    assert read_document("[" * 100 + "]" * 100, "a value")


def test_a_longer_text_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretofoil.core.document.MAX_CHARACTERS", 10)
    with pytest.raises(InvalidInput, match="a value of at most 10 characters, got 11"):
        read_document("not json at", "a value")


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (integer, [True, 1.0, "1", None, MAX_INTEGER + 1]),
        (finite, [True, "1", "infinity", float("nan"), float("inf"), 1e101, 10**5000, None]),
        (number, [True, "1", "nan", float("inf"), None, []]),
        (text, [1, None, "a\nb", "\x1b[2J", "\x9b", "\ud800", "a" * 10_001]),
        (within(integer, 0, 3), [-1, 4, "2"]),
        (one_of("a", "b"), ["c", "", None, ["a"]]),
        (several(integer, most=2), [[1, 2, 3], "12", {"a": 1}, [1, "2"]]),
        (by_name(integer), [[1], {"a": "1"}, {"\n": 1}, None]),
        (sized(None), [[], [[1.0]], ["1"], [None], [True], 1, "12", {"0": 1}, [float("nan")], ["infinity"]]),
        (sized(2), [[1.0], [1, 2, 3], [[1, 2]]]),
        (sized(None, None), [[1.0], [[1.0], [1.0, 2.0]], [[]], [[[1.0]]]]),
        (record({"a": integer}, {"b": text}), [{"a": "1"}, {"a": 1, "b": 2}, [1], None]),
        (objective, [{"name": 3}, {"name": "a", "natural_low": "low"}, {"name": "a", "cost": 1}, "a"]),
    ],
)
def test_a_reader_takes_its_own_type_only(read: Any, wrong: list[Any]) -> None:
    for value in wrong:
        with pytest.raises(InvalidInput, match=r"expected .*, got ") as error:
            read(value)
        assert len(str(error.value)) < 300


def test_readers_take_what_is_written() -> None:
    assert (integer(3), number("infinity"), number("-infinity"), finite(3)) == (3, np.inf, -np.inf, 3.0)
    assert text("Größe 3 µm, 重量") == "Größe 3 µm, 重量"
    assert optional(integer)(None) is None
    assert sized(None, 2)([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert record({"a": integer}, {"b": text})({"a": 1, "c": "not read"}) == {"a": 1}


HAD = attainable([5.0, -1.0], (0.0, -6.0)).to_dict()
UNATTAINABLE = [
    (HAD | {"command": [5.0]}, "attainable: command with 2 numbers"),
    (HAD | {"asked": [5.0, -7.0, 1.0]}, "attainable: asked with 2 numbers"),
    (HAD | {"distance": None}, "all of command, asked, distance, missed, consequence, or none, got some of them"),
    (HAD | {"missed": "x"}, "attainable: missed: expected a number"),
    (HAD | {"tried": -1}, "attainable: tried: expected a number from 0"),
    (HAD | {"consequence": achieved(5, -7, 1, 1).to_dict()}, "consequences for 2 objectives, got 4"),
]
"""What can be had, spoilt."""
MISFITS = [
    ("decision", {"action": 2}, "a valid action, got 2"),
    ("decision", {"collected": [1.0]}, "2 numbers collected, got 1"),
    ("decision", {"state": [1e39, 0.0]}, "a state of float32 numbers"),
    ("episode", {"command": [1.0]}, "commands of 1 numbers, got 2"),
    ("landscape", {"p": 2}, "two objectives from 0 to 1"),
    ("landscape", {"q": 0}, "two objectives from 0 to 1"),
    ("landscape", {"x": [1.0, 2.0, 3.0]}, r"margins of shape \(3, 3\)"),
    ("landscape", {"scale": [1.0]}, "commands and scales of 2 numbers"),
    *[("answer", {name: [1.0]}, f"{name} with 2 numbers") for name in ("original", "low", "high", "closest")],
    ("answer", {"proven_range": {"low": [1.0], "high": [1.0]}}, "proven_range with 2 numbers"),
    ("answer", {"start": {"issued": [1.0], "command": [1.0, 2.0], "leads_here": None}}, "issued with 2 numbers"),
    ("answer", {"probabilities": [1.0]}, "probabilities of 4 actions"),
    ("answer", {"phrases": ["gone"]}, "phrases for 4 actions, got 1"),
    *[("answer", {name: [2]}, f"{name} from 0 to 1") for name in ("outside", "kept", "held", "alone")],
    *[("answer", {name: 4}, "actions by number from 0 to 3") for name in ("chosen", "foil")],
    ("answer", {"valid_actions": [-1]}, "actions by number from 0 to 3"),
    ("answer", {"distance": None}, "or none, got some of them"),
    ("answer", {"norm": "l3"}, "one of l1, l2, linf"),
    *[("answer", {"attainable": had}, message) for had, message in UNATTAINABLE],
    ("answer", {"queries": {"zoo": -1}}, "queries: zoo: expected a number from 0"),
    ("flip map", {"times": [0]}, "2 times, one for each answer, got 1"),
    ("flip map", {"times": [0, 2]}, "times from 0 to 1"),
    ("flip map", {"taken": [0, 4]}, "actions from 0 to 3"),
    ("flip map", {"command": [1.0]}, "a command and answers with the same objectives"),
]


@pytest.mark.parametrize(("name", "changes", "message"), MISFITS)
def test_a_number_that_points_nowhere_is_refused(name: str, changes: dict[str, Any], message: str) -> None:
    broken = json.loads(DOCUMENTS[name].to_json()) | changes
    with pytest.raises(InvalidInput, match=f"expected a whole {name} of schema .*{message}"):
        type(DOCUMENTS[name]).from_json(json.dumps(broken))


def test_an_answer_in_answers_of_some_depth_is_read_and_one_of_more_is_refused() -> None:
    value = json.loads(answer().to_json())
    for _ in range(40):
        value = {**value, "alternatives": [value]}
    assert Answer.from_json(json.dumps(value)).alternatives
    for _ in range(40):
        value = {**value, "alternatives": [value]}
    with pytest.raises(InvalidInput, match="at most 100 lists in each other"):
        Answer.from_json(json.dumps(value))


def test_a_landscape_without_a_scale_is_refused() -> None:
    broken = json.loads(DOCUMENTS["landscape"].to_json()) | {"scale": [123.0, 0.0]}
    with pytest.raises(InvalidInput, match="expected scales above 0"):
        Landscape.from_json(json.dumps(broken))
