"""Exact search: what it calls optimal is optimal, what it calls infeasible is infeasible."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from networks import layered_question, random_layers
from policies import LinearPolicy, random_pcn, random_question
from recorded import queries_of, recorded_question

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.core.command import CommandSpace, length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits, Stop
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.boundary import Boundary
from paretofoil.search.exact import Exact


def pcn_questions(objectives: int, count: int, first: int = 0, **shape: int) -> list[Question]:
    policy = random_pcn(first + objectives, objectives=objectives, **shape)
    return [random_question(policy, seed) for seed in range(first, first + count)]


def grid(batch: QuestionBatch, row: int, per_axis: int) -> tuple[np.ndarray, np.ndarray]:
    """All points of a grid over a question's region, and their margins on the deployed policy."""
    axes = [np.linspace(a, b, per_axis) for a, b in zip(batch.low[row], batch.high[row], strict=True)]
    z = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    return z, batch.margins(np.full(len(z), row), z, "grid")


@pytest.mark.parametrize(("objectives", "per_axis", "count"), [(1, 20_001, 12), (2, 400, 10), (3, 50, 6)])
def test_exact_search_never_misses_what_the_grid_finds(objectives: int, per_axis: int, count: int) -> None:
    batch = QuestionBatch(pcn_questions(objectives, count))
    for row, finding in enumerate(Exact().run(batch)):
        z, margins = grid(batch, row, per_axis)
        valid = margins >= batch.kappa[row]
        certificate = finding.certificate
        assert certificate is not None
        assert certificate.status != "gap"
        assert (length(z[valid]) >= certificate.lower).all()
        if certificate.status == "infeasible":
            assert not valid.any()
            assert finding.scaled_change is None
        else:
            assert certificate.upper - certificate.lower <= 1e-3
            assert certificate.upper == length(finding.scaled_change)


def test_both_outcomes_occur_among_random_networks() -> None:
    findings = Exact().run(QuestionBatch(pcn_questions(2, 30)))
    statuses = {finding.certificate.status for finding in findings}
    assert statuses == {"optimal", "infeasible"}


@pytest.mark.parametrize("objectives", [2, 4, 6])
def test_no_sampled_command_is_valid_below_a_lower_bound(objectives: int) -> None:
    batch = QuestionBatch(pcn_questions(objectives, 4, first=40))
    rng = np.random.default_rng(0)
    search = Exact() if objectives < 6 else Exact(max_boxes=5000)
    for row, finding in enumerate(search.run(batch)):
        z = rng.uniform(batch.low[row], batch.high[row], size=(60_000, objectives))
        z[:30_000] *= rng.random((30_000, 1))
        margins = batch.margins(np.full(len(z), row), z, "sample")
        assert (length(z[margins >= batch.kappa[row]]) >= finding.certificate.lower).all()


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_on_a_linear_policy_the_distance_is_the_known_one(norm: str) -> None:
    class Folded(LinearPolicy):
        def fold(self, state: np.ndarray) -> Program:
            return Program.of_layers((self.weight,), (self.bias,))

    weight = np.array([[0.0, 0.0], [3.0, 4.0]])
    space = CommandSpace([-2, -2], [2, 2])
    question = Question(Folded(weight, np.array([0.0, -1.0])), np.zeros(1), np.zeros(2), 1, (0, 1), space, norm=norm)
    [finding] = Exact().run(QuestionBatch([question]))
    dual = {"l1": np.inf, "l2": 2, "linf": 1}[norm]
    expected = 1.05 / np.linalg.norm(weight[1] * 4, ord=dual)  # the scale is 4
    assert finding.certificate.status == "optimal"
    assert finding.certificate.lower <= expected <= finding.certificate.upper <= expected + 1e-3


@pytest.mark.parametrize(
    "activations", [("tanh", "tanh"), ("relu", "relu"), ("relu",), ("sigmoid", "tanh", "relu")], ids="-".join
)
def test_any_folded_network_is_proven(activations: tuple) -> None:
    policy = random_layers(1, (2, *[16] * len(activations), 3), activations)
    batch = QuestionBatch([layered_question(policy, seed) for seed in range(4)])
    for row, finding in enumerate(Exact().run(batch)):
        z, margins = grid(batch, row, 150)
        assert finding.certificate.status != "gap"
        assert (length(z[margins >= batch.kappa[row]]) >= finding.certificate.lower).all()
        assert finding.certificate.upper < np.inf or not (margins >= batch.kappa[row]).any()


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_other_norms_are_proven_too(norm: str) -> None:
    batch = QuestionBatch([replace(question, norm=norm) for question in pcn_questions(2, 8)])
    for row, finding in enumerate(Exact().run(batch)):
        z, margins = grid(batch, row, 300)
        closest = batch.distances(z[margins >= batch.kappa[row]]).min(initial=np.inf)
        assert finding.certificate.status != "gap"
        assert finding.certificate.lower <= closest
        assert finding.certificate.upper <= closest + 1e-3


def test_every_answer_holds_on_the_deployed_policy() -> None:
    batch = QuestionBatch(pcn_questions(3, 8, hidden=128))
    for row, finding in enumerate(Exact(max_boxes=1000).run(batch)):
        if finding.scaled_change is not None:
            assert batch.margins(np.array([row]), finding.scaled_change[None], "check")[0] >= batch.kappa[row]


def test_a_foil_that_already_wins_needs_no_change() -> None:
    question = pcn_questions(2, 1)[0]
    greedy = int(question.policy.log_probs(question.state[None], question.command[None])[0].argmax())
    [finding] = Exact().run(QuestionBatch([replace(question, foil=greedy, kappa=0.0)]))
    assert finding.certificate.status == "optimal"
    assert finding.certificate.upper <= 1e-3


def test_a_foil_without_rivals_needs_no_change() -> None:
    question = pcn_questions(2, 1)[0]
    [finding] = Exact().run(QuestionBatch([replace(question, valid_actions=(question.foil,))]))
    assert finding.certificate.status == "optimal"
    assert length(finding.scaled_change) == 0


def test_a_limit_gives_an_honest_gap() -> None:
    questions = pcn_questions(3, 5)
    full = Exact(gap=1e-3).run(QuestionBatch(questions))
    for limited, limits, stop in (
        (Exact(max_boxes=3), Limits(), Stop.OUT_OF_BOXES),
        (Exact(), Limits(seconds=1e-9), Stop.OUT_OF_TIME),
    ):
        for whole, part in zip(full, limited.run(QuestionBatch(questions), limits), strict=True):
            assert part.stop in (stop, Stop.PROVEN)
            assert part.certificate.lower <= whole.certificate.upper
            assert part.certificate.status != "optimal" or part.certificate.gap <= 1e-3
    assert any(f.certificate.status == "gap" for f in Exact(max_boxes=3).run(QuestionBatch(questions)))


def test_a_smaller_gap_is_reached_when_asked() -> None:
    batch = QuestionBatch(pcn_questions(2, 6))
    for finding in Exact(gap=1e-4, slack=1e-5).run(batch):
        assert finding.certificate.status == "infeasible" or finding.certificate.gap <= 1e-4


def test_the_warm_start_only_changes_the_effort() -> None:
    questions = pcn_questions(3, 8)
    warm = Exact().run(QuestionBatch(questions))
    cold = Exact(start=None).run(QuestionBatch(questions))
    for a, b in zip(warm, cold, strict=True):
        assert a.certificate.status == b.certificate.status
        assert a.certificate.lower <= b.certificate.upper
        assert b.certificate.lower <= a.certificate.upper


def test_a_policy_that_cannot_be_folded_is_told_which_search_to_use() -> None:
    policy = LinearPolicy(np.eye(2), np.zeros(2))
    question = Question(policy, np.zeros(1), np.zeros(2), 1, (0, 1), CommandSpace([-1, -1], [1, 1]))
    with pytest.raises(InvalidInput, match=r"use Boundary\(\)"):
        Exact().run(QuestionBatch([question]))


def test_senseless_settings_are_refused() -> None:
    for settings in ({"gap": 0.0}, {"slack": -1.0}, {"max_boxes": 0}):
        with pytest.raises(InvalidInput):
            Exact(**settings)
    assert Exact(start=Boundary(max_queries=10)).name == "exact"


# Slack, tolerance and answers on a policy whose closest command is known: the margin is the first number


def prove(question: Question, **settings: Any) -> Finding:
    [finding] = Exact(**settings).run(QuestionBatch([question]))
    return finding


def test_a_proof_allows_for_the_slack() -> None:
    certificate = prove(recorded_question(), slack=0.02, max_boxes=300).certificate
    assert certificate.slack == 0.02
    assert certificate.lower <= 0.53  # where the margin is kappa - slack
    assert certificate.upper >= 0.55


def test_a_foil_that_falls_short_by_less_than_the_slack_is_not_proven_infeasible() -> None:
    short = recorded_question(kappa=0.51)  # the largest margin of the region is 0.5
    assert prove(short, slack=0.02, max_boxes=300).certificate.status == "gap"
    assert prove(short, slack=0.005).certificate.status == "infeasible"


def test_a_proof_allows_for_the_clearance_of_a_noisy_policy() -> None:
    batch = QuestionBatch([recorded_question()])
    batch.keep_clear(0.02)
    [finding] = Exact(max_boxes=300).run(batch)
    assert finding.certificate.slack == 0.02
    assert finding.certificate.lower <= 0.53


@dataclass(frozen=True, eq=False)
class Deviating:
    """A policy whose deployed margin differs from that of its network by `amount` where the condition holds."""

    condition: Any
    amount: float

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        margins = commands[:, 0] + np.where(self.condition(commands), self.amount, 0.0)
        return np.stack([np.zeros(len(commands)), margins], axis=1)

    def fold(self, state: np.ndarray) -> Program:
        return Program.of_layers((np.array([[0.0, 0.0], [1.0, 0.0]]),), (np.zeros(2),))


@pytest.mark.parametrize("amount", [0.01, -0.01])
def test_the_slack_grows_with_the_measured_deviation(amount: float) -> None:
    policy = Deviating(lambda commands: commands[:, 1] < 0.1, amount)
    certificate = prove(replace(recorded_question(), policy=policy), max_boxes=300).certificate
    assert certificate.slack == pytest.approx(0.04)
    assert certificate.deviation == pytest.approx(0.01)
    assert certificate.lower <= 0.55 - amount <= certificate.upper  # where the deployed margin is kappa


def test_a_proof_is_withdrawn_if_the_policy_deviates_at_an_answer() -> None:
    policy = Deviating(lambda commands: np.abs(commands - [0.05, 0.0]).max(axis=1) < 0.01, 1e-3)
    finding = prove(replace(recorded_question(), policy=policy))  # no random probe is near the answer
    assert finding.scaled_change is not None
    assert finding.certificate is None
    assert finding.stop is Stop.CONTRADICTED


@pytest.mark.parametrize(("first", "tolerance"), [(0.0, 0.01 * 0.05), (-0.5, 1e-3)])
def test_a_certificate_states_the_smaller_of_gap_and_share(first: float, tolerance: float) -> None:
    finding = prove(recorded_question(command=(first, 0.0)), gap=1e-3, share=0.01)
    assert finding.certificate.tolerance == pytest.approx(tolerance, rel=0.02)


@dataclass(frozen=True)
class GivenStart(Search):
    """A warm start with a given change, which makes one query and takes some time on a clock."""

    change: tuple[float, ...] | None = None
    clock: tuple[list[float], float] | None = None
    name: str = "given"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        batch.margins(np.arange(batch.num_questions), np.zeros((batch.num_questions, batch.dim)), "start")
        if self.clock is not None:
            self.clock[0][0] += self.clock[1]
        return [Finding(None if self.change is None else np.array(self.change)) for _ in batch.questions]


def test_a_warm_start_below_kappa_is_no_answer() -> None:
    finding = prove(recorded_question(), start=GivenStart((0.52, 0.0)))
    assert finding.certificate.upper >= 0.55
    assert finding.scaled_change[0] >= 0.55


def test_an_answer_without_the_slack_must_be_closer_by_a_share_of_the_gap() -> None:
    start = GivenStart((0.5501, 0.0))
    rejected = prove(recorded_question(), start=start, slack=1e-3, gap=0.1, share=1.0)
    assert rejected.scaled_change[0] >= 0.551
    accepted = prove(recorded_question(), start=start, slack=0.04, gap=0.1, share=1.0)
    assert accepted.scaled_change == pytest.approx([0.5501, 0.0])


def test_queries_of_the_warm_start_count() -> None:
    batch, limits = QuestionBatch([recorded_question()]), Limits(queries=65)  # 64 measure the deviation
    [finding] = Exact(start=GivenStart(), max_boxes=300).run(batch, limits)
    assert batch.queries(0) == {"start": 1, "verify": 64}
    assert finding.scaled_change is None
    assert finding.stop is Stop.OUT_OF_QUERIES


@pytest.mark.parametrize(("seconds", "stop"), [(0.0, Stop.PROVEN), (2.0, Stop.OUT_OF_TIME)])
def test_time_of_the_warm_start_counts(seconds: float, stop: Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    start = GivenStart(clock=(clock, seconds))
    [finding] = Exact(start=start).run(QuestionBatch([pcn_questions(2, 1)[0]]), Limits(seconds=1.0))
    assert finding.stop is stop


def test_the_seed_is_that_of_the_warm_start() -> None:
    start = Boundary(max_queries=400)
    seeded = queries_of(replace(start, seed=1), recorded_question())
    assert (queries_of(Exact(seed=1, start=start), recorded_question())[: len(seeded)] == seeded).all()
    assert not (queries_of(start, recorded_question())[:90] == seeded[:90]).all()


def test_a_proof_with_queries_left_runs_out_of_boxes() -> None:
    batch = QuestionBatch([recorded_question()])
    [finding] = Exact(start=None, max_boxes=300, slack=0.02).run(batch, Limits(queries=1000))
    assert finding.stop is Stop.OUT_OF_BOXES


@pytest.mark.parametrize("queries", [1, 50, 66, 80])
def test_a_proof_that_cannot_close_without_queries_ends_early(queries: int) -> None:
    for name, command, step in (("deep-sea-treasure", (8, -8), 5), ("reward-line", (0.5, 0.5), 0)):
        agent = pf.load_agent(name)
        decision = pf.rollout(agent, command)[step]
        for answer in pf.explain_decision(agent, decision, search=Exact(), limits=Limits(queries=queries)):
            if answer.proof is not None and answer.proof.status == "gap":
                assert answer.search.stop is Stop.OUT_OF_QUERIES
                assert answer.proof.boxes < 5000  # of 400,000


def test_a_proof_of_infeasibility_needs_no_queries() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    answers = pf.explain_decision(agent, decision, search=Exact(), limits=Limits(queries=1))
    assert Status.PROVEN_INFEASIBLE in {answer.status for answer in answers}
