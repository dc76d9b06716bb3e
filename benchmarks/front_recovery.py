"""Train four seeds in each small environment, and measure whether every seed recovers the whole front.

    python benchmarks/front_recovery.py [--explore plain] [--seeds 0 1] [ENVIRONMENT ...]

Prints a Markdown table: known points of the front, points found, points that greedy rollouts reach, steps and CPU
seconds.
"""

import argparse
import time
from dataclasses import replace
from typing import get_args

import numpy as np

from paretofoil import envs
from paretofoil.agents.training import make_trainer, preset
from paretofoil.envs.front import known_front
from paretofoil.pcn.config import Explore

SMALL = ("branch-path", "collect-two", "reward-line", "deep-sea-treasure", "fruit-tree-6", "fruit-tree")
SEEDS = (0, 1, 2, 3)


def main(names: list[str], seeds: list[int], explore: Explore) -> None:
    print("| environment | seed | known | found | reached | steps | s |\n|---|---|---|---|---|---|---|")
    for name in names:
        entry = envs.entry(name)
        known = np.asarray(known_front(entry))
        for seed in seeds:
            started = time.process_time()
            result = make_trainer(entry, replace(preset(entry, explore), seed=seed)).run()
            found = (np.abs(known[:, None] - result.front[None]) < 1e-6).all(axis=2).any(axis=1).sum()
            cells = (
                name,
                seed,
                len(known),
                found,
                int(result.reached.sum()),
                f"{result.steps:,}",
                f"{time.process_time() - started:.1f}",
            )
            print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ENVIRONMENT", help="environments; by default all small ones")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--explore", choices=get_args(Explore), default="plans", help="plain: the authors' exploration")
    given = parser.parse_args()
    main(given.names or list(SMALL), given.seeds, given.explore)
