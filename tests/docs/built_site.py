"""The site, built as `make docs` builds it, and what its pages link to."""

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import ROOT


def build_site(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build it into a folder; every warning is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    source = os.pathsep.join(str(ROOT / folder) for folder in ("src", "paper/src"))
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": source}
    return subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)


class Links(HTMLParser):
    """The anchors of a page, where it leads to, and what it needs to be shown."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.page = page
        self.anchors: set[str] = set()
        self.led_to: list[str] = []
        self.needed: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and given.get("href"):
            self.led_to.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.needed.append(given.get("href", ""))
        elif tag in ("script", "img", "iframe") and given.get("src"):
            self.needed.append(given["src"])


def broken_links(site: Path) -> Iterator[str]:
    """Links and pictures of a site that lead to no file of it, or to no anchor of a page."""
    pages = {page: Links(page) for page in sorted(site.rglob("*.html"))}
    for page, links in pages.items():
        for address in (*links.led_to, *links.needed):
            parts = urlsplit(address)
            if not parts.scheme and not parts.netloc:
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                known = pages[target].anchors if target in pages else {parts.fragment}
                if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                    yield f"{page.relative_to(site)}: {address}"
