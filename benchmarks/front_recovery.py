"""Do all seeds recover the whole front? Trains four seeds of each small environment.

Shipped is the first seed that does. Prints a Markdown table: front points found of those known, how many of them greedy
rollouts reach exactly, and the seconds of one core.
"""

import sys
import time
from dataclasses import replace

import numpy as np

from paretofoil import envs
from paretofoil.agents.training import make_trainer, preset
from paretofoil.envs.front import known_front

SMALL = ("branch-path", "collect-two", "reward-line", "deep-sea-treasure", "fruit-tree-6", "fruit-tree")
SEEDS = (0, 1, 2, 3)


def main(names: list[str]) -> None:
    print("| environment | seed | known | found | reached | steps | s |\n|---|---|---|---|---|---|---|")
    for name in names:
        entry = envs.entry(name)
        known = np.asarray(known_front(entry))
        for seed in SEEDS:
            started = time.process_time()
            result = make_trainer(entry, replace(preset(entry), seed=seed)).run()
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
    main(sys.argv[1:] or list(SMALL))
