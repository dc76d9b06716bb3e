"""Influence on continuous actions: the smallest and largest amount of each dimension over all commands, proven."""

import itertools
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from paretofoil.core.amounts import ActionSpace, Actor, FoilPolicy, Limit, query_amounts
from paretofoil.core.decision import Decision
from paretofoil.core.influence import AmountInfluence, AmountRange
from paretofoil.core.options import now
from paretofoil.core.policy import is_white_box
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.verify import clearance
from paretofoil.proof.branch_and_bound import at_once, halves, too_small
from paretofoil.proof.networks import question_network
from paretofoil.proof.slack import PROBES, allowances, slack_for

GAP = 1e-3
"""The proof stops when no amount can be more extreme than the one found by this share of the range."""
MAX_BOXES = 100_000
_CORNERS = 6
"""Corners of the search region are sampled up to this number of objectives."""
_CENTERS = 16
"""Centres of the most promising boxes that are queried at once."""


@dataclass(frozen=True, eq=False)
class _Extreme:
    """The largest margin that was found, and an upper bound of all of them."""

    margin: float
    command: np.ndarray
    bound: float
    """Infinite if nothing is proven."""
    assumed: float
    boxes: int


def influence_on_amounts(
    actor: Actor,
    actions: ActionSpace,
    decision: Decision,
    region: Question,
    samples: int,
    seconds: float,
    seed: int,
) -> AmountInfluence:
    """Return the range of each amount in the search region of a question, which has its own time for each end.

    `actions` are those that are possible at the decision.
    """
    began = now()
    [chosen] = actions.clip(query_amounts(actor, decision.state[None], decision.command[None]))
    ranges, extremes = [], []
    sides = zip(actions.names, actions.units, actions.low.tolist(), actions.high.tolist(), strict=True)
    for i, (name, unit, low, high) in enumerate(sides):
        ends = []
        for lower, start in ((False, high), (True, low)):
            limit = Limit(name, unit, "", i, start, lower, low, high)  # the margin is the distance from the other end
            policy = FoilPolicy.of(actor, (limit,))
            question = replace(region, policy=policy, foil=0, valid_actions=(0, 1), kappa=0.0)
            extreme = _extreme(question, samples, seconds / (2 * actions.dim), seed)
            ends.append((limit.amount_at(extreme.margin), extreme.command, limit.amount_at(min(extreme.bound, 1.0))))
            extremes.append(extreme)
        (least, at_least, lowest), (most, at_most, highest) = ends
        ranges.append(AmountRange(name, unit, float(chosen[i]), least, most, at_least, at_most, lowest, highest))
    return AmountInfluence(
        objectives=region.space.command_objectives,
        command=region.command,
        low=region.low,
        high=region.high,
        ranges=tuple(ranges),
        proven=all(np.isfinite(extreme.bound) for extreme in extremes),
        assumed=max(extreme.assumed for extreme in extremes),
        samples=samples,
        boxes=sum(extreme.boxes for extreme in extremes),
        seconds=now() - began,
    )


def _extreme(question: Question, samples: int, seconds: float, seed: int) -> _Extreme:
    """Return the largest margin of a foil with one limit, by samples and by branch and bound."""
    batch = QuestionBatch([question])
    noise = clearance(batch)
    z = np.random.default_rng(seed).uniform(batch.low[0], batch.high[0], size=(samples, batch.dim))
    if batch.dim <= _CORNERS:
        corners = np.array(list(itertools.product(*zip(batch.low[0], batch.high[0], strict=True))))
        z = np.concatenate([np.zeros((1, batch.dim)), corners, z])
    best: list[Any] = [-inf, question.command]

    def try_changes(changes: np.ndarray) -> np.ndarray:
        rows = np.zeros(len(changes), dtype=np.int64)
        commands = batch.commands_at(rows, batch.project(rows, changes))
        margins = batch.margins_at(rows, commands, "influence")
        if margins.max() > best[0]:
            best[:] = float(margins.max()), commands[margins.argmax()]
        return margins

    margins = try_changes(z)
    if not is_white_box(question.policy):
        return _Extreme(best[0], best[1], inf, 0.0, 0)
    network = question_network(question, " for a proof")
    inside = batch.project(np.zeros(len(z), dtype=np.int64), z)
    measured = float(np.abs(margins - network.margins(inside).min(axis=1))[:PROBES].max())
    allowed = allowances(question, network, slack_for(measured, noise), noise)[0]
    if allowed.contradicted_by(inside, margins):
        return _Extreme(best[0], best[1], inf, 0.0, 0)
    claim = allowed.claim(question, 0.0)
    low, high = claim.low[None], claim.high[None]
    pool: tuple[np.ndarray, ...] = (low[:0], high[:0], np.zeros(0))
    bound, boxes, most, deadline = -inf, 0, at_once(network.work), now() + seconds
    while True:
        highest = claim.upper_bounds(low, high).highest(low, high)
        upper, boxes = highest[:, 0] + allowed.slack, boxes + len(low)
        held = (highest[:, 1:] >= claim.level).all(axis=1)  # by the facets of a region of preferences
        if held.any():
            first = np.argsort(np.where(held, -upper, inf), kind="stable")[:_CENTERS]
            try_changes((low[first] + high[first]) / 2)
        bound = max(bound, upper[held & too_small(low, high)].max(initial=-inf))
        split = held & ~too_small(low, high)
        pool = tuple(np.concatenate(pair) for pair in zip(pool, (low[split], high[split], upper[split]), strict=True))
        wanted = pool[2] > best[0] + GAP
        bound = max(bound, pool[2][~wanted].max(initial=-inf))
        pool = tuple(part[wanted] for part in pool)
        if not len(pool[2]) or boxes >= MAX_BOXES or now() >= deadline:
            bound = max(bound, pool[2].max(initial=-inf), best[0])
            return _Extreme(best[0], best[1], float(bound), allowed.assumed, boxes)
        order = np.argsort(-pool[2], kind="stable")
        taken, rest = order[: most // 2], order[most // 2 :]
        axis = ((pool[1] - pool[0])[taken] * network.stretch).argmax(axis=1)
        low, high = halves(pool[0][taken], pool[1][taken], axis)
        pool = tuple(part[rest] for part in pool)
