"""Search the front of Minecart over action sequences, without training.

    python benchmarks/minecart_front.py [STEPS] [SEEDS]

Edits, joins and replays archived action sequences in the vectorised simulator, as the exploration of training does,
and joins the fronts of several seeds. Prints points and hypervolume per seed, the joint front, and the front of the
shipped agent. The result is a lower bound: the true front is not known.
"""

import sys
import time
from dataclasses import replace

import numpy as np

from paretofoil import envs
from paretofoil.agents import load_agent
from paretofoil.agents.training import make_trainer, preset
from paretofoil.core.pareto import hypervolume, nondominated

STEPS, SEEDS = 24_000_000, 4
"""Steps per seed, as in training, and number of seeds."""


def search(seed: int, steps: int) -> np.ndarray:
    """Return the front (F, 3) that edited action sequences find; the network is not updated."""
    entry = envs.entry("minecart")
    config = replace(preset(entry), seed=seed, steps=steps, updates=0, hidden=8, report_every=10**9)
    trainer = make_trainer(entry, config)
    while not trainer.explored:
        trainer.explore()
    return trainer.replay.front_commands


def volume(front: np.ndarray) -> float:
    return hypervolume(front, np.array(envs.entry("minecart").reference))


def main(steps: int, seeds: int) -> None:
    found = []
    print("| seed | points | hypervolume | CPU s |\n|---|---|---|---|")
    for seed in range(seeds):
        started = time.process_time()
        found.append(search(seed, steps))
        spent = time.process_time() - started
        print(f"| {seed} | {len(found[-1])} | {volume(found[-1]):.5f} | {spent:.0f} |", flush=True)
    everything = np.unique(np.concatenate(found).round(6), axis=0)
    joint = everything[nondominated(everything)]
    shipped = load_agent("minecart").front.round(6)
    both = np.unique(np.concatenate([joint, shipped]), axis=0)
    both = both[nondominated(both)]
    print(f"Joint front: {len(joint)} points, {volume(joint):.5f}.")
    print(f"Shipped agent: {len(shipped)} points, {volume(shipped):.5f}; with the joint front {volume(both):.5f}.")
    print("\n".join(str(point) for point in both.tolist()))


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [STEPS, SEEDS][len(given) :]))
