"""Make the links of the README absolute for the package index: a build hook."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = "https://github.com/paretofoil/paretofoil/blob/main/"
PICTURES = "https://raw.githubusercontent.com/paretofoil/paretofoil/main/"
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


def with_absolute_links(markdown: str) -> str:
    """Return the text with absolute links into the repository."""
    return RELATIVE.sub(lambda link: f"{link[1]}[{link[2]}]({PICTURES if link[1] else PAGES}{link[3]})", markdown)


class PackagePage(MetadataHookInterface):
    """Set the readme, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = with_absolute_links((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
