"""Lines that studies stand on, each with a case that fails without it."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import small_study

from paretofoil.core.answer import Status
from paretofoil.core.atomic import write_whole
from paretofoil.search import NearestFront
from paretofoil.study import CaseRule, StudyProgress, read_rows, read_runs, run_study
from paretofoil.study.case import Case, evenly
from paretofoil.study.runner import _without_timings
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.store import Row
from paretofoil.study.table import text


def test_a_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Any] = []
    sync, move = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        events.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    def moved(source: Any, target: Any) -> None:
        events.append("moved")
        move(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    write_whole(tmp_path / "file", b"whole")
    assert events == [5, "moved"]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_progress_tells_what_was_found_and_what_is_left() -> None:
    progress = StudyProgress(done=30, total=40, found=5, asked=20, seconds=10.0)
    assert progress.rate == 2.0
    assert progress.left == 5.0
    assert str(progress) == "2.0/s, 25% found, 0:05 left"
    assert StudyProgress(30, 40, 0, 0, 10.0).left == np.inf


def test_progress_counts_what_is_found_and_only_that(tmp_path: Path) -> None:
    path, seen = tmp_path / "study.sqlite", []
    study = small_study(tmp_path, {"front": NearestFront()}, CaseRule(commands=2, steps=4))
    done = run_study(study, path, workers=1, chunk=4, show=seen.append)
    rows = read_rows(path)
    found = sum(row.found for row in rows)
    assert 0 < found < len(rows)
    assert (done.found, done.asked, done.done, done.total) == (found, len(rows), len(rows), len(rows))
    assert [line.done for line in seen] == [min(4 * i, len(rows)) for i in range(len(seen))]
    [run] = read_runs(path)
    assert (run.asked, run.total) == (len(rows), len(rows))


def row(seconds: float, distance: float | None, queries: int) -> Row:
    outcome = Status.NOT_FOUND if distance is None else Status.FOUND
    return Row(Case("a", 0, 0, 1), "s", "hash", outcome, distance, queries, "{}", seconds)


def test_a_summary_takes_distances_over_successes_and_the_rest_over_all() -> None:
    summary = summarise([row(1.0, 0.2, 10), row(2.0, 0.4, 20), row(6.0, None, 60)])
    assert summary.success == Proportion(2, 3)
    assert summary.closest_distance == pytest.approx(0.3)
    assert (summary.seconds, summary.median_seconds, summary.queries) == (3.0, 2.0, 30.0)
    assert summary.std_seconds == pytest.approx(np.sqrt(14 / 3))


def test_cases_are_spread_evenly_with_both_ends() -> None:
    assert evenly(10, 4) == [0, 3, 6, 9]
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(5, 1) == [0]
    assert evenly(0, 3) == []


def test_timings_are_taken_out_at_every_depth() -> None:
    timed = {"seconds": 3.0, "other": [{"seconds": 2.0, "n": 1}], "inside": {"seconds": 1.0}}
    assert _without_timings(timed) == {"seconds": 0.0, "other": [{"seconds": 0.0, "n": 1}], "inside": {"seconds": 0.0}}


@pytest.mark.parametrize(
    ("cell", "told"), [(9.9996, "10.000"), (10.0, "10.0"), (-12345.678, "-12,345.7"), (1234, "1,234"), (None, "–")]
)
def test_numbers_in_tables_have_three_decimals_below_ten(cell: Any, told: str) -> None:
    assert text(cell) == told
