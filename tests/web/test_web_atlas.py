"""The map of outcomes through the server: the library's atlas, as a picture of numbers."""

import base64

import numpy as np
from visitor import Visitor

import paretofoil as pf


def test_the_map_of_outcomes_is_the_librarys(visitor: Visitor) -> None:
    result = visitor.wait(visitor.ask("/api/atlases", {"agent": "reward-line", "seconds": 20}))["result"]
    agent, pixels = pf.load_agent("reward-line"), result["pixels"]
    numbers = np.frombuffer(base64.b64decode(result["winners"]), np.uint8).reshape(pixels, pixels)
    shares = [outcome["share"] for outcome in result["outcomes"]]
    painted = [(numbers == number).mean() for number in range(len(shares))]
    np.testing.assert_allclose(painted, shares, atol=0.02)
    checked = 0
    for row, column in np.random.default_rng(0).integers(2, pixels - 2, (20, 2)):
        around = set(numbers[row - 2 : row + 3, column - 2 : column + 3].ravel().tolist())
        if len(around) > 1 or 255 in around:
            continue
        share = np.array([column, pixels - 1 - row]) / (pixels - 1)
        achieved = pf.rollout(agent, agent.space.low + share * (agent.space.high - agent.space.low)).achieved
        text = result["outcomes"][numbers[row, column]]["text"]
        assert all(f"{amount:.3g} {name}" in text for amount, name in zip(achieved, "AB", strict=True) if amount)
        checked += 1
    assert checked >= 10
    assert "pf.atlas(agent, seconds=20)" in result["python"]


def test_an_agent_without_such_a_map_is_refused(visitor: Visitor) -> None:
    refused = visitor.post("/api/atlases", {"agent": "minecart"})
    assert refused.status_code == 422
    assert "expected a white-box agent with two objectives" in refused.json()["error"]
    assert visitor.get("/api/agents/minecart").json()["atlas"] is False
    assert visitor.get("/api/agents/deep-sea-treasure").json()["atlas"] is True
