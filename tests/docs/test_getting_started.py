"""Who follows "getting started" in a new environment, and types only what is printed, sees what is printed."""

import shutil
from pathlib import Path

import pytest
from new_environment import NewEnvironment
from pages import MARK, ROOT, Block, as_script, blocks_of, quoted_outputs, same_words

pytest.importorskip("hatchling", reason="needs the dev extra: pip builds with it, without a network")
PAGE = ROOT / "docs" / "getting-started.md"
CLONED = ("git clone", "cd paretofoil")
"""Needs a network: a copy of what would be cloned is there instead, and one is in it."""
ENVIRONMENT = ("python3 -m venv", ". .venv/bin/activate", 'pip install "$(grep')
"""What a new environment and its torch stand for here: NewEnvironment, and what it borrows."""
ITS_OWN = ("make demo",)
"""Makes an environment of its own, with a network; .ci/run does."""
PACKAGED = ("pyproject.toml", "README.md", "LICENSE", "src", "website")


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "paretofoil"
    folder.mkdir()
    for name in PACKAGED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    return folder


def typed(block: Block, new: NewEnvironment, folder: Path) -> str:
    """What the commands of a block print, one after the other."""
    commands = [command for command in block.commands if not command.startswith((*CLONED, *ENVIRONMENT, *ITS_OWN))]
    return "".join(new.run(["/bin/sh", "-c", command], folder).stdout for command in commands)


def test_typing_what_is_printed_in_a_new_environment_shows_what_is_printed(cloned: Path, tmp_path: Path) -> None:
    new = NewEnvironment(tmp_path / "environment")
    blocks = blocks_of(PAGE)
    printed = {block: typed(block, new, cloned) for block in blocks if block.language == "sh"}
    script = tmp_path / "typed.py"
    script.write_text(as_script(blocks) + f"\nprint({MARK!r} + pf.__file__)\n")
    *shown, place = new.run([new.python, str(script)], tmp_path).stdout.split(MARK)[1:]
    assert Path(place).is_relative_to(tmp_path), "the one that was installed, not this one"
    python = [block for block in blocks if block.language == "python"]
    printed |= dict(zip(python, shown, strict=True))
    outputs = list(quoted_outputs(blocks))
    assert len(outputs) >= 4
    for block, quoted in outputs:
        assert same_words(printed[block], quoted.text), f"{quoted}: {printed[block]}"
