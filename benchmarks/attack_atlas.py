"""Attack atlases: roll out commands inside proven cells, and see whether any episode ends otherwise.

    python benchmarks/attack_atlas.py --commands 300000

Prints a line per agent: the proven share, the CPU seconds of the proof, the commands that were rolled out, and how many
of them contradict the atlas. Half of the commands lie anywhere in the cells, half close to a corner of their cell. The
program fails if one contradicts it.
"""

import argparse
import sys
import time

import numpy as np

import paretofoil as pf
from paretofoil.envs.episode import EXACT, greedy, run_episodes
from paretofoil.explanation.atlas import Atlas


def commands_in(cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one command inside each polygon; every second one is close to a corner."""
    weights = rng.dirichlet(np.ones(cells.shape[1]), len(cells))
    weights[::2] = 1e-6 * weights[::2]
    weights[np.arange(0, len(cells), 2), rng.integers(cells.shape[1], size=(len(cells) + 1) // 2)] += 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("bv,bvd->bd", weights, cells)


def contradictions(agent: pf.Agent, atlas: Atlas, num_commands: int, seed: int) -> int:
    """Return how many of the rolled out commands end otherwise than their cell."""
    rng = np.random.default_rng(seed)
    proven = np.flatnonzero(atlas.outcome_of >= 0)
    achieved = np.array([outcome.achieved for outcome in atlas.outcomes])
    wrong = 0
    for start in range(0, num_commands, 20_000):
        some = rng.choice(proven, size=min(20_000, num_commands - start))
        commands = commands_in(atlas.cells[some], rng)
        seeds = np.zeros(len(commands), dtype=np.uint64)
        episodes = run_episodes(agent.batch_env(), greedy(agent.policy), commands, seeds)
        off = np.abs(episodes.returns - achieved[atlas.outcome_of[some]]).max(axis=1) > EXACT
        wrong += int(off.sum())
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    agents = ["reward-line", "branch-path", "deep-sea-treasure", "deep-sea-treasure-early"]
    parser.add_argument("--agents", nargs="+", default=agents)
    parser.add_argument("--commands", type=int, default=300_000, help="commands per agent")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each proof")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = 0
    print(
        f"{'agent':28} {'proven':>8} {'CPU s':>7} {'cells':>8} {'on front':>9} {'commands':>9} {'contradictions':>15}"
    )
    for name in options.agents:
        agent, start = pf.load_agent(name), time.process_time()
        result = pf.atlas(agent, seconds=options.seconds)
        cpu = time.process_time() - start
        wrong = contradictions(agent, result, options.commands, options.seed)
        total += wrong
        numbers = f"{1 - result.undecided:8.1%} {cpu:7.2f} {len(result.cells):8,} {result.on_front:9.1%}"
        print(f"{name:28} {numbers} {options.commands:9,} {wrong:15,}", flush=True)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
