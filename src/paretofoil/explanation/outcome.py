"""Outcome questions: the closest command under which the episode ends otherwise, proven.

1. A tree of boxes of commands is searched, the closest box first. In each state, every action that is not proven to
   lose gets the part of the box in which it may be chosen; these parts may overlap. A leaf is the end of an episode.
2. A leaf that meets the goal is a path and a box that contains all commands which take it. The box is narrowed by the
   bounds of every step of the path, and halved, until its closest command is known to 1 %.
3. Commands of these boxes are rolled out on the deployed policy. Only such a command is an answer.

No box that is closer than the answer is left: the answer is the closest. If none is left at all, no command does it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import permutations, product
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, as_command
from paretofoil.core.answer import Status
from paretofoil.core.command import Objective
from paretofoil.core.display import show
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Stop, as_seconds, now
from paretofoil.envs.batch import TransitionTable
from paretofoil.envs.episode import greedy, run_episodes
from paretofoil.explanation.episodes import EpisodesOfSets, Progress, is_provable, require_deterministic
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
_LONGER = 1.05
"""How much farther than the closest command the short one may be."""
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
    text: str
    """The goal as it was given."""

    def met(self, returns: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
        """Return which returns (N, d) meet the goal."""
        inside: np.ndarray = ((returns >= self.low - tolerance) & (returns <= self.high + tolerance)).all(axis=1)
        return inside


def read_goal(text: str, objectives: Sequence[Objective]) -> Goal:
    """Return the goal of a text such as "treasure >= 50, time <= 10"; costs are positive."""
    low, high = np.full(len(objectives), -np.inf), np.full(len(objectives), np.inf)
    names = [objective.name for objective in objectives]
    for part in text.split(","):
        matched = re.fullmatch(r"\s*(.+?)\s*(<=|>=|=)\s*([-+0-9.eE]+)\s*", part)
        if matched is None or matched[1] not in names:
            what = f'a goal such as "{names[0]} >= 1", for {", ".join(names)}'
            raise InvalidInput.expected(what, repr(part.strip()))
        which, sign = names.index(matched[1]), -1.0 if objectives[names.index(matched[1])].cost else 1.0
        try:
            number = sign * float(matched[3])
        except ValueError:
            raise InvalidInput.expected("a number in a goal", repr(matched[3])) from None
        if matched[2] == "=" or (matched[2] == ">=") == (sign > 0):
            low[which] = max(low[which], number)
        if matched[2] == "=" or (matched[2] == "<=") == (sign > 0):
            high[which] = min(high[which], number)
    return Goal(low, high, text.strip())


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeAnswer:
    """The closest command under which the greedy episode meets a goal."""

    status: Status
    agent: str
    objectives: tuple[Objective, ...]
    goal: str
    original: np.ndarray  # (d,): the original command
    achieved_before: np.ndarray  # (d,): the return of the episode under it
    command: np.ndarray | None
    """A command in short numbers whose rollout meets the goal, close to the closest one; None if none was found."""
    achieved: np.ndarray | None  # (d,): the return of that rollout
    closest: np.ndarray | None
    """The closest command that was found: what the proof is about. Its rollout meets the goal, too."""
    distance: float | None
    """The scaled distance of the closest command from the original one."""
    lower_bound: float | None
    """No command that is closer than this meets the goal; None if nothing is proven."""
    low: np.ndarray
    high: np.ndarray
    """The search region."""
    stop: Stop
    boxes: int
    seconds: float
    assumed: float = 0.0
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""

    def __repr__(self) -> str:
        return f"<OutcomeAnswer: {self.sentence()}>"

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """Return the answer in words."""
        return str(show(self, "sentence"))


def explain_outcome(agent: Agent, command: Any, goal: str, *, seconds: float = 10.0) -> OutcomeAnswer:
    """Return the closest command under which the episode meets a goal, with its proof.

    The answer is proven in deterministic environments with finitely many states, for policies whose computation is
    known. Otherwise it is the closest of the commands that were rolled out.

    Args:
        agent: The agent.
        command: The original command, for the whole episode.
        goal: Conditions on the return, such as "treasure >= 50, time <= 10"; costs are positive.
        seconds: Time limit.
    """
    require_deterministic(agent)
    original = as_command(agent, command)
    limit = now() + as_seconds(seconds)
    return _OutcomeSearch(agent, original, read_goal(goal, agent.environment.objectives), limit).run()


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


class _OutcomeSearch:
    """The search for the closest command under which the episode of an agent meets a goal."""

    def __init__(self, agent: Agent, original: np.ndarray, goal: Goal, deadline: float) -> None:
        self.agent, self.original, self.goal, self.deadline, self.start = agent, original, goal, deadline, now()
        space = agent.space
        self.scale, self.low, self.high = space.scale, np.minimum(space.low, original), np.maximum(space.high, original)
        self.tolerance = SAME * np.abs(space.scale[: len(agent.environment.objectives)])
        self.best: tuple[float, np.ndarray, np.ndarray] | None = None  # distance, command, return
        self.unresolved = np.inf
        self.boxes = 0
        self.steps: list[tuple[int, int, int, np.ndarray]] = []  # previous step, state, action, collected before

    def run(self) -> OutcomeAnswer:
        [before] = self._roll_out(self.original[None])
        if self.goal.met(before[None], self.tolerance)[0]:
            what = f"a goal that the episode under {self.original.tolist()} does not meet"
            raise InvalidInput.expected(what, f"{self.goal.text!r}, which it meets with {before.tolist()}")
        generator = np.random.default_rng(0)
        random = generator.uniform(self.low, self.high, (_CANDIDATES, len(self.low)))
        candidates = np.concatenate([self.agent.front, random])
        for first in range(0, len(candidates), _TOGETHER):
            if first == 0 or now() < self.deadline:  # the front in any case
                self._try(candidates[first : first + _TOGETHER])
        if self.best is not None:
            self._approach()
        if not is_provable(self.agent):
            return self._answer(before, Stop.COMPLETE, None)
        self.episodes = EpisodesOfSets(self.agent)
        stop = self._search()
        return self._answer(before, stop, min(self.unresolved, self.reach))

    @property
    def reach(self) -> float:
        """The distance within which boxes are still of interest."""
        return np.inf if self.best is None else self.best[0] * (1.0 - GAP / 2)

    def _roll_out(self, commands: np.ndarray) -> np.ndarray:
        """Return the returns (N, d) of greedy episodes under commands (N, d)."""
        seeds = np.zeros(len(commands), dtype=np.uint64)
        return run_episodes(self.agent.batch_env(), greedy(self.agent.policy), commands, seeds).returns

    def _try(self, commands: np.ndarray) -> None:
        """Roll out commands, and keep the closest one that meets the goal."""
        commands = np.clip(commands, self.low, self.high)
        distances = self._distance(commands, commands)
        closer = distances < (np.inf if self.best is None else self.best[0])
        if not closer.any():
            return
        commands, distances = commands[closer], distances[closer]
        returns = self._roll_out(commands)
        met = np.flatnonzero(self.goal.met(returns, self.tolerance))
        if len(met):
            first = met[distances[met].argmin()]
            self.best = float(distances[first]), commands[first], returns[first]

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

    def _shorten(self, command: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a command in short numbers close to the given one, and its return; both commands meet the goal."""
        first = 1 - np.floor(np.log10(self.scale))
        for more in range(6):
            unit = 10.0 ** -(first + more)
            floor = np.floor(command / unit)
            corners = np.array(list(product((0.0, 1.0), repeat=len(command))))
            near = np.clip((floor + corners) * unit, self.low, self.high)
            near = np.stack([np.round(c, int(k)) for c, k in zip(near.T, first + more, strict=True)], axis=1) + 0.0
            returns = self._roll_out(near)
            met = np.flatnonzero(self.goal.met(returns, self.tolerance))
            if len(met):
                distances = self._distance(near[met], near[met])
                if distances.min() <= _LONGER * float(self._distance(command[None], command[None])[0]):
                    nearest = met[distances.argmin()]
                    return near[nearest], returns[nearest]
        [achieved] = self._roll_out(command[None])
        return command, achieved

    def _distance(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
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
                rows = np.flatnonzero(possible & ~halved & (self._distance(low, high) < self.reach))
                if not len(rows):
                    continue
                after, ends, _ = self.episodes.advance(some[rows], np.full(len(rows), action))
                first = len(self.steps)
                self.steps += [
                    (int(p), state, action, c) for p, c in zip(some.path[rows], some.collected[rows], strict=True)
                ]
                path, low, high = np.arange(first, first + len(rows)), low[rows], high[rows]
                distance = self._distance(low, high)
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
            columns = {"low": low, "high": high, "distance": self._distance(low, high), "path": nodes.path}
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
            distance = self._distance(low, high)
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
            possible &= self._distance(low, high) < self.reach
            low, high = low[possible], high[possible]
            self.boxes += len(low)
            if not len(low):
                break
        return low, high

    def _answer(self, before: np.ndarray, stop: Stop, lower_bound: float | None) -> OutcomeAnswer:
        if self.best is None:
            status = Status.PROVEN_INFEASIBLE if lower_bound == np.inf else Status.NOT_FOUND
        else:
            is_closest = lower_bound is not None and lower_bound >= self.best[0] * (1.0 - GAP)
            status = Status.PROVEN_CLOSEST if is_closest else Status.FOUND
        distance, closest, _ = self.best or (None, None, None)
        command, achieved = (None, None) if closest is None else self._shorten(closest)
        return OutcomeAnswer(
            status=status,
            agent=self.agent.name,
            objectives=self.agent.space.command_objectives,
            goal=self.goal.text,
            original=self.original,
            achieved_before=before,
            command=command,
            achieved=achieved,
            closest=closest,
            distance=distance,
            lower_bound=lower_bound,
            low=self.low,
            high=self.high,
            stop=stop,
            boxes=self.boxes,
            seconds=now() - self.start,
            assumed=self.episodes.assumed if is_provable(self.agent) else 0.0,
        )


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
