"""Would the tests notice? Breaks one line at a time, runs the tests that guard it, tells the score and the survivors.

python benchmarks/mutants.py [--only proof/bound.py] [--jobs 2] [--limit 300]

The mutations are our own (`mutations.py`). Each is applied to a temporary copy of the package and its tests, never to
the working tree. What survives is either a hole in the tests or, where the table says why, no mistake at all.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "pyproject.toml", "CONTRIBUTING.md")
LIMIT = 300
"""Seconds after which the tests of a mutation are stopped: an endless loop is noticed, too, but counted apart."""

KILLED, TIMEOUT, SURVIVED, HARMLESS = "killed", "killed by timeout", "survived", "harmless"
BROKEN = "does not apply"


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

    def passes(self, tests: Sequence[str], limit: float) -> bool | None:
        """Whether the tests pass; None if the time is over before they end."""
        places = os.pathsep.join([str(self.folder / "src"), str(self.folder / "tests")])
        environment = {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        options = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0")
        command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode not in (0, 1, 2):  # 2: a module that cannot even be imported
            raise RuntimeError(done.stdout.decode() + done.stderr.decode())
        return done.returncode == 0


def applies(mutation: Mutation) -> bool:
    """Whether its old text occurs exactly once, and the new one is still Python; if not, the table has a mistake."""
    source = (ROOT / "src" / "paretofoil" / mutation.file).read_text()
    try:
        compile(source.replace(mutation.old, mutation.new), mutation.file, "exec")
    except SyntaxError:
        return False
    return source.count(mutation.old) == 1


def judge(mutation: Mutation, copies: "SimpleQueue[Copy]", limit: float) -> str:
    if not applies(mutation):
        return BROKEN
    copy = copies.get()
    try:
        with copy.mutated(mutation):
            passed = copy.passes(mutation.tests, limit)
    finally:
        copies.put(copy)
    if passed is None:
        return TIMEOUT
    if not passed:
        return KILLED
    return HARMLESS if mutation.harmless else SURVIVED


def check_tests(mutations: Sequence[Mutation], copy: Copy, limit: float) -> None:
    """Tests that fail on the sound package would kill everything."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    print(f"the {len(tests)} test files on the sound package ...", flush=True)
    if not copy.passes(tests, limit * len(tests)):
        raise SystemExit(f"expected tests that pass, got a failure among {', '.join(tests)}")


def run(mutations: Sequence[Mutation], jobs: int, limit: float) -> dict[Mutation, str]:
    verdicts: dict[Mutation, str] = {}
    copies: SimpleQueue[Copy] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            (Path(folder) / str(job)).mkdir()
            copies.put(Copy(Path(folder) / str(job)))
        first = copies.get()
        check_tests(mutations, first, limit)
        copies.put(first)
        started = time.perf_counter()
        running = {pool.submit(judge, mutation, copies, limit): mutation for mutation in mutations}
        for done in as_completed(running):
            mutation, verdict = running[done], done.result()
            verdicts[mutation] = verdict
            seconds = time.perf_counter() - started
            print(f"{len(verdicts):>4} of {len(mutations)}  {seconds:>5.0f} s  {verdict:<17}  {mutation}", flush=True)
    return verdicts


def report(verdicts: dict[Mutation, str]) -> int:
    """The score and what survived; the number of mutations that are a reason to act."""
    counts = Counter(verdicts.values())
    noticed = counts[KILLED] + counts[TIMEOUT]
    print(f"\n{noticed} of {len(verdicts)} noticed ({counts[TIMEOUT]} of them by timeout), ", end="")
    print(f"{counts[HARMLESS]} harmless, {counts[SURVIVED]} survived, {counts[BROKEN]} do not apply")
    for mutation, verdict in verdicts.items():
        if verdict in (SURVIVED, BROKEN):
            print(f"\n{verdict}: {mutation.file}\n  - {mutation.old}\n  + {mutation.new}\n  ({mutation.reason})")
        elif mutation.harmless and verdict != HARMLESS:
            print(f"\nno longer harmless: {mutation}")
    return counts[SURVIVED] + counts[BROKEN]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", default=[], help="files or folders of the package: proof/bound.py, study")
    parser.add_argument("--jobs", type=int, default=1, help="mutations that are tried at once")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the tests of one mutation")
    wanted = parser.parse_args()
    chosen = [m for m in MUTATIONS if not wanted.only or any(m.file.startswith(part) for part in wanted.only)]
    if not chosen:
        raise SystemExit(f"expected mutations in {', '.join(wanted.only)}, got none")
    sys.exit(report(run(chosen, wanted.jobs, wanted.limit)) > 0)


if __name__ == "__main__":
    main()
