"""A visitor of a server in this process: requests go straight into the application, whose workers are real."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio.from_thread
import httpx

from paretofoil.web.app import create_app
from paretofoil.web.settings import Settings

HOME = "http://127.0.0.1:8765"
QUESTION = {"agent": "deep-sea-treasure", "command": [8.0, -8.0], "step": 5, "foil": "down"}


class Visitor:
    """Asks, and waits for what comes of it."""

    def __init__(self, app: Any, portal: anyio.from_thread.BlockingPortal) -> None:
        self.app, self._portal = app, portal
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url=HOME)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            return await self._client.request(method, path, **more)

        return self._portal.call(send)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, json: Any, **more: Any) -> httpx.Response:
        return self.request("POST", path, json=json, **more)

    def submit(self, path: str, json: Any) -> tuple[str, str]:
        """The key of the job that a question became, and the ticket that cancels it."""
        answered = self.post(path, json)
        assert answered.status_code in (200, 202), answered.text
        return str(answered.json()["job"]), str(answered.json()["ticket"])

    def ask(self, path: str, json: Any) -> str:
        """The key of the job that a question became."""
        return self.submit(path, json)[0]

    def cancel(self, key: str, ticket: str) -> httpx.Response:
        return self.request("DELETE", f"/api/jobs/{key}?ticket={ticket}")

    def job(self, key: str) -> dict[str, Any]:
        return dict(self.get(f"/api/jobs/{key}").json())

    def wait(self, key: str, *states: str) -> dict[str, Any]:
        """The job as soon as it is in one of the states; in the end, if none is given."""
        wanted = states or ("done", "failed", "cancelled")
        while (job := self.job(key))["state"] not in wanted:
            assert states == () or job["state"] in ("waiting", "running"), job
            time.sleep(0.02)
        return job


@contextmanager
def visiting(*, jobs: bool = True, **settings: Any) -> Iterator[Visitor]:
    """A visitor of a server that lives as long as this; one worker, unless more are asked for.

    Each process costs half a second. The first quick task starts that of quick tasks; without `jobs` no other starts.
    """
    app = create_app(Settings(**{"workers": 1, **settings}))
    with anyio.from_thread.start_blocking_portal() as portal:
        if jobs:
            portal.call(app.state.server.jobs.start)
        try:
            yield Visitor(app, portal)
        finally:
            portal.call(app.state.server.close)
