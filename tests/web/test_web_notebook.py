"""The page in a notebook, seen from Python: requests come as messages, and get the server's responses."""

import json
import time
from typing import Any

import pytest

import paretofoil as pf

pytest.importorskip("anywidget", reason="needs the extra notebook")
from paretofoil.web.notebook import Page

QUESTION = {"agent": "reward-line", "command": [0.5, 0.5], "step": 2, "foil": "right"}


class Visitor:
    """Sends messages as the page does, and collects the replies."""

    def __init__(self, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
        self._page, self._replies = page, dict[str, tuple[int, bytes]]()
        monkeypatch.setattr(page, "send", self._keep)

    def _keep(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self._replies[content["id"]] = (content["status"], buffers[0])

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        key = f"{len(self._replies)}"
        self._page._receive({"id": key, "method": method, "path": path, "body": text})
        while key not in self._replies:
            time.sleep(0.01)
        status, content = self._replies[key]
        return status, content if content.startswith(b"\x89PNG") else json.loads(content)

    def finish(self, job: dict[str, Any]) -> dict[str, Any]:
        while job["state"] in ("waiting", "running"):
            _, job = self.ask("GET", f"/api/jobs/{job['job']}")
        return job


@pytest.fixture
def visitor(monkeypatch: pytest.MonkeyPatch) -> Visitor:
    return Visitor(pf.load_agent("reward-line").explore(), monkeypatch)


def test_a_widget_answers_as_the_library_does(visitor: Visitor) -> None:
    [(_, agents)] = [visitor.ask("GET", "/api/agents")]
    question = {**QUESTION, "agent": agents[-1]["name"]}  # other tests may have explored an agent of this name
    status, job = visitor.ask("POST", "/api/answers", question)
    agent = pf.load_agent("reward-line")
    expected = pf.explain(agent, pf.rollout(agent, (0.5, 0.5))[2], foil="right")
    assert visitor.finish(job)["result"]["sentence"] == str(expected)
    status, picture = visitor.ask("GET", agents[-1]["picture"])
    assert (status, picture[:4]) == (200, b"\x89PNG")
    status, refused = visitor.ask("POST", "/api/answers", {**question, "foil": "sideways"})
    assert status == 422
    assert "sideways" in refused["error"]


def test_a_cancelled_job_ends_and_the_next_one_runs(visitor: Visitor) -> None:
    name = visitor.ask("GET", "/api/agents")[1][-1]["name"]
    request = {"agent": name, "command": [0.5, 0.5], "seconds": 60, "search": "cf-zoo"}
    _, job = visitor.ask("POST", "/api/flip-maps", request)
    status, cancelled = visitor.ask("DELETE", f"/api/jobs/{job['job']}?ticket={job['ticket']}")
    assert (status, cancelled["state"]) == (200, "cancelled")
    _, job = visitor.ask("POST", "/api/answers", {**QUESTION, "agent": name})
    assert visitor.finish(job)["state"] == "done"


def test_an_agent_keeps_its_name_and_another_one_gets_another() -> None:
    first, other = pf.load_agent("branch-path"), pf.load_agent("branch-path")
    links = [agent.explore().html.partition('id="notebook">')[2].partition("<")[0] for agent in (first, first, other)]
    assert links[0] == links[1] != links[2]
    assert "agent=branch-path" in links[0]


def test_an_answer_without_an_episode_cannot_be_explored() -> None:
    agent = pf.load_agent("reward-line")
    decision = pf.rollout(agent, (0.5, 0.5))[2]
    answer = pf.explain(agent.policy, state=decision.state, command=decision.command, foil=1,
                        valid_actions=decision.valid_actions, space=agent.space)  # fmt: skip
    with pytest.raises(pf.InvalidInput, match="expected an answer about a step of an agent's episode"):
        answer.explore()


def test_an_answer_that_was_read_from_json_is_explored_with_the_shipped_agent() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    answer = pf.explain(agent, pf.rollout(agent, (8, -8))[5], foil="down")
    page = pf.Answer.from_dict(answer.to_dict()).explore()
    assert "command=8.0,-8.0&step=5&foil=down" in page.html.replace("\\u0026", "&")


def test_an_answer_about_an_outcome_is_explored_at_its_question() -> None:
    answer = pf.explain(pf.load_agent("reward-line"), (0.5, 0.5), pf.outcome("A >= 0.9"))
    assert "command=0.5,0.5&step=0&outcome=A+%3E%3D+0.9" in answer.explore().html.replace("\\u0026", "&")
