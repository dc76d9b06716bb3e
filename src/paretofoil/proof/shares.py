"""Prove the share of a region of commands in which the greedy policy chooses each action.

The region is split into boxes. A box is settled if one action is proven to be chosen in all of it. In other boxes,
linear bounds of the differences between actions show parts in which an action is not chosen. The volume of such a part
is computed exactly (`share_below`). The boxes with the largest undecided volume are split next.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paretofoil.core.options import Stop, now
from paretofoil.core.policy import WhiteBoxPolicy
from paretofoil.core.program import Program
from paretofoil.core.question import QuestionBatch
from paretofoil.proof.bounds import HalfSpaces
from paretofoil.proof.branch_and_bound import Columns, at_once, halves, too_small
from paretofoil.proof.networks import MarginNetwork, moved_network, stack_networks
from paretofoil.proof.slack import CAUTION, DERIVED_SLACK, RoundingKind, float32_rounding, probe_shares, slack_for

_SUMMING = 1e-9
"""Upper bound of the rounding error of a sum of volumes."""
_ROUNDING = 2.0**-53
_POSITION = 1e-14
"""Upper bound of the relative rounding error of a position in the region."""
_ROWS = 64
"""Boxes of a stack that are bounded together: their arrays stay in the cache."""
_NUMBERS = 36_000
"""Numbers of the largest array for boxes that are bounded together, so that it stays in the cache."""
_SIMPLIFY = 16
"""Networks are simplified for at least this many boxes."""
_AT_ONCE = 1024
"""Maximum number of boxes that are split together."""
_FEW = 32
"""Fewer boxes than this are split again before they are bounded: a few boxes take no longer than one."""
_CELLS = 8
"""Boxes are sorted by the cell of a grid in which they begin, of this many cells along each axis."""
_SMALL_WEIGHT = 1e-7
"""Weights are replaced by their worst case if they are smaller than the (d - 1)th root of this, times the largest."""
_MOST_WEIGHTS = 8
"""Maximum number of weights that are not replaced: the sum has 2 to the power of their number terms."""


@dataclass(frozen=True)
class ShareEffort:
    """When a proof of shares stops."""

    undecided: float = 0.01
    """The proof stops when at most this share of the region is undecided."""
    max_boxes: int = 1_000_000
    deadline: float = np.inf
    """A value of `now()`."""
    inert: bool = True
    """Continue until the whole region is decided while only one action is known to be chosen."""


@dataclass(frozen=True, eq=False)
class Leaves(Columns):
    """A partition of the region into boxes, in shares of its width."""

    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)
    alive: np.ndarray  # (B, A) bool: actions not proven to lose in the whole box
    sure: np.ndarray  # (B, A): least share of the region, within the box, of each action
    most: np.ndarray  # (B, A): largest share of the region, within the box, of each action

    @cached_property
    def settled(self) -> np.ndarray:
        """Whether only one action is left: (B,) bool."""
        alive: np.ndarray = self.alive.sum(axis=1) == 1
        return alive

    @cached_property
    def undecided(self) -> np.ndarray:
        """The share of the region, within the box, in which the action is not decided: (B,)."""
        return np.where(self.settled, 0.0, np.maximum(_volumes(self.low, self.high) - self.sure.sum(axis=1), 0.0))


@dataclass(frozen=True, eq=False)
class ProvenShares:
    """Bounds of the share of the region in which each valid action is chosen."""

    lower: np.ndarray  # (A,)
    upper: np.ndarray  # (A,)
    stop: Stop
    boxes: int
    slack: float
    """Allowance for the difference between the deployed policy and its network, in margins."""
    deviation: float
    """Largest measured difference."""
    rounding: RoundingKind
    """Whether the slack and the bounds cover derived rounding errors of the policy, or only measured ones."""
    leaves: Leaves
    """The boxes of the region."""

    @property
    def open(self) -> Leaves:
        """The boxes with more than one action left."""
        return self.leaves[~self.leaves.settled]

    @property
    def inert(self) -> bool:
        """Whether one action is proven to be chosen under all commands of the region."""
        return bool(self.leaves.settled.all()) and int((self.upper > 0).sum()) == 1


def prove_shares(batch: QuestionBatch, effort: ShareEffort, row: int = 0) -> ProvenShares:
    """Return proven bounds of the share of each valid action in the search region of a question, a box of commands."""
    question = batch.questions[row]
    assert isinstance(question.policy, WhiteBoxPolicy)
    folded = question.policy.fold(question.state)
    measured = _deviation(batch, row, folded)
    region = question.low, question.high
    contest = Contest.of(folded, question.valid_actions, region, measured, batch.clearance)
    return _Partition(contest).run(effort, measured)


def _deviation(batch: QuestionBatch, row: int, folded: Program) -> float:
    """Return the largest difference between policy and network in the margin of any two valid actions."""
    question, valid = batch.questions[row], list(batch.questions[row].valid_actions)
    commands = question.low + probe_shares(question.space.dim) * (question.high - question.low)
    deployed = batch.scores_at(np.full(len(commands), row), commands, "verify")[:, valid].astype(np.float64)
    return float(np.ptp(deployed - folded.logits(commands)[:, valid], axis=1).max())


@dataclass(frozen=True, eq=False)
class Contest:
    """The differences between all valid actions at one state, over commands as shares of the region's width."""

    network: MarginNetwork
    """The difference of each ordered pair of valid actions (see `_pairs`)."""
    num_actions: int
    low: np.ndarray  # (d,): lower corner of the region, as a command
    scale: np.ndarray  # (d,): width of the region, or 1 without width
    high: np.ndarray  # (d,): upper corner of the region, 1 or, without width, 0
    around: np.ndarray  # (d,): largest error of a command, if the rounding of the policy is not known
    slack: float

    @classmethod
    def of(
        cls,
        folded: Program,
        valid: tuple[int, ...],
        region: tuple[np.ndarray, np.ndarray],
        measured: float,
        clearance: float = 0.0,
    ) -> "Contest":
        """Return the contest of the valid actions in a region.

        Args:
            folded: the network at the state.
            valid: the valid actions.
            region: the lower and the upper corner, as commands.
            measured: the largest measured difference between policy and network.
            clearance: the noise of margins that the proofs must allow for.
        """
        low, width = region[0], region[1] - region[0]
        scale, high = np.where(width > 0, width, 1.0), (width > 0).astype(np.float64)
        ahead, behind = _pairs(valid)
        pairs = folded.within(*region, len(valid)).differences(np.array(ahead, dtype=int), np.array(behind, dtype=int))

        def network(around: np.ndarray) -> MarginNetwork:
            return moved_network(pairs, low, np.diag(scale), True, np.abs(low) + (high + around) * scale)

        parts, around = (len(valid), low, scale, high), np.zeros_like(low)
        derived = network(around)
        errors = derived.largest_error(np.zeros_like(high), high)
        error, slack = (
            float(part.max(initial=0.0)) for part in (errors, errors + derived.pad(np.zeros_like(high), high))
        )
        if pairs.rounding is None or max(measured, clearance / CAUTION) > slack:  # unknown or wrongly stated
            around = float32_rounding(*region) / scale
            return cls(network(around).without_rounding(), *parts, around, slack_for(measured, clearance))
        if error <= DERIVED_SLACK:
            return cls(derived.without_rounding(), *parts, around, min(slack, DERIVED_SLACK))
        return cls(derived, *parts, around, 0.0)

    def among(self, some: tuple[int, ...]) -> MarginNetwork:
        """Return the differences of all ordered pairs of some actions, given as indices of valid actions.

        The first action of the pairs changes slowest.
        """
        if len(some) == self.num_actions:
            return self.network
        pairs = list(zip(*_pairs(tuple(range(self.num_actions))), strict=True))
        return self.network.only([pairs.index(pair) for pair in zip(*_pairs(some), strict=True)])

    def upper_bounds(self, network: MarginNetwork, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
        """Return bounds of the differences of a network (`among`); where one is negative, the first action loses."""
        bounds = network.upper_bounds(low - self.around, high + self.around)
        return HalfSpaces(bounds.slopes, bounds.offsets + np.abs(bounds.slopes) @ self.around + self.slack)

    def judge(self, low: np.ndarray, high: np.ndarray, alive: np.ndarray) -> Leaves:
        """Return what is proven in boxes low, high (B, d), where only the actions alive (B, A) can be chosen."""
        left, sure, most = alive.copy(), np.zeros(alive.shape), np.zeros(alive.shape)
        for network, rows, some in self._chunks(low, high, alive):
            beaten = self._beaten(network, len(some), low[rows], high[rows])
            at = rows[:, None], some
            among = left[at] & (beaten < 1.0).all(axis=2)
            open_to = 1.0 - beaten.transpose(0, 2, 1)  # (B, action, rival): share where the rival may win
            against = np.where(among[:, None, :] & ~np.eye(len(some), dtype=bool), open_to, 0.0).sum(axis=2)
            left[at] = among
            sure[at] = np.where(among, np.maximum(1.0 - against, 0.0), 0.0)
            most[at] = np.where(among, 1.0 - beaten.max(axis=2), 0.0)
        volumes = _volumes(low, high)[:, None]
        return Leaves(low, high, left, sure * volumes, most * volumes)

    def _chunks(
        self, low: np.ndarray, high: np.ndarray, alive: np.ndarray
    ) -> Iterator[tuple[MarginNetwork, np.ndarray, np.ndarray]]:
        """Yield the rows of neighbouring boxes with the same actions alive, with a network for them and the actions."""
        kinds, kind_of = np.unique(alive, axis=0, return_inverse=True)
        order = np.lexsort((*np.floor(_CELLS * low).T, kind_of.reshape(-1)))
        for flags, rows in zip(kinds, np.split(order, np.cumsum(np.bincount(kind_of.reshape(-1)))), strict=False):
            some = np.flatnonzero(flags)
            network = self.among(tuple(some.tolist()))
            step = max(_SIMPLIFY, _NUMBERS // (self.network.width * max(low.shape[1], network.num_rivals)))
            starts = np.arange(0, len(rows), step)
            networks = [network] * len(starts)
            if len(rows) >= _SIMPLIFY:
                sides = np.minimum.reduceat(low[rows], starts), np.maximum.reduceat(high[rows], starts)
                networks = network.simplified(sides[0] - self.around, sides[1] + self.around)
            for simple, start in zip(networks, starts.tolist(), strict=True):
                yield simple, rows[start : start + step], some

    def _beaten(self, network: MarginNetwork, count: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least share of the box in which an action loses to a rival: (B, action, rival)."""
        beaten = np.zeros((len(low), count, count))
        if count > 1:
            bounds = self.upper_bounds(network, low, high)
            share = np.minimum(share_below(bounds.slopes, bounds.offsets, low, high), 1.0 - 1e-15)
            beaten[:, *_pairs(tuple(range(count)))] = np.where(bounds.highest(low, high) < 0.0, 1.0, share)
        return beaten


@dataclass(frozen=True, eq=False)
class ContestStack:
    """Contests in N of S states, so that boxes of different states can be bounded together."""

    place: np.ndarray  # (S,) int: position of each state in the stack; -1 if it is not part of it
    network: MarginNetwork
    """The stacked networks, or the only one, each with A x A margins: the lead of each action over each other one."""
    low: np.ndarray  # (N, d)
    scale: np.ndarray  # (N, d)
    around: np.ndarray  # (N, d)
    slack: np.ndarray  # (N,)

    def chunks(self, state: np.ndarray) -> list[np.ndarray]:
        """Return the rows whose state (B,) is in this stack, in chunks that fit into the cache."""
        rows = np.flatnonzero(self.place[state] >= 0)
        return np.split(rows, range(_ROWS, len(rows), _ROWS)) if len(rows) else []

    def upper_bounds(self, state: np.ndarray, low: np.ndarray, high: np.ndarray, pairs: np.ndarray) -> HalfSpaces:
        """Return upper bounds of the leads between actions in states (B,) over boxes low, high (B, d) of commands.

        `pairs` (B, K) are indices of pairs among the A x A margins. The bounds are functions of the command.
        """
        place = self.place[state]
        origin, scale, around = self.low[place], self.scale[place], self.around[place]
        least, most = (low - origin) / scale - around, (high - origin) / scale + around
        if _can_be_stacked(self.network):
            bounds = self.network.at(place, pairs).bound_together(least, most)
        else:
            bounds = self.network.bound_together(least, most)
            rows = np.arange(len(place))[:, None]
            bounds = HalfSpaces(bounds.slopes[rows, pairs], bounds.offsets[rows, pairs])
        size = (np.abs(bounds.slopes) @ (around + _POSITION * (np.abs(origin) / scale + 1.0))[:, :, None])[:, :, 0]
        slopes = bounds.slopes / scale[:, None, :]
        offsets = bounds.offsets + size + self.slack[place, None] - (slopes @ origin[:, :, None])[:, :, 0]
        return HalfSpaces(slopes, offsets)


def stack_contests(contests: Mapping[int, Contest], masks: np.ndarray) -> list[ContestStack]:
    """Return stacks of the contests of states, whose valid actions are masks (S, A).

    A contest whose bounds include the rounding errors of the policy, or use Taylor models, has a stack of its own.
    """
    groups: dict[Any, list[int]] = {}
    for state, contest in contests.items():
        network = contest.network
        groups.setdefault(network.program.structure if _can_be_stacked(network) else state, []).append(state)
    stacks = []
    for states in groups.values():
        some = [contests[state] for state in states]
        networks = [_among_all(contest.network, masks[state]) for state, contest in zip(states, some, strict=True)]
        network = networks[0]
        if _can_be_stacked(network):
            network = stack_networks(networks)
        place = np.full(len(masks), -1)
        place[states] = np.arange(len(states))
        columns = (
            np.array([getattr(contest, name) for contest in some]) for name in ("low", "scale", "around", "slack")
        )
        stacks.append(ContestStack(place, network, *columns))
    return stacks


def _can_be_stacked(network: MarginNetwork) -> bool:
    return network.rounding is None and not network.uses_taylor


def _among_all(network: MarginNetwork, valid: np.ndarray) -> MarginNetwork:
    """Return the network of a contest between valid actions (A,) with A x A margins, arbitrary for other pairs."""
    pairs = np.outer(valid, valid) & ~np.eye(len(valid), dtype=bool)
    return network.only((np.cumsum(pairs) - 1).clip(0).tolist())


def _pairs(some: tuple[int, ...]) -> tuple[list[int], list[int]]:
    pairs = [(a, b) for a in some for b in some if a != b]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _volumes(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the volumes (B,) of boxes low, high (B, d); coordinates without width do not count."""
    width = high - low
    volumes: np.ndarray = np.where(width > 0, width, 1.0).prod(axis=1)
    return volumes


class _Partition:
    """Splits the boxes with the largest undecided share until the effort is spent."""

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        count, dim = contest.num_actions, len(contest.high)
        corners, parts = np.zeros((0, dim)), np.zeros((0, count))
        self.pool = Leaves(corners, corners, parts.astype(bool), parts, parts)
        self.settled = self.stuck = self.pool
        self.num_boxes = 0

    def run(self, effort: ShareEffort, measured: float) -> ProvenShares:
        contest = self.contest
        low, high = np.zeros((1, len(contest.high))), contest.high[None]
        alive = np.ones((1, contest.num_actions), dtype=bool)
        take, most = 1, max(1, at_once(contest.network.work, 2 * _AT_ONCE) // 2)  # each becomes four boxes
        while True:
            self._add(contest.judge(low, high, alive))
            stop = self._stop(effort)
            if stop is not None:
                return self._shares(stop, measured)
            low, high, alive = self._quarters(take, min(_FEW, most), effort.undecided)
            take = min(2 * take, most)

    def _add(self, fresh: Leaves) -> None:
        self.num_boxes += len(fresh)
        small = too_small(fresh.low, fresh.high)
        self.settled = self.settled + fresh[fresh.settled]
        self.stuck = self.stuck + fresh[small & ~fresh.settled]
        self.pool = self.pool + fresh[~small & ~fresh.settled]

    def _stop(self, effort: ShareEffort) -> Stop | None:
        chosen = [(part.sure > 0).any(axis=0) for part in (self.settled, self.pool, self.stuck)]
        one = effort.inert and np.any(chosen, axis=0).sum() <= 1
        if not len(self.pool) or (not one and self.pool.undecided.sum() <= effort.undecided):
            return Stop.COMPLETE if len(self.stuck) else Stop.PROVEN
        if self.num_boxes >= effort.max_boxes:
            return Stop.OUT_OF_BOXES
        return Stop.OUT_OF_TIME if now() >= effort.deadline else None

    def _quarters(self, take: int, few: int, goal: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take the boxes with the largest undecided shares out of the pool, and halve them at least twice.

        The halves in between are not bounded: most of them would be halved again.
        """
        order = np.argsort(-self.pool.undecided, kind="stable")
        total = np.cumsum(self.pool.undecided[order])
        if total[-1] > goal:  # at the end, only as many as needed: about half of their volume becomes decided
            take = min(take, 1 + int(np.searchsorted(total, 2.0 * (total[-1] - goal))))
        chosen, self.pool = self.pool[order[:take]], self.pool[order[take:]]
        low, high, alive = chosen.low, chosen.high, chosen.alive
        while len(low) < max(4 * len(chosen), few):
            axis = np.argmax((high - low) * self.contest.network.stretch, axis=1)
            low, high = halves(low, high, axis)
        return low, high, np.tile(alive, (len(low) // len(alive), 1))

    def _shares(self, stop: Stop, measured: float) -> ProvenShares:
        leaves = self.settled + self.pool + self.stuck
        sure, most = leaves.sure.sum(axis=0), leaves.most.sum(axis=0)
        if not leaves.settled.all():  # else the volumes are powers of 1/2, and their sums exact
            sure, most = np.maximum(sure - _SUMMING, 0.0), np.where(most > 0, most + _SUMMING, 0.0)
        most = np.minimum(most, 1.0 - (sure.sum() - sure))
        rounding: RoundingKind = "measured" if self.contest.around.any() else "derived"
        return ProvenShares(sure, most, stop, self.num_boxes, self.contest.slack, measured, rounding, leaves)


def share_below(slopes: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a lower bound of the share of boxes low, high (B, d) in which slopes @ z + offsets < 0: (B, K).

    slopes (B, K, d), offsets (B, K). Coordinates without width do not count.

    The share of the unit cube with w . x < c is the sum over its corners v of (-1)^|v| max(c - w . v, 0)^d, divided by
    d! w_1 ... w_d (Barrow and Smith 1979). Terms of both signs cancel if a weight is small: small weights are replaced
    by their worst case, and a bound of the rounding errors of the others is subtracted.
    """
    rise = slopes * (high - low)[:, None, :]
    lowest = offsets + np.matmul(slopes, low[:, :, None])[:, :, 0] + np.minimum(rise, 0.0).sum(axis=2)
    size = np.abs(offsets) + np.matmul(np.abs(slopes), np.maximum(np.abs(low), np.abs(high))[:, :, None])[:, :, 0]
    weights = np.abs(rise)
    room = -lowest - 16 * (low.shape[1] + 2) * _ROUNDING * size  # how far the lowest corner is below 0
    share = (room > weights.sum(axis=2) * (1 + 1e-12)).astype(np.float64)
    partly = (room > 0) & (share == 0)
    share[partly] = _share_of_cube(weights[partly], room[partly])
    return share


def _share_of_cube(weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return a lower bound (N,) of the share of the unit cube with weights (N, d) . x < room (N,), weights > 0."""
    weights = -np.sort(-weights, axis=1)
    largest = np.maximum(weights[:, :1], 1e-300)
    weights, room = weights / largest, room / largest[:, 0]
    small = weights < _SMALL_WEIGHT ** (1.0 / max(weights.shape[1] - 1, 1))
    small[:, _MOST_WEIGHTS:] = True
    room = room - np.where(small, weights, 0.0).sum(axis=1)
    share, kept = np.zeros(len(room)), (~small).sum(axis=1)
    for count in np.unique(kept):
        some = (kept == count) & (room > 0)
        share[some] = _by_corners(weights[some, :count], room[some])
    return share


def _by_corners(weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return the share of the cube for weights (N, k), none of which is small, from the smaller of its two parts."""
    count, total = weights.shape[1], weights.sum(axis=1)
    mirrored = room > total / 2
    side = np.clip(np.where(mirrored, total - room, room), 0.0, None)
    corners = (np.arange(2**count)[:, None] >> np.arange(count)) & 1  # (2^k, k)
    signs = 1.0 - 2.0 * (corners.sum(axis=1) % 2)
    heights = np.maximum(side[:, None] - weights @ corners.T, 0.0)
    unit = math.factorial(count) * weights.prod(axis=1)
    share = (heights**count) @ signs / unit
    error = 64 * count * 2**count * _ROUNDING * total * np.maximum(side, _ROUNDING) ** (count - 1) / unit
    return np.clip(np.where(mirrored, 1.0 - share, share) - error - 4 * _ROUNDING, 0.0, 1.0)
