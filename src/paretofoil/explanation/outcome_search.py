"""Search for the closest command under which the greedy episode has an outcome, with a proof.

1. Boxes of commands are examined, the closest first. A box is followed through all episodes that its commands may have:
   in each state, every action that is not proven to lose gets the part of the box in which it may be chosen; these
   parts may overlap. Parts from which the outcome cannot be met are dropped. Parts in the same state with the same
   return are joined, because they have the same future.
2. If no part is left at the end, no command of the box meets the outcome. If one path is left, its closest command is
   found by the branch and bound of exact search, with the margins of all its steps. Other boxes are cut in four.
3. Commands of these boxes are rolled out on the deployed policy. Only a command whose rollout meets the outcome is a
   result.

The result is the closest command when no box that is closer is left. If no box is left and there is no result, no
command meets the outcome.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.amounts import Limit, meets_limits
from paretofoil.core.command import length
from paretofoil.core.decision import Decision
from paretofoil.core.options import Stop, now
from paretofoil.core.policy import IMPOSSIBLE, query
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.envs.batch import TransitionTable
from paretofoil.envs.episode import DECIMALS, Episodes
from paretofoil.explanation.episodes import EpisodesOfSets, Leads, Progress, join, repeated_episodes, unchanged_radius
from paretofoil.proof.bounds import HalfSpaces
from paretofoil.proof.branch_and_bound import Claim, Effort, branch_and_bound, halves
from paretofoil.proof.halfspace import cut, nearest

Proof = Literal["closest", "radius"]
"""What is proven: that no command is closer, or that the episode stays the same within a radius."""
GAP = 0.01
"""An answer is the closest if no command is closer by more than this share of its distance."""
SAME = 1e-3
"""Returns that differ by less than this share of an objective's range are equal."""
_BOXES = 64
"""Boxes that are examined together."""
_PARTS = 30
"""A box with more nodes than this is cut in four before it is followed further."""
_KEPT = 300_000
"""Nodes whose useful parts are kept."""
_ROUNDING = 1.0001
"""Factor by which limits of deviations are enlarged, because returns are rounded."""
_NUMBERS = 10_000_000
"""Maximum size of a table of future returns."""
_CUTS = 12
"""Number of bounds of the margins of a path that are used: those that cut off most of a box."""
_PATH_BOXES = 20_000
"""Limit of boxes in the proof about one path."""
_PATH_BATCH = 8
"""Boxes of this proof that are bounded together; each has one node per step of the path."""
_TRIED = 16
"""Number of boxes whose closest commands are rolled out, of those that are examined together."""
_TOGETHER = 100
"""Commands that are rolled out before the time is checked again."""
_SMALLEST = 1e-9
"""Scaled width below which a box is not halved."""
_CANDIDATES = 2_000
"""Random commands that are rolled out before the proof, so that fewer boxes must be examined."""
_REPEATS = 32
"""Rollouts of each command in a stochastic environment during the search."""
_CONFIRMING = 200
"""Rollouts that confirm a command in a stochastic environment."""


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens at a step of an episode: an action, a visit to a state, or the end of the task.

    If nothing else is given, the event is the end of the task.
    """

    required: bool
    """Whether it must happen at some step; otherwise it must never happen."""
    action: int | None = None
    visits: Callable[[np.ndarray], bool] | None = None
    """Returns whether an observation is one of the states to visit."""
    limits: tuple[Limit, ...] = ()
    """Limits that the amounts of a continuous action keep."""

    def visits_any(self, observations: np.ndarray) -> np.ndarray:
        """Return which of the observations (N, S) are among the states to visit: (N,)."""
        assert self.visits is not None
        cache: dict[bytes, bool] = {}
        for observation in observations:
            if observation.tobytes() not in cache:
                cache[observation.tobytes()] = bool(self.visits(observation))
        return np.array([cache[observation.tobytes()] for observation in observations], dtype=bool)

    def at_start(self, observation: np.ndarray) -> bool:
        """Return whether the first observation is already among the states to visit."""
        return self.visits is not None and bool(self.visits(observation))

    def in_table(self, table: TransitionTable) -> np.ndarray:
        """Return for each state and action whether the event happens when the action is taken: (S, A)."""
        following = table.next_states[:, :, 0]
        if self.visits is not None:
            return self.visits_any(table.observations)[following]
        if self.action is None:
            return table.final[following]
        return np.broadcast_to(np.arange(table.masks.shape[1]) == self.action, table.masks.shape)

    def in_episodes(self, episodes: Episodes) -> np.ndarray:
        """Return in which episodes the event happens: (N,)."""
        if self.visits is None and self.action is None and not self.limits:
            return episodes.terminated
        num, longest = episodes.actions.shape[:2]
        actions = episodes.actions
        happens: Any = meets_limits(self.limits, actions) if self.limits else actions == self.action
        if self.visits is not None:
            happens = self.visits_any(episodes.observations.reshape(num * longest, -1)).reshape(num, longest)
        before_end: np.ndarray = (happens & (np.arange(longest) < episodes.lengths[:, None])).any(axis=1)
        return before_end if self.visits is None else before_end | self.visits_any(episodes.end)


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions on an episode as numbers. All of them must hold."""

    low: np.ndarray  # (d,): the lower limits of the return
    high: np.ndarray  # (d,): the upper limits
    tolerance: np.ndarray  # (d,): returns that differ by less are equal
    dominated: np.ndarray  # (k, d): the return must be better than each of these points in some objective
    most_steps: float = np.inf
    least_steps: float = 0
    events: tuple[Event, ...] = ()
    share: float = 0.5
    """Share of the rollouts that must meet the conditions, in a stochastic environment."""
    first: int | None = None
    """The action that the first step must take; None if any."""
    deviation: np.ndarray | None = None  # (d,): how far the return may be from what the command asks for

    def after(self, collected: np.ndarray, steps: int) -> "Conditions":
        """Return the conditions on the rest of an episode, after some steps."""
        moved = {name: getattr(self, name) - collected for name in ("low", "high", "dominated")}
        return replace(self, **moved, most_steps=self.most_steps - steps, least_steps=self.least_steps - steps)

    @cached_property
    def required(self) -> np.ndarray:
        """(m,): whether each event must happen."""
        return np.array([event.required for event in self.events], dtype=bool)

    def met_by(self, episodes: Episodes) -> np.ndarray:
        """Return which episodes meet the outcome: (N,)."""
        marks = np.zeros((len(episodes), len(self.events)), dtype=bool)
        for number, event in enumerate(self.events):
            marks[:, number] = event.in_episodes(episodes)
        met = self.met(episodes.returns, episodes.lengths, marks)
        if self.first is not None:
            met &= episodes.actions[:, 0] == self.first
        if self.deviation is not None:
            off = np.abs(np.round(episodes.returns - episodes.commands[:, 0, : len(self.low)], DECIMALS))
            met &= (off <= self.deviation).all(axis=1)
        return met

    def met(self, returns: np.ndarray, steps: np.ndarray, marks: np.ndarray) -> np.ndarray:
        """Return which episodes meet the outcome (N,), given returns (N, d), steps (N,) and past events (N, m).

        `first` and `deviation` are not checked.
        """
        inside = ((returns >= self.low - self.tolerance) & (returns <= self.high + self.tolerance)).all(axis=1)
        better = (returns[:, None] > self.dominated + self.tolerance).any(axis=2).all(axis=1)
        in_time = (steps >= self.least_steps) & (steps <= self.most_steps)
        met: np.ndarray = inside & better & in_time & (marks == self.required).all(axis=1)
        return met


@dataclass(frozen=True)
class OutcomeSearchResult:
    """What a search knows about the closest command that meets an outcome."""

    closest: np.ndarray | None
    """The closest command that was rolled out and met the outcome."""
    distance: float
    """Its scaled distance from the original command; infinite if there is none."""
    stop: Stop
    lower_bound: float = 0.0
    """No command at a smaller distance than this meets the outcome."""
    boxes: int = 0
    """Number of boxes that were examined."""
    assumed: float = 0.0
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""
    deviation: float = 0.0
    """The largest rounding error that was measured."""

    @property
    def is_closest(self) -> bool:
        """Whether it is proven that no command that meets the outcome is more than 1 % closer than `closest`."""
        return self.closest is not None and self.lower_bound >= self.distance * (1.0 - GAP)


_SEVERAL = -2
"""In place of the last step of a path: several paths lead to the node."""


@dataclass(frozen=True, eq=False)
class _Nodes(Progress):
    """Paths of episodes, each with a box around the initial commands that may lead along it.

    The boxes contain scaled changes of the original command.
    """

    root: np.ndarray  # (B,) int: the number of the box that the node is a part of
    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    distance: np.ndarray  # (B,): no command of the node that meets the outcome is closer than this
    path: np.ndarray  # (B,) int: number of the last step of the path in the list of steps, or _SEVERAL
    marks: np.ndarray  # (B, m) bool: which events of the outcome have happened
    parent: np.ndarray  # (B,) int: the row of the node one step before
    larger: np.ndarray  # (B,) int: the number of the box that was cut in four to get this one; -1 for none


@dataclass(frozen=True, eq=False)
class _Step:
    """One step of all nodes of some boxes."""

    children: _Nodes
    joined: np.ndarray  # int: the row of each child in `after`
    leaves: _Nodes
    """The nodes whose episodes end with this step and meet the outcome."""
    after: _Nodes
    """The nodes after the step; equal children are joined."""
    keys: list[int]
    """For each node of `after`, the number of its box and its own number as one number."""
    is_open: np.ndarray  # bool: which nodes of `after` are not followed further
    follows: np.ndarray  # int: the rows of the nodes of `after` that are


_Path = list[tuple[int, int, np.ndarray]]
"""For each step: the state, the action, and the return collected before."""


class OutcomeSearch:
    """The search for the closest command under which the episode of an agent meets an outcome."""

    def __init__(
        self,
        agent: Agent,
        decision: Decision,
        question: Question,
        conditions: Conditions,
        deadline: float = np.inf,
        max_boxes: float = np.inf,
    ) -> None:
        self.agent, self.decision, self.question = agent, decision, question
        self.deadline, self.max_boxes = deadline, max_boxes
        self.conditions = conditions.after(decision.collected[: len(conditions.low)], decision.step)
        self.original, self.scale = question.command, question.space.scale
        self.low, self.high = question.low, question.high
        self.is_random = agent.batch_env().stochastic
        self.kappa = 0.0 if conditions.first is None or question.probability is not None else question.kappa
        self.best: tuple[float, np.ndarray] | None = None  # distance, command
        self.unresolved = np.inf
        self.boxes = self.queries = 0
        self.numbers: dict[bytes, int] = {}
        """The numbers of nodes, see `_numbers`."""
        self.useful: dict[int, Any] = {}
        """By the key of a node: the corners of the part of it whose episodes may meet the outcome."""
        self.followed = 0
        """Number of boxes that were followed."""
        self.steps: list[tuple[int, int, int, np.ndarray]] = []  # previous step, state, action, collected before

    def run(self, proof: Proof | None) -> OutcomeSearchResult:
        """Search with rollouts, then prove what `proof` names, if anything."""
        radius, rounding = self._unchanged_radius() if proof == "radius" else (0.0, (0.0, 0.0))
        generator = np.random.default_rng(0)
        count = _CANDIDATES // 10 if self.is_random else _CANDIDATES
        random = generator.uniform(self.low, self.high, (count, len(self.low)))
        front = self.question.front[np.argsort(self.distances(self.question.front, self.question.front), kind="stable")]
        self._try(front[:_TOGETHER])  # even if there is no time
        rest = np.concatenate([front[_TOGETHER:], random])
        for first in range(0, len(rest), _TOGETHER):
            if now() < self.deadline:
                self._try(rest[first : first + _TOGETHER])
        if self.best is not None:
            self._approach()
        if proof != "closest":
            stop = Stop.OUT_OF_TIME if now() >= self.deadline else Stop.COMPLETE
            distance, closest = self.best or (np.inf, None)
            return OutcomeSearchResult(closest, distance, stop, radius, self.boxes, *rounding)
        return self.prove()

    def prove(self) -> OutcomeSearchResult:
        """Examine boxes of commands until the closest command is proven, or that no command meets the outcome."""
        self.episodes = EpisodesOfSets(self.agent)
        stop = self._search()
        distance, closest = self.best or (np.inf, None)
        rounding = self.episodes.assumed, self.episodes.deviation
        return OutcomeSearchResult(closest, distance, stop, min(self.unresolved, self.reach), self.boxes, *rounding)

    def _unchanged_radius(self) -> tuple[float, tuple[float, float]]:
        """Return the radius within which the episode stays the same, and its assumed and measured rounding errors.

        The original command does not meet the outcome, so no command within the radius does.
        """
        [(_, episode)] = self._run(self.original[None], 1, seed=0)
        count = int(episode.lengths[0])
        leads = Leads(self.agent, episode.observations[0, :count], episode.masks[0, :count])
        half = now() + (self.deadline - now()) / 2
        radius = unchanged_radius(leads, episode, self.original, (self.low, self.high), half)
        self.boxes += count
        return radius, (leads.assumed, leads.deviation)

    @property
    def is_spent(self) -> bool:
        """Whether the time or the boxes are used up."""
        return now() >= self.deadline or self.boxes >= self.max_boxes

    @property
    def reach(self) -> float:
        """The distance beyond which boxes need not be examined."""
        return np.inf if self.best is None else self.best[0] * (1.0 - GAP / 2)

    def meets(self, command: np.ndarray) -> bool:
        """Return whether a command (d,) meets the outcome, rolled out alone with other random numbers."""
        return bool(self.shares(command[None], _CONFIRMING, seed=1)[0] >= self.conditions.share)

    def shares(self, commands: np.ndarray, repeats: int = _REPEATS, seed: int = 0) -> np.ndarray:
        """Return the share of greedy episodes under each command (N, d) that meet the outcome: (N,)."""
        parts = self._run(commands, repeats, seed)
        return np.concatenate([self.conditions.met_by(e).reshape(len(some), -1).mean(axis=1) for some, e in parts])

    def least_margin(self, command: np.ndarray) -> float:
        """Return the smallest margin by which any action of the episodes under a command (d,) wins; 0 for amounts."""
        if self.agent.actor is not None:
            return 0.0
        [(_, episodes)] = self._run(command[None], _CONFIRMING, seed=1)
        real = np.arange(episodes.actions.shape[1]) < episodes.lengths[:, None]
        scores = query(self.agent.discrete_policy, episodes.observations[real], episodes.commands[real])
        best_two = np.sort(np.where(episodes.masks[real], scores, IMPOSSIBLE), axis=1)[:, -2:]
        return float(np.ptp(best_two, axis=1).min())

    def _run(self, commands: np.ndarray, repeats: int, seed: int) -> Iterator[tuple[np.ndarray, Episodes]]:
        """Yield parts of the commands (N, d) with their greedy episodes, and count the queries."""
        for part, episodes in repeated_episodes(self.agent, self.decision, commands, repeats, seed):
            self.queries += int(episodes.lengths.sum())
            yield part, episodes

    def _try(self, commands: np.ndarray) -> None:
        """Roll out commands, and keep the closest one that meets the outcome."""
        commands = self.question.project(commands)
        distances = self.distances(commands, commands)
        closer = distances < (np.inf if self.best is None else self.best[0])
        if not closer.any():
            return
        commands, distances = commands[closer], distances[closer]
        met = np.flatnonzero((self.shares(commands) >= self.conditions.share) & self._takes_first(commands))
        for row in met[np.argsort(distances[met], kind="stable")]:
            if not self.is_random or self.meets(commands[row]):
                self.best = float(distances[row]), commands[row]
                return

    def _takes_first(self, commands: np.ndarray) -> np.ndarray:
        """Return which commands (N, d) make the agent take the required first action by kappa; all if there is none."""
        if self.conditions.first is None:
            return np.ones(len(commands), dtype=bool)
        margins = QuestionBatch([self.question]).margins_at(np.zeros(len(commands), dtype=int), commands, "rollouts")
        return margins >= self.question.kappa

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
        snapshot, conditions, table = self.decision.snapshot, self.conditions, self.episodes.table
        # An episode that ends before the step limit ends by itself.
        last = snapshot["elapsed"] + conditions.most_steps
        self.last_step = int(min(self.agent.environment.max_steps, max(last, 0)))
        self.events = np.zeros((len(conditions.events), *table.masks.shape), dtype=bool)
        for number, event in enumerate(conditions.events):
            self.events[number] = event.in_table(table)
        allowed = table.masks & ~self.events[~conditions.required].any(axis=0)
        self.future = future_returns(table, allowed, self.last_step)
        self.possible = _possible_events(table, allowed, self.events, self.last_step)
        start = Progress.start(len(self.low), snapshot["state"], snapshot["elapsed"])
        marks = np.array([[event.at_start(self.decision.state) for event in conditions.events]], dtype=bool)
        low, high = ((side - self.original) / self.scale for side in (self.low, self.high))
        none, zero = np.full(1, -1), np.zeros(1)
        pool = _Nodes.of(
            start,
            root=np.zeros(1, int),
            low=low[None],
            high=high[None],
            distance=zero,
            path=none,
            marks=marks,
            parent=none,
            larger=none,
        )
        if self.best is not None:
            self._settle(self._path_of(start, self.best[1]), low, high)
        while len(pool := pool[pool.distance < self.reach]):
            if self.is_spent:
                self.unresolved = min(self.unresolved, float(pool.distance.min()))
                return Stop.OUT_OF_TIME if now() >= self.deadline else Stop.OUT_OF_BOXES
            order = np.argsort(pool.distance, kind="stable")
            pool = pool[order[_BOXES:]] + self._examine(pool[order[:_BOXES]])
        return Stop.PROVEN

    def _examine(self, boxes: _Nodes) -> _Nodes:
        """Follow boxes through all episodes that may meet the outcome; return the parts that must be examined further.

        Nodes of a box with the same state, return and events are joined, because they have the same future.
        """
        boxes = replace(boxes, root=np.arange(len(boxes)))
        nodes, steps = boxes, []
        while len(nodes):
            children, leaves = self._step(nodes)
            after, joined = _join_equal(children)
            numbers = self._numbers(after)
            after = self._within_larger(after, numbers)
            inside = (after.low <= after.high).all(axis=1)
            count = np.bincount(after.root[inside], minlength=len(boxes))
            too_many = (count > _PARTS) | self.is_spent
            is_open = inside & too_many[after.root]
            follows = np.flatnonzero(inside & ~is_open)
            keys = ((self.followed + after.root) << 32 | numbers).tolist()
            steps.append(_Step(children, joined, leaves, after, keys, is_open, follows))
            nodes = after[follows]
        low, high = self._useful(steps, boxes)
        boxes = replace(boxes, low=low, high=high, larger=self.followed + boxes.root)
        self.followed += len(boxes)
        return self._parts(
            boxes, join([step.leaves for step in steps]), join([step.after[step.is_open] for step in steps])
        )

    def _numbers(self, nodes: _Nodes) -> np.ndarray:
        """Return a number (B,) for each node, equal for nodes with equal states, steps, returns and events."""
        rows = np.column_stack([nodes.state, nodes.step, np.round(nodes.collected, DECIMALS) + 0.0, nodes.marks])
        return np.array([self.numbers.setdefault(row.tobytes(), len(self.numbers)) for row in rows], dtype=np.int64)

    def _within_larger(self, nodes: _Nodes, numbers: np.ndarray) -> _Nodes:
        """Return nodes cut to the parts that were useful in the larger box they come from; a part may be empty."""
        low, high = nodes.low.copy(), nodes.high.copy()
        for row, key in enumerate((nodes.larger << 32 | numbers).tolist()):
            part = self.useful.get(key)
            if part is not None:
                np.maximum(low[row], part[0], out=low[row])
                np.minimum(high[row], part[1], out=high[row])
        return replace(nodes, low=low, high=high)

    def _useful(self, steps: list[_Step], boxes: _Nodes) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of boxes whose episodes may meet the outcome; store those of all nodes in `useful`."""
        if len(self.useful) > _KEPT:
            self.useful.clear()
        low, high = boxes.low[:0], boxes.high[:0]
        for number, step in reversed(list(enumerate(steps))):
            after, is_open = step.after, step.is_open
            after_low, after_high = np.full(after.low.shape, np.inf), np.full(after.low.shape, -np.inf)
            after_low[step.follows], after_high[step.follows] = low, high
            after_low[is_open], after_high[is_open] = after.low[is_open], after.high[is_open]
            self.useful.update(zip(step.keys, zip(after_low, after_high, strict=True), strict=True))
            child_low = np.maximum(step.children.low, after_low[step.joined])
            child_high = np.minimum(step.children.high, after_high[step.joined])
            some = (child_low <= child_high).all(axis=1)
            count = len(steps[number - 1].follows) if number else len(boxes)
            low, high = np.full((count, low.shape[1]), np.inf), np.full((count, low.shape[1]), -np.inf)
            for parent, least, most in (
                (step.children.parent[some], child_low[some], child_high[some]),
                (step.leaves.parent, step.leaves.low, step.leaves.high),
            ):
                np.minimum.at(low, parent, least)
                np.maximum.at(high, parent, most)
        return low, high

    def _step(self, nodes: _Nodes) -> tuple[_Nodes, _Nodes]:
        """Return the nodes after each action that may be chosen, and those whose episodes end and meet the outcome."""
        count = self.episodes.num_actions
        ahead, behind = np.divmod(np.arange(count * count), count)
        bounds = self.leads_at(nodes.state, nodes.collected, nodes.low, nodes.high, ahead, behind)
        slopes, offsets = bounds.slopes.reshape(-1, count, len(self.low)), bounds.offsets.reshape(-1, count)
        if self.conditions.first is not None:
            at_start = np.repeat(nodes.step == self.decision.snapshot["elapsed"], count)[:, None]
            action, rival = np.tile(np.arange(count), len(nodes))[:, None], np.arange(count)
            offsets = offsets - self.kappa * (at_start & (action != rival))
            offsets[(at_start & (action != self.conditions.first))[:, 0]] = -np.inf
        low, high = nodes.low.repeat(count, axis=0), nodes.high.repeat(count, axis=0)
        rows = np.flatnonzero((HalfSpaces(slopes, offsets).highest(low, high) >= 0.0).all(axis=1))
        slopes, levels, norm = slopes[rows], -offsets[rows], self.question.norm
        low, high = cut(slopes, levels, low[rows], high[rows], self.reach, norm)
        distance, _ = nearest(slopes, levels, low, high, norm)
        distance = np.maximum(distance, nodes.distance[rows // count])
        possible = (low <= high).all(axis=1) & (distance < self.reach)
        rows, low, high, distance = rows[possible], low[possible], high[possible], distance[possible]
        before, actions = nodes[rows // count], rows % count
        after, ends, final = self.episodes.advance(before, actions)
        first = len(self.steps)
        self.steps += zip(before.path.tolist(), before.state.tolist(), actions.tolist(), before.collected, strict=True)
        path = np.where(before.path == _SEVERAL, _SEVERAL, np.arange(first, len(self.steps)))
        marks = before.marks | self.events[:, before.state, actions].T
        if self.conditions.deviation is not None:
            left = np.where(ends, 0, np.maximum(self.last_step - after.step, 0))
            limits = (after.collected + rest for rest in self.future(left, after.state))
            low, high = self._deliverable(low, high, *limits)
        children = _Nodes.of(
            after, root=before.root, low=low, high=high, distance=distance, path=path, marks=marks,
            parent=rows // count, larger=before.larger,
        )  # fmt: skip
        steps = np.where(final, after.step, self.agent.environment.max_steps) - self.decision.snapshot["elapsed"]
        inside = (low <= high).all(axis=1)
        met = inside & ends & self.conditions.met(after.collected, steps, marks)
        return children[inside & ~ends & self._can_meet(children)], children[met]

    def _deliverable(
        self, low: np.ndarray, high: np.ndarray, least: np.ndarray, most: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Shrink boxes low, high (B, d) of changes to the commands that a return from `least` to `most` can deliver."""
        assert self.conditions.deviation is not None
        off = _ROUNDING * self.conditions.deviation
        return (
            np.maximum(low, (least - off - self.original) / self.scale),
            np.minimum(high, (most + off - self.original) / self.scale),
        )

    def leads_at(
        self,
        state: np.ndarray,
        collected: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        ahead: np.ndarray,
        behind: np.ndarray,
    ) -> HalfSpaces:
        """Return bounds of the leads of actions (K,) or (B, K) over others, as affine functions of changes in boxes."""
        self.boxes += len(state)
        low, high = (self.original + side * self.scale for side in (low, high))
        pairs = (np.broadcast_to(side, (len(state), side.shape[-1])) for side in (ahead, behind))
        bounds = self.episodes.leads(state, low, high, collected, *pairs)
        return HalfSpaces(bounds.slopes * self.scale, bounds.offsets + bounds.slopes @ self.original)

    def _parts(self, boxes: _Nodes, ended: _Nodes, open_ends: _Nodes) -> _Nodes:
        """Return the quarters of boxes in which several paths may meet the outcome; settle boxes with a single path."""
        either = ended + open_ends
        distance = np.full(len(boxes), np.inf)
        np.minimum.at(distance, either.root, either.distance)
        ends = np.bincount(ended.root, minlength=len(boxes))
        ends[np.concatenate([open_ends.root, ended.root[ended.path == _SEVERAL]])] = 2
        ends[(boxes.low > boxes.high).any(axis=1)] = 0
        for leaf in np.flatnonzero(ends[ended.root] == 1)[np.argsort(ended.distance[ends[ended.root] == 1])]:
            self._settle(self._trace(int(ended.path[leaf])), ended.low[leaf], ended.high[leaf])
        boxes = replace(boxes, distance=np.maximum(distance, boxes.distance))
        boxes = boxes[(ends > 1) & (boxes.distance < self.reach)]
        if not len(boxes):
            return boxes
        near = boxes[np.argsort(boxes.distance, kind="stable")[:_TRIED]]
        self._try_changes(np.concatenate([np.clip(0.0, near.low, near.high), (near.low + near.high) / 2]))
        tiny = (boxes.high - boxes.low).max(axis=1) <= np.maximum(_SMALLEST, GAP / 8 * boxes.distance)
        self.unresolved = min(self.unresolved, float(boxes.distance[tiny].min(initial=np.inf)))
        boxes = boxes[~tiny]
        for _ in range(2):
            low, high = halves(boxes.low, boxes.high, (boxes.high - boxes.low).argmax(axis=1))
            boxes = replace(boxes[np.tile(np.arange(len(boxes)), 2)], low=low, high=high)
        least = length(np.clip(0.0, boxes.low, boxes.high), self.question.norm)
        return replace(boxes, distance=np.maximum(boxes.distance, least))

    def _try_changes(self, changes: np.ndarray) -> float:
        """Roll out commands with scaled changes (N, d); return the distance of the best command so far."""
        self._try(self.original + changes * self.scale)
        return np.inf if self.best is None else self.best[0]

    def _can_meet(self, nodes: _Nodes) -> np.ndarray:
        """Return whether the outcome can still be met (B,), whatever the policy chooses."""
        conditions, left = self.conditions, np.maximum(self.last_step - nodes.step, 0)
        least, most = (nodes.collected + rest for rest in self.future(left, nodes.state))
        inside = (
            (most >= conditions.low - conditions.tolerance)
            & (least <= conditions.high + conditions.tolerance)
            & (least <= most)
        )
        better = (most[:, None] > conditions.dominated + conditions.tolerance).any(axis=2).all(axis=1)
        happened = np.where(conditions.required, nodes.marks | self.possible[left, nodes.state], ~nodes.marks)
        can: np.ndarray = inside.all(axis=1) & better & happened.all(axis=1) & (nodes.step < self.last_step)
        return can

    def _trace(self, last: int) -> _Path:
        """Return the path that ends with a step."""
        path: _Path = []
        while last >= 0:
            last, state, action, collected = self.steps[last]
            path.append((state, action, collected))
        return path[::-1]

    def _path_of(self, progress: Progress, command: np.ndarray) -> _Path:
        """Return the path that a command takes."""
        path: _Path = []
        while True:
            action = self.episodes.choices(progress.state, command - progress.collected)
            path.append((int(progress.state[0]), int(action[0]), progress.collected[0]))
            progress, ends, _ = self.episodes.advance(progress, action)
            if ends[0]:
                return path

    def _settle(self, path: _Path, low: np.ndarray, high: np.ndarray) -> None:
        """Find the closest command that takes a path, among the changes of a box, or prove that none is closer."""
        if self.conditions.deviation is not None:
            state, action, collected = path[-1]
            returned = collected + self.episodes.table.rewards[state, action, 0]
            low, high = self._deliverable(low, high, returned, returned)
            if (low > high).any():
                return
        margins: Any = _PathMargins(self, path, low, high)
        claim = Claim(margins, low, high, 0.0, self.question.norm)
        best = np.inf if self.best is None else self.best[0]
        effort = Effort(np.inf, _PATH_BOXES, self.deadline, share=GAP / 2, batch=_PATH_BATCH)
        proof = branch_and_bound(claim, effort, self._try_changes, best)
        if not proof.closed:
            self.unresolved = min(self.unresolved, proof.lower)


class _PathMargins:
    """The margins of all steps of a path, with the interface that branch and bound expects of a network.

    Steps whose action is chosen under all commands of the box are left out.
    """

    def __init__(self, search: OutcomeSearch, path: _Path, low: np.ndarray, high: np.ndarray) -> None:
        self.search, self.stretch = search, np.ones(len(low))
        self.states, self.actions = (np.array([step[i] for step in path], dtype=int) for i in (0, 1))
        self.collected = np.array([step[2] for step in path])
        self.margins = np.where(np.arange(len(path)) == 0, search.kappa, 0.0)  # by which the actions must win
        rivals, chosen = search.episodes.against_each(self.actions)
        low, high = (np.repeat(side[None], len(path), axis=0) for side in (low, high))
        bounds = search.leads_at(self.states, self.collected, low, high, rivals, chosen)
        can_win = bounds.highest(low, high) >= -self.margins[:, None]
        unsure = np.flatnonzero((can_win & (rivals != chosen)).any(axis=1))
        self.states, self.actions, self.collected = self.states[unsure], self.actions[unsure], self.collected[unsure]
        self.margins, self.work = self.margins[unsure], 1 + len(unsure)

    def upper_bounds(
        self, low: np.ndarray, high: np.ndarray, level: float | None = None, radius: float = np.inf
    ) -> HalfSpaces:
        """Return those bounds of margins that cut off most of boxes low, high (B, d). Level and radius are not used."""
        boxes, steps, count = len(low), len(self.states), self.search.episodes.num_actions
        which = np.tile(np.arange(steps), boxes)
        rivals, chosen = self.search.episodes.against_each(self.actions[which])
        bounds = self.search.leads_at(
            self.states[which], self.collected[which], low.repeat(steps, axis=0), high.repeat(steps, axis=0),
            chosen, rivals,
        )  # fmt: skip
        offsets = bounds.offsets - np.where(chosen == rivals, 0.0, self.margins[which][:, None])
        all_bounds = HalfSpaces(
            bounds.slopes.reshape(boxes, steps * count, len(self.stretch)), offsets.reshape(boxes, steps * count)
        )
        steepness = np.maximum(np.linalg.norm(all_bounds.slopes, axis=2), 1e-12)
        excluded = all_bounds.highest(low, high) < 0.0
        order = np.argsort(np.where(excluded, -np.inf, all_bounds.offsets / steepness), axis=1)[:, :_CUTS]
        rows = np.arange(boxes)[:, None]
        return HalfSpaces(all_bounds.slopes[rows, order], all_bounds.offsets[rows, order])


def _join_equal(nodes: _Nodes) -> tuple[_Nodes, np.ndarray]:
    """Merge nodes of a box with the same state, return and events into one node, with a box around all of them."""
    keys = np.column_stack([nodes.root, nodes.state, np.round(nodes.collected, DECIMALS), nodes.marks])
    _, first, joined = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    joined = joined.reshape(-1)
    result = _Nodes(*(column[first].copy() for column in nodes.columns))
    np.minimum.at(result.low, joined, nodes.low)
    np.maximum.at(result.high, joined, nodes.high)
    np.minimum.at(result.distance, joined, nodes.distance)
    several = np.bincount(joined) > 1
    result.path[several] = _SEVERAL
    # Only loops that begin at the joined node are detected.
    result.anchor[several], result.anchor_step[several] = result.state[several], result.step[several]
    return result, joined


@dataclass(frozen=True, eq=False)
class FutureReturns:
    """Bounds of the return that any policy collects from a state on, by the number of steps that are left.

    If there are too many states and steps for the memory, several numbers of steps, a block, share their bounds.
    """

    least: np.ndarray  # (blocks, S, d)
    most: np.ndarray  # (blocks, S, d)
    block: int
    """How many numbers of steps share their bounds."""

    def __call__(self, left: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and largest return (..., d) from states (...) with some steps left (...)."""
        return self.least[left // self.block, state], self.most[left // self.block, state]


def future_returns(table: TransitionTable, allowed: np.ndarray, max_steps: int) -> FutureReturns:
    """Return the smallest and largest return of each objective that any policy collects, for up to `max_steps` steps.

    `allowed` (S, A) are the actions that it may take. In a state without any, the smallest exceeds the largest.
    """
    size = (len(table.final), table.num_objectives)
    block = -(-(max_steps + 1) * size[0] * size[1] // _NUMBERS)
    shape = (-(-(max_steps + 1) // block), *size)
    least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
    following, rewards = table.next_states[:, :, 0], table.rewards[:, :, 0]
    ends, invalid = table.final[following][:, :, None], ~allowed[:, :, None]
    lower = upper = np.zeros(size)
    for left in range(max_steps + 1):
        if left:
            after = [rewards + np.where(ends, 0.0, returns[following]) for returns in (lower, upper)]
            lower = np.where(invalid, np.inf, after[0]).min(axis=1)
            upper = np.where(invalid, -np.inf, after[1]).max(axis=1)
        np.minimum(least[left // block], lower, out=least[left // block])
        np.maximum(most[left // block], upper, out=most[left // block])
    return FutureReturns(least, most, block)


def _possible_events(table: TransitionTable, allowed: np.ndarray, events: np.ndarray, steps: int) -> np.ndarray:
    """Return whether each event (m, S, A) can still happen in a state, by the steps left: (steps + 1, S, m)."""
    following = table.next_states[:, :, 0]
    ends, at_once = table.final[following], events & allowed
    possible = np.zeros((steps + 1, len(table.final), len(events)), dtype=bool)
    for left in range(1, steps + 1):
        later = possible[left - 1][following].transpose(2, 0, 1) & ~ends & allowed
        possible[left] = (at_once | later).any(axis=2).T
    return possible
