"""An episode that was saved as one file is as alive as the page, without a server."""

from pathlib import Path
from typing import Any

import pytest

import paretofoil as pf
from paretofoil.web.standalone import save_page


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "episode.html"
    flips = pf.explain_episode(pf.load_agent("deep-sea-treasure"), (8, -8), times=[5])
    options: dict[str, Any] = {"search": "auto", "seconds": None, "queries": None, "box": None}
    save_page(path, "deep-sea-treasure", flips, seed=0, options=options, tell=lambda done, total: None)
    return path


def test_a_saved_episode_answers_shows_and_computes_without_a_server(chromium: Any, saved: Path) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{saved.as_uri()}#agent=deep-sea-treasure&command=8,-8&time=5&foil=down&explore=space")
    page.wait_for_selector(".answer .sentence")
    assert "0.4 fewer steps of time" in page.inner_text(".answer .sentence")
    page.wait_for_selector(".probe-bars .share")
    assert page.locator("img").first.evaluate("image => image.complete && image.naturalWidth > 0")
    page.get_by_role("button", name="Show me").first.click()
    page.wait_for_selector(".show-me img.scene")
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
    page.close()


def test_a_saved_page_opens_at_its_episode(chromium: Any, saved: Path) -> None:
    page = chromium.new_page(reduced_motion="reduce")
    page.goto(saved.as_uri())
    page.wait_for_selector(".moment")
    assert "time=5" in page.url
    page.close()
