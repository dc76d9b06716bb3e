"""Time to the full Deep Sea Treasure front: our PCN and that of MORL-Baselines, in one run on one machine.

Both are timed until their replay holds episodes of all ten front points, each with one thread. Needs the [morl] extra.
"""

import contextlib
import io
import os
import sys
import tempfile
import time
from dataclasses import replace

import numpy as np

os.environ.setdefault("WANDB_MODE", "disabled")

ENVIRONMENT, LIMIT = "deep-sea-treasure", 900.0
"""MORL-Baselines is stopped after so many seconds; its time is then a lower bound."""


class FoundAllError(Exception):
    """Raised to leave MORL-Baselines' training when its front is complete, or its time is up."""


def ours(seed: int) -> tuple[float, int, int]:
    """Seconds, steps and front points when the replay holds the whole front."""
    from paretofoil import envs
    from paretofoil.agents.training import make_trainer, preset

    entry = envs.entry(ENVIRONMENT)
    trainer = make_trainer(entry, replace(preset(entry), seed=seed, report_every=1))
    started = time.perf_counter()
    while True:
        line = trainer.explore()
        if line is not None and line.front_size == len(known()) and contains(trainer.replay.front_commands):
            return time.perf_counter() - started, trainer.steps, line.front_size


def theirs(seed: int) -> tuple[float, int, int]:
    import torch
    from mo_gymnasium.utils import make
    from morl_baselines.multi_policy.pcn.pcn import PCN

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    env = make("deep-sea-treasure-concave-v0")
    env.action_space.seed(seed)
    agent = PCN(
        env, scaling_factor=np.array([0.1, 0.1, 0.01]), learning_rate=1e-3, batch_size=256, log=False, seed=seed
    )
    started, add_episode = time.perf_counter(), agent._add_episode

    def watched(*arguments: object, **options: object) -> None:
        add_episode(*arguments, **options)
        returns = np.array([episode[2][0].reward for episode in agent.experience_replay])
        if contains(returns) or time.perf_counter() - started > LIMIT:
            raise FoundAllError

    agent._add_episode = watched
    quietly = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.suppress(FoundAllError), quietly:
        agent.train(10_000_000, env, np.array([0.0, -50.0]), max_return=np.array([124.0, -1.0]), max_buffer_size=200)
    seconds = time.perf_counter() - started
    returns = np.array([episode[2][0].reward for episode in agent.experience_replay])
    return seconds, agent.global_step, sum(is_in(point, returns) for point in known())


def known() -> np.ndarray:
    from paretofoil.envs.front import known_front

    return np.asarray(known_front(ENVIRONMENT))


def is_in(point: np.ndarray, returns: np.ndarray) -> bool:
    return bool((np.abs(returns - point) < 1e-6).all(axis=1).any())


def contains(returns: np.ndarray) -> bool:
    return all(is_in(point, returns) for point in known())


def main(seeds: list[int]) -> None:
    known()  # the exhaustive front is computed before any clock runs
    print("| seed | ours (s) | steps | MORL-Baselines (s) | steps | points | faster |\n|---|---|---|---|---|---|---|")
    for seed in seeds:
        (fast, few, _), (slow, many, points) = ours(seed), theirs(seed)
        more = "" if points == len(known()) else "> "
        print(
            f"| {seed} | {fast:.2f} | {few:,} | {more}{slow:.1f} | {many:,} | {points} | {more}{slow / fast:.0f}x |",
            flush=True,
        )


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or [0, 1])
