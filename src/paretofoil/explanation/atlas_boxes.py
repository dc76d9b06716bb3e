"""The outcomes of commands of any number of objectives: boxes of commands are cut into parts with one outcome each.

A box is followed through its episodes. Where one action is chosen under all its commands, it advances by a step.
Elsewhere each action gets a part of the box: the intersection with the half-spaces in which it is proven to be chosen.
The half-spaces cut off some volume of the box around the part; `share_below` bounds this volume from above. Subtracted
from the volume before the cut, it gives a lower bound of the volume of the part. The remaining volume of the box is
undecided. Boxes with much undecided volume are halved, and the halves continue from the last step that all commands of
the box have in common.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.options import Stop, now
from paretofoil.explanation.episodes import EpisodesOfSets, Progress, join, narrow
from paretofoil.proof.bounds import HalfSpaces
from paretofoil.proof.branch_and_bound import Columns, halves
from paretofoil.proof.shares import share_below

_LEAST, _MOST = 64, 1024
"""Minimum and maximum number of boxes that are halved together: those with most undecided volume, up to half of it."""
_LOST = 0.5
"""A box is followed no further if more than this share of it is undecided; it is halved later."""
_OTHERS = 16
"""Number of cells whose overlaps with all other cells are bounded together, so that the pairs fit into memory."""
_SMALL = 1e-3
"""Parts below this share of their box remain undecided."""


@dataclass(frozen=True, eq=False)
class _Boxes(Columns):
    """Boxes that partition the commands."""

    number: np.ndarray  # (B,) int: different for each box
    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    undecided: np.ndarray  # (B,): the volume of commands whose outcome is not proven


@dataclass(frozen=True, eq=False)
class _Parts(Columns):
    """Parts of boxes. All commands of a part have had the same episode so far."""

    box: np.ndarray  # (B,) int: the box that it is a part of
    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d): the part lies between `low` and `high`
    volume: np.ndarray  # (B,): a lower bound
    cut: np.ndarray  # (B,) int: the last cut; -1 for a whole box


@dataclass(frozen=True, eq=False)
class _Cuts(Columns):
    """Half-spaces that cut parts. A part keeps the commands with slopes . command + offsets < 0."""

    before: np.ndarray  # (M,) int: the previous cut of the part; -1 for none
    slopes: np.ndarray  # (M, A, d)
    offsets: np.ndarray  # (M, A)


@dataclass(frozen=True, eq=False)
class Cells(Columns):
    """Sets of commands with one outcome each: boxes cut by half-spaces."""

    low: np.ndarray  # (N, d)
    high: np.ndarray  # (N, d)
    volume: np.ndarray  # (N,): a lower bound
    achieved: np.ndarray  # (N, objectives)
    finished: np.ndarray  # (N,) bool
    slopes: np.ndarray  # (N, K, d): a command of the box is inside where slopes . command + offsets < 0
    offsets: np.ndarray  # (N, K)

    def contains(self, command: np.ndarray) -> np.ndarray:
        """Return which cells contain a command (d,): (N,) bool."""
        near = np.flatnonzero(((self.low <= command) & (command <= self.high)).all(axis=1))
        inside = np.zeros(len(self), dtype=bool)
        inside[near] = (self.slopes[near] @ command + self.offsets[near] < 0.0).all(axis=1)
        return inside

    def overlaps(self, other: "Cells", deadline: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of pairs of cells that overlap, and a lower bound of the volume of each overlap.

        The largest cells of `other` come first. At the deadline, the remaining cells are left out.
        """
        parts = [(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0))]
        order = np.argsort(-other.volume, kind="stable")
        for first in range(0, len(order), _OTHERS):
            some = order[first : first + _OTHERS]
            near = (self.low[:, None] < other.high[some]) & (self.high[:, None] > other.low[some])
            mine, which = np.nonzero(near.all(axis=2))
            theirs = some[which]
            common = Cells(
                np.maximum(self.low[mine], other.low[theirs]),
                np.minimum(self.high[mine], other.high[theirs]),
                np.zeros(len(mine)),
                self.achieved[mine],
                self.finished[mine],
                np.concatenate([self.slopes[mine], other.slopes[theirs]], axis=1),
                np.concatenate([self.offsets[mine], other.offsets[theirs]], axis=1),
            )._measured()
            overlap = common.volume > 0.0
            parts.append((mine[overlap], theirs[overlap], common.volume[overlap]))
            if now() >= deadline:
                break
        mine, theirs, volume = (np.concatenate(column) for column in zip(*parts, strict=True))
        return mine, theirs, volume

    def by_delivery(self) -> tuple["Cells", np.ndarray]:
        """Return the cells, cut where commands begin to ask for more than the return, and which of them deliver."""
        below, pieces = self, []
        for axis in range(self.achieved.shape[1]):
            above = below[below.high[:, axis] > below.achieved[:, axis]]
            above.low[:, axis] = np.maximum(above.low[:, axis], above.achieved[:, axis])
            pieces.append(above)
            below = below[below.low[:, axis] <= below.achieved[:, axis]]
            below.high[:, axis] = np.minimum(below.high[:, axis], below.achieved[:, axis])
        delivers = np.repeat([False, True], [sum(map(len, pieces)), len(below)])
        cells = join([*pieces, below])
        wide = np.flatnonzero((cells.high > cells.low).all(axis=1))
        return cells[wide]._measured(), delivers[wide]

    def _measured(self) -> "Cells":
        """Return the cells with lower bounds of their volumes: that of the box minus what half-spaces may cut off."""
        off = 1.0 - share_below(self.slopes, self.offsets, self.low, self.high)
        return replace(self, volume=_volumes(self.low, self.high) * np.maximum(1.0 - off.sum(axis=1), 0.0))


class BoxPartition:
    """Halves boxes of commands until the outcome of most commands is proven."""

    def __init__(self, agent: Agent, deadline: float) -> None:
        self.episodes, self.deadline = EpisodesOfSets(agent), deadline
        low, high = agent.space.low[None], agent.space.high[None]
        self.width, self.total = (high - low)[0], float(_volumes(low, high)[0])
        self.boxes = _Boxes(np.zeros(1, dtype=np.int64), low, high, np.full(1, self.total))
        self.progress = Progress.start(low.shape[1])
        """The progress of each box up to the last step that all its commands have in common."""
        self.cuts: list[_Cuts] = []
        self.ended: list[tuple[_Parts, np.ndarray, np.ndarray]] = []  # parts, returns, and whether the task ended

    def run(self, undecided: float, progress: Callable[[int, int], None] | None) -> tuple[Cells, Stop]:
        """Return cells with proven outcomes, and why the proof stopped."""
        self.boxes, self.progress = self._follow(self.boxes, self.progress)
        while (volume := float(self.boxes.undecided.sum())) > undecided * self.total:
            if now() >= self.deadline:
                return self._cells(), Stop.OUT_OF_TIME
            if progress is not None:
                progress(round(100 * (1.0 - volume / self.total)), 100)
            self._halve(volume / 2)
        return self._cells(), Stop.PROVEN

    def _halve(self, volume: float) -> None:
        """Halve boxes with this undecided volume in total, those with most of it first, and follow the halves."""
        order = np.argsort(-self.boxes.undecided, kind="stable")
        take = int(np.searchsorted(np.cumsum(self.boxes.undecided[order]), volume))
        take = min(max(take, _LEAST), _MOST, len(order))
        chosen, kept = self.boxes[order[:take]], order[take:]
        low, high = halves(chosen.low, chosen.high, ((chosen.high - chosen.low) / self.width).argmax(axis=1))
        numbers = self.boxes.number.max() + 1 + np.arange(2 * take)
        fresh = _Boxes(numbers, low, high, np.zeros(2 * take))
        fresh, progress = self._follow(fresh, self.progress[np.tile(order[:take], 2)])
        self.boxes, self.progress = self.boxes[kept] + fresh, self.progress[kept] + progress

    def _follow(self, boxes: _Boxes, progress: Progress) -> tuple[_Boxes, Progress]:
        """Follow boxes through their episodes; return them with their undecided volume, and their common progress."""
        volume, count = _volumes(boxes.low, boxes.high), len(boxes)
        decided, lost, last = np.zeros(count), np.zeros(count), [column.copy() for column in progress.columns]
        parts = _Parts(np.arange(count), boxes.low, boxes.high, volume, np.full(count, -1))
        while len(parts):
            lost += np.bincount(parts.box, parts.volume, count)
            rows, actions, parts = self._split(parts, progress)
            lost -= np.bincount(parts.box, parts.volume, count)
            progress, ends, final = self.episodes.advance(progress[rows], actions)
            decided += np.bincount(parts.box[ends], parts.volume[ends], count)
            ended = parts[ends]
            self.ended.append((replace(ended, box=boxes.number[ended.box]), progress.collected[ends], final[ends]))
            whole = ~ends & (parts.cut < 0)
            for column, values in zip(last, progress.columns, strict=True):
                column[parts.box[whole]] = values[whole]
            go_on = ~ends & (lost[parts.box] <= _LOST * volume[parts.box])
            parts, progress = parts[go_on], progress[go_on]
        return replace(boxes, undecided=volume - decided), Progress(*last)

    def _split(self, parts: _Parts, progress: Progress) -> tuple[np.ndarray, np.ndarray, _Parts]:
        """Cut parts by action; return the row of the original part, the proven action, and the part, for each."""
        winner = self.episodes.choices(progress.state, (parts.low + parts.high) / 2 - progress.collected)
        each, chosen = self.episodes.against_each(winner)
        bounds = self._leads(parts, progress, each, chosen)
        sure = ((bounds.highest(parts.low, parts.high) < 0.0) | (each == chosen)).all(axis=1)
        certain, uncertain = np.flatnonzero(sure), np.flatnonzero(~sure)
        rows, actions, cut = self._cut(parts[uncertain], progress[uncertain])
        rows = np.concatenate([certain, uncertain[rows]])
        return rows, np.concatenate([winner[certain], actions]), parts[certain] + cut

    def _cut(self, parts: _Parts, progress: Progress) -> tuple[np.ndarray, np.ndarray, _Parts]:
        """Cut parts in which several actions may be chosen, and return them like `_split`."""
        count, total, dim = self.episodes.num_actions, len(parts), parts.low.shape[1]
        rivals, actions = np.divmod(np.arange(count * count), count)
        pairs = (np.broadcast_to(side, (total, count * count)) for side in (rivals, actions))
        bounds = self._leads(parts, progress, *pairs)
        offsets = np.where(rivals == actions, -1.0, bounds.offsets)
        off = 1.0 - share_below(bounds.slopes, offsets, parts.low, parts.high).reshape(-1, count, count)
        size = _volumes(parts.low, parts.high)[:, None]
        volume = parts.volume[:, None] - off.sum(axis=1) * size
        rows, chosen = np.nonzero(volume > _SMALL * size)
        slopes = bounds.slopes.reshape(-1, count, count, dim)[rows, :, chosen]
        offsets = offsets.reshape(-1, count, count)[rows, :, chosen]
        low, high, _ = narrow(HalfSpaces(-slopes, -offsets), parts.low[rows], parts.high[rows])
        first = sum(map(len, self.cuts))
        self.cuts.append(_Cuts(parts.cut[rows], slopes, offsets))
        numbers = np.arange(first, first + len(rows))
        return rows, chosen, _Parts(parts.box[rows], low, high, volume[rows, chosen], numbers)

    def _leads(self, parts: _Parts, progress: Progress, ahead: np.ndarray, behind: np.ndarray) -> HalfSpaces:
        return self.episodes.leads(progress.state, parts.low, parts.high, progress.collected, ahead, behind)

    def _cells(self) -> Cells:
        """Return the parts of the present boxes whose episodes have ended, as cells."""
        parts = join([part for part, _, _ in self.ended])
        achieved, finished = (np.concatenate(column) for column in list(zip(*self.ended, strict=True))[1:])
        present = np.isin(parts.box, self.boxes.number)
        parts, achieved, finished = parts[present], achieved[present], finished[present]
        dim = parts.low.shape[1]
        slopes, offsets = [np.zeros((len(parts), 1, dim))], [np.full((len(parts), 1), -1.0)]
        if self.cuts:
            cuts, which = join(self.cuts), parts.cut
            while (which >= 0).any():
                slopes.append(np.where((which >= 0)[:, None, None], cuts.slopes[which], 0.0))
                offsets.append(np.where((which >= 0)[:, None], cuts.offsets[which], -1.0))
                which = np.where(which >= 0, cuts.before[which], -1)
        bounds = HalfSpaces(np.concatenate(slopes, axis=1), np.concatenate(offsets, axis=1))
        cutting = bounds.highest(parts.low, parts.high) >= 0.0
        order = np.argsort(~cutting, axis=1, kind="stable")[:, : max(int(cutting.sum(axis=1).max(initial=0)), 1)]
        rows = np.arange(len(parts))[:, None]
        kept = bounds.slopes[rows, order], bounds.offsets[rows, order]
        return Cells(parts.low, parts.high, parts.volume, achieved, finished, *kept)


def _volumes(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the volumes (B,) of boxes low, high (B, d)."""
    volumes: np.ndarray = (high - low).prod(axis=1)
    return volumes
