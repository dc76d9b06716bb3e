"""Widening: from an answer to a box of commands around it, every one of which is proven to make the foil win."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.answer import ProvenRange
from paretofoil.core.policy import WhiteBoxPolicy
from paretofoil.core.question import QuestionBatch
from paretofoil.proof.bound import lower_bounds
from paretofoil.proof.box import halves
from paretofoil.proof.deviation import RANGE_CAUTION, RANGE_SLACK, blur, deviation, probe_shares, range_clearance
from paretofoil.proof.margin import MarginNetwork, margin_network
from paretofoil.proof.preference_range import widen_preferences

_LEAST_SLACK = 1e-6
"""An answer that wins so narrowly that less is left has no range."""
_SHARES = 0.5 ** np.arange(12)
"""How much of the way to its limit a side is moved, tried from the whole way down."""
_BOXES = 1000
"""Boxes that may be bounded for one range."""
_BOXES_PER_PROOF = 300
_SLICES = 8
_ZOOMS = 3


def widen(batch: QuestionBatch, row: int, command: np.ndarray) -> ProvenRange | None:
    """A proven box that holds the command and reaches as far as it can; None if nothing around it can be proven.

    The policy is asked about some commands in it, counted as queries of the question.
    """
    question = batch.questions[row]
    if question.space.simplex:
        return widen_preferences(batch, row, command)
    if not isinstance(question.policy, WhiteBoxPolicy):
        return None
    network = margin_network(question.policy.fold(question.state), question)
    scale = question.space.scale
    point, low, high = ((v - question.command) / scale for v in (command, question.low, question.high))
    level = question.kappa + range_clearance(batch)
    spare = float(network.margins(point[None]).min(initial=np.inf)) - level
    slack = min(RANGE_SLACK, spare / 2)
    if slack < _LEAST_SLACK:
        return None  # the answer wins so narrowly that no box around it can be proven with slack
    growth = _Growth(network, level + slack, low, high, blur(question))
    box = growth.from_corner(point)
    for axis, side in growth.sides(box):
        box = growth.move(box, axis, side)
    if not (box.high > box.low).any():
        return None
    if RANGE_CAUTION * deviation(batch, row, network, _probes(box), "range") > slack:
        return None
    range_low, range_high = question.command + box.low * scale, question.command + box.high * scale
    range_low = np.where(box.low <= low, question.low, range_low)  # exactly the limit, not its rounding
    range_high = np.where(box.high >= high, question.high, range_high)
    return ProvenRange(np.minimum(range_low, command), np.maximum(range_high, command))


@dataclass(frozen=True, eq=False)
class _Box:
    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,)

    def join(self, other: "_Box") -> "_Box":
        return _Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _probes(box: _Box) -> np.ndarray:
    """Random points and corners of the box: (PROBES, d)."""
    return box.low + probe_shares(len(box.low)) * (box.high - box.low)


class _Growth:
    """Moves the sides of a box outwards as long as all margins in it are proven to be at least the level."""

    def __init__(
        self, network: MarginNetwork, level: float, low: np.ndarray, high: np.ndarray, around: np.ndarray
    ) -> None:
        self.network, self.level = network, level
        self.low, self.high = low, high  # (d,), the limits
        self.around = around  # (d,): how far around a box its margins must be proven, too
        self.boxes_left = _BOXES
        self.shares = np.random.default_rng(0).random((32, len(low)))  # of a box, to look for counterexamples
        self.shares[:20] = np.round(self.shares[:20])

    def from_corner(self, point: np.ndarray) -> _Box:
        """The largest box with a corner at the point, with sides in proportion to the way to their limits."""
        steps = np.eye(len(point)) * 1e-3
        around = np.clip(np.concatenate([point + steps, point - steps]), self.low, self.high)
        margins = self._margins(around).reshape(2, -1)
        reach = np.where(margins[0] >= margins[1], self.high, self.low) - point
        reach = np.where(margins.max(axis=0) >= self.level, reach, 0.0)
        ends = point + _SHARES[:, None] * reach
        return self._largest(_Box(point, point), np.minimum(point, ends), np.maximum(point, ends))

    def sides(self, box: _Box) -> list[tuple[int, int]]:
        """Which sides to move, the shortest first: (axis, -1 or 1)."""
        return [(int(axis), side) for axis in np.argsort(box.high - box.low, kind="stable") for side in (-1, 1)]

    def move(self, box: _Box, axis: int, side: int) -> _Box:
        """Move one side of a proven box: cut the way to its limit into slices and prove as many as will do."""
        start, end = (box.high[axis], self.high[axis]) if side > 0 else (box.low[axis], self.low[axis])
        for _ in range(_ZOOMS):
            ends = np.linspace(start, end, _SLICES + 1)
            if start == end or self.boxes_left <= 0:
                return box
            lows, highs = np.tile(box.low, (_SLICES, 1)), np.tile(box.high, (_SLICES, 1))
            lows[:, axis], highs[:, axis] = np.minimum(ends[:-1], ends[1:]), np.maximum(ends[:-1], ends[1:])
            num_plausible = _prefix(self._plausible(lows, highs))
            num_proven = self._prove_slices(lows[:num_plausible], highs[:num_plausible])
            if num_proven:
                return _Box(lows[:num_proven].min(axis=0), highs[:num_proven].max(axis=0)).join(box)
            end = ends[1]
        return box

    def _largest(self, box: _Box, lows: np.ndarray, highs: np.ndarray) -> _Box:
        """The box joined with the largest of the nested boxes lows, highs (S, d), large to small, that is proven."""
        plausible = np.flatnonzero(self._plausible(lows, highs))
        lows, highs = lows[plausible], highs[plausible]
        bounded = self._bounds(lows, highs).min(axis=1, initial=np.inf) >= self.level
        for index, easy in enumerate(bounded):
            if easy or (index < 3 and self._prove_slices(lows[[index]], highs[[index]])):
                return _Box(lows[index], highs[index]).join(box)
        return box

    def _bounds(self, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
        return lower_bounds(self.network, lows - self.around, highs + self.around)

    def _margins(self, points: np.ndarray) -> np.ndarray:
        return self.network.margins(points).min(axis=1, initial=np.inf)

    def _plausible(self, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
        """Which boxes (S, d) show no counterexample among some of their corners and points inside."""
        points = lows[:, None, :] + self.shares * (highs - lows)[:, None, :]  # (S, 32, d)
        margins = self._margins(points.reshape(-1, lows.shape[1])).reshape(points.shape[:2])
        return margins.min(axis=1) >= self.level

    def _prove_slices(self, lows: np.ndarray, highs: np.ndarray) -> int:
        """How many of the slices lows, highs (S, d), counted from the first, are proven, splitting where it helps."""
        owner, num_proven = np.arange(len(lows)), len(lows)
        left = min(_BOXES_PER_PROOF, self.boxes_left)
        weight = self.network.stretch
        while len(lows):
            left, self.boxes_left = left - len(lows), self.boxes_left - len(lows)
            loose = (self._bounds(lows, highs) < self.level).any(axis=1)
            lows, highs, owner = lows[loose], highs[loose], owner[loose]
            refuted = self._margins((lows + highs) / 2) < self.level
            num_proven = min(num_proven, int(owner[refuted].min(initial=num_proven)))
            if len(lows) and 2 * len(lows) > left:  # give up the farthest slices first
                num_proven = min(num_proven, int(owner[np.argsort(owner, kind="stable")[max(left, 0) // 2]]))
            keep = owner < num_proven
            lows, highs, owner = lows[keep], highs[keep], np.tile(owner[keep], 2)
            lows, highs = halves(lows, highs, ((highs - lows) * weight).argmax(axis=1))
        return num_proven


def _prefix(flags: np.ndarray) -> int:
    """How many flags are true before the first false one."""
    return int(np.argmin(np.append(flags, False)))
