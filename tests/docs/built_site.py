"""Build the site as `make docs` does, and read the links of its pages."""

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import ROOT


def build_site(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site into a folder; warnings are errors."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    source = os.pathsep.join(str(ROOT / folder) for folder in ("src", "paper/src"))
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": source}
    return subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)


class Links(HTMLParser):
    """The anchors, links and resources of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.page = page
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.resources: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and attributes.get("href"):
            self.targets.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.resources.append(attributes.get("href", ""))
        elif tag in ("script", "img", "iframe") and attributes.get("src"):
            self.resources.append(attributes["src"])


def broken_links(site: Path) -> Iterator[str]:
    """Yield the links and pictures of a site whose file or anchor does not exist."""
    pages = {page: Links(page) for page in sorted(site.rglob("*.html"))}
    for page, links in pages.items():
        for address in (*links.targets, *links.resources):
            parts = urlsplit(address)
            if not parts.scheme and not parts.netloc:
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                anchors = pages[target].anchors if target in pages else {parts.fragment}
                if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                    yield f"{page.relative_to(site)}: {address}"
