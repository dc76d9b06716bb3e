"""Values as JSON documents: they survive unchanged, and what is wrong in a file is refused by its path and value."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from answers import achieved, answer, attainable, proven, proven_range

from paretofoil.core.answer import Answer, Attainable, Start
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import MAX_INTEGER, Bound, Count, Document, read_document, read_value, schema_name
from paretofoil.explanation.flip_map import FlipMap


def decision() -> Decision:
    return Decision(np.array([0.5, 1.0], np.float32), np.array([8.0, -2.0]), (0, 1, 3), 3, np.array([0.0, -1.0]), 4)


def episode() -> Episode:
    return Episode(np.array([8.0, -3.0]), (decision(), decision()), np.array([5.0, -7.0]), True)


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
        requested=3,
        alternatives=(answer([8.0, -1.0], attainable=Attainable(7)),),
    )


def the_flip_map() -> FlipMap:
    a = the_answer()
    asked, eight = a.question, np.array([8.0, -2.0])
    return FlipMap("mine", asked.objectives, asked.actions, asked.command, eight, (3, 3), (0, 1), (a, proven()))


DOCUMENTS: dict[str, Document] = {
    "decision": decision(),
    "episode": episode(),
    "answer": the_answer(),
    "infeasible": proven(),
    "flip map": the_flip_map(),
}
NAMES = [name for name in DOCUMENTS if name != "infeasible"]


def named(name: str) -> str:
    return schema_name(DOCUMENTS[name].SCHEMA)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_json_survives_unchanged(name: str) -> None:
    value = DOCUMENTS[name]
    again = type(value).from_json(value.to_json())
    assert again.to_json() == value.to_json()


@pytest.mark.parametrize("name", NAMES)
def test_another_schema_is_refused(name: str) -> None:
    value = DOCUMENTS[name]
    broken = json.loads(value.to_json()) | {"schema": "paretofoil/something-else/1"}
    with pytest.raises(InvalidInput, match=f"expected {named(name)} of schema {value.SCHEMA}, got 'paretofoil/some"):
        type(value).from_json(json.dumps(broken))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["{}", "[1, 2, 3]", "3", "null", '{"not": "a document"}'])
def test_json_that_is_no_such_document_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=f"expected {named(name)} of schema paretofoil/"):
        type(DOCUMENTS[name]).from_json(text)


@pytest.mark.parametrize("name", NAMES)
def test_text_that_is_not_json_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"expected {named(name)} as JSON, got invalid JSON"):
        type(DOCUMENTS[name]).from_json("not json {{{")


def fields_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all fields of a document, those inside others included."""
    if not isinstance(value, dict):
        return [path]
    return [path, *(inner for name, item in value.items() for inner in fields_of(item, (*path, name)))]


def spoilt(values: Any, path: tuple[Any, ...], to: Any) -> Any:
    """The same plain values, but for one; `...` removes it."""
    if not path:
        return to
    rest = spoilt(values[path[0]], path[1:], to)
    if rest is ...:
        return {name: item for name, item in values.items() if name != path[0]}
    return {**values, path[0]: rest}


DERIVED = {"schema", "sentence", "change", "lower_bound", "gap", "assumptions"}
"""The schema has tests of its own; the others are written but not read."""
FIELDS = [
    (name, path)
    for name in NAMES
    for path in fields_of(json.loads(DOCUMENTS[name].to_json()))
    if path and not DERIVED & set(path) and "queries" not in path[:-1]
]


@pytest.mark.parametrize(("name", "path"), FIELDS)
def test_a_field_of_the_wrong_type_is_refused_by_its_path_and_value(name: str, path: tuple[str, ...]) -> None:
    values = json.loads(DOCUMENTS[name].to_json())
    value = values
    for part in path:
        value = value[part]
    wrong: Any = 3.5 if isinstance(value, str) else "x"
    with pytest.raises(InvalidInput) as error:
        type(DOCUMENTS[name]).from_json(json.dumps(spoilt(values, path, wrong)))
    assert ".".join(path) in str(error.value)
    assert str(wrong) in str(error.value)


REQUIRED = {
    "decision": ["state", "command", "valid_actions", "action", "collected"],
    "episode": ["command", "decisions", "achieved", "terminated"],
    "answer": ["status", "question", "search", "question.command", "search.seed", "quoted.margin", "proof.lower"],
    "flip map": ["agent", "objectives", "actions", "command", "achieved", "taken", "steps", "answers"],
}


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, paths in REQUIRED.items() for path in paths])
def test_a_document_that_lacks_a_field_is_refused_by_the_path_of_the_field(name: str, path: str) -> None:
    values = spoilt(json.loads(DOCUMENTS[name].to_json()), tuple(path.split(".")), ...)
    with pytest.raises(InvalidInput, match=f"{named(name)}.*{path}"):
        type(DOCUMENTS[name]).from_json(json.dumps(values))


def test_a_field_of_a_later_version_is_ignored() -> None:
    values = json.loads(the_answer().to_json()) | {"colour": "green"}
    assert Answer.from_dict(values).to_json() == the_answer().to_json()


def test_what_belongs_to_the_running_process_is_neither_written_nor_read() -> None:
    written = json.loads(episode().to_json())
    assert "snapshot" not in written["decisions"][0]
    assert "end" not in written
    crafted = spoilt(written, ("decisions",), [spoilt(DECISION, ("snapshot",), 3)]) | {"end": {"a": 1}}
    read = Episode.from_dict(crafted)
    assert read.end is None
    assert read[0].snapshot is None
    assert Answer.from_dict(json.loads(the_answer().to_json()) | {"live": {"question": 3}}).live is None


DECISION: dict[str, Any] = {**json.loads(decision().to_json()), "snapshot": None}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("9" * 5000, "whole numbers of at most 18,446,744,073,709,551,616, got one of 5,000 digits"),
        (str(MAX_INTEGER + 1), "whole numbers of at most 18,446,744,073,709,551,616, got 18446744073709551617"),
        ("[" * 101 + "]" * 101, "a value with at most 100 nested lists and objects"),
        ("[" * 100_000 + "]" * 100_000, "a value with at most 100 nested lists and objects"),
        ('{"a":' * 101 + "1" + "}" * 101, "a value with at most 100 nested lists and objects"),
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
    monkeypatch.setattr("paretofoil.core.json.MAX_CHARACTERS", 10)
    with pytest.raises(InvalidInput, match="a value of at most 10 characters, got 11"):
        read_document("not json at", "a value")


@dataclass(frozen=True, eq=False)
class Sample:
    """One field of each kind."""

    count: Count = 0
    number: float = 0.0
    bound: Bound = 0.0
    text: str = ""
    flag: bool = False
    vector: np.ndarray | None = None
    several: tuple[int, ...] = ()
    by_name: dict[str, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", float(self.bound))


WRONG: dict[str, list[Any]] = {
    "count": [True, 1.5, "1", None, -1, MAX_INTEGER + 1],
    "number": [True, "1", "infinity", float("nan"), float("inf"), 1e101, 10**5000, None],
    "bound": [True, "1", "nan", float("inf"), None, []],
    "text": [1, None, "a\nb", "\x1b[2J", "\x9b", "\ud800", "a" * 10_001],
    "flag": [1, "true", None],
    "vector": [[], [[1.0]], ["1"], [None], [True], 1, "12", {"0": 1}, [float("nan")], ["infinity"], [1e101]],
    "several": ["12", {"a": 1}, [1, "2"]],
    "by_name": [[1], {"a": "1"}, {"\n": 1}],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_field_takes_its_own_type_only(name: str) -> None:
    for wrong in WRONG[name]:
        with pytest.raises(InvalidInput, match=f"{name}.*a sample|a sample.*{name}") as error:
            read_value(Sample, {name: wrong}, "a sample")
        assert "got" in str(error.value)
        assert len(str(error.value)) < 300


def test_fields_take_what_is_written() -> None:
    values = {"bound": "infinity", "text": "Größe 3 µm, 重量", "vector": [1, 2]}
    sample = read_value(Sample, {**values, "by_name": {"a": 1}, "count": MAX_INTEGER}, "a sample")
    assert (sample.bound, sample.text, sample.count, sample.by_name) == (np.inf, values["text"], MAX_INTEGER, {"a": 1})
    assert sample.vector is not None
    assert sample.vector.tolist() == [1, 2]
    assert not sample.vector.flags.writeable


ATTAINABLE = ("rollouts", "attainable")
MISFITS: list[tuple[str, tuple[str, ...], Any, str]] = [
    ("decision", ("action",), 2, r"an action among the valid ones \[0, 1, 3\], got 2"),
    ("decision", ("collected",), [1.0], "a collected return of 2 numbers, got 1"),
    ("decision", ("state",), [1e39, 0.0], r"a state of numbers up to 3.4e\+38 \(float32\)"),
    ("episode", ("command",), [1.0], "commands of 1 numbers, got 2"),
    *[("answer", ("question", name), [1.0], f"question.{name} for 2 objectives") for name in ("command", "low")],
    ("answer", ("closest", "command"), [1.0], "closest.command for 2 objectives"),
    ("answer", ("proven_range",), {"low": [1.0], "high": [1.0]}, "proven_range.low for 2 objectives"),
    ("answer", ("proven_range",), {"low": [2.0, 1.0], "high": [1.0, 1.0]}, "a proven range with low <= high"),
    ("answer", ("rollouts", "start", "issued"), [1.0], "rollouts.start.issued for 2 objectives"),
    ("answer", ("question", "probabilities"), [1.0], "question.probabilities for 4 actions"),
    ("answer", ("quoted", "probabilities"), [1.0], "quoted.probabilities for 4 actions"),
    ("answer", ("question", "phrases"), ["gone"], "question.phrases for 4 actions"),
    *[("answer", ("question", name), [2], f"{name} from 0 to 1") for name in ("outside", "kept", "held", "free")],
    *[("answer", ("question", name), 4, "actions from 0 to 3") for name in ("chosen", "foil")],
    ("answer", ("question", "valid_actions"), [-1], "actions from 0 to 3"),
    ("answer", ("quoted",), None, "both a quoted and a closest command, or neither"),
    ("answer", ("question", "norm"), "l3", "one of l1, l2, linf at question.norm of an answer, got 'l3'"),
    ("answer", ("status",), "lost", "one of found, proven closest, proven infeasible, not found at status"),
    ("answer", ("search", "queries"), {"zoo": -1}, "a whole number of at least 0 at search.queries"),
    ("answer", (*ATTAINABLE, "command"), [5.0], "rollouts.attainable.command for 2 objectives"),
    ("answer", (*ATTAINABLE, "distance"), None, "all of command, total, distance, deviation, consequence, or none"),
    (
        "answer",
        (*ATTAINABLE, "num_rollouts"),
        -1,
        "a whole number of at least 0 at rollouts.attainable.num_rollouts of an answer, got -1",
    ),
    ("answer", (*ATTAINABLE, "consequence", "error"), [0.0], "2 standard errors, got 1"),
    ("answer", ("rollouts", "quoted", "repeats"), 0, "at least 1 rollout, got 0"),
    ("flip map", ("steps",), [0], "2 steps, one for each answer, got 1"),
    ("flip map", ("steps",), [0, 2], "steps from 0 to 1"),
    ("flip map", ("taken",), [0, 4], "actions from 0 to 3"),
    ("flip map", ("command",), [1.0], "a command for 2 objectives, got 1"),
]


@pytest.mark.parametrize(("name", "path", "wrong", "message"), MISFITS)
def test_values_that_do_not_fit_each_other_are_refused(
    name: str, path: tuple[str, ...], wrong: Any, message: str
) -> None:
    broken = spoilt(json.loads(DOCUMENTS[name].to_json()), path, wrong)
    with pytest.raises(InvalidInput, match=message):
        type(DOCUMENTS[name]).from_json(json.dumps(broken))


def test_consequences_have_as_many_returns_as_objectives_or_one_less_for_a_horizon() -> None:
    values = json.loads(the_answer().to_json())
    for path in (("rollouts", "quoted"), (*ATTAINABLE, "consequence")):
        result = json.loads(json.dumps({"steps": 1.0, "finished": 1.0, "repeats": 1}))
        for count, read in ((1, True), (2, True), (4, False)):
            broken = spoilt(values, path, {**result, "achieved": [1.0] * count, "error": [0.0] * count})
            if read:
                Answer.from_dict(broken)
            else:
                with pytest.raises(InvalidInput, match=f"{'.'.join(path)} for 2 objectives, got 4"):
                    Answer.from_dict(broken)


def test_an_answer_in_answers_of_some_depth_is_read_and_one_of_more_is_refused() -> None:
    value = json.loads(answer().to_json())
    for _ in range(40):
        value = {**value, "alternatives": [value]}
    assert Answer.from_json(json.dumps(value)).alternatives
    for _ in range(40):
        value = {**value, "alternatives": [value]}
    with pytest.raises(InvalidInput, match="at most 100 nested lists and objects"):
        Answer.from_json(json.dumps(value))
