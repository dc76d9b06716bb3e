"""Rows do not depend on workers, engines, chunks or interruptions."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sessions import HANGS, processes_of, run_process, run_script
from studies import SMALL, rows_without_timings, small_study

from paretofoil.study import StudyProgress, case, cluster, read_rows, run_study, runner
from paretofoil.study.cluster import WorkersFailed
from paretofoil.study.runner import answer_chunk, run_all

TESTS = Path(__file__).parents[1]
STRESS = ("study", "run", "branch-path", "--search", "cf-zoo", "--out")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> list[tuple]:
    """The rows of a run with one worker, all at once."""
    folder = tmp_path_factory.mktemp("once")
    run_study(small_study(folder), folder / "study.sqlite", workers=1)
    return rows_without_timings(folder / "study.sqlite")


def test_a_study_asks_every_case_once_and_finds_some(once: list[tuple], tmp_path: Path) -> None:
    asked = [row[:5] for row in once]
    assert len(set(asked)) == len(asked)
    assert {row[1] for row in once} == set(SMALL)
    assert any(row[7] is not None for row in once)
    assert any(row[7] is None for row in once)


def test_two_workers_give_the_same_bytes(once: list[tuple], tmp_path: Path) -> None:
    run_study(small_study(tmp_path), tmp_path / "study.sqlite", workers=2, chunk=10)
    assert rows_without_timings(tmp_path / "study.sqlite") == once


def test_other_chunks_give_the_same_bytes(once: list[tuple], tmp_path: Path) -> None:
    run_study(small_study(tmp_path), tmp_path / "study.sqlite", workers=1, chunk=3)
    assert rows_without_timings(tmp_path / "study.sqlite") == once


def test_a_study_that_is_listed_in_parts_gives_the_same_bytes_also_after_a_stop(
    once: list[tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With parts of 7 cases, the questions of one front command lie in several parts, answered or not."""
    monkeypatch.setattr(runner, "CASES_AT_ONCE", 7)
    monkeypatch.setattr(case, "COMMANDS_AT_ONCE", 1)
    path, study, asked = tmp_path / "study.sqlite", small_study(tmp_path), []

    def stop(line: StudyProgress) -> None:
        if line.asked >= 20:
            raise _StopError

    with pytest.raises(_StopError):
        run_study(study, path, workers=1, chunk=4, show=stop)
    before = {(row.search, row.case) for row in read_rows(path)}
    monkeypatch.setattr(runner, "answer_chunk", lambda chunk: asked.append(chunk) or answer_chunk(chunk))
    run_study(study, path, workers=1, chunk=4)
    assert rows_without_timings(path) == once
    assert before.isdisjoint((chunk.label, case) for chunk in asked for case in chunk.cases)
    assert sum(map(len, asked)) == len(once) - len(before)


@pytest.mark.parametrize("workers", [1, 2])
def test_items_are_taken_when_a_worker_needs_them(workers: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(40):
            taken.append(number)
            yield number

    finished = 0
    for _ in run_all(abs, items(), workers=workers):
        finished += 1
        assert len(taken) <= finished + 2 * workers
    assert finished == 40


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # loky's thread, after its workers
@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_while_items_are_listed_ends_the_run(workers: int) -> None:
    def items() -> Iterator[int]:
        yield from range(6)
        raise _StopError

    with pytest.raises(_StopError):
        list(run_all(abs, items(), workers=workers))


@pytest.mark.long
@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_of_two_workers_gives_the_same_bytes(once: list[tuple], tmp_path: Path, engine: str) -> None:
    """In a process of its own, which the engines fill with threads and warnings of their own."""
    need(engine)
    script = (
        "from pathlib import Path; from studies import small_study; from paretofoil.study import run_study\n"
        f"if __name__ == '__main__': folder = Path({str(tmp_path)!r}); "
        f"run_study(small_study(folder), folder / 'study.sqlite', engine={engine!r}, workers=2, chunk=10)"
    )
    (tmp_path / "script.py").write_text(script)
    run_script([tmp_path / "script.py"])
    assert rows_without_timings(tmp_path / "study.sqlite") == once


@pytest.fixture(scope="module")
def stress(tmp_path_factory: pytest.TempPathFactory) -> list[tuple]:
    """The shipped Branch-Path agent's stress test at the paper's budget, by one worker."""
    folder = tmp_path_factory.mktemp("stress")
    run_script(["-m", "paretofoil", *STRESS, folder / "stress.sqlite", "--workers", 1, "--quiet"])
    return rows_without_timings(folder / "stress.sqlite")


@pytest.mark.long
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_branch_path_on_two_workers_and_on_running_clusters(stress: list[tuple], tmp_path: Path, engine: str) -> None:
    need(engine)
    path = tmp_path / "stress.sqlite"
    if engine == "local":
        run_script(["-m", "paretofoil", *STRESS, path, "--workers", 2, "--quiet"])
    else:
        run_script([TESTS / "study" / "on_a_cluster.py", engine, *STRESS, path])
    assert rows_without_timings(path) == stress
    assert len(stress) > 40


def need(engine: str) -> None:
    """Skip, visibly, where an extra is not installed."""
    if engine != "local" and importlib.util.find_spec({"dask": "distributed", "ray": "ray"}[engine]) is None:
        pytest.skip(f"needs the {engine} extra: pip install 'paretofoil[{engine}]'")


class _StopError(Exception):
    pass


def test_an_interrupted_study_is_continued(once: list[tuple], tmp_path: Path) -> None:
    def stop(line: StudyProgress) -> None:
        if line.asked >= 20:
            raise _StopError

    path, study = tmp_path / "study.sqlite", small_study(tmp_path)
    with pytest.raises(_StopError):
        run_study(study, path, workers=1, chunk=5, show=stop)
    before = len(read_rows(path))
    assert 0 < before < len(once)
    done = run_study(study, path, workers=1)
    assert done.asked == len(once) - before
    assert rows_without_timings(path) == once


@pytest.mark.parametrize(
    ("kills", "workers", "longest"),
    [
        (3, 1, 0.6),
        pytest.param(20, 1, 0.6, marks=pytest.mark.long),
        pytest.param(2, 2, 4.0, marks=pytest.mark.long),
    ],
)
def test_kill_9_at_random_times_loses_no_case_and_doubles_none(
    once: list[tuple], tmp_path: Path, kills: int, workers: int, longest: float
) -> None:
    assert int(run_script([TESTS / "study" / "kill_often.py", tmp_path, kills, workers, longest])) >= kills
    studies = sorted(tmp_path.glob("killed-*.sqlite"))
    assert studies
    for path in studies:
        assert rows_without_timings(path) == once


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot tell whether the parent of a process has ended")
def test_workers_end_with_a_study_that_is_killed_before_they_have_a_task() -> None:
    script = "import os; from paretofoil.study.runner import run_all\n"
    script += "list(run_all(lambda study: os.kill(study, 9), [os.getpid()], workers=3))"  # a second worker has no task
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as study:
        assert study.wait(HANGS) == -signal.SIGKILL
    until = time.monotonic() + 60
    while (left := processes_of(study.pid)) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == {}


@pytest.mark.long
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_a_chunk_that_kills_every_worker_ends_the_study_with_an_error(
    once: list[tuple], tmp_path: Path, engine: str
) -> None:
    assert lose_workers(tmp_path, engine, "always").startswith("workers failed 3 times in a row")
    kept = rows_without_timings(tmp_path / "study.sqlite")
    assert set() < set(kept) < set(once)


@pytest.mark.long
def test_workers_that_die_with_their_results_end_the_study_with_an_error(once: list[tuple], tmp_path: Path) -> None:
    """Dask fetches results when they are finished: these are then gone, and computed again until no worker is left."""
    assert lose_workers(tmp_path, "dask", "late").startswith("workers failed 3 times in a row")
    assert set(rows_without_timings(tmp_path / "study.sqlite")) < set(once)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_a_failed_worker_changes_no_row(once: list[tuple], tmp_path: Path, engine: str) -> None:
    """A worker that is killed in the middle of a chunk: the chunk is asked again."""
    assert lose_workers(tmp_path, engine, "once") == "finished"
    assert rows_without_timings(tmp_path / "study.sqlite") == once


def lose_workers(folder: Path, engine: str, often: str) -> str:
    """How the study ended."""
    need(engine)
    ended = run_and_lose([TESTS / "study" / "lose_workers.py", folder, engine, often])
    assert (folder / "died").exists()
    return ended


@pytest.mark.long
@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_that_goes_away_is_an_error(engine: str) -> None:
    need(engine)
    told = run_and_lose([TESTS / "study" / "lose_the_cluster.py", engine])
    assert told.startswith("expected a cluster that answers at ")
    assert told.endswith("Connection refused")


def run_and_lose(arguments: list[object]) -> str:
    """The last line that the script prints; losses are all that it complains about."""
    done = run_process(arguments)
    complaints = done.stderr.splitlines()
    assert complaints
    assert [line for line in complaints if not line.startswith("workers failed (")] == []
    return done.stdout.splitlines()[-1]  # Ray has printed its own words before


@pytest.mark.long
@pytest.mark.parametrize(("engine", "hangs"), [("dask", False), ("dask", True), ("ray", False)])
def test_an_address_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch, engine: str, hangs: bool) -> None:
    need(engine)
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if not hangs:
            server.close()
        with pytest.raises(WorkersFailed, match=f"expected a cluster that answers at {address} within 1 s"):
            list(run_all(abs, [1], engine=engine, address=address))
