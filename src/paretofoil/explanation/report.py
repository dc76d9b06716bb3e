"""Report card of an agent: what is proven about it, and measurements where nothing can be proven."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from paretofoil.agents.agent import Agent, rollout, rollouts
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Episode
from paretofoil.core.errors import InvalidInput, as_seed
from paretofoil.core.influence import AmountInfluence, InfluenceProfile
from paretofoil.core.options import Limits, as_seconds, now
from paretofoil.core.pareto import hypervolume
from paretofoil.explanation.atlas import Atlas, atlas, delivers, ends_of, random_commands, tolerance_of
from paretofoil.explanation.compare import Comparison, common_front, compare, differ
from paretofoil.explanation.episodes import require_deterministic
from paretofoil.explanation.explain import explain_episode
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.explanation.influence import influence, influence_episode, likely_share
from paretofoil.explanation.never import Never, all_actions, never
from paretofoil.explanation.questions import foils_of

MAX_STEPS, MAX_STATES = 30, 100
"""Maximum numbers of steps of the episode, and of states of the front's episodes, that are examined. If there are more,
evenly spaced ones are examined."""
STEP = 0.01
"""Scaled distance of neighbouring commands."""
_SAMPLES, _FEW_SAMPLES = 10_000, 1_000
"""Number of sampled commands in an environment with finitely many states, and in any other."""
_HARD = 0.2
"""Estimated share of the proofs about one action and one state that use up their time limit."""
_LEAST_SECONDS = 0.05
"""Smallest time limit of such a proof; less time proves nothing."""
_SHARES = {"atlas": 0.5, "comparison": 0.6, "never": 0.1, "influence": 0.15, "flip map": 0.15}
"""Share of the time limit for each part."""

T = TypeVar("T")
Bars = Callable[[str], Callable[[int, int], None]]
"""Takes the name of a part; returns a function that is called with the amount of work done, and of all work."""


@dataclass(frozen=True, eq=False)
class Front:
    """What an agent achieves when it is asked for each point of a front."""

    points: np.ndarray  # (F, c)
    best: bool
    """Whether the points are the best returns of the environment; otherwise the agent learned them."""
    achieved: np.ndarray  # (F, d)
    reached: np.ndarray  # (F,) bool: whether the agent achieves the point


@dataclass(frozen=True, eq=False)
class Report:
    """The parts of a report card. A part that cannot be made for an agent is None or empty; `missing` says why."""

    agent: Agent
    front: Front | None
    atlas: Atlas | None
    fulfillable: float
    """Share of the commands that ask for no more than some point of the front."""
    neighbours: tuple[int, int] | None
    """The number of pairs of neighbouring commands whose episodes end alike, and the number of all pairs."""
    nevers: tuple[Never, ...]
    """For each action, the proofs that no command makes the agent choose it, or counterexamples."""
    episode: Episode
    """The episode whose steps are examined: that of the command in the middle of the front."""
    profile: InfluenceProfile | dict[int, AmountInfluence] | None
    """The influence of the command at each step; for continuous actions, the range of the amounts."""
    flips: FlipMap | None
    comparison: Comparison | None
    missing: dict[str, str]
    """Why parts are missing, by their names."""
    seconds: float

    @property
    def agreement(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share of neighbouring commands that end alike."""
        return likely_share(*(self.neighbours or (0, 0)))


def examine(
    agent: Agent, other: Agent | None = None, *, seconds: float = 60.0, seed: int = 0, bars: Bars | None = None
) -> Report:
    """Return the report card of an agent, compared with another one if it is given.

    Args:
        agent: The agent.
        other: Another agent in the same environment.
        seconds: Time limit of all proofs together. Rollouts and figures need some more seconds.
        seed: Seed of all random commands and rollouts.
        bars: Called with the name of each part; returns the function to call with the progress of the part.
    """
    begin, seed, seconds = now(), as_seed(seed), as_seconds(seconds)
    comparison = None if other is None else _compare(agent, other, seconds, seed, bars)
    return _Examination(agent, seconds, seed, bars).run(comparison, begin)


def _compare(agent: Agent, other: Agent, seconds: float, seed: int, bars: Bars | None) -> Comparison:
    watch, limit = None if bars is None else bars("comparison"), _SHARES["comparison"] * seconds
    return compare(agent, other, seconds=limit, samples=_samples(agent), seed=seed, progress=watch)


def _samples(agent: Agent) -> int:
    return _SAMPLES if agent.environment.finite else _FEW_SAMPLES


def _spread(count: int, most: int) -> list[int]:
    """Return the numbers below `count`; if there are more than `most`, return `most` evenly spaced ones."""
    numbers: list[int] = np.linspace(0, count - 1, min(most, count)).astype(int).tolist()
    return numbers


class _Examination:
    """Makes the parts of a report one by one, and records why parts are missing."""

    def __init__(self, agent: Agent, seconds: float, seed: int, bars: Bars | None) -> None:
        self.agent, self.seconds, self.seed = agent, seconds, seed
        self.bars: Bars = bars or (lambda name: lambda done, total: None)
        self.missing: dict[str, str] = {}

    def run(self, comparison: Comparison | None, begin: float) -> Report:
        agent = self.agent
        front = self._try("front", self._front)
        points = agent.front if front is None else front.points
        known = comparison.atlases[0] if comparison is not None and self._covers(comparison) else None
        outcomes = known or self._try("atlas", lambda: self._atlas(points))
        episode = rollout(agent, self._middle(points), seed=self.seed)
        steps = _spread(len(episode), MAX_STEPS)
        return Report(
            agent=agent,
            front=front,
            atlas=outcomes,
            fulfillable=self._fulfillable(points),
            neighbours=self._try("neighbours", self._neighbours),
            nevers=self._try("never", self._nevers) or (),
            episode=episode,
            profile=self._try("influence", lambda: self._profile(episode, steps)),
            flips=self._try("flip map", lambda: self._flips(episode, steps)),
            comparison=comparison,
            missing=self.missing,
            seconds=now() - begin,
        )

    def _try(self, part: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except InvalidInput as error:
            self.missing[part] = self._reason(part) or str(error)
            return None

    def _reason(self, part: str) -> str:
        """Return why the agent's commands have no single outcome, if that is why a part is missing; otherwise ""."""
        if part not in ("front", "atlas", "neighbours"):
            return ""
        if self.agent.space.simplex:
            return "its commands are preferences, which ask for no return"
        chance = self.agent.batch_env().stochastic
        return f"chance plays a part in {self.agent.environment.name}" if chance and part != "front" else ""

    def _front(self) -> Front:
        agent = self.agent
        try:
            require_deterministic(agent)
        except InvalidInput:
            if agent.space.simplex:
                raise
            reached, achieved = agent.reached(), agent.achieved  # means of many rollouts
            assert achieved is not None
            return Front(agent.front, False, achieved, reached)
        points = common_front(agent)
        if not len(points):
            raise InvalidInput.expected("an agent with a front", f"{agent.name} without one")
        best = agent.environment.finite and not agent.horizon
        achieved = ends_of(agent, points)[:, :-1]
        return Front(points, best, achieved, delivers(achieved, points, tolerance_of(agent)))

    def _covers(self, comparison: Comparison) -> bool:
        """Return whether the atlas of a comparison is proven and covers all commands of the agent and its front."""
        space, atlas = self.agent.space, comparison.atlases[0]
        all_commands = np.array_equal(space.low, atlas.low) and np.array_equal(space.high, atlas.high)
        return all_commands and not atlas.samples and np.array_equal(comparison.front, common_front(self.agent))

    def _atlas(self, points: np.ndarray) -> Atlas:
        agent = replace(self.agent, front=points, achieved=None, error=None)
        limit = _SHARES["atlas"] * self.seconds
        return atlas(agent, seconds=limit, samples=_samples(agent), seed=self.seed, progress=self.bars("atlas"))

    def _fulfillable(self, points: np.ndarray) -> float:
        space = self.agent.space
        size = len(self.agent.environment.objectives)
        low, high = space.low[:size], space.high[:size]
        if space.simplex or not len(points) or (low >= high).any():
            return 0.0
        return hypervolume(np.minimum(points[:, :size], high), low) / float((high - low).prod())

    def _neighbours(self) -> tuple[int, int]:
        """Roll out pairs of commands at a small distance; return how many pairs end alike, and how many there are."""
        require_deterministic(self.agent)
        space, count = self.agent.space, _samples(self.agent) // 5
        commands = random_commands(space.low, space.high, count, self.seed)
        directions = np.random.default_rng([self.seed, 1]).normal(size=commands.shape)
        directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
        near = commands + STEP * directions * space.scale
        alike = ~differ(ends_of(self.agent, commands), ends_of(self.agent, near), tolerance_of(self.agent))
        return int(alike.sum()), count

    def _nevers(self) -> tuple[Never, ...]:
        agent, bar, results = self.agent, self.bars("never"), []
        visited = [decision for episode in rollouts(agent, agent.front, seed=self.seed) for decision in episode]
        states = list({decision.state.tobytes(): decision for decision in visited}.values())
        chosen = [states[i] for i in _spread(len(states), MAX_STATES)]
        actions = all_actions(agent)
        limit = max(_SHARES["never"] * self.seconds / max(len(chosen) * len(actions) * _HARD, 1), _LEAST_SECONDS)
        for number, action in enumerate(actions):
            bar(number, len(actions))
            results.append(never(agent, action, states=chosen, seconds=limit, seed=self.seed))
        bar(len(actions), len(actions))
        return tuple(results)

    def _middle(self, points: np.ndarray) -> np.ndarray:
        """Return the point of a front that is closest to its mean; without a front, the middle of the command space."""
        space = self.agent.space
        if not len(points):
            return space.project((space.low + space.high)[None] / 2, space.low, space.high)[0]
        return np.asarray(points[int(space.distance(points, points.mean(axis=0)).argmin())])

    def _profile(self, episode: Episode, steps: Sequence[int]) -> InfluenceProfile | dict[int, AmountInfluence]:
        agent, bar = self.agent, self.bars("influence")
        limit = _SHARES["influence"] * self.seconds / len(steps)
        options: dict[str, Any] = {"seconds": limit, "seed": self.seed, "samples": 2_000}
        if agent.actor is None:
            return influence_episode(agent, episode, progress=bar, steps=steps, **options)
        ranges: dict[int, Any] = {}
        for done, step in enumerate(steps):
            bar(done, len(steps))
            if foils_of(agent, episode[step]):
                ranges[step] = influence(agent, episode[step], **options)
        bar(len(steps), len(steps))
        return ranges

    def _flips(self, episode: Episode, steps: Sequence[int]) -> FlipMap:
        bar = self.bars("flip map")
        questions = sum(len(foils_of(self.agent, episode[step])) for step in steps)
        limits = Limits(seconds=max(_SHARES["flip map"] * self.seconds / max(questions, 1), 0.01))

        def watch(answers: Sequence[Answer], total: int) -> None:
            bar(len(answers), total)

        return explain_episode(self.agent, episode, steps=steps, limits=limits, seed=self.seed, progress=watch)
