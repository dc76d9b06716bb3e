"""Parse texts of every kind, compare each number and claim with the policy and the environment, and print a table.

python benchmarks/read_paragraphs.py [--texts 80] [--kinds influence never ...] [--untrue]

`tests/witness.py` has the parsers, and `tests/paragraphs.py` makes the texts. Each number of each text is then altered,
one at a time (its first and its last digit, its sign, 10 % more and 10 % less), to count how many alterations a parser
detects. The exit code is 1 if a text is untrue, or if fewer than 95 % of the alterations of a kind are detected.
"""

import argparse
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from paragraphs import KINDS, NOTICED, paragraphs
from rich.progress import track
from witness import NUMBER

LEAST = 0.95
"""The share of alterations that a reader must notice."""


def read(kind: str, count: int, show_untrue: bool) -> tuple[int, int, int, int, int]:
    """Return the number of texts, of numbers, of untrue texts, of alterations that were noticed, and of alterations."""
    texts = numbers = untrue = noticed = altered = 0
    for paragraph in track(paragraphs(kind, count), kind, total=count, disable=not sys.stderr.isatty()):
        texts, numbers = texts + 1, numbers + len(NUMBER.findall(paragraph.text))
        try:
            paragraph.examine()
        except NOTICED:
            untrue += 1
            if show_untrue:
                print(paragraph.text)
                traceback.print_exc(limit=-2, file=sys.stdout)
            continue
        counts = paragraph.count_noticed()
        noticed, altered = noticed + counts[0], altered + counts[1]
    return texts, numbers, untrue, noticed, altered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=80, help="texts of each kind (default: 80)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="kinds of texts (default: all)")
    parser.add_argument("--untrue", action="store_true", help="print the texts that are untrue")
    options = parser.parse_args()
    print("| kind | texts | numbers | untrue texts | alterations | noticed |\n|---|---|---|---|---|---|", flush=True)
    totals, fails = [0] * 5, False
    for kind in options.kinds:
        counts = read(kind, options.texts, options.untrue)
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        fails = fails or counts[2] > 0 or counts[3] < LEAST * counts[4]
        print(row(kind, *counts), flush=True)
    print(row("all", *totals))
    return int(fails)


def row(kind: str, texts: int, numbers: int, untrue: int, noticed: int, altered: int) -> str:
    share = f"{100 * noticed / altered:.1f} %" if altered else "-"
    return f"| {kind} | {texts:,} | {numbers:,} | {untrue} | {altered:,} | {share} |"


if __name__ == "__main__":
    sys.exit(main())
