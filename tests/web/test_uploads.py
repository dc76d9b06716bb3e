"""Uploads: our own format alone, read by the library's reader, and never in the place of another agent."""

import base64
import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from visitor import QUESTION, Visitor, visiting

import paretofoil as pf
from paretofoil.agents.store import shipped_folder
from paretofoil.web import guard

SHIPPED = shipped_folder() / "deep-sea-treasure"


@pytest.fixture
def fresh() -> Iterator[Visitor]:
    with visiting(uploads=2, jobs=False) as visitor:
        yield visitor


def upload(name: str = "mine", **changed: Any) -> dict[str, Any]:
    description = json.loads((SHIPPED / "agent.json").read_text())
    weights = base64.b64encode((SHIPPED / "weights.safetensors").read_bytes()).decode()
    return {"name": name, "description": {**description, **changed}, "weights": weights}


def test_an_uploaded_agent_can_be_asked_and_goes_with_the_server() -> None:
    with visiting() as visitor:
        made = visitor.post("/api/agents", upload())
        assert made.status_code == 201
        assert made.json()["uploaded"]
        assert "deep-sea-treasure" in made.json()["siblings"]
        folder = Path(visitor.app.state.server.agents.address("mine"))
        assert folder.is_dir()
        job = visitor.wait(visitor.ask("/api/answers", {**QUESTION, "agent": "mine"}))
        twin = visitor.wait(visitor.ask("/api/answers", QUESTION))
        assert job["result"]["sentence"] == twin["result"]["sentence"]
        assert job["result"]["answer"]["question"]["agent"] == "mine"
    assert not folder.parent.exists()


@pytest.mark.parametrize("name", ["deep-sea-treasure", "minecart"])
def test_an_upload_never_takes_the_name_of_another_agent(visitor: Visitor, name: str) -> None:
    refused = visitor.post("/api/agents", upload(name))
    assert refused.status_code == 409
    assert "expected an unused name" in refused.json()["error"]
    assert not visitor.get(f"/api/agents/{name}").json()["uploaded"]


@pytest.mark.parametrize(
    "name", ["../x", "..", ".", "", "a/b", "a\\b", "A", "a b", "x" * 64, "<b>", "nul\x00", "\u202e", "-a"]
)
def test_an_upload_has_a_plain_name(visitor: Visitor, name: str) -> None:
    refused = visitor.post("/api/agents", upload(name))
    assert refused.status_code == 422
    assert "expected a name of at most 63 lower-case letters" in refused.json()["error"]


WRONG = {
    "no base64": {**upload(), "weights": "%%%"},
    "no safetensors": {**upload(), "weights": base64.b64encode(b"\x80\x04pickle").decode()},
    "nothing": {**upload(), "weights": ""},
    "another schema": upload(schema="paretofoil/agent/99"),
    "a front of text": upload(front="long"),
    "no description": {**upload(), "description": {}},
    "other actions": upload(actions=["a", "b", "c", "d"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_upload_that_is_no_agent_is_refused_and_leaves_nothing(visitor: Visitor, what: str) -> None:
    refused = visitor.post("/api/agents", WRONG[what])
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"].removeprefix("mine: ").removeprefix("mine/weights.safetensors: ")
    assert "/tmp" not in refused.json()["error"]
    assert visitor.get("/api/agents/mine").status_code == 404
    uploads = visitor.app.state.server.agents._uploads
    assert uploads is None or list(uploads.iterdir()) == []


@pytest.mark.parametrize("gym_id", ["CartPole-v1", "antigravity:X-v0"])
def test_an_upload_makes_no_environment_of_its_own(visitor: Visitor, gym_id: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("gymnasium.make", lambda *given, **more: pytest.fail("an environment was made"))
    described = {"name": "mine", "gym_id": gym_id, "kwargs": {}, "max_steps": 1_000_000}
    refused = visitor.post("/api/agents", upload(environment=described))
    assert refused.status_code == 422
    assert "expected an environment among branch-path" in refused.json()["error"]


def test_a_full_disk_is_a_reason_to_try_again_later(fresh: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*given: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", no_space)
        refused = fresh.post("/api/agents", upload())
    assert refused.status_code == 503
    assert "No space left on device" in refused.json()["error"]
    assert "retry-after" in refused.headers
    assert fresh.post("/api/agents", upload()).status_code == 201


def test_an_uploaded_agent_can_be_deleted_and_others_cannot(fresh: Visitor) -> None:
    assert fresh.post("/api/agents", upload()).status_code == 201
    [folder] = fresh.app.state.server.agents._uploads.iterdir()
    assert fresh.request("DELETE", "/api/agents/mine").json() == {"deleted": "mine"}
    assert fresh.get("/api/agents/mine").status_code == 404
    assert not folder.exists()
    assert fresh.request("DELETE", "/api/agents/mine").status_code == 404
    assert fresh.post("/api/agents", upload()).status_code == 409  # somebody may still ask about the old one
    assert fresh.post("/api/agents", upload("other")).status_code == 201
    refused = fresh.request("DELETE", "/api/agents/branch-path")
    assert refused.status_code == 409
    assert "expected the name of an uploaded agent" in refused.json()["error"]
    assert fresh.get("/api/agents/branch-path").status_code == 200


def test_there_is_room_for_so_many_uploads(fresh: Visitor) -> None:
    assert [fresh.post("/api/agents", upload(name)).status_code for name in ("one", "two", "three")] == [201, 201, 409]


def test_an_upload_may_be_larger_than_a_question_but_not_without_end(visitor: Visitor) -> None:
    sizes = (2 * guard.BODY_BYTES, guard.LONGER_BODIES["/api/agents"])
    large, endless = ({**upload(), "weights": "A" * size} for size in sizes)
    assert visitor.post("/api/agents", large).status_code == 422  # it is read, and is no agent
    assert visitor.post("/api/agents", endless).status_code == 413


def test_names_keep_their_meaning_when_a_folder_has_the_same(tmp_path: Path) -> None:
    pf.save_agent(pf.load_agent("deep-sea-treasure-early"), tmp_path / "deep-sea-treasure")
    pf.save_agent(pf.load_agent("deep-sea-treasure-early"), tmp_path / "own")
    with visiting(folders=(tmp_path,), jobs=False) as visitor:
        shipped = visitor.get("/api/agents/deep-sea-treasure").json()
        assert shipped["front_size"] == len(pf.load_agent("deep-sea-treasure").front)
        assert visitor.get("/api/agents/own").json()["front_size"] == len(
            pf.load_agent("deep-sea-treasure-early").front
        )


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    names = ["my agent", "a#b?c&d", "50%", "ä<b>"]
    for name in names:
        pf.save_agent(pf.load_agent("branch-path"), tmp_path / name)
    with visiting(folders=(tmp_path,), jobs=False) as visitor:
        pictures = {agent["name"]: agent["picture"] for agent in visitor.get("/api/agents").json()}
        for name in names:
            assert visitor.get(pictures[name]).headers["content-type"] == "image/png"
            episode = visitor.post("/api/episodes", {"agent": name, "command": [1.0, 1.0]}).json()
            assert visitor.get(episode["end_picture"]).headers["content-type"] == "image/png"


def test_one_broken_agent_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "agent.json").write_text("{}")
    with visiting(folders=(tmp_path,), jobs=False) as visitor:
        assert visitor.get("/api/agents/broken").status_code == 404
        assert visitor.get("/api/agents/minecart").status_code == 200
        assert "broken" in visitor.app.state.server.agents.broken


def test_an_agent_that_was_asked_for_must_load(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "agent.json").write_text("{}")
    for given in (str(tmp_path / "broken"), "deep-sea-treasur", "slow_agent:nobody", "no_such_module:agent"):
        with pytest.raises(pf.InvalidInput), visiting(agents=(given,), jobs=False):
            pass


def test_only_those_that_were_asked_for_are_served(tmp_path: Path) -> None:
    own = pf.save_agent(pf.load_agent("branch-path"), tmp_path / "own")
    with visiting(agents=("minecart", str(own)), jobs=False) as visitor:
        assert [agent["name"] for agent in visitor.get("/api/agents").json()] == ["minecart", "own"]
