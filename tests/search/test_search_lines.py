"""Lines that searches stand on, each with a case that fails without it: policies that note what they are asked."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.limit import NO_LIMITS, Limits, Stop
from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search import boundary
from paretofoil.search.boundary import Boundary
from paretofoil.search.exact import Exact
from paretofoil.search.parts import budget as budget_module
from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.scan import Scan
from paretofoil.search.parts.zoo import ZooConfig, refine
from paretofoil_paper.searches.grid import Grid

WON_BY_THE_FIRST = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2))
"""Action 1 beats action 0 by the first number of the command."""
NEVER_WON = LinearPolicy(np.zeros((2, 2)), np.array([0.0, -1.0]))


@dataclass(frozen=True, eq=False)
class Watched:
    """A linear policy that notes the commands it is asked about."""

    policy: LinearPolicy
    calls: list[np.ndarray] = field(default_factory=list)

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        self.calls.append(commands)
        return self.policy.log_probs(states, commands)

    def fold(self, state: np.ndarray) -> FoldedPolicy:
        return FoldedPolicy((self.policy.weight,), (self.policy.bias,), ())

    @property
    def asked(self) -> np.ndarray:
        return np.concatenate(self.calls)


def question(policy: LinearPolicy = WON_BY_THE_FIRST, command: Any = (-0.5, 0.0), **changes: Any) -> Question:
    """In a space of width 1, so that scaled distances are differences of commands."""
    space = CommandSpace([-0.5, -0.5], [0.5, 0.5])
    return Question(Watched(policy), np.zeros(1), np.array(command), 1, (0, 1), space, **changes)


def asked_by(search: Search, asked: Question, limits: Limits = NO_LIMITS) -> np.ndarray:
    """The commands that a search asks a policy about, in their order."""
    asked = replace(asked, policy=Watched(asked.policy.policy))  # type: ignore[attr-defined]
    search.run(QuestionBatch([asked]), limits)
    return asked.policy.asked  # type: ignore[attr-defined, no-any-return]


# Exact


def test_a_proof_allows_for_the_clearance_of_a_noisy_policy() -> None:
    batch = QuestionBatch([question()])
    batch.keep_clear(0.02)
    [finding] = Exact(max_boxes=300).run(batch)
    assert finding.certificate is not None
    assert finding.certificate.slack == 0.02
    assert finding.certificate.lower <= 0.53  # where the margin is kappa less the clearance


@pytest.mark.parametrize(("first", "tolerance"), [(0.0, 0.01 * 0.05), (-0.5, 1e-3)])
def test_a_certificate_states_the_smaller_of_gap_and_share(first: float, tolerance: float) -> None:
    [finding] = Exact(gap=1e-3, share=0.01).run(QuestionBatch([question(command=(first, 0.0))]))
    assert finding.certificate is not None
    assert finding.certificate.tolerance == pytest.approx(tolerance, rel=0.02)


@dataclass(frozen=True)
class AsksOnce(Search):
    """Finds nothing, with one query for each question."""

    name: str = "asks-once"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        batch.margins(np.arange(batch.num_questions), np.zeros((batch.num_questions, batch.dim)), "start")
        return [Finding(None)] * batch.num_questions


def test_what_the_start_asked_is_taken_off_the_queries_and_running_out_of_them_is_told() -> None:
    batch, limits = QuestionBatch([question()]), Limits(queries=65)  # 64 of them compare the policy with its fold
    [finding] = Exact(start=AsksOnce(), max_boxes=300).run(batch, limits)
    assert batch.queries(0) == {"start": 1, "verify": 64}
    assert finding.scaled_change is None
    assert finding.stop is Stop.OUT_OF_QUERIES


@pytest.mark.parametrize("queries", [1, 50, 66, 80])
def test_a_proof_that_no_query_is_left_for_ends_at_once(queries: int) -> None:
    for name, command, moment in (("deep-sea-treasure", (8, -8), 5), ("reward-line", (0.5, 0.5), 0)):
        agent = pf.load_agent(name)
        decision = pf.decision_in(agent, command, moment)
        for answer in pf.explain_decision(agent, decision, search=Exact(), limits=Limits(queries=queries)):
            if answer.certificate is not None and answer.certificate.status == "gap":
                assert answer.stop is Stop.OUT_OF_QUERIES
                assert answer.certificate.boxes < 5000  # of 400,000


def test_a_proof_goes_on_without_queries_as_long_as_it_can_close() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.decision_in(agent, (8, -8), 5)
    kinds = {a.status for a in pf.explain_decision(agent, decision, search=Exact(), limits=Limits(queries=1))}
    assert Status.PROVEN_INFEASIBLE in kinds


def test_a_proof_with_queries_to_spare_runs_out_of_boxes() -> None:
    [finding] = Exact(start=None, max_boxes=300, slack=0.02).run(QuestionBatch([question()]), Limits(queries=1000))
    assert finding.stop is Stop.OUT_OF_BOXES


def test_the_seed_of_an_exact_search_is_that_of_its_warm_start() -> None:
    start = Boundary(max_queries=400)
    seeded = asked_by(replace(start, seed=1), question())
    assert (asked_by(Exact(seed=1, start=start), question())[: len(seeded)] == seeded).all()
    assert not (asked_by(start, question())[:90] == seeded[:90]).all()


# Budgets


def test_a_query_that_was_refused_is_remembered_although_some_are_given_back() -> None:
    budget = Budget(QuestionBatch([question()]), Limits(queries=4))
    kept = budget.keep_back(0.5)
    budget.ask(np.zeros(3, dtype=int), np.zeros((3, 2)), "test")
    budget.left += kept
    assert budget.left.tolist() == [2]
    assert budget.findings()[0].stop is Stop.OUT_OF_QUERIES


@pytest.mark.parametrize(("count", "stop"), [(2, Stop.COMPLETE), (3, Stop.OUT_OF_QUERIES)])
def test_a_search_that_asked_all_it_may_is_out_of_queries(count: int, stop: Stop) -> None:
    budget = Budget(QuestionBatch([question()]), Limits(queries=3))
    budget.ask(np.zeros(count, dtype=int), np.zeros((count, 2)), "test")
    assert budget.findings()[0].stop is stop


# ZOO


@pytest.mark.parametrize(("queries", "iterations"), [(0, 0), (1, 0), (3, 0), (4, 1), (6, 1), (7, 2), (9001, 3000)])
def test_an_iteration_takes_three_queries_and_the_start_one(queries: int, iterations: int) -> None:
    assert ZooConfig(queries).iterations == iterations


def test_differences_at_the_edge_of_the_region_are_taken_inside() -> None:
    corner = question(command=(0.5, 0.5))
    refine(Budget(QuestionBatch([corner])), np.zeros((1, 2)), ZooConfig(max_queries=61), seed=0)
    asked = corner.policy.asked  # type: ignore[attr-defined]
    assert len(asked) == 61
    assert asked.max() == 0.5


# Scan and boundary


def test_a_scan_looks_both_ways_along_each_axis() -> None:
    batch = QuestionBatch([question(command=(-0.2, 0.1))])
    [points] = Scan(2, seed=0).first(batch, np.array([0]), 8)
    for end in ([0.7, 0.0], [-0.3, 0.0], [0.0, 0.4], [0.0, -0.6]):
        for share in (0.5, 1.0):
            assert np.isclose(points, share * np.array(end)).all(axis=1).any()


def test_the_command_itself_is_asked_about_first_and_once() -> None:
    asked = asked_by(Boundary(max_queries=300), question())
    assert np.flatnonzero((asked == [-0.5, 0.0]).all(axis=1)).tolist() == [0]


def test_a_boundary_search_whose_time_is_over_begins_no_other_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []
    monkeypatch.setattr(budget_module, "now", lambda: np.inf)
    monkeypatch.setattr(boundary, "_refine", lambda *_: rounds.append("round"))
    monkeypatch.setattr(Scan, "within", lambda *_: pytest.fail("expected no other round, got one"))
    [finding] = Boundary().run(QuestionBatch([question()]), Limits(seconds=1.0))
    assert rounds == ["round"]
    assert finding.stop is Stop.OUT_OF_TIME


# Grid


@pytest.mark.parametrize("values", range(2, 9))
def test_a_grid_asks_about_each_of_its_points_once_edges_included(values: int) -> None:
    asked = asked_by(Grid(values), question(NEVER_WON))
    axis = np.linspace(-0.5, 0.5, values)
    assert sorted(map(tuple, asked.round(9))) == sorted((a, b) for a in axis.round(9) for b in axis.round(9))


def test_an_objective_that_may_not_change_is_asked_about_in_one_value() -> None:
    fixed = question(NEVER_WON, low=np.array([-0.5, 0.0]), high=np.array([0.5, 0.0]))
    assert asked_by(Grid(5), fixed)[:, 1].tolist() == [0.0] * 5
