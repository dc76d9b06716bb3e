"""Policies with free features of the state on the server: the visitor sets the state, and nothing is rolled out."""

from collections.abc import Iterator
from typing import Any

import pytest
import state_policies
from visitor import Visitor, visiting

import paretofoil as pf

BALANCER, TABLE, COMMANDED = (f"state_policies:{name}" for name in ("balancer", "table", "commanded"))
QUESTION = {"agent": BALANCER, "command": state_policies.EXAMPLE, "step": 0}


@pytest.fixture(scope="module")
def visitor() -> Iterator[Visitor]:
    with visiting(agents=(BALANCER, TABLE, COMMANDED)) as client:
        yield client


def decision_of(visitor: Visitor) -> dict[str, Any]:
    asked = {"agent": BALANCER, "command": state_policies.EXAMPLE}
    [decision] = visitor.post("/api/episodes", asked).json()["decisions"]
    return dict(decision)


def test_the_state_is_set_and_its_features_are_what_may_change(visitor: Visitor) -> None:
    document = visitor.get(f"/api/agents/{BALANCER}").json()
    names = ["observation 0", "observation 1", "pole angle, rad", "pole velocity, rad/s"]
    assert document["observation"] == {"names": names, "example": state_policies.EXAMPLE, "num_commands": 0}
    assert [objective["name"] for objective in document["objectives"]] == ["pole angle", "pole velocity"]
    assert visitor.get(f"/api/agents/{TABLE}").json()["observation"]["example"] == [2.0]  # the range is 2 to 9
    decision = decision_of(visitor)
    assert decision["state"] == state_policies.EXAMPLE
    assert decision["command"] == pytest.approx([0.03, 0.1])
    assert sum(decision["probabilities"]) == pytest.approx(1)
    assert decision["probabilities"][decision["action"]] == max(decision["probabilities"])


def test_an_answer_is_that_of_the_library(visitor: Visitor, capsys: pytest.CaptureFixture[str]) -> None:
    foil = 1 - decision_of(visitor)["action"]
    result = visitor.wait(visitor.ask("/api/answers", {**QUESTION, "foil": foil}))["result"]
    answer = pf.explain(state_policies.balancer, state=state_policies.EXAMPLE, foil=foil)
    assert result["sentence"] == str(answer)
    assert result["sentence"].startswith("Had the pole angle been ")
    assert result["answer"]["status"] == "proven closest"
    exec(result["python"], {})
    assert capsys.readouterr().out.strip() == result["paragraph"]


def test_a_black_box_of_few_whole_numbers_is_proven(visitor: Visitor) -> None:
    asked = {"agent": TABLE, "command": [2.0], "step": 0, "foil": "action 1"}
    result = visitor.wait(visitor.ask("/api/answers", asked))["result"]
    assert (
        result["sentence"]
        == "Had the cell been 7 (instead of 2), the agent would have chosen action 1 instead of action 0."
    )
    assert "table()" in result["python"]


@pytest.mark.parametrize(
    ("path", "request_", "reason"),
    [
        ("answers", {**QUESTION, "outcome": "steps <= 3"}, "has no environment"),
        ("answers", {**QUESTION, "step": 1, "foil": 0}, "expected an action as foil, at step 0"),
        ("answers", {**QUESTION, "command": [1.0], "foil": 0}, "expected the state to have 4 numbers"),
        ("episodes", {"agent": BALANCER, "command": [1e60] * 4}, "the state"),
        ("flip-maps", {"agent": BALANCER, "command": [0.0] * 4}, "expected an agent with an environment"),
        ("atlases", {"agent": BALANCER}, "expected an agent with an environment"),
    ],
)
def test_what_needs_an_environment_is_refused(visitor: Visitor, path: str, request_: Any, reason: str) -> None:
    refused = visitor.post(f"/api/{path}", request_)
    assert refused.status_code == 422
    assert reason in refused.json()["error"]


def test_the_page_computes_the_policy_itself(visitor: Visitor) -> None:
    folded = visitor.post("/api/folded", {"agent": BALANCER, "state": state_policies.EXAMPLE})
    assert folded.json()["layers"][0]["inputs"] == 2
    asked = {"agent": BALANCER, "state": state_policies.EXAMPLE, "valid_actions": [0, 1], "commands": [[0.03, 0.1]]}
    [shares] = visitor.post("/api/probabilities", asked).json()
    assert shares == pytest.approx(decision_of(visitor)["probabilities"])


def test_the_command_and_the_features_change_together(visitor: Visitor, capsys: pytest.CaptureFixture[str]) -> None:
    document = visitor.get(f"/api/agents/{COMMANDED}").json()
    names = ["speed", "time, steps", "observation 0", "observation 1", "pole angle, rad", "observation 3"]
    middle = [0.5, -5, *state_policies.EXAMPLE]
    assert document["observation"] == {"names": names, "example": middle, "num_commands": 2}
    assert [objective["name"] for objective in document["objectives"]] == ["speed", "time", "pole angle"]
    numbers = [0.25, -3, *state_policies.EXAMPLE]
    [decision] = visitor.post("/api/episodes", {"agent": COMMANDED, "command": numbers}).json()["decisions"]
    assert decision["state"] == state_policies.EXAMPLE
    assert decision["command"] == pytest.approx([0.25, -3, 0.03])
    assert decision["command_text"] == "speed 0.25, time 3 steps, pole angle 0.03 rad"
    question = {"agent": COMMANDED, "command": numbers, "step": 0, "foil": 1 - decision["action"]}
    result = visitor.wait(visitor.ask("/api/answers", question))["result"]
    answer = pf.explain(
        state_policies.commanded, state=state_policies.EXAMPLE, command=[0.25, -3], foil=1 - decision["action"]
    )
    assert result["sentence"] == str(answer)
    assert result["answer"]["status"] == "proven closest"
    exec(result["python"], {})
    assert capsys.readouterr().out.strip() == result["paragraph"]


def test_too_few_numbers_for_command_and_state_are_refused(visitor: Visitor) -> None:
    refused = visitor.post("/api/episodes", {"agent": COMMANDED, "command": state_policies.EXAMPLE})
    assert "expected the command and the state to have 6 numbers" in refused.json()["error"]
