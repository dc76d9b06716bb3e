"""Proven ranges: boxes around a valid command in which every command is proven to make the foil win.

For preferences, the box has a range for each weight, and the proof covers the weights in it that sum to 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.answer import ProvenRange
from paretofoil.core.command import least
from paretofoil.core.policy import FoldedValues, TabularPolicy, ValueTable, WhiteBoxPolicy, WhiteBoxValues
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.branch_and_bound import Claim, Effort, branch_and_bound, halves
from paretofoil.proof.networks import OddsNetwork, question_network
from paretofoil.proof.slack import (
    PROBES,
    RANGE_CAUTION,
    RANGE_CLEARANCE,
    RANGE_SLACK,
    Allowance,
    Network,
    allowances,
    probe_shares,
)

_SHARES = 0.5 ** np.arange(12)
"""Shares of the distance to its limit by which a side is moved, in the order in which they are tried."""
_LEAST_SLACK = 1e-6
"""Answers with less slack have no range; for preferences, this is a share of the usual slack."""
_BOXES = 1000
"""Maximum number of boxes of a range."""
_BOXES_PER_PROOF = 300
"""Maximum number of boxes of one proof; for preferences, of the proof for one rival."""
_SLICES = 8
_ZOOMS = 3
_WEIGHT_TRIES = 4
"""Shares that are tried for each side of a range of preferences."""
_WEIGHT_STEP = 1e-4
"""Step of a weight to estimate a slope."""
_TABLE_ROUNDING = 2.0**-40
"""Upper bound of the relative rounding error of a sum of products with weights that sum to 1."""

Ends = tuple[np.ndarray, np.ndarray]
"""The lowest and the highest value of each coordinate: (d,), (d,)."""


def widen(batch: QuestionBatch, row: int, command: np.ndarray) -> ProvenRange | None:
    """Return a proven range that holds the command, as large as possible; None if none can be proven.

    The policy is queried at some commands of the range. These queries count for the question.
    """
    question = batch.questions[row]
    if question.space.simplex:
        return _widen_preferences(batch, row, command)
    if not isinstance(question.policy, WhiteBoxPolicy):
        return None
    network = question_network(question, " for a proven range")
    scale = question.space.scale
    point, low, high = ((v - question.command) / scale for v in (command, question.low, question.high))
    spare = float(network.margins(point[None]).min(initial=np.inf)) - question.kappa - RANGE_CLEARANCE * batch.clearance
    for allowed in allowances(question, network, min(RANGE_SLACK, spare / 2), batch.clearance):
        ends = _widen_box(batch, row, allowed, point, (low, high))
        if ends is not None:
            range_low, range_high = question.command + ends[0] * scale, question.command + ends[1] * scale
            range_low = np.where(ends[0] <= low, question.low, range_low)  # exactly the limit, without rounding
            range_high = np.where(ends[1] >= high, question.high, range_high)
            whole = question.space.whole
            range_low = np.where(whole, np.ceil(range_low), range_low)
            range_high = np.where(whole, np.floor(range_high), range_high)
            return ProvenRange(np.minimum(range_low, command), np.maximum(range_high, command), allowed.assumed)
    return None


def _widen_box(batch: QuestionBatch, row: int, allowed: Allowance, point: np.ndarray, limits: Ends) -> Ends | None:
    """Return the largest box around a point (d,) that can be proven with an allowance; None if there is none."""
    level = batch.questions[row].kappa + allowed.slack
    if allowed.rounding == "measured":
        if allowed.slack < _LEAST_SLACK:
            return None
        level += RANGE_CLEARANCE * batch.clearance
    growth = _BoxGrowth(allowed.network, level, *limits, allowed.around)
    ends = growth.from_corner(point)
    for axis in np.argsort(ends[1] - ends[0], kind="stable"):  # the shortest sides first
        for side in (-1, 1):
            ends = growth.move(ends, int(axis), side)
    if not (ends[1] > ends[0]).any():
        return None
    rows = np.full(PROBES, row)
    probes = batch.project(rows, ends[0] + probe_shares(len(ends[0])) * (ends[1] - ends[0]))  # to commands that exist
    deployed = batch.margins(rows, probes, "range")
    if allowed.rounding == "measured":
        allowed = replace(allowed, slack=allowed.slack / RANGE_CAUTION)
    return None if allowed.contradicted_by(probes, deployed) else ends


def _join(ends: Ends, low: np.ndarray, high: np.ndarray) -> Ends:
    """Return the smallest box that holds a box and low, high (d,)."""
    return np.minimum(ends[0], low), np.maximum(ends[1], high)


class _BoxGrowth:
    """Moves the sides of a box outwards while all margins in it are proven to be at least the level."""

    def __init__(self, network: Network, level: float, low: np.ndarray, high: np.ndarray, around: np.ndarray) -> None:
        self.network, self.level = network, level
        self.low, self.high = low, high  # (d,): the limits of the box
        self.around = around  # (d,): the margins are also proven at this distance around the box
        self.boxes_left = _BOXES
        self.shares = np.random.default_rng(0).random((32, len(low)))  # positions in a box to look for counterexamples
        self.shares[:20] = np.round(self.shares[:20])

    def from_corner(self, point: np.ndarray) -> Ends:
        """Return the largest box that extends from the point towards rising margins, in proportion to the room."""
        steps = np.eye(len(point)) * 1e-3
        around = np.clip(np.concatenate([point + steps, point - steps]), self.low, self.high)
        margins = self._margins(around).reshape(2, -1)
        reach = np.where(margins[0] >= margins[1], self.high, self.low) - point
        reach = np.where(margins.max(axis=0) >= self.level, reach, 0.0)
        ends = point + _SHARES[:, None] * reach
        return self._largest((point, point), np.minimum(point, ends), np.maximum(point, ends))

    def move(self, ends: Ends, axis: int, side: int) -> Ends:
        """Move one side of a proven box: cut the room up to its limit into slices and prove as many as possible."""
        start, end = (ends[1][axis], self.high[axis]) if side > 0 else (ends[0][axis], self.low[axis])
        for _ in range(_ZOOMS):
            cuts = np.linspace(start, end, _SLICES + 1)
            if start == end or self.boxes_left <= 0:
                return ends
            lows, highs = np.tile(ends[0], (_SLICES, 1)), np.tile(ends[1], (_SLICES, 1))
            lows[:, axis], highs[:, axis] = np.minimum(cuts[:-1], cuts[1:]), np.maximum(cuts[:-1], cuts[1:])
            num_plausible = int(np.argmin(np.append(self._plausible(lows, highs), False)))  # before the first False
            num_proven = self._prove_slices(lows[:num_plausible], highs[:num_plausible])
            if num_proven:
                return _join(ends, lows[:num_proven].min(axis=0), highs[:num_proven].max(axis=0))
            end = cuts[1]
        return ends

    def _largest(self, ends: Ends, lows: np.ndarray, highs: np.ndarray) -> Ends:
        """Return the box, joined with the first proven one of nested boxes lows, highs (S, d), from large to small."""
        plausible = np.flatnonzero(self._plausible(lows, highs))
        lows, highs = lows[plausible], highs[plausible]
        bounded = self._bounds(lows, highs).min(axis=1, initial=np.inf) >= self.level
        for index, easy in enumerate(bounded):
            if easy or (index < 3 and self._prove_slices(lows[[index]], highs[[index]])):
                return _join(ends, lows[index], highs[index])
        return ends

    def _bounds(self, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
        return self.network.lower_bounds(lows - self.around, highs + self.around)

    def _margins(self, points: np.ndarray) -> np.ndarray:
        return self.network.margins(points).min(axis=1, initial=np.inf)

    def _plausible(self, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
        """Return which boxes (S, d) have no counterexample among some of their corners and inner points."""
        points = lows[:, None, :] + self.shares * (highs - lows)[:, None, :]  # (S, 32, d)
        margins = self._margins(points.reshape(-1, lows.shape[1])).reshape(points.shape[:2])
        return margins.min(axis=1) >= self.level

    def _prove_slices(self, lows: np.ndarray, highs: np.ndarray) -> int:
        """Return how many of the first slices lows, highs (S, d) are proven, splitting boxes where needed."""
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


def _widen_preferences(batch: QuestionBatch, row: int, command: np.ndarray) -> ProvenRange | None:
    """Return a proven range of weights that holds the command, as large as possible; None if none can be proven."""
    question = batch.questions[row]
    scores = None if question.probability is not None else _Scores.of(question)
    if scores is None:
        return None
    slack = max(RANGE_SLACK, question.kappa / 100)  # values may have any size, and kappa is in proportion
    level = question.kappa + RANGE_CLEARANCE * batch.clearance
    spare = float(scores.margins(command[None])[0]) - level
    if spare / 2 < _LEAST_SLACK * slack:
        return None
    slack = min(slack, spare / 2)
    growth = _WeightGrowth(scores, question, command, level + slack)
    low, high = _reachable(*growth.grow())
    weights = _probes(question, low, high)
    deployed = batch.margins_at(np.full(len(weights), row), weights, "range")
    if not (high > low).any() or RANGE_CAUTION * np.abs(deployed - scores.margins(weights)).max() > slack:
        return None
    assumed = 0.0 if scores.error <= slack else slack
    return ProvenRange(np.minimum(low, command), np.maximum(high, command), assumed)


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores of a white-box policy at a state, as a function of the preferences, in float64."""

    function: Callable[[np.ndarray], np.ndarray]
    """(N, d) -> (N, num_actions)."""
    foil: int
    rivals: Sequence[int]
    error: float
    """The rounding error that the slack must cover; 0 if bounds include it, infinite if it is unknown."""
    table: ValueTable | None = None

    @classmethod
    def of(cls, question: Question) -> "_Scores | None":
        policy, state, foil, rivals = question.policy, question.state, question.foil, question.rivals
        if isinstance(policy, TabularPolicy):
            table = policy.table(state)
            return cls(table.values, foil, rivals, table.rounding, table)
        if not isinstance(policy, WhiteBoxValues | WhiteBoxPolicy):
            return None
        folded = policy.fold_values(state) if isinstance(policy, WhiteBoxValues) else policy.fold(state)
        function = folded.values if isinstance(folded, FoldedValues) else folded.logits
        error = np.inf if question_network(question, " for a proven range").rounding is None else 0.0
        return cls(function, foil, rivals, error)

    def margins(self, weights: np.ndarray) -> np.ndarray:
        """Return the least margin (N,) under weights (N, d)."""
        scores = self.function(weights)
        margins: np.ndarray = (scores[:, [self.foil]] - scores[:, self.rivals]).min(axis=1, initial=np.inf)
        return margins


class _WeightGrowth:
    """Moves the ends of ranges of weights outwards while all margins in them are proven to be at least the level."""

    def __init__(self, scores: _Scores, question: Question, command: np.ndarray, level: float) -> None:
        self.scores, self.question, self.command, self.level = scores, question, command, level

    def grow(self) -> Ends:
        """Move all weights together, each in the direction that helps the foil. Then move each end alone."""
        question, slopes = self.question, self._slopes()
        starts = [self._cone(slopes > slope) for slope in np.unique(slopes)[:-1]]
        ends = max(starts, key=_width, default=(self.command, self.command))
        for axis in np.argsort(ends[1] - ends[0], kind="stable"):
            for side, limit in enumerate((question.low, question.high)):
                moved = (ends[0].copy(), ends[1].copy())
                moved[side][axis] = limit[axis]
                ends = self._farthest(ends, moved, _SHARES[:_WEIGHT_TRIES])
        return ends

    def _cone(self, up: np.ndarray) -> Ends:
        """Move some weights (d,) up and the others down, as far as possible."""
        command, question = self.command, self.question
        limits = np.where(up, command, question.low), np.where(up, question.high, command)
        return self._farthest((command, command), limits, _SHARES)

    def _slopes(self) -> np.ndarray:
        """Return the slope (d,) of the margin in each weight, if all other weights decrease by equal amounts."""
        steps = _WEIGHT_STEP * (np.eye(len(self.command)) - 1.0 / len(self.command))
        up, down = (self.scores.margins(self.command + sign * steps) for sign in (1.0, -1.0))
        return up - down

    def _farthest(self, ends: Ends, limits: Ends, shares: np.ndarray) -> Ends:
        """Move the ends towards their limits by the largest of the given shares that is proven."""
        for share in shares if any((a != b).any() for a, b in zip(ends, limits, strict=True)) else ():
            low, high = (end + share * (limit - end) for end, limit in zip(ends, limits, strict=True))
            if self._plausible(low, high) and self._proves(low, high):
                return low, high
        return ends

    def _plausible(self, low: np.ndarray, high: np.ndarray) -> bool:
        return bool((self.scores.margins(_probes(self.question, low, high)) >= self.level).all())

    def _proves(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Return whether the foil is proven to win under all preferences within low, high (d,)."""
        if self.scores.table is not None:
            return self._proves_by_table(self.scores.table, low, high)
        region = replace(self.question, command=self.command, low=low, high=high, norm="l2")
        network = question_network(region, " for a proven range")
        assert not isinstance(network, OddsNetwork)
        network = network.negated()
        rivals = (network.only(k) for k in range(network.num_rivals))
        return all(_empty(allowances(region, rival, 0.0)[0].claim(region, -self.level)) for rival in rivals)

    def _proves_by_table(self, table: ValueTable, low: np.ndarray, high: np.ndarray) -> bool:
        """Return whether one vector of the foil has a larger value than all vectors of the rivals, everywhere."""
        others = table.vectors[list(self.scores.rivals)].reshape(-1, len(low))
        error = _TABLE_ROUNDING * float(np.abs(table.vectors).max()) + table.rounding
        return any(
            least(vector - others, low, high).min(initial=np.inf) >= self.level + error
            for vector in table.vectors[self.scores.foil]
        )


def _empty(claim: Claim) -> bool:
    """Return whether the claim is proven to hold nowhere."""

    def improve(z: np.ndarray) -> float:
        """Return any finite distance if a point refutes the claim, which ends the proof."""
        return 1.0 if (claim.margins(z) >= claim.level).all(axis=1).any() else np.inf

    proof = branch_and_bound(claim, Effort(np.inf, _BOXES_PER_PROOF), improve)
    return proof.closed and np.isinf(proof.lower)


def _probes(question: Question, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return preferences (PROBES, d) within low, high (d,), many of them corners."""
    return question.space.project(low + probe_shares(len(low)) * (high - low), low, high)


def _width(ends: Ends) -> float:
    low, high = _reachable(*ends)
    return float((high - low).sum())


def _reachable(low: np.ndarray, high: np.ndarray) -> Ends:
    """Return the ranges without impossible values.

    A value of a weight is impossible if no values of the other weights in their ranges give a sum of 1.
    """
    return np.maximum(low, 1.0 - (high.sum() - high)), np.minimum(high, 1.0 - (low.sum() - low))
