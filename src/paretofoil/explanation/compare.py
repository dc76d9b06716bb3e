"""Comparison of two agents in one environment: under which commands do their episodes end differently?"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, require_agent
from paretofoil.core.command import CommandSpace, Objective, as_vector
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import show
from paretofoil.core.options import now
from paretofoil.core.pareto import nondominated
from paretofoil.envs.episode import EXACT
from paretofoil.envs.front import known_front
from paretofoil.explanation.atlas import (
    SUMMING,
    Atlas,
    AtlasEffort,
    atlas,
    delivers,
    ends_of,
    has_proven_atlas,
    overlay,
    random_commands,
    sampled_atlas,
    tolerance_of,
)
from paretofoil.explanation.influence import likely_share

_NEAREST, _PROBES = 32, 64
"""For the nearest example, this many commands are examined, each with this many points between it and the start."""
_ROUNDING = 1.02
"""Largest ratio of the distance of the rounded example to that of the nearest one."""
_LEAST_SECONDS = 1e-6
"""Time limit of the second atlas if the first one used all of the time."""


@dataclass(frozen=True, eq=False)
class Difference:
    """A command under which the episodes of two agents end differently."""

    start: np.ndarray  # (d,): the command at which the search for a difference started
    command: np.ndarray  # (d,)
    distance: float
    """Scaled distance from the start; 0 if the agents differ there."""
    achieved: tuple[np.ndarray, np.ndarray]
    """The return of each agent under the command."""
    finished: tuple[bool, bool]
    """For each agent, whether the task ended; if not, the step limit ended the episode."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """How the episodes of two agents differ under their common commands."""

    atlases: tuple[Atlas, Atlas]
    """The outcomes of each agent. `on_front` counts returns on the common front."""
    front: np.ndarray  # (F, d)
    """The common front: that of the environment or, if it is not known, the best returns of both agents' fronts."""
    achieved: tuple[np.ndarray, np.ndarray]
    """The returns (F, d) of each agent when it is asked for the points of the front."""
    reached: tuple[int, int]
    """For each agent, how many points of the front it achieves when asked for them."""
    differ: tuple[float, float]
    """Bounds of the share of commands under which episodes end differently: proven, or a 95 % confidence interval."""
    example: Difference | None
    """A difference near the given command or near the front; None if none was found."""
    cells: np.ndarray  # (N, 12, 2): polygons in which the outcomes of both agents are proven
    cell_differs: np.ndarray  # (N,) bool
    seconds: float
    sampled: tuple[float, float, int] | None = None
    """If the proof used boxes: the 95 % confidence interval of the share among sampled commands, and their number."""

    def __repr__(self) -> str:
        return f"<Comparison {self.agents}: {self.sentence()}>"

    @property
    def agents(self) -> tuple[str, str]:
        return self.atlases[0].agent, self.atlases[1].agent

    @property
    def objectives(self) -> tuple[Objective, ...]:
        return self.atlases[0].objectives

    @property
    def samples(self) -> int:
        """Number of sampled commands if nothing could be proven; 0 if shares are proven."""
        return self.atlases[0].samples

    @property
    def assumed(self) -> float:
        """The rounding error, in margins, that the proofs assume because it is measured; 0 if it is derived."""
        return max(each.assumed for each in self.atlases)

    def sentence(self) -> str:
        """Return the result in words."""
        return str(show(self, "sentence"))

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw a map of the commands under which the agents differ, beside their shares, and return the figure."""
        return show(self, "plot", path)


def compare(
    first: Agent,
    second: Agent,
    *,
    command: Sequence[float] | np.ndarray | None = None,
    undecided: float = AtlasEffort.undecided,
    seconds: float = AtlasEffort.seconds,
    samples: int = AtlasEffort.samples,
    seed: int = AtlasEffort.seed,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Return for which share of their common commands the episodes of two agents end differently.

    Both agents must act in the same deterministic environment. The share is proven if the environment has finitely many
    states, the policies are white-box, and there are at most four objectives. Unless there are two objectives, both
    agents are also rolled out under the same random commands. All other arguments are those of `atlas`.

    Args:
        first: An agent.
        second: Another agent in the same environment.
        command: Look for an example near this command; by default near the commands of the front.
        seconds: Time limit of both proofs together.
        progress: Called with the percentage that is done, and with 100, the total.
    """
    begin, effort = now(), AtlasEffort(undecided, seconds, samples, seed)
    require_agent(first)
    require_agent(second)
    provable = has_proven_atlas(first) & has_proven_atlas(second)
    space, front = common_space(first, second), common_front(first, second)
    starts = front[np.argsort(space.distance(front, front.mean(axis=0)), kind="stable")]
    if command is not None:
        starts = as_vector(command, "the command", space.dim)[None]
    agents = [replace(agent, space=space, front=front, achieved=None, error=None) for agent in (first, second)]
    pair, atlases = _Pair(agents[0], agents[1], tolerance_of(agents[0])), []
    for number, agent in enumerate(agents if provable else ()):
        left = seconds / 2 if number == 0 else max(seconds - (now() - begin), _LEAST_SECONDS)
        half = None if progress is None else _half(progress, 50 * number)
        atlases.append(atlas(agent, progress=half, **asdict(replace(effort, seconds=left))))
    cells, cell_differs, sampled = np.zeros((0, 1, 2)), np.zeros(0, dtype=bool), None
    if provable:
        cells, shares, *numbers = _overlaps(atlases[0], atlases[1], now() + seconds / 4)
        differing = differ(*(_ends(each)[number] for each, number in zip(atlases, numbers, strict=True)))
        least, most = float(shares[differing].sum()), 1.0 - float(shares[~differing].sum())
        bounds = max(least - SUMMING, 0.0), min(most + SUMMING, 1.0)
        examples, cell_differs = cells[differing[: len(cells)]].mean(axis=1), differing[: len(cells)]
    if not provable or space.dim != 2:
        commands = random_commands(space.low, space.high, samples, seed)
        ends = pair.ends(commands)
        flags = pair.differ(ends)
        interval, examples = likely_share(int(flags.sum()), samples), commands[flags]
        if provable:
            sampled = *interval, samples
        else:
            region, bounds = (space.low, space.high), interval
            atlases = [sampled_atlas(each, commands, region, end) for each, end in zip(agents, ends, strict=True)]
    achieved = [end[:, :-1] for end in pair.ends(front)]
    reached = [int(delivers(each, front, pair.tolerance).sum()) for each in achieved]
    return Comparison(
        atlases=(atlases[0], atlases[1]),
        front=front,
        achieved=(achieved[0], achieved[1]),
        reached=(reached[0], reached[1]),
        differ=bounds,
        example=pair.nearest(starts, examples),
        cells=cells,
        cell_differs=cell_differs,
        seconds=now() - begin,
        sampled=sampled,
    )


def _overlaps(first: Atlas, second: Atlas, deadline: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the overlaps of the proven cells of two atlases: polygons, shares, and the numbers of both outcomes.

    If the cells are boxes, there are no polygons.
    """
    if first.boxes is None or second.boxes is None:
        return overlay(first, second)
    mine, theirs, volume = first.boxes.overlaps(second.boxes, deadline)
    shares = volume / float((first.high - first.low).prod())
    return np.zeros((0, 1, 2)), shares, first.outcome_of[mine], second.outcome_of[theirs]


def common_space(first: Agent, second: Agent) -> CommandSpace:
    """Return the common command space of two agents, or raise an error if they cannot be compared."""
    if first.environment.name != second.environment.name:
        got = f"{first.name} in {first.environment.name} and {second.name} in {second.environment.name}"
        raise InvalidInput.expected("two agents in the same environment", got)
    if first.space.names != second.space.names:
        names = (f"{', '.join(agent.space.names)} ({agent.name})" for agent in (first, second))
        raise InvalidInput.expected("two agents with the same objectives", " and ".join(names))
    low, high = np.maximum(first.space.low, second.space.low), np.minimum(first.space.high, second.space.high)
    if (low >= high).any():
        name = first.space.names[int((low >= high).argmax())]
        raise InvalidInput.expected("two agents with commands in common", f"no common range of {name}")
    return CommandSpace(low, high, first.space.objectives)


def common_front(*agents: Agent) -> np.ndarray:
    """Return the front (F, d) of the agents' environment or, if it is not known, the best returns of their fronts."""
    known = None
    if not any(agent.horizon or agent.space.simplex for agent in agents):
        with suppress(InvalidInput):  # too many returns to compare
            known = known_front(agents[0].environment)
    if known is not None:
        return known
    learned = np.concatenate([agent.front for agent in agents])
    return learned[nondominated(learned[:, : len(agents[0].environment.objectives)])]


def differ(first: np.ndarray, second: np.ndarray, tolerance: np.ndarray | float = EXACT) -> np.ndarray:
    """Return which of N pairs of episodes end differently (N,) bool; rows are outcomes as `ends_of` returns them."""
    off: np.ndarray = np.abs(first - second)
    return (off[:, :-1] > tolerance).any(axis=1) | (off[:, -1] > 0.5)


def _ends(result: Atlas) -> np.ndarray:
    """Return the outcomes of an atlas (K, d + 1), as `ends_of` returns those of episodes."""
    rows = [np.append(outcome.achieved, outcome.finished) for outcome in result.outcomes]
    return np.array(rows) if rows else np.zeros((0, len(result.objectives) + 1))


def _half(progress: Callable[[int, int], None], done: int) -> Callable[[int, int], None]:
    """Return a function that reports the progress of one half of the work; `done` is the percentage of earlier work."""
    return lambda percent, total: progress(done + percent // 2, total)


@dataclass(frozen=True)
class _Pair:
    """Two agents that are rolled out under the same commands."""

    first: Agent
    second: Agent
    tolerance: np.ndarray | float
    """Largest difference between returns that count as equal."""

    def ends(self, commands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return ends_of(self.first, commands), ends_of(self.second, commands)

    def differ(self, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return which episodes of the two agents end differently: (N,) bool."""
        return differ(*ends, self.tolerance)

    def nearest(self, starts: np.ndarray, examples: np.ndarray) -> Difference | None:
        """Return a difference at a start, or else the nearest one between a start and known differences (N, d)."""
        at_start = np.flatnonzero(self.differ(self.ends(starts)))
        if len(at_start):
            return self._difference(starts[at_start[0]], starts[at_start[0]])
        if not len(examples):
            return None
        space = self.first.space
        start = min(starts, key=lambda start: space.distance(examples, start).min())
        close = examples[np.argsort(space.distance(examples, start), kind="stable")[:_NEAREST]]
        shares = np.linspace(0.0, 1.0, _PROBES + 1)[1:, None, None]
        probes = (start + shares * (close - start)).reshape(-1, space.dim)
        probes = probes[self.differ(self.ends(probes))]
        nearest = probes[space.distance(probes, start).argmin()]
        return self._difference(start, self._rounded(start, nearest))

    def _rounded(self, start: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Return the command with the fewest digits under which the agents still differ."""
        space = self.first.space
        digits = 1 - np.floor(np.log10(space.scale)).astype(int)
        tries = [[round(float(x), int(n) + more) for x, n in zip(command, digits, strict=True)] for more in range(8)]
        commands = np.clip(np.array([*tries, command]), space.low, space.high)
        near = space.distance(commands, start) <= _ROUNDING * space.distance(command, start)
        near[-1] = True
        return commands[np.flatnonzero(near & self.differ(self.ends(commands)))[0]]

    def _difference(self, start: np.ndarray, command: np.ndarray) -> Difference:
        (first,), (second,) = self.ends(command[None])
        distance = float(self.first.space.distance(command, start))
        return Difference(start, command, distance, (first[:-1], second[:-1]), (bool(first[-1]), bool(second[-1])))
