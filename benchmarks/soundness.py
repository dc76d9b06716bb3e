"""Test the proofs on generated networks, and print a table by kind of network.

    python benchmarks/soundness.py [--networks 100000] [--seconds S] [--jobs 1] [--seed 0] [--whole 8]

`tests/folded.py` generates network n from the seed n, and `tests/attacks.py` has the tests. Continue a stopped run with
--seed. Repeat a violation with --seed n --networks 1 --whole 1. For every network, the bounds and a proof are tested;
for every 8th network, also the whole search, the proven range and the verification. The exit code is 1 if there is a
violation.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from attacks import attack
from folded import KINDS, generate

CONSOLE = Console(stderr=True)
CHUNK = 360
"""Networks per chunk; progress and time are checked between chunks."""
COLUMNS = (
    "boxes",
    "points of caps",
    "compiled",
    "proofs",
    "proofs of infeasibility",
    "certificates: optimal",
    "certificates: infeasible",
    "certificates: gap",
    "ranges",
    "certificates verified",
    "false certificates",
    "refused",
    "violations",
)

Counts = dict[str, Counter[str]]


def attack_chunk(first: int, last: int, whole: int) -> tuple[Counts, list[str]]:
    """Return the comparisons by kind and the violations, for the seeds from `first` to `last` - 1."""
    warnings.simplefilter("error")
    counts: Counts = {kind: Counter() for kind in KINDS}
    told: list[str] = []
    with threadpool_limits(1):
        for seed in range(first, last):
            case = generate(seed)
            violations, tally = attack(case, whole=seed // len(KINDS) % whole == 0)
            told += violations
            counts[case.kind].update(tally + Counter(networks=1, violations=len(violations)))
    return counts, told


def chunks(arguments: argparse.Namespace) -> Iterator[tuple[Counts, list[str]]]:
    """Yield the chunks in order until the time is over."""
    end, started = arguments.seed + arguments.networks, time.monotonic()
    firsts = list(range(arguments.seed, end, CHUNK))
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for at in range(0, len(firsts), arguments.jobs):
            if time.monotonic() - started >= arguments.seconds:
                return
            round_of = firsts[at : at + arguments.jobs]
            lasts = [min(first + CHUNK, end) for first in round_of]
            yield from pool.map(attack_chunk, round_of, lasts, [arguments.whole] * len(round_of))


def table(counts: Counts) -> str:
    rows = {**counts, "all": sum(counts.values(), Counter())}
    lines = [f"| kind | networks | {' | '.join(COLUMNS)} |", "|---" + "|---:" * (1 + len(COLUMNS)) + "|"]
    for name, row in rows.items():
        cells = [f"{row[column]:,}" for column in ("networks", *COLUMNS)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: argparse.Namespace) -> int:
    counts: Counts = {kind: Counter() for kind in KINDS}
    started = time.monotonic()
    for more, told in chunks(arguments):
        for kind, row in more.items():
            counts[kind].update(row)
        for violation in told:
            print(violation, flush=True)
        done = sum(row["networks"] for row in counts.values())
        rate = done / (time.monotonic() - started)
        CONSOLE.print(
            f"{done:,} networks, {rate:.0f} a second; next is --seed {arguments.seed + done}", highlight=False
        )
    print(table(counts))
    asked = sum(row["commands asked of deployed policies"] for row in counts.values())
    print(f"\n{asked:,} commands asked of deployed policies below their lower bounds.")
    return int(any(row["violations"] for row in counts.values()))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no chunk after this time")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first network")
    parser.add_argument("--whole", type=int, default=8, help="attack the whole search for every n-th network")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(read_arguments()))
