"""The page on influence: its blocks run, one after the other, and its sentence is what the library says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "influence.md"


def test_every_block_runs_and_the_quoted_sentence_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page, names = PAGE.read_text(), {}
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
    quoted = " ".join(line.removeprefix("> ") for line in page.splitlines() if line.startswith("> "))
    assert quoted in capsys.readouterr().out.replace("\n", " ")
    assert (tmp_path / "influence.png").exists()
