"""Fuzz the file readers: edit valid files of every kind, read them, and use the result.

    python benchmarks/fuzz_files.py [COUNT] [SEED]

Prints how many files of each kind were rejected and read, the slowest file and the peak memory. The exit code is 1 if
a file raised an error other than InvalidInput or StoreError, if a file took over 2 s, or if the memory exceeded 500 MB.
`tests/crafted.py` has the edits.
"""

import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from crafted import Kind, kinds

SLOW, LARGE = 2.0, 500
"""Limits: seconds per file, and MB in all."""


def main(count: int, seed: int) -> int:
    warnings.simplefilter("error")
    source, told, bad, slowest = random.Random(seed), Counter[tuple[str, str]](), 0, (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        known, place = kinds(Path(folder)), Path(folder) / "crafted"
        place.mkdir()
        for kind in known:  # what is imported on first use belongs to no file
            assert kind.refuses(kind.valid, place) is None
        for number in range(count):
            kind = known[number % len(known)]
            edits = [(source.randrange(1 << 32), source.randrange(1 << 16)) for _ in range(source.choice((1, 1, 2, 3)))]
            outcome, seconds = _try(kind, edits, place)
            told[kind.name, outcome] += 1
            bad += outcome == "traceback"
            slowest = max(slowest, (seconds, f"{kind.name} {edits}"))
    for kind in known:
        print(f"{kind.name}: {told[kind.name, 'refused']} refused, {told[kind.name, 'read']} read")
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count} files, {bad} tracebacks; slowest {slowest[0]:.2f} s ({slowest[1]}); peak memory {megabytes:.0f} MB")
    return int(bad > 0 or slowest[0] > SLOW or megabytes > LARGE)


def _try(kind: Kind, edits: list[tuple[int, int]], place: Path) -> tuple[str, float]:
    data = kind.craft(edits)
    started = time.perf_counter()
    try:
        outcome = "read" if kind.refuses(data, place) is None else "refused"
    except Exception:
        outcome = "traceback"
        print(f"{kind.name} {edits}:\n{traceback.format_exc()}")
    return outcome, time.perf_counter() - started


if __name__ == "__main__":
    arguments = [int(text) for text in sys.argv[1:]]
    sys.exit(main(*arguments, *(10_000, 0)[len(arguments) :]))
