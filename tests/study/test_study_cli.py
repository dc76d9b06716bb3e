"""The verbs, as a user calls them."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from studies import saved_agent

from paretofoil.study import read_rows

SRC = Path(__file__).parents[2] / "src"


def paretofoil(*arguments: object, ok: bool = True) -> str:
    command = [sys.executable, "-m", "paretofoil", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(SRC), "COLUMNS": "200"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode == 0) == ok, done.stderr[-3000:]
    return done.stdout if ok else done.stderr


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    path = folder / "mine.sqlite"
    agent = saved_agent(folder)
    options = ("--search", "nearest-front", "--workers", 1, "--quiet", "--log", folder / "mine.log")
    assert "nearest-front" in paretofoil("study", "run", agent, "--out", path, *options)
    return path


def test_status_tells_what_was_found(study: Path) -> None:
    told = paretofoil("study", "status", study)
    assert "small" in told
    count = len(read_rows(study))
    assert f"{count} of {count} questions answered (100%); 1 run" in told
    assert "cases: all; reachable box; seed 0." in told


def test_a_log_has_a_line_for_each_chunk(study: Path) -> None:
    count = len(read_rows(study))
    lines = study.with_suffix(".log").read_text().splitlines()
    assert f"0 of {count} questions" in lines[0]
    assert f"nearest-front on small, {count} of {count}" in lines[-1]


def test_resume_of_a_finished_study_asks_nothing(study: Path) -> None:
    assert "0 questions" in paretofoil("study", "resume", study, "--quiet")


def test_export_as_csv_and_latex(study: Path, tmp_path: Path) -> None:
    lines = list(csv.DictReader(io.StringIO(paretofoil("study", "export", study))))
    assert lines[0]["agent"] == "small"
    assert r"\toprule" in paretofoil("study", "export", study, "--format", "latex")
    count = len(read_rows(study))
    told = paretofoil("study", "export", study, "--format", "json", "--out", tmp_path / "rows.json")
    assert told.startswith(f"Wrote {count} rows into ")
    told = paretofoil("study", "export", study, "--format", "markdown", "--out", tmp_path / "summary.md")
    assert told.startswith(f"Wrote the summary of {count} rows into ")
    assert (tmp_path / "rows.json").stat().st_size > 100


def test_export_as_parquet(study: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
    paretofoil("study", "export", study, "--format", "parquet", "--out", tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert "answer" in table.column_names
    about = json.loads(table.schema.metadata[b"paretofoil"])
    assert about["configuration"]["searches"]["nearest-front"]["class"] == "NearestFront"
    assert about["runs"][0]["asked"] == table.num_rows
    assert table.num_rows > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("study", "status", "nowhere.sqlite"), "no such file"),
        (("study", "run", "nobody"), "an agent"),
        (("reproduce", "everything"), "an experiment among"),
        (("reproduce", "stress", "--only", "mars"), "--only with environments"),
        (("reproduce", "stress", "--agent", "branch-path"), "ENVIRONMENT=AGENT"),
    ],
)
def test_a_mistake_is_one_clear_line(arguments: tuple[str, ...], told: str) -> None:
    error = paretofoil(*arguments, ok=False)
    assert told in error
    assert "Traceback" not in error
