"""What Exact does with a table of values: no boxes, only a few small quadratic problems."""

import numpy as np

from paretofoil.core.certificate import Certificate, ProofStatus
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import Limits, Stop, now
from paretofoil.core.policy import TabularPolicy, ValueTable
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding
from paretofoil.proof.deviation import PROBES, slack_for
from paretofoil.proof.table import DIAMETER, Polytope, polytopes
from paretofoil.search.parts.budget import Budget

TOLERANCE = 1e-6
"""Of the distance: the problems are solved exactly, but for rounding ..."""
_GAP, _SHARE = 1e-3, 0.01
"""... which in float32 is more; but no more than this distance, and this share of the answer's own."""
_SLACK = 1e-9
"""By which share of the largest value answers keep clear of kappa, and proofs allow for less."""


def prove_by_table(batch: QuestionBatch, row: int, policy: TabularPolicy, limits: Limits) -> Finding:
    """The nearest preferences of all polytopes, asked about on the policy, and the proof that none is nearer."""
    began, question = now(), batch.questions[row]
    if not question.space.simplex:
        raise InvalidInput.expected("preferences (CommandSpace.preferences) for a table of values", "a box of commands")
    table = policy.table(question.state)
    off = _deviation(batch, row, table)
    least = max(_SLACK * float(np.abs(table.vectors).max()), table.rounding)
    slack = slack_for(off, batch.clearance, least)
    budget = Budget(batch, limits, rows=np.array([row]))
    lower, problems = np.inf, 0
    ordered = polytopes(table, question, question.kappa - slack)  # from the least bound to the largest
    for polytope in ordered:
        if polytope.simple_bound >= min(lower, DIAMETER):
            break
        problems += 1
        lower = min(lower, polytope.nearest().lower)
    if np.isfinite(lower):
        _ask_nearest(budget, polytopes(table, question, question.kappa + slack))
    upper = float(budget.distance[0])
    tolerance = max(TOLERANCE, min(_GAP, _SHARE * upper))
    if np.isfinite(lower) and lower > upper + TOLERANCE:  # the policy refutes its own table: nothing is proven
        lower = 0.0
    status: ProofStatus = "infeasible" if np.isinf(lower) else "optimal" if upper - lower <= tolerance else "gap"
    certificate = Certificate(
        status=status,
        lower=min(lower, upper),
        upper=upper,
        tolerance=tolerance,
        boxes=problems,
        seconds=now() - began,
        kappa=question.kappa,
        slack=slack,
        deviation=off,
        pad=max((float(polytope.errors.max()) for polytope in ordered), default=0.0),
        norm=batch.norm,
    )
    [finding] = budget.findings()
    stop = finding.stop if status == "gap" else Stop.PROVEN
    return Finding(finding.scaled_change, stop, certificate)


def _deviation(batch: QuestionBatch, row: int, table: ValueTable) -> float:
    """How far the policy's margins are from those of its table, at random preferences; one query each."""
    question, rows = batch.questions[row], np.full(PROBES, row)
    z = np.random.default_rng(0).uniform(batch.low[row], batch.high[row], size=(PROBES, batch.dim))
    z = batch.project(rows, z)
    values = table.values(batch.commands_at(rows, z))
    margins = values[:, question.foil] - values[:, question.rivals].max(axis=1, initial=-np.inf)
    return float(np.abs(batch.margins(rows, z, "verify") - margins).max()) if question.rivals else 0.0


def _ask_nearest(budget: Budget, ordered: list[Polytope]) -> None:
    """Ask the policy about the nearest point of each polytope that may hold something closer than is known."""
    row, batch = int(budget.rows[0]), budget.batch
    moving = batch.high[row] > batch.low[row]
    for polytope in ordered:
        if polytope.simple_bound >= min(float(budget.distance[0]), DIAMETER):
            return
        change = polytope.nearest().change
        if change is not None:
            z = np.zeros((1, batch.dim))
            z[0, moving] = change
            budget.ask(np.array([0]), batch.project(budget.rows, z), "verify")
