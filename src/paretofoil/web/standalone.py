"""One episode as a page of its own: what the server would have answered is saved inside (`episode ... --html`)."""

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from paretofoil.core.atomic import check_file, write_whole
from paretofoil.core.document import write_document
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.web.app import page_folder
from paretofoil.web.bundle import page_with
from paretofoil.web.document import (
    agent_document,
    agent_summary,
    consequence_document,
    course_document,
    searches_document,
)
from paretofoil.web.models import AnswerAsked
from paretofoil.web.moment import Course, Moments
from paretofoil.web.network import computable, folded_document
from paretofoil.web.picture import Pictures
from paretofoil.web.settings import Settings
from paretofoil.web.shelf import Shelf
from paretofoil.web.task import run_task

MOST_MOMENTS = 200
"""That are saved with their answers: each brings its network along."""
SEEN = "saved:"
"""Begins the number of a picture, which stands once in the file however often it is seen."""

Tell = Callable[[int, int], None]
"""Called with the number of answers so far, and of all."""


def check_page(path: Path, moments: int) -> None:
    """Refuse a page that could not be saved, or with more moments to ask about than it can hold."""
    check_file(path, "a page's file")
    if moments > MOST_MOMENTS:
        raise InvalidInput.expected(f"at most {MOST_MOMENTS} moments to save (choose some with --steps)", moments)


def save_page(path: Path, agent: str, flips: FlipMap, *, seed: int, options: Mapping[str, Any], tell: Tell) -> None:
    """Write an episode, its flip map and the answers to all of its questions as one HTML file.

    Args:
        path: the file.
        agent: as it is typed.
        flips: what was asked about the episode.
        seed: of the episode.
        options: how it was asked: `search`, `seconds`, `queries` and `box`; what is None is as usual.
        tell: called as the answers come.
    """
    check_page(path, len(set(flips.times)))
    saved = _SavedEpisode(agent, flips, seed, options)
    saved.gather(tell)
    begin = f"if (!window.location.hash) window.location.hash = {json.dumps(saved.link)};"
    write_whole(path, page_with(page_folder(), saved.to_json(), begin).encode())


class _SavedEpisode:
    """Requests that a page will make, and what the server would answer; `js/saved.js` looks them up."""

    def __init__(self, agent: str, flips: FlipMap, seed: int, options: Mapping[str, Any]) -> None:
        self._shelf = Shelf(Settings(agents=(agent,)))
        self._moments = Moments(self._shelf.agent)
        self._pictures = Pictures(self._moments)
        [name] = self._shelf.names()
        self._course = Course(name, tuple(flips.command.tolist()), seed)
        self._flips = flips
        self._options = {name: value for name, value in options.items() if value is not None}
        self._requests: list[dict[str, Any]] = []
        self._seen: dict[bytes, int] = {}

    @property
    def link(self) -> str:
        """Where the page opens: at the first moment that was asked about."""
        command = ",".join(map(repr, self._course.command))
        where = {"agent": self._course.agent, "command": command, "seed": self._course.seed}
        return f"#{urlencode({**where, 'time': min(self._flips.times, default=0)}, safe=',')}"

    def gather(self, tell: Tell) -> None:
        self._about_agent()
        where = {"agent": self._course.agent, "command": list(self._course.command), "seed": self._course.seed}
        episode = self._episode(course_document(self._moments, self._course), self._course)
        self._save("POST", "/api/episodes", episode, where)
        self._save("POST", "/api/flip-maps", _done({"flip_map": self._flips.to_dict()}), where)
        for time in sorted(set(self._flips.times)):
            self._fold(time)
        for done, (time, known) in enumerate(zip(self._flips.times, self._flips.answers, strict=True)):
            tell(done, len(self._flips.answers))
            self._answer({**where, "time": time, "foil": known.foil})
        tell(len(self._flips.answers), len(self._flips.answers))

    def to_json(self) -> str:
        pictures = [f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}" for png in self._seen]
        return write_document({"pictures": pictures, "answers": self._requests})

    def _save(self, method: str, path: str, result: Any, body: Mapping[str, Any] | None = None) -> None:
        self._requests.append({"method": method, "path": path, "body": dict(body or {}), "result": result})

    def _about_agent(self) -> None:
        name = self._course.agent
        start = {"picture": self._see(self._pictures.of_start(name))}
        self._save("GET", "/api/agents", [{**agent_summary(self._shelf, name), **start}])
        self._save("GET", f"/api/agents/{quote(name, safe='')}", {**agent_document(self._shelf, name), **start})
        self._save("GET", "/api/searches", searches_document())
        self._save("GET", "/api/openapi.json", {"paths": {"/api/flip-maps": {}}})

    def _fold(self, time: int) -> None:
        agent = self._shelf.agent(self._course.agent)
        if computable(agent):
            state = self._moments.decision(self._course, time).state.tolist()
            asked = {"agent": self._course.agent, "state": state}
            self._save("POST", "/api/folded", folded_document(agent, state), asked)

    def _answer(self, where: dict[str, Any]) -> None:
        """The answer as it was asked for, to whoever asks plainly; and what follows the commands that it names."""
        plain = AnswerAsked(**where).model_dump(mode="json")
        task = {"kind": "answer", "address": self._shelf.place(self._course.agent).address}
        result = run_task({**task, "asked": {**plain, **self._options}}, lambda progress, known: None)
        foil = self._shelf.agent(self._course.agent).actions[where["foil"]]
        asked = {name: None if name in ("seconds", "queries") else value for name, value in plain.items()}
        self._save("POST", "/api/answers", _done(result), {**asked, "foil": foil})
        attainable = result["answer"].get("attainable") or {}
        for issued in (result["answer"]["command"], attainable.get("command")):
            if issued is not None:
                self._follow(where["time"], issued)

    def _follow(self, time: int, issued: list[float]) -> None:
        course = Course(self._course.agent, self._course.command, self._course.seed, time, tuple(issued))
        told = consequence_document(self._moments, course)
        asked = {"agent": course.agent, "command": list(course.command), "seed": course.seed}
        result = {**told, "episode": self._episode(told["episode"], course)}
        self._save("POST", "/api/consequences", result, {**asked, "time": time, "issued": issued})

    def _episode(self, document: dict[str, Any], course: Course) -> dict[str, Any]:
        """An episode whose pictures are in the file."""
        for decision in document["decisions"]:
            decision["picture"] = self._see(self._pictures.of_moment(course, decision["time"]))
        end = document["decisions"][-1]["time"] + 1
        return {**document, "end_picture": self._see(self._pictures.of_moment(course, end))}

    def _see(self, png: bytes) -> str:
        return f"{SEEN}{self._seen.setdefault(png, len(self._seen))}"


def _done(result: dict[str, Any]) -> dict[str, Any]:
    """A job that is done."""
    return {"job": "saved", "state": "done", "progress": 1.0, "partial": [], "result": result, "error": None}
