"""Proven ranges of preferences: a range for each weight, and all weights in them that sum to 1 make the foil win."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.answer import ProvenRange
from paretofoil.core.policy import TabularPolicy, ValueTable, WhiteBoxPolicy, WhiteBoxValues
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.simplex import least
from paretofoil.proof.branch import Claim, Effort, branch_and_bound
from paretofoil.proof.deviation import RANGE_CAUTION, RANGE_SLACK, blur, probe_shares, range_clearance, rounding
from paretofoil.proof.product import question_network
from paretofoil.proof.walls import walls_of

_LEAST_SHARE = 1e-6
"""Of the slack: an answer that wins more narrowly has no range."""
_SHARES = 0.5 ** np.arange(12)
"""How much of the way to its limit a weight is moved, tried from the whole way down."""
_TRIES = 4
"""Shares that are tried for each side on its own, after all sides were moved together."""
_BOXES = 300
"""Boxes that may be bounded for one proof about one rival."""
_STEP = 1e-4
"""How far a weight is moved to see whether that helps the foil."""
_ROUNDING = 2.0**-40
"""More than rounding can do to a sum of products, relatively, for weights that sum to 1 up to rounding."""

Ends = tuple[np.ndarray, np.ndarray]
"""The lowest and the highest of each weight: (d,), (d,)."""
Proves = Callable[[np.ndarray, np.ndarray], bool]
"""(low, high): whether the foil is proven to win under all preferences within these."""


def widen_preferences(batch: QuestionBatch, row: int, command: np.ndarray) -> ProvenRange | None:
    """Ranges of weights that hold the command and reach as far as they can; None if nothing around it can be proven.

    The policy is asked about some preferences in them, counted as queries of the question.
    """
    question = batch.questions[row]
    inside = _inside_of(question)
    if inside is None:
        return None
    slack = max(RANGE_SLACK, question.kappa / 100)  # values may be of any size, and kappa follows them
    level = question.kappa + range_clearance(batch)
    spare = float(inside.margins(command[None])[0]) - level
    if spare / 2 < _LEAST_SHARE * slack:
        return None
    slack = min(slack, spare / 2)
    growth = _Growth(inside, question, command, level + slack)
    low, high = _reachable(*growth.grow())
    weights = _sampled(question, low, high)
    asked = batch.margins_at(np.full(len(weights), row), weights, "range")
    if not (high > low).any() or RANGE_CAUTION * np.abs(asked - inside.margins(weights)).max() > slack:
        return None
    return ProvenRange(np.minimum(low, command), np.maximum(high, command))


@dataclass(frozen=True, eq=False)
class _Inside:
    """What is known of a policy at a state, in float64."""

    scores: Callable[[np.ndarray], np.ndarray]
    """(N, d) -> (N, num_actions)."""
    foil: int
    rivals: Sequence[int]
    table: ValueTable | None

    def margins(self, weights: np.ndarray) -> np.ndarray:
        """(N, d) -> (N,)."""
        scores = self.scores(weights)
        least_lead: np.ndarray = (scores[:, [self.foil]] - scores[:, self.rivals]).min(axis=1, initial=np.inf)
        return least_lead


def _inside_of(question: Question) -> _Inside | None:
    policy, state, foil, rivals = question.policy, question.state, question.foil, question.rivals
    if isinstance(policy, TabularPolicy):
        table = policy.table(state)
        return _Inside(table.values, foil, rivals, table)
    if isinstance(policy, WhiteBoxValues):
        return _Inside(policy.fold_values(state).values, foil, rivals, None)
    if isinstance(policy, WhiteBoxPolicy):
        return _Inside(policy.fold(state).logits, foil, rivals, None)
    return None


class _Growth:
    """Moves the ends of ranges outwards as long as all margins within them are proven to be at least the level."""

    def __init__(self, inside: _Inside, question: Question, command: np.ndarray, level: float) -> None:
        self.inside, self.question, self.command, self.level = inside, question, command, level

    def grow(self) -> Ends:
        """First all weights together, each to the side that helps the foil; then each side on its own."""
        question, uphill = self.question, self._uphill()
        starts = [self._cone(uphill > steepness) for steepness in np.unique(uphill)[:-1]]
        ends = max(starts, key=_width, default=(self.command, self.command))
        for axis in np.argsort(ends[1] - ends[0], kind="stable"):
            for side, limit in enumerate((question.low, question.high)):
                moved = (ends[0].copy(), ends[1].copy())
                moved[side][axis] = limit[axis]
                ends = self._farthest(ends, moved, _SHARES[:_TRIES])
        return ends

    def _cone(self, up: np.ndarray) -> Ends:
        """As far as some weights (d,) can go up, and the others down."""
        command, question = self.command, self.question
        limits = np.where(up, command, question.low), np.where(up, question.high, command)
        return self._farthest((command, command), limits, _SHARES)

    def _uphill(self) -> np.ndarray:
        """(d,): how much more of each weight, taken from the others alike, helps the foil."""
        steps = _STEP * (np.eye(len(self.command)) - 1.0 / len(self.command))
        up, down = (self.inside.margins(self.command + sign * steps) for sign in (1.0, -1.0))
        return up - down

    def _farthest(self, ends: Ends, limits: Ends, shares: np.ndarray) -> Ends:
        """The ends, moved by the largest of the shares of the way to their limits that is proven."""
        for share in shares if any((a != b).any() for a, b in zip(ends, limits, strict=True)) else ():
            low, high = (end + share * (limit - end) for end, limit in zip(ends, limits, strict=True))
            if self._plausible(low, high) and self._proves(low, high):
                return low, high
        return ends

    def _plausible(self, low: np.ndarray, high: np.ndarray) -> bool:
        return bool((self.inside.margins(_sampled(self.question, low, high)) >= self.level).all())

    def _proves(self, low: np.ndarray, high: np.ndarray) -> bool:
        if self.inside.table is not None:
            return self._proves_by_table(self.inside.table, low, high)
        region = replace(self.question, command=self.command, low=low, high=high)
        network = question_network(region, " for a proven range").negated()
        around, (least_change, most_change) = blur(region), region.room
        box, walls = (least_change - around, most_change + around), walls_of(region, rounding(region))
        claims = (Claim(network.only(k), *box, -self.level, "l2", walls) for k in range(network.num_rivals))
        return all(_empty(claim) for claim in claims)

    def _proves_by_table(self, table: ValueTable, low: np.ndarray, high: np.ndarray) -> bool:
        """Whether one vector of the foil is worth more than all of the rivals, everywhere."""
        others = table.vectors[list(self.inside.rivals)].reshape(-1, len(low))
        error = _ROUNDING * float(np.abs(table.vectors).max()) + table.rounding
        return any(
            least(vector - others, low, high).min(initial=np.inf) >= self.level + error
            for vector in table.vectors[self.inside.foil]
        )


def _empty(claim: Claim) -> bool:
    """Whether the claim is proven to hold nowhere."""

    def improve(z: np.ndarray) -> float:
        return 1.0 if (claim.margins(z) >= claim.level).all(axis=1).any() else np.inf  # any number ends it

    proof = branch_and_bound(claim, Effort(np.inf, _BOXES), improve)
    return proof.closed and np.isinf(proof.lower)


def _sampled(question: Question, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(PROBES, d): preferences within low, high, many of them in corners."""
    return question.space.project(low + probe_shares(len(low)) * (high - low), low, high)


def _width(ends: Ends) -> float:
    low, high = _reachable(*ends)
    return float((high - low).sum())


def _reachable(low: np.ndarray, high: np.ndarray) -> Ends:
    """The same ranges without what no weights within them can be that sum to 1."""
    return np.maximum(low, 1.0 - (high.sum() - high)), np.minimum(high, 1.0 - (low.sum() - low))
