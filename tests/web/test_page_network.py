"""The network that the page computes is the policy: evaluated in float32 from what is sent, as JavaScript does."""

import base64
from typing import Any

import numpy as np
import pytest
from discrete import DISCRETE
from visitor import Visitor, visiting

import paretofoil as pf

ACTIVATIONS: dict[str, Any] = {
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
    "sigmoid": lambda x: np.float32(1) / (np.float32(1) + np.exp(-x)),
    "none": lambda x: x,
}


def numbers(packed: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed), dtype="<f4")


def evaluate(document: dict[str, Any], commands: np.ndarray) -> np.ndarray:
    """(N, d) -> (N, num_actions) log-probabilities, in float32 throughout."""
    hidden = commands.astype(np.float32)
    with np.errstate(over="ignore"):
        for layer in document["layers"]:
            weight = numbers(layer["weight"]).reshape(layer["outputs"], layer["inputs"])
            hidden = ACTIVATIONS[layer["activation"]](hidden @ weight.T + numbers(layer["bias"]))
    assert hidden.dtype == np.float32
    shifted = hidden - hidden.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", DISCRETE)
def test_the_pages_probabilities_are_the_policys(visitor: Visitor, name: str) -> None:
    agent = pf.load_agent(name)
    assert visitor.get(f"/api/agents/{name}").json()["white_box"]
    random = np.random.default_rng(0)
    commands = random.uniform(agent.space.low, agent.space.high, size=(500, agent.space.dim))
    for decision in list(pf.rollout(agent, agent.front[-1]))[:5]:
        document = visitor.post("/api/folded", {"agent": name, "state": decision.state.tolist()}).json()
        states = np.repeat(decision.state[None], len(commands), axis=0)
        expected = np.exp(agent.policy.log_probs(states, commands))
        assert np.abs(np.exp(evaluate(document, commands)) - expected).max() <= 1e-5


def test_a_policy_whose_inside_is_not_known_is_asked_instead() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    asked = {"agent": "slow_agent:blunt", "state": decision.state.tolist()}
    with visiting(agents=("slow_agent:blunt",), jobs=False) as visitor:
        assert not visitor.get("/api/agents/slow_agent:blunt").json()["white_box"]
        refused = visitor.post("/api/folded", asked)
        assert refused.status_code == 404
        assert "which has a black-box policy" in refused.json()["error"]
        commands = [[8.0, -3.0], [5.0, -2.0], [1.0, -1.0]]
        more = {"valid_actions": list(decision.valid_actions), "commands": commands}
        told = visitor.post("/api/probabilities", {**asked, **more}).json()
    for command, shares in zip(commands, told, strict=True):
        scores = agent.policy.log_probs(decision.state[None], np.array([command]))[0, list(decision.valid_actions)]
        expected = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        assert np.allclose(np.array(shares)[list(decision.valid_actions)], expected)
        assert sum(shares) == pytest.approx(1.0)
