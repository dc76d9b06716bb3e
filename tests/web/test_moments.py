"""Episodes, their rests and their pictures, as the page is told of them."""

import io
from typing import Any

import numpy as np
import pytest
from discrete import DISCRETE
from PIL import Image
from visitor import Visitor

import paretofoil as pf
from paretofoil.explanation.attainable import consequence

EPISODE = {"agent": "deep-sea-treasure", "command": [8.0, -8.0]}
STOCHASTIC = "resource-gathering"


def pixels(visitor: Visitor, address: str) -> np.ndarray:
    seen = visitor.get(address)
    assert seen.headers["content-type"] == "image/png", seen.text
    assert "max-age" in seen.headers["cache-control"]
    return np.asarray(Image.open(io.BytesIO(seen.content)).convert("RGB"))


def test_an_episode_is_the_librarys_with_words_and_probabilities(visitor: Visitor) -> None:
    agent = pf.load_agent("deep-sea-treasure")
    told, expected = visitor.post("/api/episodes", EPISODE).json(), pf.rollout(agent, (8, -8))
    assert told["achieved"] == expected.achieved.tolist()
    assert told["command_text"] == "8 treasure in 8 steps"
    assert told["achieved_text"] == "8 treasure in 8 steps"
    for decision, known in zip(told["decisions"], expected, strict=True):
        assert pf.Decision.from_dict(decision).action == known.action
        shares = decision["probabilities"]
        assert int(np.argmax(shares)) == known.action
        assert sum(shares) == pytest.approx(1.0)
        assert [i for i, share in enumerate(shares) if share > 0] == list(known.valid_actions)


@pytest.mark.parametrize(("command", "delivered"), [([8.0, -8.0], True), ([30.0, -3.0], False)])
def test_an_episode_says_whether_it_delivers(visitor: Visitor, command: list[float], delivered: bool) -> None:
    assert visitor.post("/api/episodes", {**EPISODE, "command": command}).json()["delivered"] is delivered


def test_each_moment_is_seen_as_it_was_and_the_end_too(visitor: Visitor) -> None:
    agent = pf.load_agent("deep-sea-treasure")
    told, episode = visitor.post("/api/episodes", EPISODE).json(), pf.rollout(agent, (8, -8))
    for decision, known in zip(told["decisions"], episode, strict=True):
        assert (pixels(visitor, decision["picture"]) == agent.picture_at(known)).all()
    assert (pixels(visitor, told["end_picture"]) != agent.picture_at(episode[-1])).any()


@pytest.mark.parametrize("name", DISCRETE)
def test_every_world_is_seen_at_its_start_and_at_its_end(visitor: Visitor, name: str) -> None:
    start = pixels(visitor, visitor.get(f"/api/agents/{name}").json()["picture"])
    front = visitor.get(f"/api/agents/{name}").json()["front"]
    episode = visitor.post("/api/episodes", {"agent": name, "command": front[0]}).json()
    assert pixels(visitor, episode["end_picture"]).shape == start.shape


def follow(visitor: Visitor, **asked: Any) -> dict[str, Any]:
    return dict(visitor.post("/api/consequences", {**EPISODE, **asked}).json())


def test_what_follows_begins_at_the_moment_and_ends_as_the_librarys_consequence(visitor: Visitor) -> None:
    told = follow(visitor, step=5, issued=[5.0, -2.0])
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    rest, expected = told["episode"], consequence(agent, decision, np.array([5.0, -2.0]))
    assert rest["achieved"] == expected.achieved.tolist() == told["consequence"]["achieved"]
    assert [d["step"] for d in rest["decisions"]] == list(range(5, 5 + int(expected.steps)))
    assert rest["decisions"][0]["collected"] == decision.collected.tolist()
    assert (pixels(visitor, rest["decisions"][0]["picture"]) == agent.picture_at(decision)).all()
    assert (pixels(visitor, rest["end_picture"]) != agent.picture_at(decision)).any()


def test_what_follows_delivers_if_the_whole_episode_does(visitor: Visitor) -> None:
    assert follow(visitor, step=5, issued=[8.0, -3.0])["episode"]["delivered"] is True
    assert follow(visitor, step=5, issued=[50.0, -3.0])["episode"]["delivered"] is False


def test_the_same_command_issued_again_changes_nothing_even_where_chance_plays(visitor: Visitor) -> None:
    front = visitor.get(f"/api/agents/{STOCHASTIC}").json()["front"]
    for seed in range(5):
        asked = {"agent": STOCHASTIC, "command": front[-1], "seed": seed}
        whole = visitor.post("/api/episodes", asked).json()
        moment = whole["decisions"][3]
        rest = follow(visitor, **asked, step=3, issued=moment["command"])["episode"]
        assert [d["action"] for d in rest["decisions"]] == [d["action"] for d in whole["decisions"][3:]]
        assert rest["achieved"] == pytest.approx(whole["achieved"])
        assert rest["delivered"] == whole["delivered"]
        assert (pixels(visitor, rest["end_picture"]) == pixels(visitor, whole["end_picture"])).all()


def test_a_decision_that_was_read_from_a_file_cannot_be_rolled_on_from() -> None:
    from paretofoil.agents.agent import rollout_from

    agent = pf.load_agent("deep-sea-treasure")
    read = pf.Decision.from_json(pf.rollout(agent, (8, -8))[5].to_json())
    with pytest.raises(pf.InvalidInput, match="expected a decision of a rollout"):
        rollout_from(agent, read, (5, -2))
