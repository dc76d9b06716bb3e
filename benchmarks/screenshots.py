"""Pictures of the main states of the page, small enough for a repository.

python benchmarks/screenshots.py --out docs/images
"""

import argparse
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_server import browsed, served
from PIL import Image

QUESTION = "#agent=deep-sea-treasure&command=8,-8&time=5&foil=down"


@dataclass(frozen=True)
class State:
    """One state of the page."""

    name: str
    link: str
    ready: str
    """What is there when it is reached."""
    click: tuple[str, ...] = ()
    """What is clicked before that, one after the other."""
    part: str | None = None
    """Only this element."""
    dark: bool = False
    size: tuple[int, int] = (1280, 860)
    settle: float = 2.0
    """Seconds for what comes unasked: pictures, marks of impossible foils, other answers."""


STATES = (
    State("worlds", "", ".world-card"),
    State("goals", "#agent=deep-sea-treasure", ".goal"),
    State("answer", QUESTION, ".answer .sentence", size=(1280, 1080), settle=5.0),
    State("show-me", QUESTION, ".duet .scene", click=(".answer .show",), part=".show-me"),
    State(
        "command-space",
        "#agent=minecart&command=0,1.5,-0.96&time=12&foil=left&explore=space",
        ".sentence",
        click=("text=To the answer",),
        part=".explore-body",
    ),
    State(
        "whole-episode",
        QUESTION + "&explore=episode",
        ".profile li:nth-child(8)",
        click=(".whole-part:first-child .primary", ".whole-part:last-child .primary"),
        part=".explore-body",
        settle=20.0,
    ),
    State(
        "compare",
        '#agent=deep-sea-treasure&command=16,-9&time=2&foil=down&explore=compare&beside={"agent":"deep-sea-treasure-early"}',
        ".panel .strip:last-child .sentence",
        part=".explore-body",
    ),
    State("dark", "#agent=minecart&command=0,1.5,-0.96&time=12&foil=left", ".answer .sentence", dark=True, settle=5.0),
    State("phone", QUESTION, ".answer .sentence", size=(390, 1240), settle=5.0),
)


def take(browser: Any, address: str, state: State) -> bytes:
    """A PNG file."""
    width, height = state.size
    scheme = "dark" if state.dark else "light"
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce", color_scheme=scheme)
    page.set_default_timeout(120_000)
    page.goto(address + state.link)
    for selector in state.click:
        page.locator(selector).first.click()
    page.wait_for_selector(state.ready)
    page.wait_for_timeout(1000 * state.settle)
    while not page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth)"):
        page.wait_for_timeout(100)
    page.evaluate("window.scrollTo(0, 0)")
    picture: bytes = page.locator(state.part).screenshot() if state.part else page.screenshot()
    page.close()
    return picture


def compress(picture: bytes) -> bytes:
    """The same pixels in fewer bytes."""
    made = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(made, "png", optimize=True)
    return made.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", nargs="*", help="names of states")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with served() as address, browsed() as browser:
        for state in STATES:
            if asked.only and state.name not in asked.only:
                continue
            picture = compress(take(browser, address, state))
            (asked.out / f"{state.name}.png").write_bytes(picture)
            print(f"{state.name}: {len(picture) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
