"""Steps and seconds until a whole front is known: to the archive, and to the weights.

The archive knows a front when it holds an episode of each point; the weights know it when greedy rollouts return
each point exactly. Ours (plans), and the paper's own exploration with the same network (plain). Seconds are those of
one core. Prints a Markdown table.

    python benchmarks/time_to_front.py [ENVIRONMENT] [SEED ...]
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from paretofoil import envs
from paretofoil.agents.training import make_trainer, preset
from paretofoil.core.threads import one_thread
from paretofoil.envs.front import known_front
from paretofoil.pcn.config import Explore
from paretofoil.pcn.train import Trainer

ENVIRONMENT, SEEDS = "deep-sea-treasure", (0, 1, 2)
CHECK = 10
"""Iterations of plain exploration between two looks at the weights; ours are looked at after every iteration."""


def covers(returns: np.ndarray, known: np.ndarray) -> bool:
    return bool((np.abs(known[:, None] - returns[None]) < 1e-6).all(axis=2).any(axis=1).all())


def milestones(trainer: Trainer, known: np.ndarray) -> Iterator[tuple[str, int, float]]:
    """When the archive and when the weights know the front, in steps and in CPU seconds; looking is not timed."""
    spent, missing = 0.0, ["archive", "weights"]
    while missing and not trainer.finished:
        started = time.process_time()
        (trainer.explore if not trainer.explored else trainer.polish)()
        spent += time.process_time() - started
        for name in list(missing):
            look = name == "archive" or trainer.iteration % CHECK == 0 or trainer.explored
            front = trainer.replay.front_commands if name == "archive" or not look else trainer.result().achieved
            if look and covers(front, known):
                missing.remove(name)
                yield name, trainer.steps, spent


def main(name: str, seeds: list[int]) -> None:
    entry, kinds = envs.entry(name), ("plans", "plain")
    known = np.asarray(known_front(entry))
    print("| exploration | seed | archive: steps | s | weights: steps | s |\n|---|---|---|---|---|---|")
    for kind, seed in ((kind, seed) for kind in kinds for seed in seeds):
        explore: Explore = kind  # type: ignore[assignment]
        config = replace(preset(entry, explore), seed=seed, report_every=10**9)
        with one_thread():
            reached = {what: (steps, spent) for what, steps, spent in milestones(make_trainer(entry, config), known)}
        cells = [
            f"{reached[w][0]:,} | {reached[w][1]:.1f}" if w in reached else "never |" for w in ("archive", "weights")
        ]
        print(f"| {kind} | {seed} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ENVIRONMENT, [int(seed) for seed in sys.argv[2:]] or list(SEEDS))
