"""The page for scripts that look at it: a server on a free port, and a Chromium."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def served() -> Iterator[str]:
    """The address of `paretofoil serve`."""
    command = [sys.executable, "-m", "paretofoil", "serve", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found, "expected the address of the page"
        try:
            yield f"{found[0]}page/"
        finally:
            server.terminate()


@contextmanager
def browsed() -> Iterator[Any]:
    """A Chromium without a window."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
