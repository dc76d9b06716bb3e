"""Commands, targets and names that pages mention in passing exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pages import PAGES, ROOT, name_of
from typer.main import get_command

import paretofoil as pf
from paretofoil.cli import app

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def mentioned(page: Path) -> Iterator[str]:
    """What is set as code within sentences and tables; spaces for line breaks."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        yield from (" ".join(child.content.split()) for child in token.children or () if child.type == "code_inline")


def unknown_in(command: str) -> list[str]:
    """The verb, or the options, of a command that the command line does not know."""
    found: Any = get_command(app)
    words = command.split()[1:]
    while words and hasattr(found, "commands") and not words[0].startswith("-"):
        if words[0] not in found.commands:
            return words[:1]
        found = found.commands[words.pop(0)]
    known = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "--install-completion", "--show-completion"}
    return [word for word in words if re.match(r"--?[a-z]", word) and word not in known]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_mentions_exists(page: Path) -> None:
    for words in mentioned(page):
        if words.startswith("paretofoil "):
            assert not unknown_in(words), words
        elif words.startswith("make "):
            assert set(words.split()[1:]) <= TARGETS, words
        for name in re.findall(r"\bpf\.(\w+)", words):
            assert hasattr(pf, name), words


def test_what_does_not_exist_would_be_noticed() -> None:
    assert unknown_in("paretofoil study rnu mine") == ["rnu"]
    assert unknown_in("paretofoil study run mine --serach exact") == ["--serach"]
    assert unknown_in("paretofoil explain mine --command 8,-8 --at 5") == []
