"""Take the screenshots of the web page in docs/images: `make screenshots`."""

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUESTION = "#agent=deep-sea-treasure&command=8,-8&step=5&foil=down"


@dataclass(frozen=True)
class Screenshot:
    name: str
    link: str
    """Address after the page's own."""
    ready: str
    """Selector of an element that is there when the page is ready."""
    click: tuple[str, ...] = ()
    """Selectors that are clicked before, in turn."""
    part: str | None = None
    """Selector of the element to show; by default the whole page."""
    size: tuple[int, int] = (1280, 860)
    settle: float = 2.0
    """Seconds to wait for pictures and further answers."""


SCREENSHOTS = (
    Screenshot("answer", QUESTION, ".answer .sentence", size=(1440, 1020), settle=5.0),
    Screenshot("show-me", QUESTION, ".verdict-text", click=(".answer .show",), size=(1440, 1020)),
    Screenshot(
        "command-space",
        "#agent=minecart&command=0,1.5,-0.96&step=12&foil=left",
        ".sentence",
        click=("text=Go to the answer", "text=What the map shows"),
        part=".live",
        size=(1440, 1020),
    ),
    Screenshot(
        "whole-episode",
        QUESTION + "&explore=episode",
        ".profile li:nth-child(8)",
        click=(".whole-part:first-child .primary", ".whole-part:last-child .primary"),
        part=".explore-body",
        settle=20.0,
    ),
)


@contextmanager
def server() -> Iterator[str]:
    """Run `paretofoil serve` on a free port and yield the address of the page."""
    command = [sys.executable, "-m", "paretofoil", "serve", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address, "expected the server to print its address"
        try:
            yield f"{address[0]}page/"
        finally:
            process.terminate()


def take(browser: Any, address: str, shot: Screenshot) -> bytes:
    """Return the screenshot as a PNG file."""
    width, height = shot.size
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page.set_default_timeout(120_000)
    page.goto(address + shot.link)
    for selector in shot.click:
        page.locator(selector).first.click()
    page.wait_for_selector(shot.ready)
    page.wait_for_timeout(1000 * shot.settle)
    while not page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth)"):
        page.wait_for_timeout(100)
    page.evaluate("window.scrollTo(0, 0)")
    picture: bytes = page.locator(shot.part).screenshot() if shot.part else page.screenshot()
    page.close()
    return picture


def compress(picture: bytes) -> bytes:
    """Return the same pixels in fewer bytes."""
    file = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(file, "png", optimize=True)
    return file.getvalue()


def main() -> None:
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with server() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for shot in SCREENSHOTS:
            picture = compress(take(browser, address, shot))
            (FOLDER / f"{shot.name}.png").write_bytes(picture)
            print(f"{shot.name}: {len(picture) / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
