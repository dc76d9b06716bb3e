"""Training of a Pareto Conditioned Network: explore, then polish.

Exploration runs episodes under commands, relabels them with the returns that they achieved, and learns their actions.
The polish learns from the final replay until greedy rollouts reach every point of the front. The paper has another
exploration and no polish.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.pareto import hypervolume
from paretofoil.core.threads import one_thread
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import Evaluation, evaluate, run_episodes, tolerance_of
from paretofoil.pcn.archive import Estimator, keep_realised
from paretofoil.pcn.checkpoint import (
    Counters,
    Header,
    TrainProgress,
    check_learner,
    pack,
    read_checkpoint,
    under,
    unpack,
    write_checkpoint,
)
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import Plans, explore_plans, follow, plain_plans, random_plans
from paretofoil.pcn.network import Learner, PCNNetwork
from paretofoil.pcn.policy import PCN, PCNPolicy, pcn_of
from paretofoil.pcn.replay import Replay

EXPLORATION_SHARE = 0.8
"""The exploration takes at most this share of the time limit; the rest is for the polish."""
COOLING_SHARE = 0.8
"""The learning rate decreases over this share of the exploration."""
FINAL_ROLLOUTS = 10
"""At the end of exploration, mean returns of the front are estimated with this many times as many rollouts, but in at
most as many steps as the exploration."""
MakeEnv = Callable[[int | None], BatchEnv]
"""Step limit (None for the environment's own) -> batch, such as `partial(make_batch, "minecart")`."""


@dataclass(frozen=True, eq=False)
class TrainResult:
    """A trained policy and its measured front."""

    policy: PCN
    front: np.ndarray  # (F, c) the commands of the front; the last column is the horizon, if there is one
    achieved: np.ndarray  # (F, d) the mean returns of greedy rollouts
    achieved_error: np.ndarray  # (F, d) standard errors
    truncated: np.ndarray  # (F,) the share of rollouts that the step limit ended
    reached: np.ndarray  # (F,) bool
    low: np.ndarray  # (c,) the lowest relabelled command, per component
    high: np.ndarray  # (c,) the highest
    hypervolume: float
    steps: int
    seconds: float
    finished: bool  # False if the training was interrupted
    config: TrainConfig
    log: tuple[TrainProgress, ...]


class Trainer:
    """One training. It can be stopped after any iteration, and gives the same result when resumed."""

    def __init__(
        self, make_env: MakeEnv, config: TrainConfig, reference: np.ndarray | None = None, environment: str = ""
    ) -> None:
        self.config, self.environment = config, environment  # the name is stored in checkpoints
        self.env = make_env(config.episode_steps)
        self.deployment = self.env if config.episode_steps is None else make_env(None)
        self.reference = reference
        self.command_size = self.env.num_objectives + config.horizon
        network = PCNNetwork(
            self.env.observation_size,
            self.command_size,
            self.env.num_actions,
            config.hidden,
            config.seed,
            self.env.action_space,
        )
        if self.env.action_space is not None and self.expected:
            expected = "returns='realised' for continuous actions in a stochastic environment"
            raise InvalidInput.expected(expected, repr(config.returns))
        self.learner = Learner(network)
        self.replay = Replay(config.capacity, shorter_first=config.shorter_first)
        self.rng = np.random.default_rng(config.seed)
        self.steps, self.measured, self.iteration, self.round = 0, 0, 0, 0
        self.explored, self.seconds = False, 0.0
        self.boosts: dict[tuple[float, ...], float] = {}  # by label: larger for front points that are not reached
        self.best: tuple[float, PCN] | None = None
        self.log: list[TrainProgress] = []
        self.stopped_by: int | None = None  # the signal that ended `run`
        # the last front and its hypervolume, which is slow to compute
        self._measured: tuple[np.ndarray, float] | None = None

    def run(
        self,
        progress: Callable[[TrainProgress], None] | None = None,
        checkpoint: Path | None = None,
        checkpoint_every: float = 60.0,
    ) -> TrainResult:
        """Train to the end, or until a signal; the checkpoint is then saved.

        Ctrl-C completes the iteration and measures the policy. SIGTERM discards the iteration and raises `Terminated`.
        """
        with _interruptible() as received, one_thread():
            last_save = time.monotonic()
            while not (self.finished or received):
                before = self._remember()
                try:
                    self._iterate(progress)
                    if checkpoint is not None and time.monotonic() - last_save > checkpoint_every:
                        self.save(checkpoint)
                        last_save = time.monotonic()
                except Terminated:
                    self._return_to(before)
                    if checkpoint is not None:
                        self.save(checkpoint)
                    raise
            if checkpoint is not None:
                self.save(checkpoint)
            self.stopped_by = received[0] if received else None
            return self.result()

    def _iterate(self, progress: Callable[[TrainProgress], None] | None) -> None:
        """Run one iteration of the exploration, or one round of the polish."""
        start = time.monotonic()
        line = self.explore() if not self.explored else self.polish()
        self.seconds += time.monotonic() - start
        if line is not None:
            self.log.append(line)
            if progress is not None:
                progress(line)

    def _remember(self) -> dict[str, Any]:
        """Return a copy of everything that an iteration changes, for `_return_to`."""
        names = ("steps", "measured", "iteration", "round", "explored", "seconds", "best")
        return {name: getattr(self, name) for name in names} | {
            "learner": self.learner.arrays(),
            "replay": (list(self.replay.demonstrations), set(self.replay.tried)),
            "rng": self.rng.bit_generator.state,
            "boosts": dict(self.boosts),
            "log": list(self.log),
        }

    def _return_to(self, before: dict[str, Any]) -> None:
        self.learner.restore(before.pop("learner"))
        self.replay.demonstrations, self.replay.tried = before.pop("replay")
        self.rng.bit_generator.state = before.pop("rng")
        for name, value in before.items():
            setattr(self, name, value)

    @property
    def expected(self) -> bool:
        """Whether the labels are means over repeated rollouts."""
        return self.env.stochastic and self.config.returns == "expected"

    @property
    def finished(self) -> bool:
        """Whether exploration is over, and either the whole front or a limit of the polish is reached."""
        all_reached = self.best is not None and self.best[0] == 1.0
        used_up = self.round > 0 and (self._out_of_time(1.0) or self.measured >= self.config.steps)
        return self.explored and (all_reached or used_up or self.round >= self.config.polish_rounds)

    def _out_of_time(self, share: float) -> bool:
        return self.config.minutes is not None and self.seconds >= 60 * self.config.minutes * share

    def explore(self) -> TrainProgress | None:
        """Run one iteration: run episodes, keep the best, learn from the replay."""
        config = self.config
        self._keep(self._plans())
        loss = self._learn(np.full(config.updates, self._rate()), config.front_share)
        self.iteration += 1
        self.explored = self.steps >= config.steps or self._out_of_time(EXPLORATION_SHARE)
        if self.explored and self.expected:
            once = config.rollouts * sum(len(self.replay.demonstrations[i].plan) for i in self.replay.front)
            times = min(FINAL_ROLLOUTS, max(1, config.steps // max(once, 1)))
            self.steps += self._estimator(self.learner.network.export()).refresh(self.replay, self.replay.front, times)
        if self.explored or self.iteration % config.report_every == 0:
            return self._report("explore", self.iteration, loss)
        return None

    def _estimator(self, policy: PCN) -> Estimator:
        assert isinstance(policy, PCNPolicy)
        return Estimator(self.config, self.env, policy, self.rng)

    def _plans(self) -> Plans:
        """Return the plans of the next iteration; the first is the warm-up."""
        if not self.iteration or not len(self.replay):
            return random_plans(self.config, self.config.warmup, self.env, self.rng)
        plain = self.config.explore == "plain" and self.env.action_space is None
        return (plain_plans if plain else explore_plans)(self.config, self.replay, self.env, self.rng)

    def _rate(self) -> float:
        """Return the learning rate at this point of the exploration."""
        progress = min(self.steps / (COOLING_SHARE * self.config.steps), 1.0)
        factor = self.config.cooling + (1.0 - self.config.cooling) * (1.0 + np.cos(np.pi * progress)) / 2.0
        return float(self.config.learning_rate * factor)

    def polish(self) -> TrainProgress:
        """Run one round: learn from the final replay with a decreasing learning rate, then measure the front."""
        config = self.config
        rates = config.learning_rate * np.linspace(1.0, 0.0, config.polish_updates, endpoint=False)
        loss = self._learn(rates, config.polish_share)
        self.round += 1
        return self._report("polish", self.round, loss)

    def _keep(self, plans: Plans) -> None:
        """Run the plans, and keep the best episodes in the replay."""
        policy = self.learner.network.export()
        seeds = self.rng.integers(2**31, size=len(plans))
        episodes = run_episodes(self.env, follow(plans, policy, self.rng), plans.commands, seeds)
        self.steps += int(episodes.lengths.sum())
        if self.expected:
            self.steps += self._estimator(policy).keep_expected(self.replay, episodes, plans.actions)
        else:
            keep_realised(self.replay, episodes, self.config, self.env.real_returns)

    def _learn(self, learning_rates: np.ndarray, front_share: float) -> float:
        """Learn the actions of the replay; front points that are not reached have a larger weight."""
        if not len(self.replay):
            return 0.0
        samples = self.replay.samples()
        self._rescale(samples.states)
        weights = np.zeros(len(self.replay))
        favoured = list(range(len(self.replay))) if self.config.explore == "plain" else self.replay.front
        weights[favoured] = [self.boosts.get(tuple(self.replay.demonstrations[i].label), 1.0) for i in favoured]
        sizes = np.bincount(samples.owners, minlength=len(self.replay))
        probabilities = front_share * (weights / weights.sum() / sizes)[samples.owners]
        probabilities += (1.0 - front_share) / len(samples.owners)
        loss = self.learner.fit(samples, probabilities, self.config.batch_size, learning_rates, self.rng)
        if not np.isfinite(loss):  # the weights are then NaN, too
            raise InvalidInput.expected("a finite loss (try a smaller learning_rate)", loss)
        return loss

    def _rescale(self, states: np.ndarray) -> None:
        """Fit the scaling of inputs to the replay; the polish does not change it."""
        if self.round:
            return
        low, high = self.replay.extremes()
        width = np.where(high - low > 1e-9, high - low, 1.0)
        self.learner.network.rescale("command", (low + high) / 2, self.config.gain / width)
        if self.config.standardise:
            deviation = states.std(axis=0, dtype=np.float64)
            scale = 1.0 / np.where(deviation > 1e-6, deviation, 1.0)
            self.learner.network.rescale("state", states.mean(axis=0, dtype=np.float64), scale)

    def _report(self, phase: str, number: int, loss: float) -> TrainProgress:
        policy = self.learner.network.export()
        fidelity, volume, size = 0.0, 0.0, 0
        if len(self.replay):
            evaluation, errors = self._evaluate(self.env, policy, min(200, 2 * self.config.rollouts))
            self.measured += evaluation.steps
            reached = evaluation.reached(errors, tolerance_of(self.env, *self.replay.extremes()))
            fidelity, size = float(reached.mean()), len(reached)
            volume = self._volume(evaluation.commands)
            if phase == "polish":
                for command, good in zip(evaluation.commands[:, : self.env.num_objectives], reached, strict=True):
                    boost = self.boosts.get(tuple(command), 1.0)
                    self.boosts[tuple(command)] = max(1.0, boost / 1.5) if good else boost * 2.0
        if phase == "polish" and (self.best is None or fidelity >= self.best[0]):
            self.best = (fidelity, policy)
        return TrainProgress(phase, number, self.steps, self.seconds, size, volume, fidelity, loss)

    def _evaluate(self, env: BatchEnv, policy: PCN, rollouts: int) -> tuple[Evaluation, np.ndarray]:
        errors = np.array([self.replay.demonstrations[i].error for i in self.replay.front])
        return evaluate(env, policy, self.replay.front_commands, rollouts), errors

    def _volume(self, commands: np.ndarray) -> float:
        labels = commands[:, : self.env.num_objectives]
        reference = labels.min(axis=0) - 1e-3 if self.reference is None else self.reference
        if self._measured is None or not np.array_equal(self._measured[0], labels):
            self._measured = (labels, hypervolume(labels, reference))
        return self._measured[1]

    def result(self) -> TrainResult:
        """Return the current policy, measured by greedy rollouts with the environment's own step limit."""
        if not len(self.replay):
            what = "at least one episode with a reward (increase steps, minutes or warmup)"
            raise InvalidInput.expected(what, f"none in {self.steps:,} steps")
        policy = self.best[1] if self.best is not None else self.learner.network.export()
        evaluation, errors = self._evaluate(self.deployment, policy, self.config.rollouts)
        low, high = self.replay.extremes()
        return TrainResult(
            policy=policy,
            front=evaluation.commands,
            achieved=evaluation.achieved,
            achieved_error=evaluation.error,
            truncated=evaluation.truncated,
            reached=evaluation.reached(errors, tolerance_of(self.env, low, high)),
            low=low,
            high=high,
            hypervolume=self._volume(evaluation.commands),
            steps=self.steps + self.measured,
            seconds=self.seconds,
            finished=self.finished,
            config=self.config,
            log=tuple(self.log),
        )

    def save(self, path: Path) -> None:
        """Write a checkpoint for `resume`."""
        arrays = {f"learner.{name}": value for name, value in self.learner.arrays().items()}
        arrays |= {f"replay.{name}": value for name, value in pack(self.replay.demonstrations).items()}
        if self.best is not None:
            arrays |= {f"best.{name}": value for name, value in self.best[1].arrays().items()}
        header = Header(
            config=self.config,
            counters=Counters(self.steps, self.iteration, self.round, self.explored, self.seconds, self.measured),
            tried=[list(plan) for plan in sorted(self.replay.tried)],
            boosts=[(list(label), boost) for label, boost in self.boosts.items()],
            best_fidelity=None if self.best is None else self.best[0],
            log=self.log,
            environment=self.environment,
        )
        write_checkpoint(path, arrays, header, self.rng.bit_generator.state)

    @classmethod
    def resume(
        cls, path: Path, make_env: MakeEnv, reference: np.ndarray | None = None, environment: str = ""
    ) -> "Trainer":
        """Return the training of a checkpoint, in the same environment."""
        arrays, header, generator = read_checkpoint(path, environment)
        trainer = cls(make_env, header.config, reference, environment)
        check_learner(path, trainer.learner.arrays(), under("learner.", arrays))
        trainer.learner.restore(under("learner.", arrays))
        demonstrations = unpack(under("replay.", arrays), path, trainer.env, trainer.command_size)
        trainer.replay = Replay(trainer.config.capacity, demonstrations, shorter_first=trainer.config.shorter_first)
        trainer.replay.tried = {tuple(plan) for plan in header.tried}
        trainer.rng = generator
        for name, value in asdict(header.counters).items():
            setattr(trainer, name, value)
        trainer.boosts = {tuple(label): boost for label, boost in header.boosts}
        if header.best_fidelity is not None:
            current = trainer.learner.network.export()
            best = pcn_of(under("best.", arrays), trainer.env.action_space)
            if {k: v.shape for k, v in best.arrays().items()} != {k: v.shape for k, v in current.arrays().items()}:
                raise InvalidInput.expected(f"the best network of {path} to be a {current!r}", repr(best))
            trainer.best = (header.best_fidelity, best)
        trainer.log = list(header.log)
        return trainer


class Terminated(SystemExit):
    """SIGTERM ended the training; its exit status is 143."""


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Yield a list to which the first Ctrl-C is added; the second acts as usual. SIGTERM raises `Terminated`."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
        yield received
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def request(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()
        if number == signal.SIGTERM:
            raise Terminated(128 + number)

    for number in before:
        signal.signal(number, request)
    try:
        yield received
    finally:
        restore()
