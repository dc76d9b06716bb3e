"""Training of a PCN (paper, "Pareto Conditioned Networks and Our Return-Only Variant" and its appendix).

Explore, keep the best episodes relabelled with what they achieved, imitate them; then polish: learn from the
final replay until greedy rollouts reach every front point. How we explore, and the polish, are not the paper's.
"""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.pareto import hypervolume
from paretofoil.core.threads import one_thread
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import Evaluation, evaluate, run_episodes
from paretofoil.pcn.archive import keep_expected, keep_realised, refresh
from paretofoil.pcn.checkpoint import check_sizes, pack, read_checkpoint, under, unpack, write_checkpoint
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import Plans, explore_plans, follow, plain_plans, random_plans, uniform_plans
from paretofoil.pcn.network import Learner, PCNNetwork
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.pcn.replay import Replay

_COUNTERS = ("steps", "iteration", "round", "explored", "seconds")
COOLED = 0.8
"""The learning rate falls over this share of the exploration."""
SURER = 10
"""At the end of exploration the front's mean returns are estimated from so many times more rollouts."""
MakeEnv = Callable[[int | None], BatchEnv]
"""A step limit, or None for the environment's own -> a batch; e.g. `partial(make_batch, "minecart")`."""


@dataclass(frozen=True)
class Progress:
    """One line of the log."""

    phase: str  # "explore" or "polish"
    iteration: int  # of exploration, or the round of the polish
    steps: int
    seconds: float
    front_size: int
    hypervolume: float
    fidelity: float  # the share of front commands that greedy rollouts reach
    loss: float

    @property
    def steps_per_second(self) -> float:
        return self.steps / max(self.seconds, 1e-9)


@dataclass(frozen=True, eq=False)
class TrainResult:
    """A trained policy and what is known about it."""

    policy: PCNPolicy
    front: np.ndarray  # (F, c) the commands of the front; a last column holds the horizon if there is one
    front_error: np.ndarray  # (F, d) the standard errors of the front's returns
    achieved: np.ndarray  # (F, d) what greedy rollouts achieve under them, on average
    achieved_error: np.ndarray  # (F, d) standard errors
    truncated: np.ndarray  # (F,) the share of rollouts that ran into the step limit
    reached: np.ndarray  # (F,) bool
    low: np.ndarray  # (c,) the box of all relabelled commands
    high: np.ndarray  # (c,)
    hypervolume: float
    steps: int
    seconds: float
    finished: bool  # False if the training was interrupted
    config: TrainConfig
    log: tuple[Progress, ...]


class Trainer:
    """One training, which can be stopped after any iteration and taken up again without a difference."""

    def __init__(
        self, make_env: MakeEnv, config: TrainConfig, reference: np.ndarray | None = None, environment: str = ""
    ) -> None:
        self.config, self.environment = config, environment  # its name, for the checkpoint; none if not given
        self.env = make_env(config.episode_steps)
        self.deployment = self.env if config.episode_steps is None else make_env(None)
        self.reference = reference
        self.command_size = self.env.num_objectives + config.horizon
        network = PCNNetwork(
            self.env.observation_size, self.command_size, self.env.num_actions, config.hidden, config.seed
        )
        self.learner = Learner(network)
        self.replay = Replay(config.capacity)
        self.rng = np.random.default_rng(config.seed)
        self.steps, self.iteration, self.round = 0, 0, 0
        self.explored, self.seconds = False, 0.0
        self.boosts: dict[tuple[float, ...], float] = {}  # by label: front points that are hard to reach
        self.best: tuple[float, PCNPolicy] | None = None
        self.log: list[Progress] = []
        self._measured: tuple[np.ndarray, float] | None = None  # the last front and its hypervolume

    def run(
        self,
        progress: Callable[[Progress], None] | None = None,
        checkpoint: Path | None = None,
        checkpoint_every: float = 60.0,
    ) -> TrainResult:
        """Train to the end, or to Ctrl-C, which ends the iteration, saves the checkpoint and returns what there is."""
        with Interruption() as interruption, one_thread():
            saved = time.monotonic()
            while not (self.finished or interruption.requested):
                start = time.monotonic()
                line = self.explore() if not self.explored else self.polish()
                self.seconds += time.monotonic() - start
                if line is not None:
                    self.log.append(line)
                    if progress is not None:
                        progress(line)
                if checkpoint is not None and time.monotonic() - saved > checkpoint_every:
                    self.save(checkpoint)
                    saved = time.monotonic()
            if checkpoint is not None:
                self.save(checkpoint)
            return self.result()

    @property
    def expected(self) -> bool:
        """Whether labels are means over repeated rollouts."""
        return self.env.stochastic and self.config.returns == "expected"

    @property
    def finished(self) -> bool:
        """Explored, and polished until everything is reached or the rounds are used up."""
        all_reached = self.best is not None and self.best[0] == 1.0
        return self.explored and (all_reached or self.round >= self.config.polish_rounds)

    def explore(self) -> Progress | None:
        """One iteration: run episodes, keep the best, learn from the replay."""
        config = self.config
        self._keep(self._plans())
        loss = self._learn(np.full(config.updates, self._rate()), config.front_share)
        self.iteration += 1
        out_of_time = config.minutes is not None and self.seconds >= 60 * config.minutes
        self.explored = self.steps >= config.steps or out_of_time
        if self.explored and self.expected:
            policy = self.learner.network.export()
            self.steps += refresh(self.replay, self.replay.front, SURER, config, self.env, policy, self.rng)
        if self.explored or self.iteration % config.report_every == 0:
            return self._report("explore", self.iteration, loss)
        return None

    def _plans(self) -> Plans:
        """What to run next: the warm-up, then whatever the kind of exploration says."""
        config, shape = self.config, (self.env.max_steps, self.command_size, self.env.num_actions)
        plain = config.explore == "plain"
        if self.iteration and len(self.replay):
            return (plain_plans if plain else explore_plans)(config, self.replay, shape, self.rng)
        return uniform_plans(config.warmup, shape) if plain else random_plans(config, config.warmup, shape, self.rng)

    def _rate(self) -> float:
        """The learning rate at this point of the exploration."""
        done = min(self.steps / (COOLED * self.config.steps), 1.0)
        left = self.config.cooling + (1.0 - self.config.cooling) * (1.0 + np.cos(np.pi * done)) / 2.0
        return float(self.config.learning_rate * left)

    def polish(self) -> Progress:
        """One round: learn from the final replay with a falling learning rate, then look which commands are missed."""
        config = self.config
        rates = config.learning_rate * np.linspace(1.0, 0.0, config.polish_updates, endpoint=False)
        loss = self._learn(rates, config.polish_share)
        self.round += 1
        return self._report("polish", self.round, loss)

    def _keep(self, plans: Plans) -> None:
        """Run the plans; the best episodes enter the replay."""
        policy = self.learner.network.export()
        seeds = self.rng.integers(2**31, size=len(plans))
        episodes = run_episodes(self.env, follow(plans, policy, self.rng), plans.commands, seeds)
        self.steps += int(episodes.lengths.sum())
        if self.expected:
            self.steps += keep_expected(self.replay, episodes, plans.codes, self.config, self.env, policy, self.rng)
        else:
            keep_realised(self.replay, episodes, self.config)

    def _learn(self, learning_rates: np.ndarray, front_share: float) -> float:
        """Imitate the replay; front points that were missed count more."""
        if not len(self.replay):
            return 0.0
        samples, everyone = self.replay.samples(), list(range(len(self.replay)))
        self._rescale(samples.states)
        weights = np.zeros(len(self.replay))
        favoured = everyone if self.config.explore == "plain" else self.replay.front
        weights[favoured] = [self.boosts.get(tuple(self.replay.demonstrations[i].label), 1.0) for i in favoured]
        sizes = np.bincount(samples.owners, minlength=len(self.replay))
        probabilities = front_share * (weights / weights.sum() / sizes)[samples.owners]
        probabilities += (1.0 - front_share) / len(samples.owners)
        return self.learner.fit(samples, probabilities, self.config.batch_size, learning_rates, self.rng)

    def _rescale(self, states: np.ndarray) -> None:
        """Let the scalings follow the replay while exploring; the polish leaves them as they are."""
        if self.round:
            return
        low, high = self.replay.extremes()
        width = np.where(high - low > 1e-9, high - low, 1.0)
        self.learner.network.rescale("command", (low + high) / 2, self.config.gain / width)
        if self.config.standardise:
            deviation = states.std(axis=0, dtype=np.float64)
            scale = 1.0 / np.where(deviation > 1e-6, deviation, 1.0)
            self.learner.network.rescale("state", states.mean(axis=0, dtype=np.float64), scale)

    def _report(self, phase: str, number: int, loss: float) -> Progress:
        policy = self.learner.network.export()
        fidelity, volume, size = 0.0, 0.0, 0
        if len(self.replay):
            evaluation, errors = self._evaluate(self.env, policy, rollouts=200)
            reached = evaluation.reached(errors)
            fidelity, size = float(reached.mean()), len(reached)
            volume = self._volume(evaluation.commands)
            if phase == "polish":
                for command, good in zip(evaluation.commands[:, : self.env.num_objectives], reached, strict=True):
                    boost = self.boosts.get(tuple(command), 1.0)
                    self.boosts[tuple(command)] = max(1.0, boost / 1.5) if good else boost * 2.0
        if phase == "polish" and (self.best is None or fidelity >= self.best[0]):
            self.best = (fidelity, policy)
        return Progress(phase, number, self.steps, self.seconds, size, volume, fidelity, loss)

    def _evaluate(self, env: BatchEnv, policy: PCNPolicy, rollouts: int) -> tuple[Evaluation, np.ndarray]:
        errors = np.array([self.replay.demonstrations[i].error for i in self.replay.front])
        return evaluate(env, policy, self.replay.front_commands, rollouts), errors

    def _volume(self, commands: np.ndarray) -> float:
        labels = commands[:, : self.env.num_objectives]
        reference = labels.min(axis=0) - 1e-3 if self.reference is None else self.reference
        if self._measured is None or not np.array_equal(self._measured[0], labels):  # it is slow for many objectives
            self._measured = (labels, hypervolume(labels, reference))
        return self._measured[1]

    def result(self) -> TrainResult:
        """What there is now, judged by greedy rollouts under the environment's own step limit."""
        if not len(self.replay):
            raise InvalidInput.expected("at least one finished iteration that found a reward", "none")
        policy = self.best[1] if self.best is not None else self.learner.network.export()
        evaluation, errors = self._evaluate(self.deployment, policy, self.config.rollouts)
        low, high = self.replay.extremes()
        return TrainResult(
            policy=policy,
            front=evaluation.commands,
            front_error=errors,
            achieved=evaluation.achieved,
            achieved_error=evaluation.error,
            truncated=evaluation.truncated,
            reached=evaluation.reached(errors),
            low=low,
            high=high,
            hypervolume=self._volume(evaluation.commands),
            steps=self.steps,
            seconds=self.seconds,
            finished=self.finished,
            config=self.config,
            log=tuple(self.log),
        )

    def save(self, path: Path) -> None:
        """Write a checkpoint, from which `resume` goes on as if nothing had happened."""
        arrays = {f"learner.{name}": value for name, value in self.learner.arrays().items()}
        arrays |= {f"replay.{name}": value for name, value in pack(self.replay.demonstrations).items()}
        if self.best is not None:
            arrays |= {f"best.{name}": value for name, value in self.best[1].arrays().items()}
        told = {
            "environment": self.environment,
            "config": asdict(self.config),
            "generator": self.rng.bit_generator.state,
            "counters": {name: getattr(self, name) for name in _COUNTERS},
            "tried": sorted(self.replay.tried),
            "boosts": [[list(label), boost] for label, boost in self.boosts.items()],
            "best_fidelity": None if self.best is None else self.best[0],
            "log": [asdict(line) for line in self.log],
        }
        write_checkpoint(path, arrays, told)

    @classmethod
    def resume(
        cls, path: Path, make_env: MakeEnv, reference: np.ndarray | None = None, environment: str = ""
    ) -> "Trainer":
        """Take up a training from its checkpoint, in the environment that it was begun in."""
        arrays, told = read_checkpoint(path, environment)
        trainer = cls(make_env, TrainConfig(**told["config"]), reference, environment)
        check_sizes(path, trainer.learner.arrays(), under("learner.", arrays))
        trainer.learner.restore(under("learner.", arrays))
        trainer.replay = Replay(trainer.config.capacity, unpack(under("replay.", arrays)))
        trainer.replay.tried = {tuple(plan) for plan in told["tried"]}
        trainer.rng.bit_generator.state = told["generator"]
        for name in _COUNTERS:
            setattr(trainer, name, told["counters"][name])
        trainer.boosts = {tuple(label): boost for label, boost in told["boosts"]}
        if told["best_fidelity"] is not None:
            trainer.best = (told["best_fidelity"], PCNPolicy.from_arrays(under("best.", arrays)))
        trainer.log = [Progress(**line) for line in told["log"]]
        return trainer


class Interruption:
    """While it is entered, the first Ctrl-C only sets `requested`; a second one interrupts as usual."""

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():  # only there can signals be handled
            self._before = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, self._before)
