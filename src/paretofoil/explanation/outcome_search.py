"""Search for the closest command under which the greedy episode has an outcome, with a proof.

1. A tree of boxes of commands is searched, the closest box first. In each state, every action that is not proven to
   lose gets the part of the box in which it may be chosen; these parts may overlap. A leaf is the end of an episode.
2. A leaf that meets the goal is a path and a box that contains all commands which take it. The box is narrowed by the
   bounds of every step of the path, and halved, until its closest command is known to 1 %.
3. Commands of these boxes are rolled out on the deployed policy. Only such a command is a result.

No box that is closer than the result is left: it is the closest. If none is left at all, no command does it.
"""

from dataclasses import dataclass, fields
from itertools import permutations

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.options import Stop, now
from paretofoil.envs.batch import TransitionTable
from paretofoil.envs.episode import greedy, run_episodes
from paretofoil.explanation.episodes import EpisodesOfSets, Progress, is_provable
from paretofoil.proof.bounds import HalfSpaces

GAP = 0.01
"""An answer is the closest if no command is closer by more than this share of its distance."""
SAME = 1e-3
"""Returns that differ by less than this share of an objective's range are equal."""
_NODES = 256
"""Boxes that are examined together."""
_RELAXED = 0.5
"""Boxes that are wider than this share of their distance are halved; others go on with each possible action."""
_TOGETHER = 100
"""Commands that are rolled out together."""
_SMALLEST = 1e-9
"""Scaled width below which a box is not halved."""
_CANDIDATES = 2_000
"""Random commands that are rolled out before the proof, so that fewer boxes must be examined."""
_OUTWARDS = 1e-12
"""More than the relative rounding error of the side of a box."""


@dataclass(frozen=True, eq=False)
class Goal:
    """What the outcome of an episode shall be: the return of each objective between two limits."""

    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,)

    def met(self, returns: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
        """Return which returns (N, d) meet the goal."""
        inside: np.ndarray = ((returns >= self.low - tolerance) & (returns <= self.high + tolerance)).all(axis=1)
        return inside


@dataclass(frozen=True)
class OutcomeSearchResult:
    """What a search knows about the closest command that meets a goal."""

    closest: np.ndarray | None
    """The closest command that was rolled out and met the goal."""
    distance: float
    """Its scaled distance from the original command; infinite if there is none."""
    lower_bound: float | None
    """No command that is closer than this meets the goal; None if nothing is proven."""
    stop: Stop
    boxes: int
    assumed: float = 0.0
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""


@dataclass(frozen=True, eq=False)
class _Nodes(Progress):
    """Boxes around the initial commands that follow a path; a box may contain other commands, too."""

    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    distance: np.ndarray  # (B,): from the original command
    path: np.ndarray  # (B,) int: number of the last step in the list of steps

    @classmethod
    def of(cls, progress: Progress, **columns: np.ndarray) -> "_Nodes":
        return cls(**{field.name: getattr(progress, field.name) for field in fields(Progress)}, **columns)


_Path = list[tuple[int, int, np.ndarray]]
"""The state, the action and the return collected before, of each step."""


class OutcomeSearch:
    """The search for the closest command under which the episode of an agent meets a goal."""

    def __init__(self, agent: Agent, original: np.ndarray, goal: Goal, deadline: float) -> None:
        self.agent, self.original, self.goal, self.deadline = agent, original, goal, deadline
        space = agent.space
        self.scale, self.low, self.high = space.scale, np.minimum(space.low, original), np.maximum(space.high, original)
        self.tolerance = SAME * np.abs(space.scale[: len(agent.environment.objectives)])
        self.best: tuple[float, np.ndarray] | None = None  # distance, command
        self.unresolved = np.inf
        self.boxes = 0
        self.steps: list[tuple[int, int, int, np.ndarray]] = []  # previous step, state, action, collected before

    def run(self) -> OutcomeSearchResult:
        generator = np.random.default_rng(0)
        random = generator.uniform(self.low, self.high, (_CANDIDATES, len(self.low)))
        candidates = np.concatenate([self.agent.front, random])
        for first in range(0, len(candidates), _TOGETHER):
            if first == 0 or now() < self.deadline:  # the front in any case
                self._try(candidates[first : first + _TOGETHER])
        if self.best is not None:
            self._approach()
        if not is_provable(self.agent):
            return self._result(Stop.COMPLETE, None)
        self.episodes = EpisodesOfSets(self.agent)
        stop = self._search()
        return self._result(stop, min(self.unresolved, self.reach), self.episodes.assumed)

    def _result(self, stop: Stop, lower_bound: float | None, assumed: float = 0.0) -> OutcomeSearchResult:
        distance, closest = self.best or (np.inf, None)
        return OutcomeSearchResult(closest, distance, lower_bound, stop, self.boxes, assumed)

    @property
    def reach(self) -> float:
        """The distance within which boxes are still of interest."""
        return np.inf if self.best is None else self.best[0] * (1.0 - GAP / 2)

    def roll_out(self, commands: np.ndarray) -> np.ndarray:
        """Return the returns (N, d) of greedy episodes under commands (N, d)."""
        seeds = np.zeros(len(commands), dtype=np.uint64)
        return run_episodes(self.agent.batch_env(), greedy(self.agent.policy), commands, seeds).returns

    def _try(self, commands: np.ndarray) -> None:
        """Roll out commands, and keep the closest one that meets the goal."""
        commands = np.clip(commands, self.low, self.high)
        distances = self.distances(commands, commands)
        closer = distances < (np.inf if self.best is None else self.best[0])
        if not closer.any():
            return
        commands, distances = commands[closer], distances[closer]
        met = np.flatnonzero(self.goal.met(self.roll_out(commands), self.tolerance))
        if len(met):
            first = met[distances[met].argmin()]
            self.best = float(distances[first]), commands[first]

    def _approach(self) -> None:
        """Try commands between the original command and the best one, and around these, while they get closer."""
        generator, shares = np.random.default_rng(1), np.linspace(0.02, 1.0, 40)[:, None]
        for _ in range(8):
            if now() >= self.deadline:
                return
            assert self.best is not None
            change = self.best[1] - self.original
            between = self.original + shares * change
            spread = 0.1 * np.linalg.norm(change / self.scale) * self.scale
            around = between[::8].repeat(40, axis=0) + spread * generator.normal(size=(200, len(change)))
            self._try(np.concatenate([between, around]))

    def distances(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the scaled distance (B,) of boxes low, high (B, d) from the original command."""
        off = np.maximum(np.maximum(low - self.original, self.original - high), 0.0) / self.scale
        distance: np.ndarray = np.sqrt((off * off).sum(axis=1))
        return distance

    def _search(self) -> Stop:
        """Search the tree of boxes until none is closer than the best command."""
        self.least, self.most = _future_returns(self.episodes.table, self.agent.environment.max_steps)
        start = Progress.start(len(self.low))
        low, high = self.low[None], self.high[None]
        if self.best is not None:  # a closer command is not farther in any objective
            reach = self.best[0] * self.scale
            low, high = np.maximum(low, self.original - reach), np.minimum(high, self.original + reach)
        pool = _Nodes.of(start, low=low, high=high, distance=np.zeros(1), path=np.full(1, -1))
        while len(pool):
            pool = pool[pool.distance < self.reach]
            if now() >= self.deadline:
                self.unresolved = min(self.unresolved, float(pool.distance.min(initial=np.inf)))
                return Stop.OUT_OF_TIME
            order = np.argsort(pool.distance, kind="stable")
            parts = [pool[order[_NODES:]], *self._children(pool[order[:_NODES]])]
            pool = _Nodes(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))
        return Stop.PROVEN

    def _children(self, nodes: _Nodes) -> list[_Nodes]:
        """Return the nodes after one more step of each possible action, and halves of boxes; settle the leaves."""
        self.boxes += len(nodes)
        children: list[_Nodes] = []
        leaves: list[tuple[float, int, np.ndarray, np.ndarray]] = []
        for state in np.unique(nodes.state).tolist():
            some = nodes[nodes.state == state]
            valid, bounds = self.episodes.bounds(state, some.low, some.high, some.collected)
            parts = {action: _part_of(action, valid, bounds, some.low, some.high) for action in valid.tolist()}
            width = ((some.high - some.low) / self.scale).max(axis=1)
            several = sum(possible.astype(int) for _, _, possible in parts.values()) > 1
            halved = several & (width > _RELAXED * np.maximum(some.distance, _RELAXED * min(self.reach, 1.0)))
            children += self._halves(some[halved])
            for action, (low, high, possible) in parts.items():
                rows = np.flatnonzero(possible & ~halved & (self.distances(low, high) < self.reach))
                if not len(rows):
                    continue
                after, ends, _ = self.episodes.advance(some[rows], np.full(len(rows), action))
                first = len(self.steps)
                self.steps += [
                    (int(p), state, action, c) for p, c in zip(some.path[rows], some.collected[rows], strict=True)
                ]
                path, low, high = np.arange(first, first + len(rows)), low[rows], high[rows]
                distance = self.distances(low, high)
                met = ends & self.goal.met(after.collected, self.tolerance)
                leaves += [(float(distance[i]), int(path[i]), low[i], high[i]) for i in np.flatnonzero(met)]
                columns = {"low": low, "high": high, "distance": distance, "path": path}
                children.append(_Nodes.of(after, **columns)[~ends & self._can_meet(after)])
        for _, last, least, most in sorted(leaves, key=lambda leaf: leaf[0]):
            self._settle(self._trace(last), least, most)
        return children

    def _halves(self, nodes: _Nodes) -> list[_Nodes]:
        """Return both halves of boxes across their longest side."""
        parts = []
        for low, high in zip(*_halves(nodes.low, nodes.high, self.scale), strict=True):
            columns = {"low": low, "high": high, "distance": self.distances(low, high), "path": nodes.path}
            parts.append(_Nodes.of(nodes, **columns))
        return parts

    def _can_meet(self, progress: Progress) -> np.ndarray:
        """Return whether the goal can still be met (B,), whatever the policy chooses."""
        left = self.agent.environment.max_steps - np.minimum(progress.step, self.agent.environment.max_steps)
        least = progress.collected + self.least[left, progress.state]
        most = progress.collected + self.most[left, progress.state]
        can: np.ndarray = ((most >= self.goal.low - self.tolerance) & (least <= self.goal.high + self.tolerance)).all(
            axis=1
        )
        return can

    def _trace(self, last: int) -> _Path:
        """Return the path that ends with a step."""
        path: _Path = []
        while last >= 0:
            last, state, action, collected = self.steps[last]
            path.append((state, action, collected))
        return path[::-1]

    def _settle(self, path: _Path, low: np.ndarray, high: np.ndarray) -> None:
        """Find the closest command that takes a path, among the commands of a box, or prove that none does."""
        low, high = low[None], high[None]
        while len(low):
            low, high = self._narrow(path, low, high)
            if not len(low):
                return
            self._try(np.concatenate([np.clip(self.original, low, high), (low + high) / 2]))
            distance = self.distances(low, high)
            near = distance < self.reach
            low, high, distance = low[near], high[near], distance[near]
            width = (high - low) / self.scale
            tiny = width.max(axis=1, initial=0.0) <= np.maximum(_SMALLEST, GAP / 8 * distance)
            if tiny.any():
                self.unresolved = min(self.unresolved, float(distance[tiny].min()))
            low, high, width, distance = low[~tiny], high[~tiny], width[~tiny], distance[~tiny]
            if now() >= self.deadline:
                self.unresolved = min(self.unresolved, float(distance.min(initial=np.inf)))
                return
            low, high = (np.concatenate(sides) for sides in _halves(low, high, self.scale))

    def _narrow(self, path: _Path, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of boxes in which no step of the path is proven to go otherwise."""
        for state, action, collected in path:
            valid, bounds = self.episodes.bounds(state, low, high, np.broadcast_to(collected, low.shape))
            low, high, possible = _part_of(action, valid, bounds, low, high)
            possible &= self.distances(low, high) < self.reach
            low, high = low[possible], high[possible]
            self.boxes += len(low)
            if not len(low):
                break
        return low, high


def _halves(low: np.ndarray, high: np.ndarray, scale: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the lower and the upper sides of both halves of boxes low, high (B, d), across their longest sides."""
    axis, rows = ((high - low) / scale).argmax(axis=1), np.arange(len(low))
    middle = (low[rows, axis] + high[rows, axis]) / 2
    lower, upper = high.copy(), low.copy()
    lower[rows, axis], upper[rows, axis] = middle, middle
    return [low, upper], [lower, high]


def _future_returns(table: TransitionTable, max_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the most of each objective that any policy collects from a state on: (steps + 1, S, d)."""
    shape = (max_steps + 1, len(table.final), table.num_objectives)
    least, most = np.zeros(shape), np.zeros(shape)
    following, rewards = table.next_states[:, :, 0], table.rewards[:, :, 0]
    ends, invalid = table.final[following][:, :, None], ~table.masks[:, :, None]
    for left in range(1, max_steps + 1):
        for returns, worst, choose in ((least, np.inf, np.min), (most, -np.inf, np.max)):
            after = rewards + np.where(ends, 0.0, returns[left - 1][following])
            returns[left] = choose(np.where(invalid, worst, after), axis=1)
    return least, most


def _part_of(
    action: int, valid: np.ndarray, bounds: HalfSpaces, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return boxes around the parts of boxes low, high (B, d) in which an action may be chosen, and whether it may."""
    possible = np.ones(len(low), dtype=bool)
    for pair, (first, _) in enumerate(permutations(valid.tolist(), 2)):
        if first != action:
            continue
        slopes, offsets = bounds.slopes[:, pair], bounds.offsets[:, pair]
        most = np.maximum(slopes * low, slopes * high)  # of each term
        top = most.sum(axis=1) + offsets
        possible &= top >= 0.0
        steep = np.abs(slopes) > 1e-300
        # slope x + (the most of the other terms) >= 0
        edge = -(top[:, None] - most) / np.where(steep, slopes, 1.0)
        out = _OUTWARDS * (np.abs(edge) + np.abs(low) + np.abs(high))
        low = np.where(steep & (slopes > 0), np.maximum(low, np.minimum(edge - out, high)), low)
        high = np.where(steep & (slopes < 0), np.minimum(high, np.maximum(edge + out, low)), high)
    return low, high, possible
