"""Exact: the closest counterfactual up to a proven gap, or a proof that the region holds none."""

from dataclasses import dataclass, field, replace

import numpy as np

from paretofoil.core.certificate import Certificate, ProofStatus
from paretofoil.core.command import length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits, Stop, now
from paretofoil.core.policy import TabularPolicy, WhiteBoxValues
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.proof.branch import Claim, Effort, Proof, branch_and_bound
from paretofoil.proof.deviation import PROBES, SLACK, blur, deviation, rounding, slack_for
from paretofoil.proof.margin import require_white_box
from paretofoil.proof.product import question_network
from paretofoil.proof.walls import walls_of
from paretofoil.search.boundary import Boundary
from paretofoil.search.exact_table import prove_by_table
from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.trust_region import FoldedMargins, walk

_QUICK = 100
"""Boxes after which a proof of infeasibility is put off until answers have been looked for with derivatives."""
_PATIENCE = 32
"""After this many batches of boxes, answers without the slack are taken too: in slivers it can be all the gap."""


@dataclass(frozen=True)
class Exact(Search):
    """Branch and bound over boxes of commands, with sound linear bounds of the policy folded at the state."""

    gap: float = 1e-3
    """Stop when no valid command can be closer than the answer by more than this scaled distance ..."""
    share: float = 0.01
    """... and by more than this share of the answer's own distance."""
    max_boxes: int = 400_000
    """Stop a proof after this many boxes, with the gap that is left."""
    seed: int = 0
    """Of the warm start."""
    slack: float = SLACK
    """How far the deployed policy's margins may be from the float64 ones: answers keep it, proofs allow for it.
    It is raised where random commands show that the policy needs more."""
    start: Search | None = field(default_factory=lambda: Boundary(max_queries=400))
    """The search whose answer is improved and proven; None starts from random commands alone."""

    stochastic = True
    access = "inside"
    proves = True

    def __post_init__(self) -> None:
        if not (self.gap > 0 and self.share > 0) or not self.slack >= 0 or self.max_boxes < 1:
            raise InvalidInput.expected("gap > 0, share > 0, slack >= 0 and max_boxes >= 1", self)

    @property
    def name(self) -> str:
        return "exact"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        asked = batch.questions[0].policy
        if isinstance(asked, TabularPolicy):
            return [prove_by_table(batch, row, asked, limits) for row in range(batch.num_questions)]
        if not isinstance(asked, WhiteBoxValues):
            require_white_box(asked, ", so that Exact can look inside (for a black box use Boundary())")
        before = [sum(batch.queries(row).values()) for row in range(batch.num_questions)]
        began, started = now(), self._start(batch, limits)
        share = (now() - began) / batch.num_questions
        return [
            self._prove(batch, row, change, _after(limits, before[row]), share) for row, change in enumerate(started)
        ]

    def _start(self, batch: QuestionBatch, limits: Limits) -> list[np.ndarray | None]:
        """What the warm start finds, with at most half of what there is."""
        if self.start is None:
            return [None] * batch.num_questions
        half = Limits(
            None if limits.seconds is None else limits.seconds / 2,
            None if limits.queries is None else max(1, (limits.queries - PROBES) // 2),
        )
        start = replace(self.start, seed=self.seed) if isinstance(self.start, Boundary) else self.start
        return [finding.scaled_change for finding in start.run(batch, half)]

    def _prove(self, batch: QuestionBatch, row: int, start: np.ndarray | None, limits: Limits, spent: float) -> Finding:
        began = now()
        deadline = np.inf if limits.seconds is None else began + limits.seconds - spent
        question = batch.questions[row]
        network = question_network(question, " for a proof")
        probes = np.random.default_rng(self.seed).uniform(batch.low[row], batch.high[row], size=(PROBES, batch.dim))
        probes = batch.project(np.full(PROBES, row), probes)
        kappa, off = question.kappa, deviation(batch, row, network, probes, "verify")
        slack = slack_for(off, batch.clearance, self.slack)
        safe = Claim(network, batch.low[row], batch.high[row], kappa + slack, batch.norm, walls_of(question))
        bare, around = replace(safe, level=kappa + max(slack / 10, batch.clearance)), blur(question)
        walls = walls_of(question, rounding(question))
        claim = replace(safe, low=safe.low - around, high=safe.high + around, level=kappa - slack, walls=walls)
        left = None if limits.queries is None else max(0, limits.queries - sum(batch.queries(row).values()))
        budget = Budget(batch, rows=np.array([row]), most=left)
        allowance = float(length(around, batch.norm))
        effort = Effort(self.gap * (1 - 1e-9), self.max_boxes, deadline, self.share * (1 - 1e-9), allowance=allowance)
        incumbent = _Incumbent(budget, safe, bare, off, effort)
        proof = Proof(0.0, 0, Stop.COMPLETE)
        if start is None:  # perhaps there is nothing to find, which may be quick to prove
            proof = branch_and_bound(claim, replace(effort, max_boxes=min(_QUICK, self.max_boxes)))
        if not proof.closed:
            incumbent.begin(start, np.random.default_rng(self.seed))
            proof = branch_and_bound(claim, effort, incumbent.improve, incumbent.distance, lambda: incumbent.missed)
        lower, tolerance = max(0.0, proof.lower - allowance), min(self.gap, self.share * incumbent.distance)
        certificate = Certificate(
            status=_status(proof.closed, lower, incumbent.distance, tolerance),
            lower=lower,
            upper=incumbent.distance,
            tolerance=tolerance,
            boxes=proof.boxes,
            seconds=now() - began,
            kappa=kappa,
            slack=slack,
            deviation=incumbent.deviation,
            pad=float(network.pads[-1].max(initial=0.0)),
            norm=batch.norm,
        )
        return Finding(incumbent.scaled_change, _stop(proof, certificate, cut=bool(budget.cut[0])), certificate)


def _after(limits: Limits, queries: int) -> Limits:
    """The same limits, where so many queries were made before the search began and do not count."""
    return limits if limits.queries is None else replace(limits, queries=limits.queries + queries)


def _status(closed: bool, lower: float, upper: float, tolerance: float) -> ProofStatus:
    if closed and np.isinf(upper):
        return "infeasible"
    return "optimal" if closed and upper - lower <= tolerance else "gap"


def _stop(proof: Proof, certificate: Certificate, *, cut: bool) -> Stop:
    """Why it stopped: what the proof says, unless that is for a lack of answers, or says more than is certified."""
    if proof.stop is Stop.OUT_OF_BOXES and cut:
        return Stop.OUT_OF_QUERIES
    return Stop.COMPLETE if proof.closed and certificate.status == "gap" else proof.stop


class _Incumbent:
    """The closest change known to be valid, on the deployed policy; it only ever gets closer.

    Answers that win by kappa and the slack are preferred: a bare one must be closer by what it is worth.
    """

    def __init__(self, budget: Budget, safe: Claim, bare: Claim, deviation: float, effort: Effort) -> None:
        self.budget, self.safe, self.bare, self.effort = budget, safe, bare, effort
        self.deviation = deviation
        self.calls = 0
        self.missed = False  # whether no query was left for a change so much closer that no proof closes without it

    @property
    def distance(self) -> float:
        return float(self.budget.distance[0])

    @property
    def worth(self) -> float:
        """A quarter of the gap that is to be reached."""
        return (self.distance - self.effort.goal(self.distance) if np.isfinite(self.distance) else self.effort.gap) / 4

    @property
    def scaled_change(self) -> np.ndarray | None:
        return self.budget.scaled_change[0].copy() if np.isfinite(self.distance) else None

    def begin(self, start: np.ndarray | None, generator: np.random.Generator) -> None:
        """Improve the warm start, the front and random commands by derivatives."""
        question, claim = self.budget.batch.questions[self.budget.rows[0]], self.safe
        num_front, num_random = (8, 24) if start is None else (2, 2)
        batch, rows = self.budget.batch, np.full(len(question.front), self.budget.rows[0])
        front = batch.project(rows, batch.changes_to(rows, question.front))
        front = front[np.argsort(length(front, claim.norm), kind="stable")[:num_front]]
        random = generator.uniform(claim.low, claim.high, size=(num_random, len(claim.low)))
        points = np.concatenate([front, random] if start is None else [start[None], front, random])
        self._walk(self.safe, points, trust=0.3)
        if self.scaled_change is None:
            self._walk(self.bare, points, trust=0.3)
        if start is not None:
            self._offer(start[None], length(start[None], claim.norm) + self.worth)

    def improve(self, points: np.ndarray) -> float:
        """Offer points (N, d); look around the most promising ones when it is likely to pay."""
        self.calls += 1
        points = self._inside(points)
        short = np.maximum(self.safe.level - self.safe.margins(points).min(axis=1, initial=np.inf), 0.0)
        size = length(points, self.safe.norm)
        improved = self._offer(points, np.where(short == 0.0, size, np.inf))
        if improved or self.calls in (4, 12) or self.calls % 32 == 0:
            spread = np.linspace(0, len(points) - 1, 4).astype(int)  # some of all over the boxes, too
            promising = points[np.concatenate([np.argsort(size + 0.1 * short, kind="stable")[:4], spread])]
            self._walk(self.safe, promising, trust=0.05)
            if self.calls >= _PATIENCE:
                self._walk(self.bare, promising, trust=0.05)
        return self.distance

    def _walk(self, claim: Claim, points: np.ndarray, trust: float) -> None:
        """A few steps from everywhere, then more from the best."""
        points, sizes = walk(FoldedMargins(claim, len(points)), points, steps=5, trust=trust)
        best = np.argsort(sizes, kind="stable")[:2]
        points, sizes = walk(FoldedMargins(claim, len(best)), points[best], steps=8, trust=trust / 5)
        self._offer(points, sizes + (self.worth if claim is self.bare else 0.0))

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """The nearest points (N, d) of the region."""
        return self.budget.batch.project(np.full(len(points), self.budget.rows[0]), points)

    def _offer(self, points: np.ndarray, scores: np.ndarray) -> bool:
        """Take the best of these, if it is closer and the policy agrees; scores (N,) are sizes, or infinite."""
        points = self._inside(points)
        for index in np.argsort(scores, kind="stable")[:3]:
            if not scores[index] < self.distance:
                return False
            before = self.distance
            margin = float(self.budget.ask(np.array([0]), points[index][None], "verify")[0])
            if self.budget.cut[0] and length(points[index], self.safe.norm) < self.effort.goal(before):
                self.missed = True
            folded = self.safe.network.margins(points[index][None]).min(initial=np.inf)
            if np.isfinite(folded) and np.isfinite(margin):
                self.deviation = max(self.deviation, abs(margin - float(folded)))
            if self.distance < before:
                return True
        return False
