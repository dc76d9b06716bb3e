"""Studies from the command line."""

import csv
import io
import json

import pytest

from paretofoil.study import read_rows


@pytest.fixture
def study(run, tmp_path):
    """The file of a small study that the command line ran."""
    path = tmp_path / "mine.sqlite"
    options = ("--search", "nearest-front", "--commands", "3", "--workers", "1", "--quiet", "--log", "mine.log")
    assert "nearest-front" in run("study", "run", "branch-path", "--out", str(path), *options).out
    return str(path)


def test_status_shows_progress_and_configuration(run, study):
    out = run("study", "status", study).out
    count = len(read_rows(study))
    assert f"{count} of {count} questions answered (100%); 1 run" in out
    assert "agents branch-path; cases: at most 3 commands; search region reachable; seed 0." in out


def test_the_log_has_a_line_per_chunk(study, tmp_path):
    count = len(read_rows(study))
    lines = (tmp_path / "mine.log").read_text().splitlines()
    assert f"0 of {count} questions" in lines[0]
    assert f"nearest-front on branch-path, {count} of {count}" in lines[-1]


def test_resuming_a_finished_study_asks_nothing(run, study):
    assert "0 questions" in run("study", "resume", study, "--quiet").out


def test_rows_and_summaries_are_exported(run, study, tmp_path):
    rows = read_rows(study)
    lines = list(csv.DictReader(io.StringIO(run("study", "export", study).out)))
    assert [line["status"] for line in lines] == [row.status.value for row in rows]
    assert r"\toprule" in run("study", "export", study, "--format", "latex").out
    to_json = run("study", "export", study, "--format", "json", "--out", "rows.json").out
    assert to_json == f"Wrote {len(rows)} rows to rows.json.\n"
    assert len(json.loads((tmp_path / "rows.json").read_text())["rows"]) == len(rows)
    to_markdown = run("study", "export", study, "--format", "markdown", "--out", "summary.md").out
    assert to_markdown == f"Wrote a summary of {len(rows)} rows to summary.md.\n"


def test_rows_are_exported_as_parquet(run, study, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
    run("study", "export", study, "--format", "parquet", "--out", "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert "answer" in table.column_names
    about = json.loads(table.schema.metadata[b"paretofoil"])
    assert about["configuration"]["searches"]["nearest-front"]["class"] == "NearestFront"
    assert about["runs"][0]["asked"] == table.num_rows > 0


def test_ctrl_c_says_how_to_continue(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("paretofoil.study.run_study", interrupt)
    stopped = run("study", "run", "branch-path", "--quiet", code=130)
    assert stopped.out == "Stopped. Continue with `paretofoil study resume study.sqlite`.\n"


def test_a_missing_file_and_an_unknown_agent_are_errors(run):
    assert (
        "expected a study's file at nowhere.sqlite, got no such file"
        in run("study", "status", "nowhere.sqlite", code=2).err
    )
    assert "an agent among" in run("study", "run", "nobody", code=2).err
