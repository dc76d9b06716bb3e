"""A real server on a free port of this machine, and a real Chromium that looks at it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from visit import Visit

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where `paretofoil serve` says that the page is."""
    command = [sys.executable, "-m", "paretofoil", "serve", "--port", "0", "--workers", "1"]
    quiet = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet)
    assert server.stdout is not None
    told = server.stdout.readline()
    found = re.search(r"http://\S+", told)
    assert found, f"expected the address of the page, got {told!r}"
    yield found[0]
    server.terminate()
    server.communicate(timeout=30)


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """One browser for a module: as long as it is open, no other test of this process can run an event loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if BROWSER is None:
        pytest.skip("the browser tests need Chromium, which `make browser` installs")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(address: str, chromium: object) -> Iterator[Visit]:
    """Pages that must stay on this machine, and without errors."""
    visiting = Visit(chromium, address)
    yield visiting
    visiting.end()
    assert not [url for url in visiting.requests if urlsplit(url).hostname not in ("127.0.0.1", None)]
    assert visiting.errors == []
