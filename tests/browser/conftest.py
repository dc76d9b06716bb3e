"""A real server on a free port of this machine, and a real Chromium that looks at it."""

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from visit import Visit, serve

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where `paretofoil serve` says that the page is."""
    yield from serve()


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
