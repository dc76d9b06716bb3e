"""Influence on continuous actions: prove the smallest and the largest amount of each dimension over all commands."""

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
from paretofoil.proof.branch_and_bound import Effort, branch_and_bound
from paretofoil.proof.networks import question_network
from paretofoil.proof.slack import PROBES, allowances, slack_for

GAP = 1e-3
"""The proof stops when no amount can exceed the largest one found by more than this share of the range."""
MAX_BOXES = 100_000
_CORNERS = 6
"""The corners of the search region are queried for at most this many objectives."""


@dataclass(frozen=True, eq=False)
class _AmountExtreme:
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
    """Return the smallest and the largest amount of each dimension in the search region of a question.

    `actions` are those that are possible at the decision. Each of these amounts gets an equal part of the time
    limit.
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


def _extreme(question: Question, samples: int, seconds: float, seed: int) -> _AmountExtreme:
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
        return _AmountExtreme(best[0], best[1], inf, 0.0, 0)
    network = question_network(question, " for a proof")
    inside = batch.project(np.zeros(len(z), dtype=np.int64), z)
    measured = float(np.abs(margins - network.margins(inside).min(axis=1))[:PROBES].max())
    allowed = allowances(question, network, slack_for(measured, noise), noise)[0]
    if allowed.contradicted_by(inside, margins):
        return _AmountExtreme(best[0], best[1], inf, 0.0, 0)
    whole = allowed.claim(question, 0.0)
    low, high = whole.low[None], whole.high[None]
    bound = float(whole.upper_bounds(low, high).highest(low, high)[0, 0]) + allowed.slack
    boxes, deadline = 1, now() + seconds
    while bound > best[0] + GAP and boxes < MAX_BOXES:
        level = best[0] + max(GAP, (bound - best[0]) / 2)

        def improve(changes: np.ndarray, level: float = level) -> float:
            try_changes(changes)
            return 1.0 if best[0] >= level else inf  # with an infinite gap, any distance ends the search

        proof = branch_and_bound(allowed.claim(question, level), Effort(inf, MAX_BOXES - boxes, deadline), improve)
        boxes += proof.boxes
        if best[0] < level:
            if not proof.closed:
                break
            bound = level
    return _AmountExtreme(best[0], best[1], max(bound, best[0]), allowed.assumed, boxes)
