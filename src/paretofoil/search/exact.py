"""Exact: the closest command up to a proven gap, or a proof that the search region holds no valid command.

Networks are proven by branch and bound over boxes of commands; the incumbent comes from walks along the decision
boundary. Tables of values need a few small quadratic problems. If commands are whole numbers and few, each is queried,
which needs no white-box policy.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from paretofoil.core.answer import Certificate, ProofStatus
from paretofoil.core.command import length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits, Stop, now
from paretofoil.core.policy import TabularPolicy, ValueTable, folds_values, has_table, tells_values
from paretofoil.core.question import MAX_POINTS, Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.proof import compiled
from paretofoil.proof.bounds import region_facets
from paretofoil.proof.branch_and_bound import Claim, Effort, Proof, at_once, branch_and_bound
from paretofoil.proof.networks import question_network, require_white_box
from paretofoil.proof.slack import PROBES, SLACK, Allowance, allowances, slack_for, whole_grid
from paretofoil.proof.table import DIAMETER, Polytope, polytopes
from paretofoil.search.boundary import Boundary, scan
from paretofoil.search.budget import Budget
from paretofoil.search.trust_region import NetworkMargins, walk

_NUM_STARTS = 6
"""Points of the scan from which walks start."""
_POLISHES, _CLOSER = 6, 5e-5
"""How often random changes around the incumbent are tried, and how much closer they are, as a share of its distance."""
_QUICK_BOXES = 100
"""If no walk found an incumbent, a proof of infeasibility with this many boxes is tried before other walks."""
_PATIENCE = 32
"""After this many batches of boxes, incumbents without the slack are accepted, because the slack may exceed the gap."""
_EASY = 1 << 26
"""A proof with at most this many products is easy: the compiled form does it in one call."""
_SLACK_SHARE = 2e-4
"""Least slack of a proof about action values, as a share of kappa, because kappa scales with the values."""
_TABLE_TOLERANCE = 1e-6
"""Gap of a proof about a table in float64."""
_TABLE_GAP, _TABLE_SHARE = 1e-3, 0.01
"""Gap of a proof about a table in float32: at most this distance, and at most this share of the answer's distance."""
_TABLE_SLACK = 1e-9
"""Slack of proofs about tables, as a share of the largest value."""
_POINTS_AT_ONCE = 4096
"""Commands of an enumeration that are queried together."""

_Starts = tuple[np.ndarray, np.ndarray]
"""Changes (N, d) from which walks start, and which are known to be valid (N,)."""


@dataclass(frozen=True)
class Exact(Search):
    """Branch and bound over boxes of commands, with sound linear bounds of the policy at the state."""

    gap: float = 1e-3
    """Stop when no valid command can be closer than the answer by more than this scaled distance."""
    share: float = 0.01
    """The gap as a share of the answer's distance; the smaller of the two gaps applies."""
    max_boxes: int = 400_000
    """Maximum number of boxes of a proof; the gap is reported if it is not closed."""
    seed: int = 0
    """Seed of the warm start."""
    slack: float = SLACK
    """Smallest allowance, in margins, for the difference between the deployed policy and its float64 network. Answers
    exceed kappa by the allowance, and proofs hold for differences up to it. It grows if queries at random commands show
    a larger difference."""
    start: Search | None = None
    """Search of the warm start; None starts from a scan of the region."""

    name = "exact"
    stochastic = True
    access = "white-box"
    proves = True

    def __post_init__(self) -> None:
        if not (self.gap > 0 and self.share > 0) or not self.slack >= 0 or self.max_boxes < 1:
            raise InvalidInput.expected("gap > 0, share > 0, slack >= 0 and max_boxes >= 1", self)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        policy = batch.questions[0].policy
        points = [question.points(limits.fewer_queries(MAX_POINTS) or 1) for question in batch.questions]
        if all(commands is not None for commands in points):
            return [_enumerate(batch, row, commands, limits) for row, commands in enumerate(points)]  # type: ignore[arg-type]
        if has_table(policy):
            return [_prove_by_table(batch, row, policy, limits) for row in range(batch.num_questions)]
        if not folds_values(policy):
            require_white_box(policy, " for Exact (for a black-box policy use Boundary())")
        batch.keep_evidence()
        before = [sum(batch.queries(row).values()) for row in range(batch.num_questions)]
        began, starts = now(), self._warm_start(batch, limits)
        seconds = (now() - began) / batch.num_questions
        spent = [(seconds, sum(batch.queries(row).values()) - before[row]) for row in range(batch.num_questions)]
        return [self._prove(batch, row, starts[row], limits, *spent[row]) for row in range(batch.num_questions)]

    def _warm_start(self, batch: QuestionBatch, limits: Limits) -> list[_Starts]:
        """Return, for each question, the scaled changes (N, d) from which walks start, and which are valid.

        The warm start takes at most half of the limits.
        """
        half = Limits(
            None if limits.seconds is None else limits.seconds / 2,
            None if limits.queries is None else max(1, (limits.queries - PROBES) // 2),
        )
        if self.start is None:
            return scan(batch, half, self.seed, _NUM_STARTS)
        start = replace(self.start, seed=self.seed) if isinstance(self.start, Boundary) else self.start
        changes = [finding.scaled_change for finding in start.run(batch, half)]
        none, one = (np.zeros((0, batch.dim)), np.zeros(0, dtype=bool)), np.ones(1, dtype=bool)
        return [none if change is None else (change[None], one) for change in changes]

    def _prove(
        self, batch: QuestionBatch, row: int, starts: _Starts, limits: Limits, seconds: float, queries: int
    ) -> Finding:
        """Return the finding for one question; `seconds` and `queries` were spent on its warm start."""
        began = now()
        deadline = np.inf if limits.seconds is None else began + limits.seconds - seconds
        question = batch.questions[row]
        network = question_network(question, " for a proof")
        rows, low, high = np.full(PROBES, row), batch.low[row], batch.high[row]
        probes = batch.project(rows, low + _probe_shares(self.seed, batch.dim) * (high - low))
        deployed, exact = batch.margins(rows, probes, "verify"), network.margins(probes)
        kappa, measured = question.kappa, _difference(deployed, exact.min(axis=1, initial=np.inf))
        least = min(self.slack, _SLACK_SHARE * kappa) if kappa and tells_values(question.policy) else self.slack
        slack = slack_for(measured, batch.clearance, least)
        parts = region_facets(question), whole_grid(question)
        safe = Claim(network.without_rounding(), *question.room, kappa + slack, batch.norm, *parts)
        bare = replace(safe, level=kappa + max(slack / 10, batch.clearance))
        left = None if limits.queries is None else max(0, limits.queries - queries - PROBES)
        budget = Budget(batch, rows=np.array([row]), most=left)
        effort = Effort(self.gap * (1 - 1e-9), self.max_boxes, deadline, self.share * (1 - 1e-9))
        incumbent = _Incumbent(budget, safe, bare, measured, effort)
        allowed, proof = self._branch_and_bound(
            allowances(question, network, slack, batch.clearance), incumbent, starts
        )
        lower = max(0.0, proof.lower - float(length(allowed.around, batch.norm)))
        tolerance = min(self.gap, self.share * incumbent.distance)
        certificate = Certificate(
            status=_status(proof.closed, lower, incumbent.distance, tolerance),
            lower=lower,
            upper=incumbent.distance,
            tolerance=tolerance,
            boxes=proof.boxes,
            seconds=now() - began,
            kappa=kappa,
            slack=allowed.slack,
            deviation=incumbent.deviation,
            pad=float(network.pad(*question.room).max(initial=0.0)),
            norm=batch.norm,
            rounding=allowed.rounding,
            why_measured=allowed.why_measured,
        )
        if _contradicted(batch, row, allowed, lower):
            return Finding(incumbent.scaled_change, Stop.CONTRADICTED)
        return Finding(incumbent.scaled_change, _stop(proof, certificate, cut=bool(budget.cut[0])), certificate)

    def _branch_and_bound(
        self, candidates: list[Allowance], incumbent: "_Incumbent", starts: _Starts
    ) -> tuple[Allowance, Proof]:
        """Return the first complete proof and its allowance; if none is complete, the proof with the best bound."""
        question, best, boxes = incumbent.question, (candidates[0], Proof(0.0, 0, Stop.COMPLETE)), 0
        for number, allowed in enumerate(candidates):
            claim = allowed.claim(question, question.kappa)
            distance = float(length(allowed.around, question.norm))
            effort = replace(incumbent.effort, allowance=distance, max_boxes=max(1, self.max_boxes - boxes))
            proof = incumbent.settle(claim, effort, starts[0]) if number == 0 else Proof(0.0, 0, Stop.COMPLETE)
            if proof.closed:
                return allowed, proof
            if number == 0 and not incumbent.begin(*starts):
                proof = branch_and_bound(claim, replace(effort, max_boxes=min(_QUICK_BOXES, self.max_boxes)))
            if not proof.closed:
                if number == 0 and incumbent.scaled_change is None:
                    incumbent.begin_without_slack(starts[0])
                if number + 1 < len(candidates):
                    if incumbent.undecidable(claim):
                        continue
                    boxes_left, deadline = max(1, effort.max_boxes // 2), (now() + effort.deadline) / 2
                    effort = replace(effort, max_boxes=boxes_left, deadline=deadline)
                elif allowed.is_coarse and incumbent.undecidable(claim):  # a lower bound is all that can be proven
                    effort = replace(effort, max_boxes=min(effort.max_boxes, 20 * _QUICK_BOXES))
                proof = branch_and_bound(claim, effort, incumbent.improve, incumbent.distance, lambda: incumbent.missed)
            boxes += proof.boxes
            proof = replace(proof, boxes=boxes)
            if proof.closed:
                incumbent.polish()
                return allowed, proof
            if proof.lower >= best[1].lower:
                best = allowed, proof
        return best


@lru_cache
def _probe_shares(seed: int, dim: int) -> np.ndarray:
    """Return random probes (PROBES, dim) as shares of the width of a box."""
    return np.random.default_rng(seed).random((PROBES, dim))


@cache
def _directions(dim: int) -> np.ndarray:
    """Return random changes (S, dim) of four sizes."""
    sizes = np.repeat([0.03, 0.01, 0.003, 0.001], 48)[:, None]
    return sizes * np.random.default_rng(0).normal(size=(len(sizes), dim))


def _contradicted(batch: QuestionBatch, row: int, allowed: Allowance, lower: float) -> bool:
    """Return whether a queried margin of the deployed policy contradicts the proof."""
    z, margins = batch.evidence(row)
    valid = (margins >= batch.questions[row].kappa) & batch.holds(np.full(len(z), row), z)
    closer = batch.distances(z[valid]).min(initial=np.inf) < lower * (1 - 1e-12)
    return bool(closer) or allowed.contradicted_by(z, margins)


def _status(closed: bool, lower: float, upper: float, tolerance: float) -> ProofStatus:
    if closed and np.isinf(upper):
        return "infeasible"
    return "optimal" if closed and upper - lower <= tolerance else "gap"


def _stop(proof: Proof, certificate: Certificate, *, cut: bool) -> Stop:
    """Return why the search stopped. Refused queries and a gap that is not closed count as reasons."""
    if proof.stop is Stop.OUT_OF_BOXES and cut:
        return Stop.OUT_OF_QUERIES
    return Stop.COMPLETE if proof.closed and certificate.status == "gap" else proof.stop


class _Incumbent:
    """The closest change that is valid on the deployed policy.

    Changes with a margin of at least kappa plus the slack (`safe`) are preferred. Other changes (`bare`) replace them
    only if they are closer by `worth`.
    """

    def __init__(self, budget: Budget, safe: Claim, bare: Claim, deviation: float, effort: Effort) -> None:
        self.budget, self.safe, self.bare, self.effort = budget, safe, bare, effort
        self.deviation = deviation
        self.calls = 0
        self.missed = False  # whether a query was refused that the proof needs to close

    @property
    def question(self) -> Question:
        return self.budget.batch.questions[self.budget.rows[0]]

    @property
    def distance(self) -> float:
        return float(self.budget.distance[0])

    def undecidable(self, claim: Claim) -> bool:
        """Return whether rounding errors prevent a complete proof: they are too large to exclude a certain point."""
        point = np.zeros((1, self.budget.batch.dim))  # the command itself, if no other is known
        if self.scaled_change is not None:
            point = (self.scaled_change * self.effort.goal(self.distance) / self.distance)[None]
        return bool((claim.upper_bounds(point, point).highest(point, point) >= claim.level).all())

    @property
    def worth(self) -> float:
        """How much closer a change without the slack must be: a quarter of the gap at which the search stops."""
        return (self.distance - self.effort.goal(self.distance) if np.isfinite(self.distance) else self.effort.gap) / 4

    @property
    def scaled_change(self) -> np.ndarray | None:
        return self.budget.scaled_change[0].copy() if np.isfinite(self.distance) else None

    def settle(self, claim: Claim, effort: Effort, starts: np.ndarray) -> Proof:
        """Walk from the starts (N, d) and prove in one compiled call, if the claim is covered and the proof easy."""
        unsettled = Proof(0.0, 0, Stop.COMPLETE)
        if claim.chain is None or now() >= effort.deadline:
            return unsettled
        network, change = claim.network, np.zeros(len(claim.low))
        limits = _PATIENCE, min(effort.max_boxes, _EASY // network.work), at_once(network.work)
        distance, lower, boxes = compiled.kernels.prove(
            claim.chain,
            network.stretch,
            np.stack(self.question.room),
            np.stack([claim.low, claim.high]),
            np.array([self.safe.level, claim.level]),
            np.array([effort.gap, effort.share, effort.allowance]),
            starts,
            _directions(len(change)),
            np.array(limits),
            change,
        )
        if np.isfinite(distance) and not self._offer(change[None], np.array([distance])):
            return unsettled
        return unsettled if np.isnan(lower) else Proof(max(0.0, lower), boxes, Stop.PROVEN)

    def begin(self, starts: np.ndarray, valid: np.ndarray) -> bool:
        """Walk from the starts (N, d), offer the closest valid one, and return whether there is an incumbent."""
        self._walk(self.safe, starts, trust=0.3)
        starts = starts[valid]
        self._offer(starts, length(starts, self.safe.norm) + self.worth)
        return self.scaled_change is not None

    def begin_without_slack(self, starts: np.ndarray) -> None:
        """Walk from the starts (N, d) to changes whose margins need not have the slack."""
        self._walk(self.bare, starts, trust=0.3)

    def improve(self, points: np.ndarray) -> float:
        """Offer points (N, d) of boxes, sometimes walk from the most promising ones, and return the distance."""
        self.calls += 1
        points = self._inside(points)
        missing = np.maximum(self.safe.level - self.safe.margins(points).min(axis=1, initial=np.inf), 0.0)
        distance = length(points, self.safe.norm)
        needed = self.distance - self.worth
        self._offer(points, np.where(missing == 0.0, distance, np.inf))
        improved = self.distance < needed
        if improved or self.calls in (4, 12) or self.calls % 32 == 0:
            spread = np.linspace(0, len(points) - 1, 4).astype(int)
            promising = points[np.concatenate([np.argsort(distance + 0.1 * missing, kind="stable")[:4], spread])]
            self._walk(self.safe, promising, trust=0.05)
            if self.calls >= _PATIENCE:
                self._walk(self.bare, promising, trust=0.05)
        return self.distance

    def _walk(self, claim: Claim, points: np.ndarray, trust: float) -> None:
        """Walk a few steps from all points (N, d), and offer the closest points."""
        points, distances = walk(NetworkMargins(claim, len(points)), points, steps=6, trust=trust)
        self._offer(points, distances + (self.worth if claim is self.bare else 0.0))

    def polish(self) -> None:
        """Offer the closest of random changes around the incumbent, since walks may end at a kink."""
        if self.scaled_change is None or not self.distance:
            return
        point, distance, directions = self.scaled_change, self.distance, _directions(len(self.scaled_change))
        claim = self.safe if self._least(self.safe, point[None])[0] >= self.safe.level else self.bare
        for _ in range(_POLISHES):
            near = point + distance * directions
            size = length(near, claim.norm)
            near = self._inside(near * ((1 - _CLOSER) * distance / np.maximum(size, distance))[:, None])
            size = np.where(self._least(claim, near) >= claim.level, length(near, claim.norm), np.inf)
            if not size.min() < distance:
                break
            point, distance = near[size.argmin()], float(size.min())
        self._offer(point[None], np.array([distance]))

    def _least(self, claim: Claim, points: np.ndarray) -> np.ndarray:
        """Return the least margin (N,) of the network at points (N, d)."""
        return claim.margins(points).min(axis=1, initial=np.inf)

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """Return the nearest points (N, d) of the search region."""
        return self.budget.batch.project(np.full(len(points), self.budget.rows[0]), points)

    def _offer(self, points: np.ndarray, scores: np.ndarray) -> bool:
        """Query the best points by their scores (N,), at most three; return whether one is valid and closer."""
        points = self._inside(points)
        for index in np.argsort(scores, kind="stable")[:3]:
            if not scores[index] < self.distance:
                return False
            before = self.distance
            margin = float(self.budget.ask(np.array([0]), points[index][None], "verify")[0])
            if self.budget.cut[0] and length(points[index], self.safe.norm) < self.effort.goal(before):
                self.missed = True
            expected = self.safe.network.margins(points[index][None]).min(initial=np.inf)
            if np.isfinite(expected) and np.isfinite(margin):
                self.deviation = max(self.deviation, abs(margin - float(expected)))
            if self.distance < before:
                return True
        return False


def _enumerate(batch: QuestionBatch, row: int, commands: np.ndarray, limits: Limits) -> Finding:
    """Query all commands (N, d) of a region, the closest first, until one is valid in spite of the policy's noise."""
    began, deadline, question = now(), limits.deadline(), batch.questions[row]
    distances = question.space.distance(commands, question.command, question.norm)
    lower, upper, change, done = np.inf, np.inf, None, 0
    while done < len(commands) and change is None and now() < deadline:
        part = slice(done, done + _POINTS_AT_ONCE)
        margins = batch.margins_at(np.full(len(commands[part]), row), commands[part], "enumerate")
        done += len(margins)
        sure = np.flatnonzero(margins >= batch.kappa[row])
        if len(sure):
            upper = float(distances[part][sure[0]])
            change = batch.changes_to(np.array([row]), commands[part][sure[:1]])[0]
        lower = min(lower, distances[part][margins >= question.kappa - batch.clearance].min(initial=np.inf))
    ended = change is not None or done == len(commands)
    lower = float(lower if ended else min(lower, distances[done]))
    settled = ended and lower == upper
    status: ProofStatus = "gap" if not settled else "optimal" if change is not None else "infeasible"
    certificate = Certificate(
        status=status,
        lower=lower,
        upper=upper,
        tolerance=0.0,
        boxes=done,
        seconds=now() - began,
        kappa=question.kappa,
        slack=batch.clearance,
        deviation=0.0,
        pad=0.0,
        norm=batch.norm,
        rounding="derived",  # nothing but the policy itself was evaluated
    )
    stop = Stop.PROVEN if settled else Stop.COMPLETE if ended else Stop.OUT_OF_TIME
    return Finding(change, stop, certificate)


def _prove_by_table(batch: QuestionBatch, row: int, policy: TabularPolicy, limits: Limits) -> Finding:
    """Query the nearest preferences of all polytopes, and prove that no others are nearer."""
    began, question = now(), batch.questions[row]
    if not question.space.simplex:
        raise InvalidInput.expected("preferences (CommandSpace.preferences) for a table of values", "a box of commands")
    table = policy.table(question.state)
    measured = _table_deviation(batch, row, table)
    least = max(_TABLE_SLACK * float(np.abs(table.vectors).max()), table.rounding)
    slack = slack_for(measured, batch.clearance, least)
    budget = Budget(batch, limits, rows=np.array([row]))
    lower, problems = np.inf, 0
    ordered = polytopes(table, question, question.kappa - slack)  # by their simple bounds
    for polytope in ordered:
        if polytope.simple_bound >= min(lower, DIAMETER):
            break
        problems += 1
        lower = min(lower, polytope.nearest()[0])
    if np.isfinite(lower):
        _query_nearest(budget, polytopes(table, question, question.kappa + slack))
    upper = float(budget.distance[0])
    tolerance = max(_TABLE_TOLERANCE, min(_TABLE_GAP, _TABLE_SHARE * upper))
    if np.isfinite(lower) and lower > upper + _TABLE_TOLERANCE:  # the policy contradicts its table
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
        deviation=measured,
        pad=max((float(polytope.errors.max()) for polytope in ordered), default=0.0),
        norm=batch.norm,
        rounding="derived",  # the slack covers the rounding errors of the table's sums
    )
    [finding] = budget.findings()
    stop = finding.stop if status == "gap" else Stop.PROVEN
    return Finding(finding.scaled_change, stop, certificate)


def _table_deviation(batch: QuestionBatch, row: int, table: ValueTable) -> float:
    """Return the largest difference between the margins of the policy and of its table, at random preferences."""
    question, rows = batch.questions[row], np.full(PROBES, row)
    z = np.random.default_rng(0).uniform(batch.low[row], batch.high[row], size=(PROBES, batch.dim))
    z = batch.project(rows, z)
    values = table.values(batch.commands_at(rows, z))
    margins = values[:, question.foil] - values[:, question.rivals].max(axis=1, initial=-np.inf)
    return _difference(batch.margins(rows, z, "verify"), margins)


def _difference(deployed: np.ndarray, exact: np.ndarray) -> float:
    """Return the largest difference of margins (N,); 0 if there are no rivals, because margins are then infinite."""
    return float(np.abs(deployed - exact).max()) if np.isfinite(exact).all() else 0.0


def _query_nearest(budget: Budget, ordered: list[Polytope]) -> None:
    """Query the nearest point of each polytope that may contain a point closer than the best change so far."""
    row, batch = int(budget.rows[0]), budget.batch
    moving = batch.high[row] > batch.low[row]
    for polytope in ordered:
        if polytope.simple_bound >= min(float(budget.distance[0]), DIAMETER):
            return
        _, point = polytope.nearest()
        if point is not None:
            z = np.zeros((1, batch.dim))
            z[0, moving] = point
            budget.ask(np.array([0]), batch.project(budget.rows, z), "verify")
