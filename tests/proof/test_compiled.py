"""The compiled form of proofs against the NumPy form, which is the reference."""

import importlib.util
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from policies import random_pcn, random_question

from paretofoil.core.program import Program
from paretofoil.core.question import QuestionBatch
from paretofoil.proof import compiled
from paretofoil.proof.branch_and_bound import Claim, bound_boxes
from paretofoil.proof.networks import MarginNetwork, rounding_pads
from paretofoil.search import Exact, exact
from paretofoil.search.trust_region import NetworkMargins, walk

pytest.importorskip("numba")
pytestmark = pytest.mark.long
NETWORKS = [("sigmoid", "relu"), ("tanh",), ("relu", "relu"), ("relu", "sigmoid", "tanh")]


@pytest.fixture(autouse=True)
def numpy_form_afterwards() -> Iterator[None]:
    yield
    compiled.enable(False)


def random_claim(activations: tuple[str, ...], seed: int, *, rivals: int = 2, dim: int = 3) -> Claim:
    rng = np.random.default_rng(seed)
    sizes = [dim, *(9 + k for k in range(len(activations))), rivals]
    weights = tuple(rng.normal(size=(m, n)) for n, m in itertools.pairwise(sizes))
    biases = tuple(rng.normal(size=m) for m in sizes[1:])
    program = Program.of_layers(weights, biases, activations)  # type: ignore[arg-type]
    network = MarginNetwork(program, rounding_pads(program, np.ones(dim)))
    level = float(np.quantile(network.margins(rng.uniform(-1, 1, (500, dim))).min(axis=1), 0.97))
    return Claim(network, -np.ones(dim), np.ones(dim), level, "l2")


def in_both_forms(claim: Claim) -> tuple[Claim, Claim]:
    """Return the claim in the NumPy form and in the compiled form."""
    compiled.enable(False)
    plain = replace(claim)
    assert plain.chain is None
    assert compiled.enable()
    fast = replace(claim)
    assert fast.chain is not None
    return plain, fast


def random_boxes(seed: int, dim: int = 3, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    center, width = rng.uniform(-1, 1, (count, dim)), rng.choice([1e-9, 1e-3, 0.1, 1.0], (count, 1))
    return np.clip(center - width, -1, 1), np.clip(center + width, -1, 1)


@pytest.mark.parametrize("activations", NETWORKS)
@pytest.mark.parametrize(("rivals", "dim"), [(1, 3), (3, 3), (2, 5), (2, 9)])
def test_compiled_boxes_are_kept_and_bounded_like_those_of_the_numpy_form(
    activations: tuple[str, ...], rivals: int, dim: int
) -> None:
    plain, fast = in_both_forms(random_claim(activations, 4, rivals=rivals, dim=dim))
    low, high = random_boxes(5, dim)
    for radius in (np.inf, 0.9):
        for box in range(len(low)):  # one by one, because the NumPy form contracts all boxes together
            planes = np.eye(1, dim), np.full(1, -0.1)
            expected, got = (bound_boxes(c, low[[box]], high[[box]], radius, planes) for c in (plain, fast))
            assert len(expected) == len(got)
            np.testing.assert_allclose(
                got.normal * got.height[:, None], expected.normal * expected.height[:, None], atol=1e-6
            )
            np.testing.assert_allclose(got.low, expected.low, atol=1e-9)
            np.testing.assert_allclose(got.high, expected.high, atol=1e-9)
            np.testing.assert_allclose(got.bound, expected.bound, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("activations", NETWORKS)
def test_compiled_walks_end_at_valid_points_most_where_those_of_the_numpy_form_end_and_one_as_close(
    activations: tuple[str, ...],
) -> None:
    plain, fast = in_both_forms(random_claim(activations, 6))
    starts = np.random.default_rng(7).uniform(-1, 1, (40, 3))
    (_, expected), (points, got) = (
        walk(NetworkMargins(c, len(starts)), starts, steps=6, trust=0.3) for c in (plain, fast)
    )
    assert np.isfinite(expected).any()
    # A compiled walk ends when it comes near the end of an earlier one; at a kink, rounding decides where a walk goes.
    assert np.isclose(got, expected, rtol=1e-6).mean() >= 0.85
    assert got.min() <= 1.001 * expected.min()
    valid = np.isfinite(got)
    assert (plain.margins(points[valid]) >= plain.level - 1e-9).all()
    np.testing.assert_allclose(got[valid], np.linalg.norm(points[valid], axis=1), rtol=1e-12)


@pytest.mark.parametrize("objectives", [1, 2, 4])
def test_compiled_proofs_have_the_status_and_the_distance_of_the_numpy_form(objectives: int) -> None:
    policy = random_pcn(objectives, objectives=objectives)
    questions = [random_question(policy, seed) for seed in range(12)]
    results = []
    for wanted in (False, True):
        assert compiled.enable(wanted) == wanted
        results.append(Exact().run(QuestionBatch(questions)))
    for one, other in zip(*results, strict=True):
        assert one.certificate is not None
        assert other.certificate is not None
        assert one.certificate.status == other.certificate.status
        if one.scaled_change is not None:
            assert other.certificate.upper == pytest.approx(one.certificate.upper, rel=2e-3)


def test_a_compiled_proof_does_not_depend_on_the_other_questions() -> None:
    policy = random_pcn(3, objectives=3)
    questions = [random_question(policy, seed) for seed in range(6)]
    assert compiled.enable()
    together = Exact().run(QuestionBatch(questions))
    for question, finding in zip(questions, together, strict=True):
        [alone] = Exact().run(QuestionBatch([question]))
        assert alone.certificate is not None
        assert finding.certificate is not None
        assert np.array_equal(alone.scaled_change, finding.scaled_change)  # type: ignore[arg-type]
        assert (alone.certificate.lower, alone.certificate.boxes) == (
            finding.certificate.lower,
            finding.certificate.boxes,
        )


def test_without_numba_proofs_stay_in_the_numpy_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not compiled.enable()
    assert random_claim(("relu",), 0).chain is None


def test_networks_that_are_not_covered_stay_in_the_numpy_form() -> None:
    assert compiled.enable()
    claim = random_claim(("relu",), 0)
    assert claim.chain is not None
    assert replace(claim, norm="linf").chain is None
    assert random_claim(("elu",), 0).chain is None


def test_an_easy_question_is_proven_in_one_compiled_call_and_others_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = random_pcn(2, objectives=3)
    questions = [random_question(policy, seed) for seed in range(8)]
    assert compiled.enable()
    with monkeypatch.context() as only_one_call:
        only_one_call.setattr(exact, "branch_and_bound", None)
        easy = Exact().run(QuestionBatch(questions))
    monkeypatch.setattr(exact, "_EASY", 0)
    for one, other in zip(easy, Exact().run(QuestionBatch(questions)), strict=True):
        assert one.certificate is not None
        assert other.certificate is not None
        assert one.certificate.status == other.certificate.status
        assert one.certificate.upper == pytest.approx(other.certificate.upper, rel=1e-3)


def test_an_answer_of_the_compiled_form_that_the_policy_refuses_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = random_pcn(3, objectives=3)
    questions = [random_question(policy, seed) for seed in range(6)]
    assert compiled.enable()
    expected = Exact().run(QuestionBatch(questions))
    prove = compiled.kernels.prove

    def too_close(*arguments: Any) -> tuple[float, float, int]:
        distance, lower, boxes = prove(*arguments)
        arguments[-1][:] *= 0.5
        return distance / 2, lower / 2, boxes

    monkeypatch.setattr(compiled.kernels, "prove", too_close)
    found = [f for f in expected if f.scaled_change is not None]
    assert found
    for one, other in zip(expected, Exact().run(QuestionBatch(questions)), strict=True):
        assert one.certificate is not None
        assert other.certificate is not None
        assert one.certificate.status == other.certificate.status
        if one.scaled_change is not None:
            assert other.certificate.upper == pytest.approx(one.certificate.upper, rel=1e-3)
