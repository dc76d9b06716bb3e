"""Static checks of the documentation: blocks are labelled, and the names, options and figures it mentions exist."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pages import PAGES, ROOT, blocks_of, name_of, quoted_outputs
from typer.main import get_command

import paretofoil as pf
from paretofoil.cli import app

LANGUAGES = {"python", "sh", "output", "text"}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WIDTH = 88
"""Characters of code that fit on a page of the site on a screen of 1,280 pixels."""


def inline_code(page: Path) -> Iterator[str]:
    """Yield the inline code of sentences and tables, with spaces for line breaks."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        yield from (" ".join(child.content.split()) for child in token.children or () if child.type == "code_inline")


def unknown_words(command: str) -> list[str]:
    """Return the command or the options that the command line does not know."""
    known: Any = get_command(app)
    words = command.split()[1:]
    while words and hasattr(known, "commands") and not words[0].startswith("-"):
        if words[0] not in known.commands:
            return words[:1]
        known = known.commands[words.pop(0)]
    options = {option for parameter in known.params for option in (*parameter.opts, *parameter.secondary_opts)}
    options |= {"--help", "--install-completion", "--show-completion"}
    return [word for word in words if re.match(r"--?[a-z]", word) and word not in options]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_targets_and_names_in_sentences_exist(page: Path) -> None:
    for code in inline_code(page):
        if code.startswith("paretofoil "):
            assert not unknown_words(code), code
        elif code.startswith("make "):
            assert set(code.split()[1:]) <= TARGETS, code
        for name in re.findall(r"\bpf\.(\w+)", code):
            assert hasattr(pf, name), code


def test_an_unknown_command_or_option_is_detected() -> None:
    assert unknown_words("paretofoil study rnu mine") == ["rnu"]
    assert unknown_words("paretofoil study run mine --serach exact") == ["--serach"]
    assert unknown_words("paretofoil explain mine --command 8,-8 --at 5") == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_has_a_language_and_every_output_a_source(page: Path) -> None:
    blocks = blocks_of(page)
    for block in blocks:
        assert block.language in LANGUAGES, f"{block}: expected one of {sorted(LANGUAGES)}, got {block.language!r}"
    sources = {output: source for source, output in quoted_outputs(blocks)}
    for block in blocks:
        if block.language == "output":
            assert block in sources, f"{block} follows no block that prints"
            assert sources[block].language in ("python", "sh"), f"{block} follows no block that prints"


def test_code_is_not_wider_than_a_page_of_the_site() -> None:
    pages = [page for page in PAGES if (ROOT / "docs") in page.parents]
    blocks = [block for page in pages for block in blocks_of(page) if block.language == "python"]
    assert len(blocks) > 20
    assert [str(block) for block in blocks if any(len(line) > WIDTH for line in block.text.splitlines())] == []
    for file in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = [cell["source"] for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
        assert [line for source in cells for line in source if len(line.rstrip("\n")) > WIDTH] == [], file.name


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text()
    for extra in PROJECT["project"]["optional-dependencies"]:
        assert f"[{extra}]" in page, extra


def test_the_version_is_the_same_everywhere() -> None:
    citation, changelog = (ROOT / "CITATION.cff").read_text(), (ROOT / "CHANGELOG.md").read_text()
    date = re.search(r'date-released: "([\d-]+)"', citation)
    assert date
    assert f"version: {pf.__version__}\n" in citation
    assert f"\n## {pf.__version__} ({date[1]})\n" in changelog


def test_the_readme_states_the_coverage_that_is_enforced() -> None:
    required = PROJECT["tool"]["coverage"]["report"]["fail_under"]
    assert f"cover at least {required} % of the lines" in " ".join((ROOT / "README.md").read_text().split())


def test_no_file_names_the_host_of_a_package_index() -> None:
    hosts = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.(org|com)|download\.pytorch\.org")
    files = [path for name in (".github", ".ci") for path in (ROOT / name).rglob("*") if path.is_file()]
    files += [
        path for path in ROOT.iterdir() if path.is_file() and path.suffix in (".toml", ".txt", ".md", ".yml", ".yaml")
    ]
    files.append(ROOT / "Makefile")
    assert [str(path) for path in files if hosts.search(path.read_text())] == []
