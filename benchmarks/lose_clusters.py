"""Repeat the tests of worker and cluster failures while other processes keep the cores busy.

    python benchmarks/lose_clusters.py --runs 30 --only dask --logs LOGS

Stores the output of every run in a folder, and prints a Markdown table with the seconds of the whole test process.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROWS = Path(__file__).parents[1] / "tests" / "study" / "test_rows.py"
ENGINES = ("local", "dask", "ray")
TESTS = (
    *(f"test_a_chunk_that_kills_every_worker_ends_the_study_with_an_error[{engine}]" for engine in ENGINES),
    "test_workers_that_die_with_their_results_end_the_study_with_an_error",
    *(f"test_a_failed_worker_changes_no_row[{engine}]" for engine in ENGINES),
    *(f"test_a_cluster_that_goes_away_is_an_error[{engine}]" for engine in ("dask", "ray")),
)


BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # ends with a benchmark that is killed


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run this many processes that keep a core busy."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def passes(test: str, log: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-rpP", "-p", "no:cacheprovider", f"{ROWS}::{test}"]
    with log.open("w") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0 and "PASSED" in log.read_text()  # a test that is skipped ends well, too


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--only", default="", help="only tests whose name contains this")
    parser.add_argument("--load", type=int, default=2, help="number of other busy processes")
    parser.add_argument("--logs", type=Path, default=Path("lost-clusters"))
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    print("| test | passed | median (s) | longest (s) |\n|---|---:|---:|---:|", flush=True)
    with busy(options.load):
        for test in (test for test in TESTS if options.only in test):
            passed, seconds = 0, []
            for run in range(options.runs):
                started = time.perf_counter()
                passed += passes(test, options.logs / f"{test}-{run}.log")
                seconds.append(time.perf_counter() - started)
            middle, longest = statistics.median(seconds), max(seconds)
            print(f"| `{test}` | {passed} of {options.runs} | {middle:.1f} | {longest:.1f} |", flush=True)


if __name__ == "__main__":
    main()
