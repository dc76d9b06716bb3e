"""A person's visit to the page, as the browser tests act it out."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

QUESTION = "#agent=deep-sea-treasure&command=8,-8&step=5&foil=down"
"""The link of the README's question."""
PATIENCE = 60_000
"""Milliseconds for whatever is waited for; the machine may be busy."""


def serve(*agents: str, folder: Path | None = None) -> Iterator[str]:
    """The address of a server of these agents, or of all shipped ones, that runs in a folder."""
    command = [sys.executable, "-m", "paretofoil", "serve", "--port", "0", "--workers", "1", *agents]
    quiet = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet, cwd=folder)
    assert server.stdout is not None
    told = server.stdout.readline()
    found = re.search(r"http://\S+", told)
    assert found, f"expected the address of the page, got {told!r}"
    yield found[0]
    server.terminate()
    server.communicate(timeout=30)


class Visit:
    """Opens pages, and remembers where they went and what went wrong."""

    def __init__(self, browser: Any, address: str) -> None:
        self.address = address
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._browser, self._contexts = browser, []  # type: ignore[var-annotated]

    def open(self, link: str = "", **settings: Any) -> Any:
        """A new page of a person with these settings; who has not said otherwise wants little motion and a laptop."""
        page = self._page(**settings)
        page.goto(f"{self.address}page/{link}")
        return page

    def open_file(self, path: Path) -> Any:
        """A page that was saved: there is no server behind it."""
        page = self._page()
        page.goto(path.as_uri())
        return page

    def blank(self) -> Any:
        """A page that a test fills."""
        return self._page()

    def _page(self, **settings: Any) -> Any:
        calm = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
        context = self._browser.new_context(**{**calm, **settings})
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    def ask(self, link: str = QUESTION, **settings: Any) -> Any:
        """A page whose question is answered."""
        page = self.open(link, **settings)
        page.wait_for_selector(".answer .sentence")
        return page

    def until(self, page: Any, expression: str) -> None:
        """Wait until something is true in the page; Playwright's own way evaluates strings, which the page forbids."""
        end = time.monotonic() + PATIENCE / 1000
        while not page.evaluate(expression):
            assert time.monotonic() < end, f"expected {expression} to become true"
            page.wait_for_timeout(40)

    def forgive(self, words: str) -> None:
        """Leave out the errors that a test has provoked; there must be some."""
        kept = [error for error in self.errors if words not in error]
        assert kept != self.errors, f"expected an error with {words!r}, got {self.errors}"
        self.errors = kept

    def end(self) -> None:
        for context in self._contexts:
            context.close()

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)


def share(page: Any, action: str) -> float:
    """What the panel of the command space says of an action."""
    return float(page.get_attribute(f".probe-bars [data-action={action}] .share", "data-share"))
