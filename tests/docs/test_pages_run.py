"""Every block of code and every command of the documentation is run, and what it prints is what is quoted."""

import sys
from collections.abc import Callable
from pathlib import Path

import given
import pytest
from pages import (
    MARK,
    PAGES,
    ROOT,
    Block,
    as_script,
    blocks_of,
    name_of,
    quoted_outputs,
    quoted_sentences,
    run_in,
    same_words,
)

LANGUAGES = {"python", "sh", "output", "text"}
NOT_RUN = {
    "make demo": "sets up an environment; .ci/run does, and the two commands that it runs are in other blocks",
    "make test": "is this",
    "git clone": "needs a network; tests/docs/test_getting_started.py goes on from a copy",
    "cd paretofoil": "into what was cloned",
    "python3 -m venv": "tests/docs/test_getting_started.py makes a new environment",
    ". .venv/bin/activate": "as above",
    "pip install .": "tests/docs/test_getting_started.py does, in a new environment",
    "paretofoil reproduce": "minutes to hours each; paper/tests makes every page again from its rows",
    "pip install": "needs a package index; test_readme_as_installed.py installs the package without one",
    "paretofoil serve": "runs until it is stopped; tests/web and tests/browser start it",
    "curl": "needs a server that runs; tests/web asks the same",
    "paretofoil study run my-agent --workers 8": "eight processes; tests/study runs it with two",
    "paretofoil study run my-agent --engine": "needs a cluster at that address; tests/study starts one",
}
"""Commands that are not run, by how they begin, and why."""
ELSEWHERE = {
    "from d3rlpy": "tests/adapters/test_decision_transformer.py runs it, where d3rlpy is installed",
}
"""Blocks of Python that are not run here, by how they begin, and why."""
PREPARED: dict[str, Callable[[Path], None]] = {
    "docs/explain-your-own-agent.md": given.put_networks,
    "docs/studies.md": given.put_my_agent,
    "docs/user-study.md": given.put_user_study,
}
"""Files that a page takes for granted."""
TAKEN_FOR_GRANTED = {"docs/explain-your-own-agent.md": "from reader import *"}
"""Names that a page takes for granted: what only the reader has, such as an agent of MORL-Baselines."""

NEEDED = {"docs/explain-your-own-agent.md": ("onnx", "onnxruntime", "stable_baselines3")}


def why_not_run(start: str, table: dict[str, str]) -> str | None:
    return next((why for known, why in table.items() if start.startswith(known)), None)


def blocks_in(page: Path, language: str) -> list[Block]:
    return [block for block in blocks_of(page) if block.language == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks_in(page, language)]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An empty folder, but for what the page takes for granted."""
    page = request.node.callspec.params["page"]
    for package in NEEDED.get(name_of(page), ()):
        pytest.importorskip(package, reason="an extra that the page is about")
    PREPARED.get(name_of(page), lambda _: None)(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_the_python_of_a_page_runs_and_prints_what_is_quoted(page: Path, folder: Path) -> None:
    code = [block for block in blocks_in(page, "python") if not why_not_run(block.text, ELSEWHERE)]
    script = folder / page.name
    script.write_text(as_script(code, TAKEN_FOR_GRANTED.get(name_of(page), "")))
    done = run_in(folder, sys.executable, "-W", "error", str(script))
    assert done.returncode == 0, done.stderr
    printed = dict(zip(code, done.stdout.split(MARK)[1:], strict=True))
    for block, quoted in quoted_outputs(blocks_of(page)):
        if block in printed:
            assert same_words(printed[block], quoted.text), f"{quoted}: {printed[block]}"
    for sentence in quoted_sentences(page):
        assert sentence in " ".join(done.stdout.split()), sentence


@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_the_commands_of_a_page_work_and_print_what_is_quoted(page: Path, folder: Path) -> None:
    outputs = dict(quoted_outputs(blocks_of(page)))
    for block in blocks_in(page, "sh"):
        printed = ""
        for command in block.commands:
            if why_not_run(command, NOT_RUN) is None:
                done = run_in(folder, "bash", "-euo", "pipefail", "-c", command)
                assert done.returncode == 0, f"{block}: {command}\n{done.stdout}{done.stderr}"
                printed += done.stdout
        if block in outputs:
            assert same_words(printed, outputs[block].text), f"{outputs[block]}: {printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    blocks = blocks_of(page)
    for block in blocks:
        assert block.language in LANGUAGES, f"{block} is {block.language!r}, and not one of {sorted(LANGUAGES)}"
    quoted = {following for _, following in quoted_outputs(blocks)}
    for block in blocks:
        assert block.language != "output" or block in quoted, f"{block} is the output of nothing"
    for block, following in quoted_outputs(blocks):
        assert block.language in ("python", "sh"), f"{following} is the output of nothing"


def test_whatever_is_not_run_still_stands_somewhere() -> None:
    commands = [command for page in PAGES for block in blocks_in(page, "sh") for command in block.commands]
    code = [block.text for page in PAGES for block in blocks_in(page, "python")]
    for known in NOT_RUN:
        assert any(command.startswith(known) for command in commands), known
    for known in ELSEWHERE:
        assert any(text.startswith(known) for text in code), known


def test_a_page_that_fails_or_prints_something_else_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\ntext\n\n```python\nprint(x / 0)\n```\n")
    script = tmp_path / "script.py"
    script.write_text(as_script(blocks_of(page)))
    failed = run_in(tmp_path, sys.executable, str(script))
    assert "line 10, in <module>" in failed.stderr, "the line of the page"
    assert "ZeroDivisionError" in failed.stderr
    assert same_words("a  b\nc 12 d\n", "a b c ... d\n")
    assert same_words("12 seconds\n", "...seconds\n")
    for other in ("a b c\n", "a b c ... e\n", "b c ... d\n", ""):
        assert not same_words("a b\nc 12 d\n", other)


def test_comments_are_not_typed() -> None:
    block = Block(ROOT / "README.md", 1, "sh", "make demo  # sets up\n# nothing\nparetofoil agents '#1'\n")
    assert block.commands == ["make demo", "paretofoil agents '#1'"]
