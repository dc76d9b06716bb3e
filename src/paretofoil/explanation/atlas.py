"""Atlas: the proven outcome of every command.

The command space of two objectives is cut into cells: convex polygons of initial commands whose episodes are equal so
far. In the state that a cell has reached, bounds on the differences between the scores of actions (their leads) are
computed. If they show that one action is chosen under all commands of the cell, the cell advances by a step. If they
show a line that separates a part in which one action is chosen, that part is cut off. Otherwise the cell is halved. The
largest cells come first. A slice, in which two of several objectives vary, is cut in the same way.

For other numbers of objectives, up to four, boxes take the place of polygons (`atlas_boxes`). If no proof is possible,
or if it leaves too much undecided, commands are sampled. With continuous actions, hardly any two commands have the same
return. Then returns that differ by at most 1 % of the range of each objective count as one outcome.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, as_command, require_agent, run_greedy
from paretofoil.core.answer import DELIVERED
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput, as_seed, as_whole
from paretofoil.core.json import show
from paretofoil.core.options import Stop, as_seconds, now
from paretofoil.envs.episode import DECIMALS, EXACT
from paretofoil.explanation.atlas_boxes import BoxPartition, Cells
from paretofoil.explanation.episodes import EpisodesOfSets, Progress, is_provable, join, require_deterministic
from paretofoil.explanation.influence import likely_share

_CORNERS = 12
"""Largest number of vertices of a polygon."""
_LEAST, _MOST = 64, 16_384
"""Minimum and maximum number of cells that are examined together: the largest, up to half of the undecided area."""
SUMMING = 1e-9
"""Upper bound of the rounding error of a sum of areas, as a share of the region."""
_SLIVER = 0.6
"""A cell is cut between two actions if the part in which either may be chosen is at most this share of it."""
_WINNER = 0.25
"""The part of one action is cut off if it is at least this share of a cell."""
_EMPTY = 1e-15
"""Cells below this share of the command space are left undecided."""
_OBJECTIVES = 4
"""With more objectives, a proof needs too many boxes."""
SAMPLES, MAX_SAMPLES = 10_000, 1_000_000
"""Default number of commands that are sampled, and the largest whose episodes fit into memory."""


@dataclass(frozen=True, eq=False)
class AtlasOutcome:
    """An outcome of episodes, and the share of the commands that lead to it."""

    achieved: np.ndarray  # (d,): the return of the episode
    finished: bool
    """Whether the task ended; if not, the step limit ended the episode."""
    on_front: bool
    """Whether the return is a point of the agent's front."""
    share: float
    """Proven share of the commands, or share of the sampled commands; `Atlas.interval` returns its bounds."""


@dataclass(frozen=True, eq=False, repr=False)
class Atlas:
    """The outcomes of the commands in a region, with shares of its volume."""

    agent: str
    objectives: tuple[Objective, ...]
    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,): the region lies between `low` and `high`
    outcomes: tuple[AtlasOutcome, ...]
    """The outcome with the largest share comes first."""
    undecided: float
    """Share of the commands whose outcome is not proven: the most by which an outcome's true share can be larger."""
    delivers: float
    """Share of the commands whose episode achieves at least what they ask for, in every objective."""
    samples: int
    """Number of sampled commands; 0 if shares are proven."""
    cells: np.ndarray  # (N, 12, 2): the polygons of the proof; the last vertex is repeated
    outcome_of: np.ndarray  # (N,): the number of the outcome of each cell or sampled command; -1 if it is undecided
    stop: Stop
    seconds: float
    boxes: Cells | None = None
    """The cells of the proof if they are not polygons; `outcome_of` then has the numbers of their outcomes."""
    sampled: "Atlas | None" = None
    """The shares among sampled commands, if the proof left more commands undecided than was allowed."""
    assumed: float = 0.0
    """The rounding error, in margins, that the proofs assume because it is measured; 0 if it is derived."""
    tolerance: float = 0.0
    """Returns that differ from an outcome by at most this share of each objective's range belong to it."""

    def __repr__(self) -> str:
        return f"<Atlas {self.agent!r}: {self.sentence()}>"

    def sentence(self) -> str:
        """Return the result in words."""
        return str(show(self, "sentence"))

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the outcomes as a map of the commands, and return the figure."""
        return show(self, "plot", path)

    def interval(self, share: float) -> tuple[float, float]:
        """Return the proven bounds of a share; if commands were sampled, its 95 % confidence interval."""
        if self.samples:
            return likely_share(round(share * self.samples), self.samples)
        return max(share - SUMMING, 0.0), min(share + self.undecided, 1.0)

    @property
    def on_front(self) -> float:
        """Share of the commands whose episode ends on the front."""
        return sum(outcome.share for outcome in self.outcomes if outcome.on_front)

    @property
    def unfinished(self) -> float:
        """Share of the commands whose episode is ended by the step limit."""
        return sum(outcome.share for outcome in self.outcomes if not outcome.finished)

    def outcome_at(self, command: Sequence[float] | np.ndarray) -> AtlasOutcome | None:
        """Return the proven outcome of a command; None if it is undecided or outside the region."""
        point = np.asarray(command, dtype=np.float64)
        if self.samples:
            return None
        if self.boxes is not None:
            inside = np.flatnonzero(self.boxes.contains(point))
        else:
            varied = self.high > self.low  # two objectives, because no commands were sampled
            fixed = bool((point[~varied] == self.low[~varied]).all())
            inside = np.flatnonzero(_contains(self.cells, point[varied]) & fixed)
        numbers = [int(self.outcome_of[i]) for i in inside if self.outcome_of[i] >= 0]
        return self.outcomes[numbers[0]] if numbers else None


@dataclass(frozen=True)
class AtlasEffort:
    """Limits of an atlas."""

    undecided: float = 0.01
    """The proof stops when at most this share of the commands is undecided."""
    seconds: float = 60.0
    """Time limit of the proof."""
    samples: int = SAMPLES
    """Number of commands to roll out if there is no proof, or if it leaves too many undecided."""
    seed: int = 0
    """Seed of the sampled commands."""

    def __post_init__(self) -> None:
        as_seconds(self.seconds)
        as_seed(self.seed)
        if as_whole(self.samples, "a whole number of samples") < 1:
            raise InvalidInput.expected("at least 1 sample", self.samples)
        if self.samples > MAX_SAMPLES:
            raise InvalidInput.expected(f"at most {MAX_SAMPLES:,} samples", self.samples)
        if not 0.0 <= self.undecided <= 1.0:
            raise InvalidInput.expected("an undecided share from 0 to 1", self.undecided)


def atlas(
    agent: Agent,
    *,
    vary: Sequence[str] | None = None,
    command: Sequence[float] | np.ndarray | None = None,
    undecided: float = AtlasEffort.undecided,
    seconds: float = AtlasEffort.seconds,
    samples: int = AtlasEffort.samples,
    seed: int = AtlasEffort.seed,
    progress: Callable[[int, int], None] | None = None,
) -> Atlas:
    """Return the outcome of every command of the agent's command space, and prove it where possible.

    The proof needs a deterministic environment with finitely many states, a white-box policy, and at most four
    objectives. Otherwise, or if the proof leaves too many commands undecided, commands are sampled and rolled out.

    Args:
        agent: The agent.
        vary: Two objectives to map. All other objectives keep their values in `command`.
        command: The command with the values of the other objectives.
        undecided: The proof stops when at most this share of the commands is undecided.
        seconds: Time limit of the proof.
        samples: Number of commands to roll out if there is no proof, or if it leaves too many undecided.
        seed: Seed of the sampled commands.
        progress: Called with the percentage of the commands that is decided, and with 100, the total.
    """
    require_agent(agent)
    AtlasEffort(undecided, seconds, samples, seed)  # checked before anything is rolled out
    start, low, high = now(), agent.space.low, agent.space.high
    deadline = start + seconds
    if vary is not None or command is not None:
        low, high = _slice(agent, vary, command)
    provable = has_proven_atlas(agent) or (vary is not None and is_provable(agent))
    if provable and (vary is not None or agent.space.dim == 2):
        result = _CellPartition(agent, deadline, low, high).run(undecided, progress)
    elif provable:
        partition = BoxPartition(agent, deadline)
        cells, stop = partition.run(undecided, progress)
        result = _of_boxes(agent, cells, stop, start, partition.episodes.assumed)
    else:
        return sampled_atlas(agent, random_commands(low, high, samples, seed), (low, high))
    if result.undecided <= undecided + SUMMING:
        return result
    sampled = sampled_atlas(agent, random_commands(low, high, samples, seed), (low, high))
    return replace(result, sampled=sampled)


def _slice(agent: Agent, vary: Sequence[str] | None, command: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest command of a slice."""
    names = [objective.name for objective in agent.space.command_objectives]
    if vary is None or len(set(vary)) != 2 or not set(vary) <= set(names):
        raise InvalidInput.expected(f"two objectives to vary among {', '.join(names)}", vary)
    if command is None:
        raise InvalidInput.expected("a command with the values of the objectives that do not vary", command)
    low = high = as_command(agent, command)
    varied = np.isin(names, list(vary))
    return np.where(varied, agent.space.low, low), np.where(varied, agent.space.high, high)


def has_proven_atlas(agent: Agent) -> bool:
    """Return whether the outcomes of all commands of an agent can be proven.

    Raise an error if a command may have several outcomes.
    """
    require_deterministic(agent)
    return agent.space.dim <= _OBJECTIVES and is_provable(agent)


@dataclass(frozen=True, eq=False)
class _Cells(Progress):
    """Polygons of initial commands; all commands of a polygon have followed the same path so far."""

    corners: np.ndarray  # (B, 12, 2)
    area: np.ndarray  # (B,)


def _cells(progress: Progress, corners: np.ndarray) -> _Cells:
    """Return polygons (B, 12, 2) with the progress of their episodes."""
    return _Cells.of(progress, corners=corners, area=_areas(corners))


class _CellPartition:
    """Cuts the command space into cells until the outcome of most commands is proven."""

    def __init__(self, agent: Agent, deadline: float, low: np.ndarray, high: np.ndarray) -> None:
        self.agent, self.deadline, self.start = agent, deadline, now()
        self.episodes = EpisodesOfSets(agent)
        self.region, self.varied = (low, high), np.flatnonzero(high > low)
        self.low, self.high = low[self.varied], high[self.varied]
        self.total = float((self.high - self.low).prod())
        self.done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # corners, achieved, finished
        self.done_area = 0.0

    def run(self, undecided: float, progress: Callable[[int, int], None] | None) -> Atlas:
        (left, bottom), (right, top) = self.low, self.high
        corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
        corners = np.concatenate([corners, np.repeat(corners[-1:], _CORNERS - 4, axis=0)])[None]
        pool = _cells(Progress.start(len(self.region[0])), corners)
        stop = Stop.PROVEN
        while len(pool):
            open_area = self.total - self.done_area
            if open_area <= undecided * self.total:
                break
            if now() >= self.deadline:
                stop = Stop.OUT_OF_TIME
                break
            if progress is not None:
                progress(round(100 * (1.0 - open_area / self.total)), 100)
            order = np.argsort(-pool.area)
            half = int(np.searchsorted(np.cumsum(pool.area[order]), pool.area.sum() / 2))
            take = min(max(half, _LEAST), _MOST)
            pool = join([pool[order[take:]], *self._examine(pool[order[:take]])])
        return self._atlas(pool, stop)

    def _examine(self, cells: _Cells) -> list[_Cells]:
        """Advance cells by a step, cut or halve them; return the cells that are not finished."""
        winner, ahead, behind = self._compare(cells)
        live = ahead.max(axis=2) >= 0.0
        count = live.sum(axis=1)
        settled, one, several = (np.flatnonzero(flags) for flags in (count == 0, count == 1, count > 1))
        rival = live[one].argmax(axis=1)
        return [
            self._advance(cells[settled], winner[settled]),
            *self._cut_between(cells[one], winner[one], rival, ahead[one, rival], behind[one, rival]),
            *self._cut_off(cells[several], winner[several], ahead[several]),
        ]

    def _compare(self, cells: _Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the action (B,) chosen in the middle of each cell, and two arrays (B, A, 12) of upper bounds of leads.

        The first array has the leads of each action over the chosen one, the second those of the chosen action over
        each. The bounds are affine in the command, and given at the corners. An action's lead over itself is negative.
        """
        corners = np.tile(self.region[0], (*cells.corners.shape[:2], 1))
        corners[:, :, self.varied] = cells.corners
        low, high, middle = corners.min(axis=1), corners.max(axis=1), corners.mean(axis=1)
        winner = self.episodes.choices(cells.state, middle - cells.collected)
        each, chosen = self.episodes.against_each(winner)
        pairs = np.concatenate([each, chosen], axis=1), np.concatenate([chosen, each], axis=1)
        leads = self.episodes.leads(cells.state, low, high, cells.collected, *pairs)
        heights = leads.slopes @ corners.swapaxes(1, 2) + leads.offsets[:, :, None]
        ahead, behind = np.split(heights, 2, axis=1)
        ahead[np.arange(len(cells)), winner] = -1.0
        return winner, ahead, behind

    def _cut_between(
        self, cells: _Cells, winner: np.ndarray, rival: np.ndarray, ahead: np.ndarray, behind: np.ndarray
    ) -> list[_Cells]:
        """Cut off the parts in which one of two actions is chosen, and halve the sliver between them.

        If the sliver is large, halve the whole cell instead.
        """
        mine, rest = _clip(cells.corners, -ahead), _clip(cells.corners, ahead, behind)
        theirs, sliver = _clip(rest[0], -rest[1]), _clip(rest[0], rest[1])
        between = _areas(sliver[0])
        small = between <= _SLIVER * cells.area
        parts = [
            self._advance(_cells(cells[small], mine[0][small]), winner[small]),
            self._advance(_cells(cells[small], theirs[0][small]), rival[small]),
        ]
        kept = _cells(cells[small], sliver[0][small])
        return [*parts, *self._halves(kept), *self._halves(cells[~small])]

    def _cut_off(self, cells: _Cells, winner: np.ndarray, ahead: np.ndarray) -> list[_Cells]:
        """Cut off the part of each cell in which one action is proven to be chosen, or halve cells if it is small."""
        inner, values, outside = cells.corners, np.where(np.isfinite(ahead), ahead, -1.0), []
        for rival in range(values.shape[1]):
            outside.append(_clip(inner, values[:, rival])[0])
            inner, *kept = _clip(inner, -values[:, rival], *values.swapaxes(0, 1))
            values = np.stack(kept, axis=1)
        large = _areas(inner) >= _WINNER * cells.area
        parts = [self._advance(_cells(cells[large], inner[large]), winner[large])]
        parts += [self._drop_empty(_cells(cells[large], out[large])) for out in outside]
        return [*parts, *self._halves(cells[~large])]

    def _halves(self, cells: _Cells) -> list[_Cells]:
        """Halve cells across the direction in which they are longest, in units of the region."""
        if not len(cells):
            return []
        span = np.ptp(cells.corners, axis=1) / (self.high - self.low)
        axis = span.argmax(axis=1)
        middle = (cells.corners.max(axis=1) + cells.corners.min(axis=1)) / 2
        rows = np.arange(len(cells))
        side = cells.corners[rows, :, axis] - middle[rows, axis][:, None]
        return [
            self._drop_empty(_cells(cells, _clip(cells.corners, side)[0])),
            self._drop_empty(_cells(cells, _clip(cells.corners, -side)[0])),
        ]

    def _drop_empty(self, cells: _Cells) -> _Cells:
        return cells[cells.area > _EMPTY * self.total]

    def _advance(self, cells: _Cells, actions: np.ndarray) -> _Cells:
        """Advance cells by their proven actions; record the cells whose episodes end, and return the others."""
        large = cells.area > _EMPTY * self.total
        cells, actions = cells[large], actions[large]
        after, ends, final = self.episodes.advance(cells, actions)
        self.done.append((cells.corners[ends], after.collected[ends], final[ends]))
        self.done_area += float(cells.area[ends].sum())
        return _cells(after, cells.corners)[~ends]

    def _atlas(self, pool: _Cells, stop: Stop) -> Atlas:
        low, high = self.region
        empty = np.zeros((0, _CORNERS, 2)), np.zeros((0, len(low))), np.zeros(0, dtype=bool)
        corners, achieved, finished = (np.concatenate(c) for c in zip(empty, *self.done, strict=True))
        reached = (achieved >= np.where(high > low, -np.inf, low)).all(axis=1)
        x, y = (achieved[:, None, axis] - corners[:, :, i] for i, axis in enumerate(self.varied))
        fulfilled = _areas(_clip(*_clip(corners, x, y))[0])
        return _atlas(
            self.agent,
            self.region,
            achieved,
            finished,
            _areas(corners) / self.total,
            delivers=float(fulfilled[reached].sum() / self.total),
            cells=np.concatenate([corners, pool.corners]),
            stop=stop,
            seconds=now() - self.start,
            assumed=self.episodes.assumed,
        )


def _of_boxes(agent: Agent, cells: Cells, stop: Stop, start: float, assumed: float) -> Atlas:
    """Return the atlas of cells that are boxes cut by half-spaces."""
    cells, delivers = cells.by_delivery()
    region = agent.space.low, agent.space.high
    shares = cells.volume / float((region[1] - region[0]).prod())
    return _atlas(
        agent, region, cells.achieved, cells.finished, shares, delivers=float(shares[delivers].sum()), boxes=cells,
        stop=stop, seconds=now() - start, assumed=assumed,
    )  # fmt: skip


def _atlas(
    agent: Agent,
    region: tuple[np.ndarray, np.ndarray],
    achieved: np.ndarray,
    finished: np.ndarray,
    shares: np.ndarray,
    *,
    cells: np.ndarray | None = None,
    samples: int = 0,
    **others: Any,
) -> Atlas:
    """Return the atlas of proven cells or sampled commands (N,) with their outcomes and shares.

    If there are more than N `cells`, the others are undecided.
    """
    keys = np.column_stack([np.round(_merge_close(agent, achieved), DECIMALS) + 0.0, finished])
    kinds, kind_of = np.unique(keys, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)
    totals = np.bincount(kind_of, shares, len(kinds)) / max(samples, 1)
    order = np.argsort(-totals, kind="stable")
    cells = np.zeros((0, _CORNERS, 2)) if cells is None else cells
    numbers = np.argsort(order)[kind_of]
    return Atlas(
        agent.name,
        agent.space.command_objectives,
        *region,
        outcomes=tuple(_outcome(agent, kinds[k, :-1], bool(kinds[k, -1]), float(totals[k])) for k in order),
        undecided=0.0 if samples else max(0.0, 1.0 - float(shares.sum())) + SUMMING,
        samples=samples,
        cells=cells,
        outcome_of=np.concatenate([numbers, np.full(max(len(cells) - len(numbers), 0), -1)]),
        tolerance=0.0 if agent.actor is None else DELIVERED,
        **others,
    )


def _outcome(agent: Agent, achieved: np.ndarray, finished: bool, share: float) -> AtlasOutcome:
    front = agent.front[:, : len(achieved)]
    on_front = bool((np.abs(front - achieved) <= EXACT).all(axis=1).any())
    return AtlasOutcome(achieved, finished, on_front, share)


def _merge_close(agent: Agent, achieved: np.ndarray) -> np.ndarray:
    """Return the returns (N, d). With continuous actions, close returns become equal to each other or to the front."""
    if agent.actor is None:
        return achieved
    tolerance, front = tolerance_of(agent), agent.front[:, : achieved.shape[1]]
    merged: np.ndarray = np.round(achieved / (2 * tolerance)) * (2 * tolerance)
    for point in front:
        merged[(np.abs(achieved - point) <= tolerance).all(axis=1)] = point
    return merged


def tolerance_of(agent: Agent) -> np.ndarray | float:
    """Return the largest difference of returns that count as equal: 1 % of each range if actions are continuous."""
    count = len(agent.environment.objectives)
    return EXACT if agent.actor is None else DELIVERED * agent.space.scale[:count]


def ends_of(agent: Agent, commands: np.ndarray) -> np.ndarray:
    """Return the outcomes of greedy episodes (N, d + 1): the return, and 1 if the task ended."""
    if not len(commands):
        return np.zeros((0, len(agent.environment.objectives) + 1))
    episodes = run_greedy(agent, commands)
    return np.column_stack([episodes.returns, episodes.terminated])


def delivers(achieved: np.ndarray, commands: np.ndarray, tolerance: np.ndarray | float) -> np.ndarray:
    """Return which returns (N, d) are at least what commands (N, c) ask for, in every objective: (N,) bool."""
    enough: np.ndarray = (commands[:, : achieved.shape[1]] - achieved <= tolerance).all(axis=1)
    return enough


def sampled_atlas(
    agent: Agent, commands: np.ndarray, region: tuple[np.ndarray, np.ndarray], ends: np.ndarray | None = None
) -> Atlas:
    """Return the shares of outcomes among sampled commands (N, d) of a region; `ends` are these outcomes, if known."""
    start, samples = now(), len(commands)
    ends = ends_of(agent, commands) if ends is None else ends
    fulfilled = delivers(ends[:, :-1], commands, tolerance_of(agent)).mean()
    return _atlas(
        agent, region, ends[:, :-1], ends[:, -1], np.ones(samples), samples=samples,
        delivers=float(fulfilled), stop=Stop.COMPLETE, seconds=now() - start,
    )  # fmt: skip


def random_commands(low: np.ndarray, high: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return the random commands (N, d) between low and high (d,) that a sampled atlas rolls out."""
    return np.random.default_rng(seed).uniform(low, high, (count, len(low)))


def overlay(first: Atlas, second: Atlas) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the polygons (N, 12, 2) in which proven cells of two atlases of one command space overlap.

    Also return their shares of the commands, and the numbers of the outcomes in the first and in the second atlas.
    """
    (cells, numbers), (others, other_numbers) = (
        (each.cells[each.outcome_of >= 0], each.outcome_of[each.outcome_of >= 0]) for each in (first, second)
    )
    low, high = cells.min(axis=1), cells.max(axis=1)
    near = [
        np.flatnonzero(((low < most) & (high > least)).all(axis=1))
        for least, most in zip(others.min(axis=1), others.max(axis=1), strict=True)
    ]
    which = np.concatenate([np.zeros(0, dtype=int), *near])
    other = np.repeat(np.arange(len(others)), [len(rows) for rows in near])
    parts = [np.zeros((0, _CORNERS, 2))]
    for start in range(0, len(which), _MOST):
        rows = slice(start, start + _MOST)
        parts.append(_intersections(cells[which[rows]], others[other[rows]]))
    common = np.concatenate(parts)
    shares = _areas(common) / float((first.high - first.low).prod())
    some = shares > 0.0
    return common[some], shares[some], numbers[which[some]], other_numbers[other[some]]


def _intersections(polygons: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the intersections (B, 12, 2) of pairs of polygons in counter-clockwise order.

    If an intersection has too many vertices, a corner of it is cut off, so that no point is added.
    """
    common = polygons.copy()
    for vertex, following in zip(others.swapaxes(0, 1), np.roll(others, -1, axis=1).swapaxes(0, 1), strict=True):
        (x, y), to_corner = (following - vertex).T[:, :, None], common - vertex[:, None]
        side = x * to_corner[:, :, 1] - y * to_corner[:, :, 0]
        cut = side.min(axis=1) < 0.0
        common[cut] = _clip(common[cut], side[cut])[0]
    return common


def _areas(corners: np.ndarray) -> np.ndarray:
    """Return the areas (B,) of polygons (B, 12, 2)."""
    x, y = corners[:, :, 0], corners[:, :, 1]
    x, y = x - x[:, :1], y - y[:, :1]  # smaller numbers have smaller rounding errors
    doubled = x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y
    return np.abs(doubled.sum(axis=1)) / 2


def _clip(corners: np.ndarray, values: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the parts (B, 12, 2) of polygons in which an affine function is not negative.

    The function is given by its values at the vertices (B, 12), like the functions in `others`. Their values at the new
    vertices are also returned. An empty part has the area 0.
    """
    following, after = np.roll(corners, -1, axis=1), np.roll(values, -1, axis=1)
    inside, inside_after = values >= 0.0, after >= 0.0
    crosses = inside != inside_after
    share = np.where(crosses, values / np.where(crosses, values - after, 1.0), 0.0)
    same = (corners == following).all(axis=2)
    keep = np.empty((len(corners), 2 * _CORNERS), dtype=bool)
    keep[:, ::2], keep[:, 1::2] = inside & ~same, crosses
    order = np.argsort(~keep, axis=1, kind="stable")[:, :_CORNERS]
    count = keep.sum(axis=1)
    order = np.take_along_axis(order, np.minimum(np.arange(_CORNERS), np.maximum(count - 1, 0)[:, None]), axis=1)

    def interleave(at: np.ndarray, next_at: np.ndarray, weight: np.ndarray) -> np.ndarray:
        both = np.empty((len(at), 2 * _CORNERS, *at.shape[2:]))
        both[:, ::2], both[:, 1::2] = at, at + weight * (next_at - at)
        return both

    points = interleave(corners, following, share[:, :, None])
    points = np.take_along_axis(points, order[:, :, None], axis=1)
    points[count == 0] = 0.0
    kept = [np.take_along_axis(interleave(other, np.roll(other, -1, axis=1), share), order, axis=1) for other in others]
    return points, *kept


def _contains(cells: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return which polygons (B, 12, 2), in counter-clockwise order, contain a point."""
    edge, to_point = np.roll(cells, -1, axis=1) - cells, point - cells
    cross = edge[:, :, 0] * to_point[:, :, 1] - edge[:, :, 1] * to_point[:, :, 0]
    inside: np.ndarray = (cross >= 0.0).all(axis=1)
    return inside
