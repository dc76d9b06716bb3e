"""Measure the steps and CPU seconds until the whole front of Deep Sea Treasure is learned.

    python benchmarks/time_to_front.py [SEED ...]

The archive has the front when it contains an episode for each point; the weights have the front when greedy rollouts
reach each point exactly. Compares our exploration (plans), the authors' exploration with our network (plain), and the
PCN of MORL-Baselines (extra [morl]). Prints a Markdown table.
"""

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

import numpy as np

from paretofoil import envs
from paretofoil.agents.training import make_trainer, preset
from paretofoil.core.pareto import nondominated
from paretofoil.core.threads import one_thread
from paretofoil.envs.front import known_front
from paretofoil.pcn.config import Explore

ENVIRONMENT, SEEDS = "deep-sea-treasure", (0, 1, 2)
CHECK = 10
"""Iterations between checks of the weights."""
LIMIT = 900.0
"""CPU seconds after which MORL-Baselines is stopped."""


@dataclass
class Watch:
    """Records when the front is known; the clock stops during checks."""

    known: np.ndarray
    reached: dict[str, tuple[int, float]] = field(default_factory=dict)
    spent: float = 0.0
    _started: float = 0.0

    def start(self) -> None:
        self._started = time.process_time()

    def look(self, steps: int, archive: Callable[[], np.ndarray], weights: Callable[[], np.ndarray] | None) -> None:
        """Record what is known; check the weights only with `weights`."""
        self.spent += time.process_time() - self._started
        for name, returns in (("archive", archive), ("weights", weights)):
            if returns is not None and name not in self.reached and self._covers(returns()):
                self.reached[name] = steps, self.spent
        self.start()

    @property
    def done(self) -> bool:
        return len(self.reached) == 2

    def _covers(self, returns: np.ndarray) -> bool:
        return bool((np.abs(self.known[:, None] - returns[None]) < 1e-6).all(axis=2).any(axis=1).all())


def ours(watch: Watch, explore: Explore, seed: int) -> None:
    entry = envs.entry(ENVIRONMENT)
    trainer = make_trainer(entry, replace(preset(entry, explore), seed=seed, report_every=10**9))
    archive, weights = (lambda: trainer.replay.front_commands), (lambda: trainer.result().achieved)
    watch.start()
    while not watch.done and not trainer.finished:
        (trainer.explore if not trainer.explored else trainer.polish)()
        look = trainer.iteration % CHECK == 0 or trainer.explored
        watch.look(trainer.steps, archive, weights if look else None)


class EnoughError(Exception):
    """Ends the training of MORL-Baselines."""


def theirs(watch: Watch, seed: int) -> None:
    import torch
    from mo_gymnasium.utils import make
    from morl_baselines.multi_policy.pcn.pcn import PCN

    torch.manual_seed(seed)
    env, highest = make("deep-sea-treasure-concave-v0"), np.array([124.0, -1.0], dtype=np.float32)
    env.action_space.seed(seed)
    scale = np.array([0.1, 0.1, 0.01])
    agent = PCN(env, scaling_factor=scale, learning_rate=1e-3, batch_size=256, log=False, seed=seed)
    choose, rounds = agent._choose_commands, iter(range(10**9))

    def watched(*arguments: object) -> object:
        """Check the front once per round, after the updates."""
        look = next(rounds) % CHECK == 0
        watch.look(agent.global_step, lambda: archived(agent)[0], (lambda: obeyed(agent, highest)) if look else None)
        if watch.done or watch.spent > LIMIT:
            raise EnoughError
        return choose(*arguments)

    agent._choose_commands = watched
    watch.start()
    with contextlib.suppress(EnoughError), in_a_quiet_folder():
        agent.train(10_000_000, env, np.array([0.0, -50.0]), max_return=highest, max_buffer_size=200)


def archived(agent: object) -> tuple[np.ndarray, np.ndarray]:
    """Return the return and the length of each episode in the replay of MORL-Baselines."""
    episodes = [(episode[2][0].reward, len(episode[2])) for episode in agent.experience_replay]  # type: ignore[attr-defined]
    returns, lengths = zip(*episodes, strict=True)
    return np.array(returns), np.array(lengths)


def obeyed(agent: object, highest: np.ndarray) -> np.ndarray:
    """Return the returns of greedy episodes under the non-dominated commands of the replay."""
    from mo_gymnasium.utils import make

    returns, lengths = archived(agent)
    kept = nondominated(returns)
    pairs = {(*wished, int(length)) for wished, length in zip(returns[kept].tolist(), lengths[kept], strict=True)}
    env, achieved = make("deep-sea-treasure-concave-v0"), []
    for *wished, length in pairs:
        command, horizon = np.array(wished, dtype=np.float32), np.float32(length)
        steps = agent._run_episode(env, command, horizon, highest, eval_mode=True)  # type: ignore[attr-defined]
        achieved.append(np.sum([step.reward for step in steps], axis=0))
    return np.array(achieved)


@contextlib.contextmanager
def in_a_quiet_folder() -> Iterator[None]:
    """Silence MORL-Baselines and run it in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        yield


def main(seeds: list[int]) -> None:
    os.environ.setdefault("WANDB_MODE", "disabled")
    known = np.asarray(known_front(ENVIRONMENT))  # computed before any clock runs
    runs: dict[str, Callable[[Watch, int], None]] = {
        "ours": lambda watch, seed: ours(watch, "plans", seed),
        "ours, plain": lambda watch, seed: ours(watch, "plain", seed),
    }
    if find_spec("morl_baselines"):
        runs["MORL-Baselines"] = theirs
    print("| training | seed | archive: steps | CPU s | weights: steps | CPU s | stopped at CPU s |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for (name, run), seed in ((pair, seed) for pair in runs.items() for seed in seeds):
        watch = Watch(known)
        with one_thread():
            run(watch, seed)
        cells = [
            f"{watch.reached[what][0]:,} | {watch.reached[what][1]:.1f}" if what in watch.reached else "not reached | –"
            for what in ("archive", "weights")
        ]
        print(f"| {name} | {seed} | {' | '.join(cells)} | {watch.spent:.1f} |", flush=True)


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or list(SEEDS))
