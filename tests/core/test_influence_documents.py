"""Influence as JSON: it survives, and what is not whole, or cannot be true, is refused with a sentence."""

import json
from typing import Any

import pytest
from influences import black_box, inert, influence, profile

from paretofoil.core.errors import InvalidInput
from paretofoil.core.influence import Influence, InfluenceProfile

DERIVED = {"schema", "sentence", "verdict", "undecided", "changed"}
"""The schema has tests of its own; the others follow from the rest, and are written but not read."""


@pytest.mark.parametrize("value", [influence(), inert(), black_box(), profile()], ids=["some", "inert", "black", "all"])
def test_json_survives_unchanged(value: Influence | InfluenceProfile) -> None:
    assert type(value).from_json(value.to_json()).to_json() == value.to_json()


def test_what_follows_from_the_rest_is_written_and_not_read() -> None:
    values = influence().to_dict()
    assert values["schema"] == "paretofoil/influence/2"
    assert values["sentence"] == str(influence())
    assert values["verdict"] == "decides"
    assert values["undecided"] == pytest.approx(1 - 0.371 - 0.621)
    assert values["changed"] == pytest.approx([0.371, 0.379])
    assert Influence.from_dict(values | {"verdict": "inert"}).verdict == "decides"


def test_documents_of_the_first_schema_are_read() -> None:
    values = influence().to_dict()
    first = {**values, "schema": "paretofoil/influence/1", "time": values["step"]}
    del first["step"], first["preferences"], first["assumed"]
    read = Influence.from_dict(first)
    assert read.assumed == read.slack  # the first schema had measured rounding errors only
    assert read.to_dict() == influence(assumed=read.slack).to_dict()
    whole = profile(read).to_dict()
    first_whole = {**whole, "schema": "paretofoil/influence-profile/1", "moments": [first]}
    del first_whole["steps"]
    assert InfluenceProfile.from_json(json.dumps(first_whole)).to_dict() == whole


OPTIONAL = {"preferences", "collected", "constraints"}
"""Fields that older documents of this schema lack."""


@pytest.mark.parametrize("field", sorted(set(influence().to_dict()) - DERIVED - OPTIONAL))
def test_a_document_that_lacks_a_field_is_refused_by_its_name(field: str) -> None:
    broken = influence().to_dict()
    del broken[field]
    with pytest.raises(InvalidInput, match=f"an influence with the field {field}, got one without it"):
        Influence.from_json(json.dumps(broken))


@pytest.mark.parametrize("field", sorted(set(influence().to_dict()) - DERIVED - {"agent"}))
def test_a_field_of_the_wrong_type_is_refused(field: str) -> None:
    message = f"at {field} of an influence, got 'x'|{field} of an influence: expected .*got 'x'"
    with pytest.raises(InvalidInput, match=message):
        Influence.from_json(json.dumps(influence().to_dict() | {field: "x"}))


def changed_share(**changes: Any) -> list[dict[str, Any]]:
    shares: list[dict[str, Any]] = json.loads(json.dumps(influence().to_dict()["shares"]))
    shares[1] |= changes
    return shares


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chosen": 2}, "a chosen action that is valid, got 2"),
        ({"shares": changed_share(action=4)}, "different actions from 0 to 3"),
        ({"shares": changed_share(action=3)}, "different actions from 0 to 3"),
        ({"shares": changed_share(lower=0.5, upper=0.4)}, "shares with lower <= upper"),
        ({"shares": changed_share(lower=0.5, upper=0.6)}, "lower bounds of shares that sum to at most 1"),
        ({"shares": changed_share(upper=1.5)}, "shares"),
        ({"shares": changed_share(sampled=1)}, "counts of sampled commands with the sum 10000"),
        ({"command": [8.0]}, r"commands of 2 numbers, got commands of \[1, 2, 2, 2\] numbers"),
        ({"nearest": {"command": [8.0], "action": 1, "distance": 0.1}}, "commands of 2 numbers"),
        ({"nearest": {"command": [8.0, 1.0], "action": 9, "distance": 0.1}}, "different actions from 0 to 3"),
        ({"inert": True}, "a share of 1 where no command matters"),
        ({"samples": 0}, "samples"),
        ({"stop": "tired"}, "one of complete, proven"),
    ],
)
def test_what_cannot_be_true_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Influence.from_json(json.dumps(influence().to_dict() | changes))


def test_steps_of_other_agents_are_refused() -> None:
    values = profile().to_dict()
    values["actions"] = ["a", "b", "c", "d"]
    with pytest.raises(InvalidInput, match="expected the profile's objectives and actions"):
        InfluenceProfile.from_json(json.dumps(values))
    with pytest.raises(InvalidInput, match="a command for 2 objectives"):
        InfluenceProfile.from_json(json.dumps(profile().to_dict() | {"command": [1.0]}))
