"""Exact search: what it calls optimal is optimal, what it calls infeasible is infeasible."""

from dataclasses import replace

import numpy as np
import pytest
from networks import layered_question, random_layers
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.command import CommandSpace, length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import Limits, Stop
from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question, QuestionBatch
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


@pytest.mark.parametrize(("objectives", "per_axis"), [(1, 20_001), (2, 400), (3, 60)])
def test_exact_search_never_misses_what_the_grid_finds(objectives: int, per_axis: int) -> None:
    batch = QuestionBatch(pcn_questions(objectives, 12))
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
    for row, finding in enumerate(Exact(gap=1e-3 if objectives < 6 else 1e-2).run(batch)):
        z = rng.uniform(batch.low[row], batch.high[row], size=(60_000, objectives))
        z[:30_000] *= rng.random((30_000, 1))
        margins = batch.margins(np.full(len(z), row), z, "sample")
        assert (length(z[margins >= batch.kappa[row]]) >= finding.certificate.lower).all()


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_on_a_linear_policy_the_distance_is_the_known_one(norm: str) -> None:
    class Folded(LinearPolicy):
        def fold(self, state: np.ndarray) -> FoldedPolicy:
            return FoldedPolicy((self.weight,), (self.bias,), ())

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
    for row, finding in enumerate(Exact().run(batch)):
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
