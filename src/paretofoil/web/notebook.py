"""The page as a notebook widget. Its requests are sent as messages of the widget, not to a server."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlencode

import numpy as np

from paretofoil.agents.agent import Agent, decision_in
from paretofoil.agents.store import load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.errors import InvalidInput
from paretofoil.web.episodes import comma_separated
from paretofoil.web.settings import Settings

try:
    import httpx
    from anywidget import AnyWidget
    from traitlets import Unicode

    from paretofoil.web.agent_store import AgentStore
    from paretofoil.web.app import Server, app_of, page_folder
    from paretofoil.web.errors import WorkerFailure
    from paretofoil.web.standalone import page_with
    from paretofoil.web.worker import PROGRESS, run_line
except ImportError as error:
    raise InvalidInput.missing(str(error.name), "notebook") from None


def explore_agent(agent: Agent) -> "Page":
    """Return the page about an agent. It opens at a step with two or more valid actions."""
    return Page(agent, {})


def explore_answer(answer: Answer) -> "Page":
    """Return the page about the agent of an answer. It opens at the question of the answer."""
    question = answer.question
    if not question.agent or question.step is None:
        raise InvalidInput.expected("an answer about a step of an agent's episode", repr(answer))
    agent = load_agent(question.agent) if answer.live is None or answer.live.agent is None else answer.live.agent
    collected = 0 if question.collected is None or agent.space.simplex else question.collected
    command = (question.command + collected).tolist()
    decision = decision_in(agent, command, question.step)
    if not np.allclose(decision.command, question.command) or decision.action != question.chosen:
        raise InvalidInput.expected(
            "an answer about a step of a greedy episode", f"{answer!r}, whose state is not in that episode"
        )
    foil = {"foil": question.foil_name} if question.outcome is None else {"outcome": question.outcome}
    return Page(agent, {"command": comma_separated(command), "step": question.step, **foil})


class Page(AnyWidget):
    """The page about one agent: the web page in a frame, which loads no other files."""

    _esm = page_folder() / "js" / "notebook_widget.js"
    html = Unicode().tag(sync=True)

    def __init__(self, agent: Agent, link: dict[str, Any]) -> None:
        name = _service().server.agents.hold(agent)
        address = urlencode({"agent": name, **link}, safe=",")
        data = json.dumps({"link": f"#{address}"})
        first_line = 'window.location.hash ||= JSON.parse(document.getElementById("notebook").textContent).link;'
        page = page_with(page_folder(), data, first_line, kind="notebook")
        # Without a base of its own, links inside the page would lead to the notebook's address.
        super().__init__(html=page.replace("<head>", '<head>\n  <base href="about:srcdoc">', 1))
        self.on_msg(lambda _, content, buffers: self._receive(content))

    def _receive(self, request: dict[str, Any]) -> None:
        """Respond to a request of the page, {"id", "method", "path", "body"}, like the server."""
        _service().run(self._respond(request))

    async def _respond(self, request: dict[str, Any]) -> None:
        body, headers = request.get("body"), {} if request.get("body") is None else {"content-type": "application/json"}
        response = await _service().client.request(request["method"], request["path"], content=body, headers=headers)
        content = {"id": request["id"], "status": response.status_code, "type": response.headers["content-type"]}
        self.send(content, [response.content])


class _Service:
    """The routes of the server without a server, in a thread with an event loop of its own."""

    def __init__(self) -> None:
        agents = AgentStore(Settings(), load=False)

        def load(address: str) -> Agent:
            return agents.agent(address.rpartition("/")[2])

        self.server = Server(Settings(), agents, _ThreadWorker(load), [_ThreadWorker(load)])
        transport = httpx.ASGITransport(app_of(self.server))
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="paretofoil page", daemon=True).start()
        self.run(self.server.start()).result()

    def run(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)


_service = cache(_Service)


class _Stopped(BaseException):
    """Ends the thread of a task that was stopped."""


class _ThreadWorker:
    """A worker of the job queue in a thread, because the agents of a notebook exist only in its process.

    A thread cannot be stopped from outside. A task that is killed ends when it next reports its progress, or at the
    time limit of its search. Until then, it runs in parallel with the next task.
    """

    is_ready, problem, delay = True, None, 0.0

    def __init__(self, load: Callable[[str], Agent]) -> None:
        self._load = load
        self._lines: asyncio.Queue[bytes | None] | None = None
        """The output of the running task. The item None ends the task."""

    async def start(self) -> None: ...

    async def run(self, task: bytes, on_progress: Callable[[bytes], None], seconds: float) -> tuple[bytes, bytes]:
        """Run a task and return the kind and the content of its last line."""
        loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()
        self._lines = lines

        def write(line: bytes) -> None:
            if self._lines is not lines:
                raise _Stopped
            loop.call_soon_threadsafe(lines.put_nowait, line)

        def work() -> None:
            with suppress(_Stopped):
                run_line(task, write, self._load)

        threading.Thread(target=work, daemon=True).start()
        try:
            async with asyncio.timeout(seconds):
                while (line := await lines.get()) is not None and line.startswith(PROGRESS):
                    on_progress(line[1:])
        except TimeoutError:
            raise WorkerFailure(f"the task exceeded {seconds:g} seconds and was stopped; please ask again") from None
        finally:
            self._lines = None
        if line is None:
            raise WorkerFailure("the task was stopped; please ask again")
        return line[:1], line[1:]

    def kill(self) -> None:
        if self._lines is not None:
            self._lines.put_nowait(None)

    async def close(self) -> None:
        self.kill()
