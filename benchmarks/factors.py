"""Train agents with one choice of the paper's authors at a time, and count their feasible cases.

    python benchmarks/factors.py [--out paper/results]

The rows of the page about agents are appended to OUT/rows/factors.csv; an interrupted run resumes.
"""

import argparse
from pathlib import Path

from paretofoil_paper.factors import FILE, measure_factors

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "paper" / "results")
    for row in measure_factors(parser.parse_args().out / "rows" / FILE):
        print(row, flush=True)
