"""Continuous actions through the server: the episode, questions about amounts, the flip map and the influence."""

import base64
import json
from typing import Any

import numpy as np
import pytest
from visitor import Visitor

import paretofoil as pf
from paretofoil.agents.store import shipped_folder

AGENT = "water-reservoir"
EPISODE: dict[str, Any] = {"agent": AGENT, "command": [-36.0, -78.0]}


@pytest.fixture(scope="module")
def agent() -> pf.Agent:
    return pf.load_agent(AGENT)


def result_of(visitor: Visitor, path: str, **fields: Any) -> dict[str, Any]:
    return dict(visitor.wait(visitor.ask(path, {**EPISODE, **fields}))["result"])


def test_an_episode_has_the_amounts_and_the_directions_that_are_possible(visitor: Visitor, agent: pf.Agent) -> None:
    document = visitor.get(f"/api/agents/{AGENT}").json()
    assert document["actions"] == ["more release", "less release"]
    assert document["amounts"] == [{"name": "release", "unit": "m³", "phrase": "released", "low": 0.0, "high": 150.0}]
    decisions = visitor.post("/api/episodes", EPISODE).json()["decisions"]
    expected = pf.rollout(agent, EPISODE["command"])
    assert [d["amounts"] for d in decisions] == [d.amounts.tolist() for d in expected]  # type: ignore[union-attr]
    asked = [[answer.question.column for answer in pf.explain_decision(agent, expected[step])] for step in (0, 11)]
    assert [decisions[step]["valid_actions"] for step in (0, 11)] == asked == [[0, 1], [1]]


@pytest.mark.parametrize("foil", ["release >= 80", "less release", "20 <= release <= 30", "release + 5"])
def test_a_question_about_an_amount_has_the_librarys_answer(visitor: Visitor, agent: pf.Agent, foil: str) -> None:
    result = result_of(visitor, "/api/answers", step=0, foil=foil)
    decision = pf.rollout(agent, EPISODE["command"])[0]
    expected = pf.explain(agent, decision, foil=1 if foil == "less release" else foil)
    assert (result["sentence"], result["answer"]["status"]) == (str(expected), expected.status.value)
    names: dict[str, Any] = {}
    exec(compile(result["python"], "lines of the page", "exec"), names)
    assert str(names["answer"]) == result["sentence"]


@pytest.mark.parametrize(
    ("foil", "message"),
    [
        ("release >= 60", "expected a foil that the chosen action does not meet already"),
        ("relase >= 80", "expected a dimension among release"),
        ("release >= 800", "expected an amount of release within 0 to "),
        ("sideways", "expected a foil on a continuous action"),
        (7, "expected the number of a direction of the actions"),
    ],
)
def test_an_amount_that_is_no_question_is_refused(visitor: Visitor, foil: Any, message: str) -> None:
    refused = visitor.post("/api/answers", {**EPISODE, "step": 0, "foil": foil})
    assert refused.status_code == 422
    assert message in refused.json()["error"]


def test_the_flip_map_has_a_column_for_each_direction(visitor: Visitor) -> None:
    result = result_of(visitor, "/api/flip-maps", steps=[0, 11], seconds=5)
    assert result["flip_map"]["actions"] == ["more release", "less release"]
    limits = [answer["question"]["amounts"][0]["lower"] for answer in result["flip_map"]["answers"]]
    assert (result["flip_map"]["steps"], limits) == ([0, 0, 11], [True, False, False])


def test_the_influence_is_the_range_of_the_amounts(visitor: Visitor, agent: pf.Agent) -> None:
    [step] = result_of(visitor, "/api/influence", steps=[1], seconds=5)["influence"]["steps"]
    [span] = step["ranges"]
    assert step["proven"]
    assert span["lowest"] <= span["least"] < span["chosen"] < span["most"] <= span["highest"]
    decision = pf.rollout(agent, EPISODE["command"])[1]
    for seed in range(5):
        command = np.random.default_rng(seed).uniform(step["low"], step["high"])
        assert span["lowest"] <= float(agent.act(decision.state, command)[0]) <= span["highest"]  # type: ignore[index]


def test_the_page_gets_the_network_of_the_amounts(visitor: Visitor, agent: pf.Agent) -> None:
    decision = pf.rollout(agent, EPISODE["command"])[3]
    asked = {"agent": AGENT, "state": decision.state.tolist()}
    layers = visitor.post("/api/folded", asked).json()["layers"]
    values = decision.command
    for layer in layers:
        weight, bias = (np.frombuffer(base64.b64decode(layer[name]), "<f4") for name in ("weight", "bias"))
        values = weight.reshape(layer["outputs"], layer["inputs"]) @ values + bias
        values = {"relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh}.get(
            layer["activation"], lambda x: x
        )(values)
    np.testing.assert_allclose(values, decision.amounts, rtol=1e-3)
    [[amount]] = visitor.post(
        "/api/probabilities", {**asked, "valid_actions": [0], "commands": [decision.command.tolist()]}
    ).json()
    assert amount == pytest.approx(values[0], rel=1e-3)


def test_an_uploaded_agent_with_continuous_actions_is_asked(visitor: Visitor) -> None:
    folder = shipped_folder() / AGENT
    weights = base64.b64encode((folder / "weights.safetensors").read_bytes()).decode()
    description = json.loads((folder / "agent.json").read_text())
    upload = {"name": "my-reservoir", "description": description, "weights": weights}
    assert visitor.post("/api/agents", upload).status_code == 201
    mine, shipped = (
        result_of(visitor, "/api/answers", agent=name, step=0, foil="release >= 80")["sentence"]
        for name in ("my-reservoir", AGENT)
    )
    assert mine == shipped
    visitor.request("DELETE", "/api/agents/my-reservoir")
