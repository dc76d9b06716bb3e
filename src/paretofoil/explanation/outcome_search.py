"""Search for the closest command under which the greedy episode has an outcome, with a proof.

1. A tree of boxes of commands is searched, the closest box first. In each state, every action that is not proven to
   lose gets the part of the box in which it may be chosen; these parts may overlap. A leaf is the end of an episode.
2. A leaf that meets the goal is a path and a box that contains all commands which take it. The box is narrowed by the
   bounds of every step of the path, and halved, until its closest command is known to 1 %.
3. Commands of these boxes are rolled out on the deployed policy. Only such a command is a result.

No box that is closer than the result is left: it is the closest. If none is left at all, no command does it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import permutations

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.command import length
from paretofoil.core.decision import Decision
from paretofoil.core.options import Stop, now
from paretofoil.core.policy import IMPOSSIBLE, query
from paretofoil.core.question import Question
from paretofoil.envs.batch import TransitionTable
from paretofoil.envs.episode import Episodes, greedy, run_episodes
from paretofoil.explanation.episodes import EpisodesOfSets, Progress
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
"""Commands that are rolled out between two looks at the clock."""
_AT_ONCE = 4096
"""Rollouts that run together; hundreds of steps of these fit into memory."""
_SMALLEST = 1e-9
"""Scaled width below which a box is not halved."""
_CANDIDATES = 2_000
"""Random commands that are rolled out before the proof, so that fewer boxes must be examined."""
_REPEATS = 32
_CONFIRMING = 200
"""Rollouts of a command where chance plays a part: in the search, and to confirm it."""
_OUTWARDS = 1e-12
"""More than the relative rounding error of the side of a box."""


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens at a step of an episode: an action, a visit to a state, or the end of the task."""

    required: bool
    """Whether it must happen at some step, or must never happen."""
    action: int | None = None
    visits: Callable[[np.ndarray], bool] | None = None
    """Whether an observation is one of the states. Without an action and states, the event is the end of the task."""

    def visits_any(self, observations: np.ndarray) -> np.ndarray:
        """Return which of the observations (N, S) are among the states: (N,)."""
        assert self.visits is not None
        cache: dict[bytes, bool] = {}
        for observation in observations:
            if observation.tobytes() not in cache:
                cache[observation.tobytes()] = bool(self.visits(observation))
        return np.array([cache[observation.tobytes()] for observation in observations], dtype=bool)

    def at(self, observation: np.ndarray) -> bool:
        """Return whether it happens before the first step."""
        return self.visits is not None and bool(self.visits(observation))

    def in_table(self, table: TransitionTable) -> np.ndarray:
        """Return whether it happens when an action is taken in a state: (S, A)."""
        following = table.next_states[:, :, 0]
        if self.visits is not None:
            return self.visits_any(table.observations)[following]
        if self.action is None:
            return table.final[following]
        return np.broadcast_to(np.arange(table.masks.shape[1]) == self.action, table.masks.shape)

    def in_episodes(self, episodes: Episodes) -> np.ndarray:
        """Return in which episodes it happens: (N,)."""
        if self.visits is None and self.action is None:
            return episodes.terminated
        num, longest = episodes.actions.shape
        happens = episodes.actions == self.action
        if self.visits is not None:
            happens = self.visits_any(episodes.observations.reshape(num * longest, -1)).reshape(num, longest)
        before_end: np.ndarray = (happens & (np.arange(longest) < episodes.lengths[:, None])).any(axis=1)
        return before_end if self.visits is None else before_end | self.visits_any(episodes.end)


@dataclass(frozen=True, eq=False)
class Goal:
    """What the outcome of an episode shall be. All of it must hold."""

    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,): limits of the return
    tolerance: np.ndarray  # (d,): returns that differ by less are equal
    dominated: np.ndarray  # (k, d): the return must be better than each of these points in some objective
    most_steps: float = np.inf
    least_steps: float = 0
    events: tuple[Event, ...] = ()
    share: float = 0.5
    """Share of the rollouts that must meet it, where chance plays a part."""

    def after(self, collected: np.ndarray, steps: int) -> "Goal":
        """Return the goal for the rest of an episode, after some steps."""
        moved = {name: getattr(self, name) - collected for name in ("low", "high", "dominated")}
        return replace(self, **moved, most_steps=self.most_steps - steps, least_steps=self.least_steps - steps)

    @cached_property
    def required(self) -> np.ndarray:
        """(m,): whether each event must happen."""
        return np.array([event.required for event in self.events], dtype=bool)

    def met_by(self, episodes: Episodes) -> np.ndarray:
        """Return which episodes meet the goal: (N,)."""
        marks = np.zeros((len(episodes), len(self.events)), dtype=bool)
        for number, event in enumerate(self.events):
            marks[:, number] = event.in_episodes(episodes)
        return self.met(episodes.returns, episodes.lengths, marks)

    def met(self, returns: np.ndarray, steps: np.ndarray, marks: np.ndarray) -> np.ndarray:
        """Return which returns (N, d), after steps (N,) in which events (N, m) happened, meet the goal: (N,)."""
        inside = ((returns >= self.low - self.tolerance) & (returns <= self.high + self.tolerance)).all(axis=1)
        better = (returns[:, None] > self.dominated + self.tolerance).any(axis=2).all(axis=1)
        in_time = (steps >= self.least_steps) & (steps <= self.most_steps)
        met: np.ndarray = inside & better & in_time & (marks == self.required).all(axis=1)
        return met


@dataclass(frozen=True)
class OutcomeSearchResult:
    """What a search knows about the closest command that meets a goal."""

    closest: np.ndarray | None
    """The closest command that was rolled out and met the goal."""
    distance: float
    """Its scaled distance from the original command; infinite if there is none."""
    stop: Stop
    lower_bound: float = 0.0
    """No command that is closer than this meets the goal."""
    boxes: int = 0
    assumed: float = 0.0
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""
    deviation: float = 0.0
    """The largest rounding error that was measured."""


@dataclass(frozen=True, eq=False)
class _Nodes(Progress):
    """Boxes around the initial commands that follow a path; a box may contain other commands, too."""

    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    distance: np.ndarray  # (B,): from the original command
    path: np.ndarray  # (B,) int: number of the last step in the list of steps
    marks: np.ndarray  # (B, m) bool: which events of the goal have happened

    @classmethod
    def of(cls, progress: Progress, **columns: np.ndarray) -> "_Nodes":
        return cls(**{field.name: getattr(progress, field.name) for field in fields(Progress)}, **columns)


_Path = list[tuple[int, int, np.ndarray]]
"""The state, the action and the return collected before, of each step."""


class OutcomeSearch:
    """The search for the closest command under which the episode of an agent meets a goal."""

    def __init__(self, agent: Agent, decision: Decision, question: Question, goal: Goal, deadline: float) -> None:
        self.agent, self.decision, self.question, self.deadline = agent, decision, question, deadline
        self.goal = goal.after(decision.collected[: len(goal.low)], decision.step)
        self.original, self.scale = question.command, question.space.scale
        self.low, self.high = question.low, question.high
        self.is_random = agent.batch_env().stochastic
        self.best: tuple[float, np.ndarray] | None = None  # distance, command
        self.unresolved = np.inf
        self.boxes = self.queries = 0
        self.steps: list[tuple[int, int, int, np.ndarray]] = []  # previous step, state, action, collected before

    def run(self, *, prove: bool) -> OutcomeSearchResult:
        """Search with rollouts, and then prove the result, if requested."""
        generator = np.random.default_rng(0)
        count = _CANDIDATES // 10 if self.is_random else _CANDIDATES
        random = generator.uniform(self.low, self.high, (count, len(self.low)))
        front = self.question.front[np.argsort(self.distances(self.question.front, self.question.front), kind="stable")]
        self._try(front[:_TOGETHER])  # in any case
        rest = np.concatenate([front[_TOGETHER:], random])
        for first in range(0, len(rest), _TOGETHER):
            if now() < self.deadline:
                self._try(rest[first : first + _TOGETHER])
        if self.best is not None:
            self._approach()
        if not prove:
            stop = Stop.OUT_OF_TIME if now() >= self.deadline else Stop.COMPLETE
            distance, closest = self.best or (np.inf, None)
            return OutcomeSearchResult(closest, distance, stop)
        self.episodes = EpisodesOfSets(self.agent)
        stop = self._search()
        distance, closest = self.best or (np.inf, None)
        rounding = self.episodes.assumed, self.episodes.deviation
        return OutcomeSearchResult(closest, distance, stop, min(self.unresolved, self.reach), self.boxes, *rounding)

    @property
    def reach(self) -> float:
        """The distance within which boxes are still of interest."""
        return np.inf if self.best is None else self.best[0] * (1.0 - GAP / 2)

    def meets(self, command: np.ndarray) -> bool:
        """Return whether a command (d,) meets the goal, rolled out alone; with other random numbers than the search."""
        return bool(self.shares(command[None], _CONFIRMING, seed=1)[0] >= self.goal.share)

    def shares(self, commands: np.ndarray, repeats: int = _REPEATS, seed: int = 0) -> np.ndarray:
        """Return the share of greedy episodes under each command (N, d) that meet the goal: (N,)."""
        shares = []
        at_once = max(1, _AT_ONCE // repeats) if self.is_random else _AT_ONCE
        for first in range(0, len(commands), at_once):
            some = commands[first : first + at_once]
            shares.append(self.goal.met_by(self._run(some, repeats, seed)).reshape(len(some), -1).mean(axis=1))
        return np.concatenate(shares)

    def least_margin(self, command: np.ndarray) -> float:
        """Return the least margin by which the actions of the episodes under a command (d,) win."""
        episodes = self._run(command[None], _CONFIRMING, seed=1)
        real = np.arange(episodes.actions.shape[1]) < episodes.lengths[:, None]
        scores = query(self.agent.policy, episodes.observations[real], episodes.commands[real])
        best_two = np.sort(np.where(episodes.masks[real], scores, IMPOSSIBLE), axis=1)[:, -2:]
        return float(np.ptp(best_two, axis=1).min())

    def _run(self, commands: np.ndarray, repeats: int, seed: int) -> Episodes:
        """Return greedy episodes under commands (N, d); where chance plays a part, several of each in a row."""
        repeats = repeats if self.is_random else 1
        seeds = np.random.default_rng(seed).integers(2**63, size=repeats, dtype=np.uint64)
        episodes = run_episodes(
            self.agent.batch_env(),
            greedy(self.agent.policy),
            np.repeat(commands, repeats, axis=0),
            np.tile(seeds, len(commands)),
            snapshot=self.decision.snapshot,
            subtract=not self.agent.space.simplex,
        )
        self.queries += int(episodes.lengths.sum())
        return episodes

    def _try(self, commands: np.ndarray) -> None:
        """Roll out commands, and keep the closest one that meets the goal."""
        commands = self.question.space.project(commands, self.low, self.high)
        distances = self.distances(commands, commands)
        closer = distances < (np.inf if self.best is None else self.best[0])
        if not closer.any():
            return
        commands, distances = commands[closer], distances[closer]
        met = np.flatnonzero(self.shares(commands) >= self.goal.share)
        for row in met[np.argsort(distances[met], kind="stable")]:
            if not self.is_random or self.meets(commands[row]):
                self.best = float(distances[row]), commands[row]
                return

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
        return length(off, self.question.norm)

    def _search(self) -> Stop:
        """Search the tree of boxes until none is closer than the best command."""
        snapshot, goal, table = self.decision.snapshot, self.goal, self.episodes.table
        # An episode that ends before the step limit ends by itself.
        last = snapshot["elapsed"] + goal.most_steps
        self.last_step = int(min(self.agent.environment.max_steps, max(last, 0)))
        self.events = np.zeros((len(goal.events), *table.masks.shape), dtype=bool)
        for number, event in enumerate(goal.events):
            self.events[number] = event.in_table(table)
        allowed = table.masks & ~self.events[~goal.required].any(axis=0)
        self.least, self.most = _future_returns(table, allowed, self.last_step)
        self.possible = _possible_events(table, allowed, self.events, self.last_step)
        start = Progress.start(len(self.low), snapshot["state"], snapshot["elapsed"])
        marks = np.array([[event.at(self.decision.state) for event in goal.events]], dtype=bool)
        low, high = self.low[None], self.high[None]
        if self.best is not None:  # a closer command is not farther in any objective
            reach = self.best[0] * self.scale
            low, high = np.maximum(low, self.original - reach), np.minimum(high, self.original + reach)
        pool = _Nodes.of(start, low=low, high=high, distance=np.zeros(1), path=np.full(1, -1), marks=marks)
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
                after, ends, final = self.episodes.advance(some[rows], np.full(len(rows), action))
                marks = some.marks[rows] | self.events[:, state, action]
                first = len(self.steps)
                self.steps += [
                    (int(p), state, action, c) for p, c in zip(some.path[rows], some.collected[rows], strict=True)
                ]
                path, low, high = np.arange(first, first + len(rows)), low[rows], high[rows]
                distance = self.distances(low, high)
                lasts = (
                    np.where(final, after.step, self.agent.environment.max_steps) - self.decision.snapshot["elapsed"]
                )
                met = ends & self.goal.met(after.collected, lasts, marks)
                leaves += [(float(distance[i]), int(path[i]), low[i], high[i]) for i in np.flatnonzero(met)]
                columns = {"low": low, "high": high, "distance": distance, "path": path, "marks": marks}
                going_on = _Nodes.of(after, **columns)[~ends]
                children.append(going_on[self._can_meet(going_on)])
        for _, last, least, most in sorted(leaves, key=lambda leaf: leaf[0]):
            self._settle(self._trace(last), least, most)
        return children

    def _halves(self, nodes: _Nodes) -> list[_Nodes]:
        """Return both halves of boxes across their longest side."""
        parts = []
        for low, high in zip(*_halves(nodes.low, nodes.high, self.scale), strict=True):
            parts.append(replace(nodes, low=low, high=high, distance=self.distances(low, high)))
        return parts

    def _can_meet(self, nodes: _Nodes) -> np.ndarray:
        """Return whether the goal can still be met (B,), whatever the policy chooses."""
        goal, left = self.goal, np.maximum(self.last_step - nodes.step, 0)
        least = nodes.collected + self.least[left, nodes.state]
        most = nodes.collected + self.most[left, nodes.state]
        inside = (most >= goal.low - goal.tolerance) & (least <= goal.high + goal.tolerance) & (least <= most)
        better = (most[:, None] > goal.dominated + goal.tolerance).any(axis=2).all(axis=1)
        happened = np.where(goal.required, nodes.marks | self.possible[left, nodes.state], ~nodes.marks)
        can: np.ndarray = inside.all(axis=1) & better & happened.all(axis=1) & (nodes.step < self.last_step)
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


def _future_returns(table: TransitionTable, allowed: np.ndarray, max_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the most of each objective that any policy collects from a state on: (steps + 1, S, d).

    `allowed` (S, A) are the actions that it may take; where there is none, the least is above the most.
    """
    shape = (max_steps + 1, len(table.final), table.num_objectives)
    least, most = np.zeros(shape), np.zeros(shape)
    following, rewards = table.next_states[:, :, 0], table.rewards[:, :, 0]
    ends, invalid = table.final[following][:, :, None], ~allowed[:, :, None]
    for left in range(1, max_steps + 1):
        for returns, worst, choose in ((least, np.inf, np.min), (most, -np.inf, np.max)):
            after = rewards + np.where(ends, 0.0, returns[left - 1][following])
            returns[left] = choose(np.where(invalid, worst, after), axis=1)
    return least, most


def _possible_events(table: TransitionTable, allowed: np.ndarray, events: np.ndarray, steps: int) -> np.ndarray:
    """Return whether each event (m, S, A) can happen within some steps from a state: (steps + 1, S, m)."""
    following = table.next_states[:, :, 0]
    ends, at_once = table.final[following], events & allowed
    possible = np.zeros((steps + 1, len(table.final), len(events)), dtype=bool)
    for left in range(1, steps + 1):
        later = possible[left - 1][following].transpose(2, 0, 1) & ~ends & allowed
        possible[left] = (at_once | later).any(axis=2).T
    return possible


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
