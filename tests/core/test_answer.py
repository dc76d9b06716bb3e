"""Answers and their parts, and files of the first schema."""

import json
from pathlib import Path

import numpy as np
import pytest
from answers import answer, certificate

from paretofoil.core.answer import Answer, ProvenRange, Status
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.flip_map import FlipMap


def test_where_there_is_no_answer_there_is_no_gap() -> None:
    assert certificate("infeasible", np.inf, np.inf).gap == 0.0
    assert certificate("gap", 0.25, np.inf).gap == np.inf
    assert certificate("optimal", 0.25, 0.5).gap == 0.25


@pytest.mark.parametrize(("lower", "upper"), [(0.25, 0.5), (0.25, np.inf), (np.inf, np.inf)])
def test_infinite_bounds_are_stored_as_words_and_read_as_infinite(lower: float, upper: float) -> None:
    found = answer(proof=certificate("gap", lower, upper))
    stored = json.loads(found.to_json())["proof"]
    assert [stored["lower"], stored["upper"]] == ["infinity" if np.isinf(b) else b for b in (lower, upper)]
    read = Answer.from_json(found.to_json()).proof
    assert read is not None
    assert (read.lower, read.upper) == (lower, upper)


def test_a_proven_range_holds_what_is_inside_on_both_sides_of_every_objective() -> None:
    proven = ProvenRange(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
    commands = np.array([[0.0, 0.0], [1.0, 2.0], [1.1, 1.0], [0.5, 2.1], [-0.1, 1.0], [0.5, -0.1]])
    assert proven.holds(commands).tolist() == [True, True, False, False, False, False]


def test_a_proven_range_has_its_sides_in_order_in_every_objective() -> None:
    with pytest.raises(InvalidInput, match="a proven range with low <= high"):
        ProvenRange(np.array([0.0, 1.0]), np.array([1.0, 0.0]))


def test_a_change_is_what_is_quoted_less_what_was_asked() -> None:
    found = answer([9.0, -4.0], original=[8.0, -2.0])
    assert found.change is not None
    assert found.change.tolist() == [1.0, -2.0]
    assert answer().change is None


FIRST = Path(__file__).parent / "schema_1"
"""Files that the version before schema 2 wrote."""


def test_an_answer_of_the_first_schema_is_read() -> None:
    old = json.loads((FIRST / "answer.json").read_text())
    found = Answer.from_dict(old)
    assert found.status is Status.PROVEN_CLOSEST
    assert found.quoted is not None
    assert found.closest is not None
    assert found.rollouts is not None
    assert found.quoted.command.tolist() == old["command"]
    assert found.closest.command.tolist() == old["closest"]
    assert found.closest.distance == old["closest_distance"]
    assert found.lower_bound == old["lower_bound"]
    assert found.question.step == old["time"]
    assert found.search.queries == old["queries"]
    assert found.requested == old["wanted"] == 2
    assert found.rollouts.attainable is not None
    assert [a.question.free for a in found.alternatives] == [tuple(a["alone"]) for a in old["alternatives"]]
    assert Answer.from_json(found.to_json()).to_json() == found.to_json()


def test_a_proof_of_infeasibility_of_the_first_schema_is_read() -> None:
    found = Answer.from_json((FIRST / "infeasible.json").read_text())
    assert found.status is Status.PROVEN_INFEASIBLE
    assert found.lower_bound == np.inf
    assert found.rollouts is None


def test_decisions_episodes_and_flip_maps_of_the_first_schema_are_read() -> None:
    assert Decision.from_json((FIRST / "decision.json").read_text()).step == 5
    episode = Episode.from_json((FIRST / "episode.json").read_text())
    assert [decision.step for decision in episode] == list(range(len(episode)))
    flips = FlipMap.from_json((FIRST / "flip-map.json").read_text())
    assert set(flips.steps) == {0}
    assert len(flips.answers) == len(flips.steps)


def test_what_is_wrong_in_a_file_of_the_first_schema_is_refused() -> None:
    old = json.loads((FIRST / "answer.json").read_text())
    for name in ("original", "outcome", "search", "objectives", "distance"):
        with pytest.raises(InvalidInput):
            Answer.from_dict({key: value for key, value in old.items() if key != name})
        with pytest.raises(InvalidInput):
            Answer.from_dict(old | {name: ["x"]})
