"""The commands and the code of "Getting started" work as printed in a new environment."""

import shutil
from pathlib import Path

import pytest
from new_environment import NewEnvironment
from pages import MARK, ROOT, Block, as_script, blocks_of, quoted_outputs, same_words

pytest.importorskip("hatchling", reason="needs the dev extra: pip builds with it, without a network")

pytestmark = pytest.mark.long
PAGE = ROOT / "docs" / "getting-started.md"
CLONED = ("git clone", "cd paretofoil")
"""Needs a network: the test starts in a copy of the repository."""
ENVIRONMENT = ("python3 -m venv", ". .venv/bin/activate")
"""NewEnvironment stands for these."""
ITS_OWN = ("make demo",)
"""Makes its own environment, with a network."""
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
    """Run the commands of a block and return what they print."""
    commands = [command for command in block.commands if not command.startswith((*CLONED, *ENVIRONMENT, *ITS_OWN))]
    return "".join(new.run(["/bin/sh", "-c", command], folder).stdout for command in commands)


def test_getting_started_works_as_printed_in_a_new_environment(cloned: Path, tmp_path: Path) -> None:
    new = NewEnvironment(tmp_path / "environment")
    blocks = blocks_of(PAGE)
    printed = {block: typed(block, new, cloned) for block in blocks if block.language == "sh"}
    script = tmp_path / "typed.py"
    script.write_text(as_script(blocks) + f"\nprint({MARK!r} + pf.__file__)\n")
    *outputs, file = new.run([new.python, str(script)], tmp_path).stdout.split(MARK)[1:]
    assert Path(file).is_relative_to(tmp_path), "the installed package, not this one"
    python = [block for block in blocks if block.language == "python"]
    printed |= dict(zip(python, outputs, strict=True))
    quotations = list(quoted_outputs(blocks))
    assert len(quotations) >= 4
    for block, quoted in quotations:
        assert same_words(printed[block], quoted.text), f"{quoted}: {printed[block]}"
