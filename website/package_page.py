"""The README as a package index shows it: a hook of the build, which makes its links and pictures absolute."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = "https://github.com/paretofoil/paretofoil/blob/main/"
PICTURES = "https://raw.githubusercontent.com/paretofoil/paretofoil/main/"
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


def with_absolute_links(markdown: str) -> str:
    """Links into the repository, which work wherever it is read, as addresses."""
    return RELATIVE.sub(lambda link: f"{link[1]}[{link[2]}]({PICTURES if link[1] else PAGES}{link[3]})", markdown)


class PackagePage(MetadataHookInterface):
    """Sets the one field that pyproject.toml leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = with_absolute_links((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
