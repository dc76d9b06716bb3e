"""Run every code block and every command of the documentation, and compare what they print with what is quoted."""

import sys
from collections.abc import Callable
from pathlib import Path

import prepared
import pytest
from pages import MARK, PAGES, ROOT, Block, as_script, blocks_of, name_of, quoted_outputs, run_in, same_words

pytestmark = pytest.mark.long

NOT_RUN = {
    "make": "a target of the Makefile; .ci/run runs them",
    "git diff": "needs the repository; paper/tests/test_result_pages.py compares the pages",
    "git clone": "needs a network; test_getting_started.py continues in a copy",
    "cd paretofoil": "into the clone",
    "python3 -m venv": "test_getting_started.py makes a new environment",
    ". .venv/bin/activate": "as above",
    "pip install": "needs a package index; test_getting_started.py installs the package without one",
    "paretofoil reproduce": "minutes to hours; paper/tests makes every page again from its rows",
    "paretofoil serve": "runs until it is stopped; tests/web and tests/browser start it",
    "curl": "needs a running server; tests/web sends the same request",
    "paretofoil study run my-agent --workers 8": "eight processes; tests/study uses two",
    "paretofoil study run my-agent --engine": "needs a cluster at that address; tests/study starts one",
}
"""Commands that are not run, by their beginning, and why."""
TESTED_ELSEWHERE = {
    "from d3rlpy": "tests/adapters/test_decision_transformer.py runs it where d3rlpy is installed",
}
"""Blocks of Python that are not run, by their beginning, and why."""
FILES: dict[str, Callable[[Path], None]] = {
    "docs/explain-your-own-agent.md": prepared.write_networks,
    "docs/studies.md": prepared.write_agent,
    "docs/user-study.md": prepared.write_user_study,
}
"""Functions that write the files that a page needs."""
FIRST_LINE = {"docs/explain-your-own-agent.md": "from reader import *"}
"""Imports of what only the reader of a page has, such as an agent of MORL-Baselines."""
PACKAGES = {
    "docs/explain-your-own-agent.md": ("onnx", "onnxruntime", "stable_baselines3"),
    "docs/features.md": ("stable_baselines3",),
}
"""Optional packages that a page needs."""


def reason(text: str, table: dict[str, str]) -> str | None:
    return next((why for start, why in table.items() if text.startswith(start)), None)


def blocks_in(page: Path, language: str) -> list[Block]:
    return [block for block in blocks_of(page) if block.language == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks_in(page, language)]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An empty folder with the files that the page needs."""
    page = request.node.callspec.params["page"]
    for package in PACKAGES.get(name_of(page), ()):
        pytest.importorskip(package, reason=f"{name_of(page)} needs the package {package}")
    FILES.get(name_of(page), lambda _: None)(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_the_python_code_of_a_page_runs_and_prints_what_is_quoted(page: Path, folder: Path) -> None:
    code = [block for block in blocks_in(page, "python") if not reason(block.text, TESTED_ELSEWHERE)]
    script = folder / page.name
    script.write_text(as_script(code, FIRST_LINE.get(name_of(page), "")))
    done = run_in(folder, sys.executable, "-W", "error", str(script))
    assert done.returncode == 0, done.stderr
    printed = dict(zip(code, done.stdout.split(MARK)[1:], strict=True))
    for block, quoted in quoted_outputs(blocks_of(page)):
        if block in printed:
            assert same_words(printed[block], quoted.text), f"{quoted}: {printed[block]}"


@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_the_commands_of_a_page_work_and_print_what_is_quoted(page: Path, folder: Path) -> None:
    outputs = dict(quoted_outputs(blocks_of(page)))
    for block in blocks_in(page, "sh"):
        printed = ""
        for command in block.commands:
            if reason(command, NOT_RUN) is None:
                done = run_in(folder, "bash", "-euo", "pipefail", "-c", command)
                assert done.returncode == 0, f"{block}: {command}\n{done.stdout}{done.stderr}"
                printed += done.stdout
        if block in outputs:
            assert same_words(printed, outputs[block].text), f"{outputs[block]}: {printed}"


def test_every_exception_still_applies() -> None:
    commands = [command for page in PAGES for block in blocks_in(page, "sh") for command in block.commands]
    code = [block.text for page in PAGES for block in blocks_in(page, "python")]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in commands), start
    for start in TESTED_ELSEWHERE:
        assert any(text.startswith(start) for text in code), start


def test_a_page_that_fails_or_prints_something_else_is_detected(tmp_path: Path) -> None:
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


def test_comments_are_not_part_of_a_command() -> None:
    block = Block(ROOT / "README.md", 1, "sh", "make demo  # sets up\n# nothing\nparetofoil agents '#1'\n")
    assert block.commands == ["make demo", "paretofoil agents '#1'"]
