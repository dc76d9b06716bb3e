"""Compare the steps per second of the vectorised Minecart with MO-Gymnasium.

python benchmarks/minecart_steps.py
"""

import time

import numpy as np
from mo_gymnasium.utils import make

from paretofoil.envs.minecart import BatchMinecart

NONE = 5  # the action that is always valid


def original_steps_per_second(seconds: float) -> float:
    env = make("minecart-deterministic-v0")
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        _, _, terminated, truncated, _ = env.step(int(rng.integers(6)))
        if terminated or truncated:
            env.reset()
        steps += 1
    return steps / elapsed


def batched_steps_per_second(copies: int, seconds: float) -> float:
    env = BatchMinecart(stochastic=False)
    rng = np.random.default_rng(0)
    rows = np.arange(copies)
    env.reset(rows)
    steps, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        wished = rng.integers(0, 6, size=len(rows))
        stepped = env.step(rows, np.where(env.masks[rows, wished], wished, NONE))
        steps += len(rows)
        rows = rows[~(stepped.terminated | stepped.truncated)]
        if len(rows) < copies / 2:
            rows = np.arange(copies)
            env.reset(rows)
    return steps / elapsed


if __name__ == "__main__":
    base = original_steps_per_second(seconds=2.0)
    print(f"{'MO-Gymnasium':>14}  {base:>10,.0f} steps/s")
    for copies in (1, 256, 1024, 4096):
        rate = batched_steps_per_second(copies, seconds=2.0)
        print(f"{copies:>7} copies  {rate:>10,.0f} steps/s  {rate / base:>6.1f} times")
