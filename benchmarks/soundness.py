"""Is anything proven that is not true? Attacks proofs about generated networks, and prints a table by kind.

python benchmarks/soundness.py [--networks 100000] [--seconds S] [--jobs 1] [--seed 0] [--whole 8]

Network number n is the case of seed n (tests/folded.py; tests/attacks.py is the attack), so that a run that was
stopped goes on with --seed, and a violation is seen again with --seed n --networks 1 --whole 1. Every network has its
bounds and a proof attacked, every 8th Exact as a whole, proven ranges and second looks as well. Ends with 1 if there
was a violation.
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
"""Networks after which progress is told and the time is looked at."""
COLUMNS = (
    "boxes",
    "proofs",
    "proofs of impossibility",
    "certificates: optimal",
    "certificates: infeasible",
    "certificates: gap",
    "ranges",
    "second looks",
    "false certificates",
    "refused",
    "violations",
)

Counts = dict[str, Counter[str]]


def attack_chunk(first: int, last: int, whole: int) -> tuple[Counts, list[str]]:
    """What was compared, by kind, and the violations, for seeds from first to before last."""
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
    """The chunks in their order, as long as there is time."""
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
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no chunk of networks after this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="the first network")
    parser.add_argument("--whole", type=int, default=8, help="of so many networks one is attacked as a whole")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(read_arguments()))
