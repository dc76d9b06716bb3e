"""Open every page of the site from a folder in Chromium: no errors, no requests, and a working search."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if BROWSER is None:
        pytest.skip("the browser tests need Chromium: run make browser")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def test_every_page_opens_without_an_error_or_a_request_to_anyone_fits_a_phone_and_the_search_finds(
    site: Path, chromium: Any
) -> None:
    troubles: list[str] = []
    page = chromium.new_page(viewport=PHONE)
    page.on("console", lambda told: troubles.append(f"{page.url}: {told.text}") if told.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(f"{page.url}: {error}"))
    page.on(
        "request", lambda asked: troubles.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
    )
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            troubles.append(f"{page.url}: wider than a phone")
    page.set_viewport_size(DESKTOP)
    page.goto((site / "index.html").as_uri())
    page.click("[data-md-component=search-query]")
    page.keyboard.type("proven range")
    page.wait_for_selector(".md-search-result__item")
    assert troubles == []
