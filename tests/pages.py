"""Read the code blocks of the documentation and run them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

import paretofoil

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "paper").rglob("*.md")]),
]
MARK = "\x1e"
"""Separates the outputs of the blocks."""


@dataclass(frozen=True)
class Block:
    """A fenced block: "python" and "sh" are run, "output" is what the previous block prints, "text" is neither."""

    page: Path
    line: int
    """Number of its first line, from 1."""
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """Return the commands line by line, without comments."""
        lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    """Return all fenced and indented blocks in order."""
    found = [token for token in MarkdownIt().parse(page.read_text()) if token.type in ("fence", "code_block")]
    return [Block(page, (token.map or [0])[0] + 2, token.info.strip(), token.content) for token in found]


def block_that_begins(page: str, start: str) -> Block:
    """Return the only block of a page that begins with this text."""
    [found] = [block for block in blocks_of(ROOT / page) if block.text.startswith(start)]
    return found


def quoted_outputs(blocks: list[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield each block with the output block after it."""
    for block, following in pairwise(blocks):
        if following.language == "output":
            yield block, following


def as_script(blocks: list[Block], first_line: str = "") -> str:
    """Join the Python code of a page; lines keep their numbers, so that tracebacks name the line of the page."""
    length = max((block.line + block.text.count("\n") for block in blocks), default=1)
    lines = [""] * (length + 1)
    lines[0] = first_line
    for block in blocks:
        if block.language == "python":
            lines[block.line - 2] = f"print({MARK!r}, end='')"  # where the fence is
            text = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(text)] = text
    return "\n".join(lines)


def same_words(printed: str, quoted: str) -> bool:
    """Return whether the output matches the quotation; `...` matches anything, line breaks do not matter."""
    pattern = ".*?".join(re.escape(" ".join(part.split())) for part in quoted.split("..."))
    return re.fullmatch(pattern.replace(r"\ .*?", r"\s?.*?"), " ".join(printed.split())) is not None


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with this package, the tests and the programs of this environment on its paths."""
    source, tests = Path(paretofoil.__file__).parents[1], ROOT / "tests"
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PARETOFOIL", "PYTEST"))}
    settings |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, (source, tests, tests / "docs"))),
        "MPLBACKEND": "agg",
        "COLUMNS": "200",
    }
    return subprocess.run(arguments, cwd=folder, env=settings, capture_output=True, text=True, check=False)
