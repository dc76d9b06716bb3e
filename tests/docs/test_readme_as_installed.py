"""The torch example of the README works as printed after `pip install .` in a new environment."""

from pathlib import Path

import pytest
from new_environment import NewEnvironment
from pages import ROOT, blocks_of, quoted_outputs, same_words

pytest.importorskip("hatchling", reason="needs the dev extra: pip builds with it, without a network")

pytestmark = pytest.mark.long
LINES = 5


def test_a_torch_module_is_explained_with_a_proof_in_five_lines_after_pip_install(tmp_path: Path) -> None:
    new = NewEnvironment(tmp_path / "environment")
    new.run(["pip", "install", str(ROOT)], tmp_path)
    blocks = blocks_of(ROOT / "README.md")
    code, quoted = next(pair for pair in quoted_outputs(blocks) if "pf.from_torch" in pair[0].text)
    setup = blocks[blocks.index(code) - 1]
    assert len([line for line in code.text.splitlines() if line]) == LINES
    location = "import paretofoil; print(paretofoil.__file__)"
    ran = new.run([new.python, "-c", f"{setup.text}\n{code.text}\n{location}"], tmp_path)
    *printed, file = ran.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path), "the installed package, not this one"
    assert same_words("\n".join(printed), quoted.text)
    assert "proven" in ran.stdout
