"""Rows never depend on workers, engines, chunks, or on having been interrupted."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from studies import SMALL, rows_without_timings, small_study

from paretofoil.study import Progress, read_rows, run_study

SRC, TESTS = Path(__file__).parents[2] / "src", Path(__file__).parents[1]

STRESS = ("reproduce", "stress", "--only", "branch-path", "--out")


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


@pytest.mark.cluster
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
    run_script(["-m", "paretofoil", *STRESS, folder, "--workers", 1, "--quiet"])
    return rows_without_timings(folder / "rows" / "stress.sqlite")


@pytest.mark.cluster
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_branch_path_on_two_workers_and_on_clusters_that_were_there_before(
    stress: list[tuple], tmp_path: Path, engine: str
) -> None:
    need(engine)
    if engine == "local":
        run_script(["-m", "paretofoil", *STRESS, tmp_path, "--workers", 2, "--quiet"])
    else:
        run_script([TESTS / "study" / "on_a_cluster.py", engine, *STRESS, tmp_path])
    assert rows_without_timings(tmp_path / "rows" / "stress.sqlite") == stress
    assert len(stress) > 40
    assert "Made by `paretofoil reproduce stress --only branch-path`" in (tmp_path / "stress.md").read_text()


def need(engine: str) -> None:
    """Skip, visibly, where an extra is not installed."""
    if engine != "local" and importlib.util.find_spec({"dask": "distributed", "ray": "ray"}[engine]) is None:
        pytest.skip(f"needs the {engine} extra: pip install 'paretofoil[{engine}]'")


class _StopError(Exception):
    pass


def test_an_interrupted_study_goes_on_where_it_was(once: list[tuple], tmp_path: Path) -> None:
    def stop(line: Progress) -> None:
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


def test_kill_9_at_twenty_random_moments_loses_no_case_and_doubles_none(once: list[tuple], tmp_path: Path) -> None:
    killed = run_script([TESTS / "study" / "kill_often.py", tmp_path, 20, 1, 0.6])
    assert int(killed) >= 20
    studies = sorted(tmp_path.glob("killed-*.sqlite"))
    assert studies
    for path in studies:
        assert rows_without_timings(path) == once


def test_kill_9_of_a_study_with_two_workers(once: list[tuple], tmp_path: Path) -> None:
    assert int(run_script([TESTS / "study" / "kill_often.py", tmp_path, 2, 2, 4.0])) == 2
    for path in tmp_path.glob("killed-*.sqlite"):
        assert rows_without_timings(path) == once


@pytest.mark.cluster
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_chunk_that_kills_every_worker_ends_the_study_with_an_error(
    once: list[tuple], tmp_path: Path, engine: str
) -> None:
    need(engine)
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal; from pathlib import Path; from studies import small_study\n"
        "from paretofoil.study import runner\n"
        "real = runner.answer_chunk\n"
        "def dies(chunk):\n"
        "    if chunk.cases[0].time == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(chunk)\n"
        "if __name__ == '__main__':\n"
        "    runner.answer_chunk = dies\n"
        f"    folder = Path({str(tmp_path)!r})\n"
        f"    runner.run_study(small_study(folder), folder / 'study.sqlite', workers=2, chunk=4, engine={engine!r})\n"
    )
    with pytest.raises(AssertionError, match="WorkersLostError: workers were lost 3 times in a row"):
        run_script([script])
    kept = rows_without_timings(tmp_path / "study.sqlite")
    assert set(kept) < set(once)


def test_a_lost_worker_costs_nothing(once: list[tuple], tmp_path: Path) -> None:
    """A worker that is killed in the middle of a chunk: the chunk is asked again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal; from pathlib import Path; from studies import small_study\n"
        "from paretofoil.study import runner\n"
        "real = runner.answer_chunk\n"
        "def dies_once(chunk):\n"
        f"    flag = Path({str(tmp_path)!r}) / 'died'\n"
        "    if chunk.cases[0].time == 4 and not flag.exists():\n"
        "        flag.touch(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(chunk)\n"
        "if __name__ == '__main__':\n"
        "    runner.answer_chunk = dies_once\n"
        f"    folder = Path({str(tmp_path)!r})\n"
        "    runner.run_study(small_study(folder), folder / 'study.sqlite', workers=2, chunk=4)\n"
    )
    run_script([script])
    assert (tmp_path / "died").exists()
    assert rows_without_timings(tmp_path / "study.sqlite") == once


def run_script(arguments: list[object]) -> str:
    places = [str(SRC), str(TESTS), str(TESTS / "study"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
