"""Outcomes as foils through the server: what the page needs for its form, and the library's answers."""

from typing import Any

import pytest
from visitor import Visitor

import paretofoil as pf
from paretofoil.explanation.outcome import read_outcome


def ask(visitor: Visitor, **fields: Any) -> dict[str, Any]:
    return dict(visitor.wait(visitor.ask("/api/answers", {"step": 0, **fields}))["result"])


@pytest.mark.parametrize("name", ["branch-path", "deep-sea-treasure", "fruit-tree", "resource-gathering"])
def test_every_cell_of_the_picture_can_be_named_in_an_outcome(visitor: Visitor, name: str) -> None:
    document = visitor.get(f"/api/agents/{name}").json()
    agent = pf.load_agent(name)
    for entry in document["cells"]:
        read_outcome(pf.outcome(f"visits {entry['cell']}"), agent)
    request = {"agent": name, "command": agent.front[0].tolist()}
    episode = visitor.post("/api/episodes", request).json()
    places = [decision["place"] for decision in episode["decisions"]]
    assert all(place in [entry["place"] for entry in document["cells"]] for place in places)


def test_the_cells_of_a_picture_are_where_the_agent_is_drawn(visitor: Visitor) -> None:
    cells = {entry["cell"]: entry["place"] for entry in visitor.get("/api/agents/deep-sea-treasure").json()["cells"]}
    episode = visitor.post("/api/episodes", {"agent": "deep-sea-treasure", "command": [1, -1]}).json()
    assert (cells["(0, 0)"], cells["(1, 0)"]) == (episode["decisions"][0]["place"], episode["end_place"])


@pytest.mark.parametrize("name", ["minecart", "walkroom-2"])
def test_an_environment_whose_picture_has_no_cells_offers_none(visitor: Visitor, name: str) -> None:
    assert visitor.get(f"/api/agents/{name}").json()["cells"] == []


def test_an_outcome_at_a_later_step_has_the_librarys_answer(visitor: Visitor) -> None:
    agent = pf.load_agent("deep-sea-treasure")
    expected = pf.explain(agent, pf.rollout(agent, (8, -8))[5], pf.outcome("treasure >= 50"))
    result = ask(visitor, agent=agent.name, command=[8, -8], step=5, outcome="treasure >= 50")
    assert (result["sentence"], result["runs"]) == (str(expected), "")


def test_where_chance_plays_a_part_the_share_of_the_runs_is_required_and_told(visitor: Visitor) -> None:
    request = {"agent": "resource-gathering", "command": [0, 0, 1], "outcome": "gold >= 1"}
    result = ask(visitor, **request, share=0.6, seconds=60)
    met = result["answer"]["rollouts"]["quoted"]["met"]
    assert met >= 0.6
    assert result["runs"].startswith(f"{100 * met:g} % of 200 runs meet it, 95 % interval ")
    assert f"({result['runs']}".partition("(")[2] in result["paragraph"]
    assert "share=0.6" in result["python"]
