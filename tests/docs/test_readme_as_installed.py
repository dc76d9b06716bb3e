"""The lines of the README about a torch module work as printed after `pip install .` in a new environment."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from pages import ROOT, blocks_of, quoted_outputs, same_words

pytest.importorskip("hatchling", reason="needs the dev extra: pip builds with it, without a network")
LINES = 5


def new_environment(folder: Path) -> Path:
    """A Python that finds this environment's other packages, but neither this package nor its scripts."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
    (Path(site) / "elsewhere.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


def test_a_torch_module_is_explained_with_a_proof_in_five_lines_after_pip_install(tmp_path: Path) -> None:
    python = str(new_environment(tmp_path / "environment"))
    options = [
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--ignore-installed",
    ]  # leave this one alone
    subprocess.run([python, "-m", "pip", "install", *options, str(ROOT)], cwd=tmp_path, env={"PATH": ""}, check=True)
    blocks = blocks_of(ROOT / "README.md")
    asked, quoted = next(pair for pair in quoted_outputs(blocks) if "pf.from_torch" in pair[0].text)
    given = blocks[blocks.index(asked) - 1]
    assert len([line for line in asked.text.splitlines() if line]) == LINES
    where = "import paretofoil; print(paretofoil.__file__)"
    ran = subprocess.run(
        [python, "-c", f"{given.text}\n{asked.text}\n{where}"],
        cwd=tmp_path,
        env={"PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    *printed, place = ran.stdout.splitlines()
    assert Path(place).is_relative_to(tmp_path), "the one that was installed, not this one"
    assert same_words("\n".join(printed), quoted.text)
    assert "this is proven" in ran.stdout
