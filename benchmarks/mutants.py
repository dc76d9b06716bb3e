"""Would the tests notice? Breaks one line at a time, runs the tests that guard it, tells the score and the survivors.

python benchmarks/mutants.py [--only proof/bound.py "slack"] [--jobs 2] [--keep FILE] [--report PAGE]

The mutations are our own (`mutations.py`). Each is applied to a temporary copy of the package and its tests, never to
the working tree. What survives is either a hole in the tests or, where the table says why, no mistake at all.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from queue import SimpleQueue

import pytest
from mutants_page import BROKEN, HARMLESS, KILLED, SURVIVED, TIMEOUT, Score, page
from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "pyproject.toml", "CONTRIBUTING.md")
LIMIT = 300
"""Seconds after which the tests of a mutation are stopped: an endless loop is noticed, too, but counted apart."""


class Copy:
    """A copy of the package and its tests, in which one file at a time is broken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source, place = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, place, ignore=shutil.ignore_patterns(".hypothesis"))
            else:
                shutil.copy2(source, place)

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        original, path = (root / "src" / "paretofoil" / mutation.file for root in (ROOT, self.folder))
        path.write_text(original.read_text().replace(mutation.old, mutation.new))
        try:
            yield
        finally:
            shutil.copy2(original, path)  # with its old date, so that its compiled form is valid again

    def try_tests(self, tests: Sequence[str], limit: float) -> tuple[str, Sequence[str]]:
        """What the tests make of the copy, and which of their files say so: the first that fails, or all of them."""
        output = self.folder / "output"
        process = FORKS.Process(target=run_tests, args=(self.folder, tests, output))
        process.start()
        process.join(limit)
        if process.exitcode is None:
            process.kill()
            process.join()
            return TIMEOUT, tests
        if process.exitcode == 0:
            return SURVIVED, tests
        told = output.read_text()
        failed = re.findall(r"^(?:FAILED|ERROR) tests/(\S+?\.py)", told, re.MULTILINE)
        if not failed:
            raise RuntimeError(f"expected tests that pass or fail, got:\n{told}")
        return KILLED, failed[:1]


FORKS = multiprocessing.get_context("forkserver")
"""Where pytest and NumPy are loaded already, and the package is not: most of a short trial would be loading them."""


def run_tests(folder: Path, tests: Sequence[str], output: Path) -> None:
    """In a process of its own: run tests of a copy, and leave with pytest's exit code."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    places = [str(folder / "src"), str(folder / "tests")]
    sys.path[:0] = [*places, str(folder)]
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    loaded = "ignore::pytest.PytestAssertRewriteWarning"  # whose asserts are not ours
    options = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", loaded, "--hypothesis-seed=0")
    sys.exit(pytest.main([*options, *(f"tests/{test}" for test in tests)]))


def applies(mutation: Mutation) -> bool:
    """Whether its old text occurs exactly once, and the new one is still Python; if not, the table has a mistake."""
    source = (ROOT / "src" / "paretofoil" / mutation.file).read_text()
    try:
        compile(source.replace(mutation.old, mutation.new), mutation.file, "exec")
    except SyntaxError:
        return False
    return source.count(mutation.old) == 1


class Kept:
    """Verdicts of earlier runs, one JSON line each; they hold while the package and the tests that gave them do."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.verdicts: dict[str, str] = {entry["key"]: entry["verdict"] for entry in map(json.loads, lines)}

    def add(self, subject: object, tests: Iterable[str], verdict: str) -> None:
        self.verdicts[key(subject, tests)] = verdict
        if self.path:
            entry = {"key": key(subject, tests), "subject": str(subject), "tests": [*tests], "verdict": verdict}
            with self.path.open("a") as file:
                print(json.dumps(entry), file=file)

    def verdict(self, mutation: Mutation) -> str | None:
        """One file of tests is enough to kill it."""
        alone = (self.verdicts.get(key(mutation, [test])) for test in mutation.tests)
        return KILLED if KILLED in alone else self.verdicts.get(key(mutation, mutation.tests))

    def is_sound(self, test: str) -> bool:
        return self.verdicts.get(key("the package", [test])) == SURVIVED


def key(subject: object, tests: Iterable[str]) -> str:
    """Of a mutation (or of none), the whole package, what tests share, and some files of tests."""
    if isinstance(subject, Mutation):
        subject = (subject.file, subject.old, subject.new)
    return digest(repr(subject), shared(), *(content(ROOT / "tests" / test) for test in sorted(tests)))


@cache
def shared() -> str:
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    return digest(*map(content, sorted([*(ROOT / "src").rglob("*.py"), *helpers])))


@cache
def content(path: Path) -> str:
    return digest(path.name, path.read_text())


def digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def judge(mutation: Mutation, copies: "SimpleQueue[Copy]", limit: float, kept: Kept) -> str:
    if not applies(mutation):
        return BROKEN
    copy = copies.get()
    try:
        with copy.mutated(mutation):
            verdict, by = copy.try_tests(mutation.tests, limit)
        if verdict != SURVIVED:
            check_tests(by, copy, limit, kept)
    finally:
        copies.put(copy)
    kept.add(mutation, by, verdict)
    return verdict


def check_tests(tests: Sequence[str], copy: Copy, limit: float, kept: Kept) -> None:
    """Tests that fail on the sound package would kill everything: what kills is tried on that, too, once."""
    unknown = [test for test in tests if not kept.is_sound(test)]
    if not unknown:
        return
    verdict, by = copy.try_tests(unknown, limit)
    if verdict != SURVIVED:
        raise SystemExit(f"expected tests that pass on the sound package, got {verdict}: {', '.join(by)}")
    for test in unknown:
        kept.add("the package", [test], SURVIVED)


def run(mutations: Sequence[Mutation], jobs: int, limit: float, kept: Kept) -> None:
    """Try mutations; their verdicts are kept."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            (Path(folder) / str(job)).mkdir()
            copies.put(Copy(Path(folder) / str(job)))
        started = time.perf_counter()
        running = {pool.submit(judge, mutation, copies, limit, kept): mutation for mutation in mutations}
        try:
            for count, done in enumerate(as_completed(running), start=1):
                mutation, verdict = running[done], done.result()
                told = HARMLESS if verdict == SURVIVED and mutation.harmless else verdict
                seconds = time.perf_counter() - started
                print(f"{count:>4} of {len(mutations)}  {seconds:>5.0f} s  {told:<17}  {mutation}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--only", nargs="+", default=[], help='parts of "file: what goes wrong": proof/bound.py, study/, slack'
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutations that are tried at once")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the tests of one mutation")
    parser.add_argument("--keep", type=Path, help="a file of verdicts: what it knows, and is unchanged, is not tried")
    parser.add_argument("--report", type=Path, help="the page to write (docs/results/mutants.md)")
    wanted = parser.parse_args()
    if wanted.report and wanted.only:
        parser.error("expected a report of all mutations, got --only")
    chosen = [m for m in MUTATIONS if not wanted.only or any(part in str(m) for part in wanted.only)]
    if not chosen:
        raise SystemExit(f"expected mutations in {', '.join(wanted.only)}, got none")
    os.environ["OMP_NUM_THREADS"] = "1"
    FORKS.set_forkserver_preload(["pytest", "hypothesis", "numpy", "scipy.stats"])
    kept = Kept(wanted.keep)
    left = [mutation for mutation in chosen if kept.verdict(mutation) is None]
    if left:
        run(left, wanted.jobs, wanted.limit, kept)
    score = Score({mutation: kept.verdict(mutation) or BROKEN for mutation in chosen})
    print(f"\n{score}")
    if wanted.report:
        wanted.report.write_text(page(score))
    sys.exit(len(score.survivors) > 0)


if __name__ == "__main__":
    main()
