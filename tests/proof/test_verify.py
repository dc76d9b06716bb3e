"""Checks of certificates refute false ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from margins import LinePolicy, unit_question
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.answer import Certificate
from paretofoil.core.command import CommandSpace, length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import CallablePolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof import verify
from paretofoil.proof.verify import verify_certificate
from paretofoil.search.exact import Exact


def certified(objectives: int = 2, count: int = 12) -> list[tuple[Question, Certificate]]:
    policy = random_pcn(objectives, objectives=objectives)
    questions = [random_question(policy, seed) for seed in range(count)]
    findings = Exact().run(QuestionBatch(questions))
    return [(q, f.certificate) for q, f in zip(questions, findings, strict=True) if f.certificate is not None]


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_true_certificates_survive_sampling_and_are_proven_again(objectives: int) -> None:
    for question, certificate in certified(objectives, 6):
        report = verify_certificate(question, certificate, samples=20_000, rebound=True)
        assert report.holds
        assert report.rebounded is True
        assert report.samples == 20_000
        assert "no violation" in str(report)


def test_a_lower_bound_that_is_too_high_is_refuted() -> None:
    pairs = [(q, c) for q, c in certified() if c.status == "optimal"]
    for question, certificate in pairs[:5]:
        false = replace(certificate, lower=1.5 * certificate.upper + 0.05)
        assert verify_certificate(question, false, samples=50_000).violations > 0
        assert verify_certificate(question, false, samples=1, rebound=True).rebounded is False


def test_a_false_claim_of_infeasibility_is_refuted() -> None:
    question, certificate = next((q, c) for q, c in certified() if c.status == "optimal")
    false = replace(certificate, status="infeasible", lower=np.inf, upper=np.inf)
    report = verify_certificate(question, false, samples=100_000, rebound=True)
    assert not report.holds
    assert report.rebounded is False


def test_a_certificate_says_what_it_assumes() -> None:
    _question, certificate = certified()[0]
    assert certificate.rounding == "derived"
    assert certificate.assumptions.startswith("None")
    assert certificate.deviation <= certificate.slack < 1e-6
    assert certificate.pad < 1e-6
    measured = replace(certificate, rounding="measured")
    assert f"{certificate.kappa:g} - {certificate.slack:g}" in measured.assumptions
    assert f"at most {certificate.slack:g}" in measured.assumptions


def test_each_status_has_its_sentence() -> None:
    _, certificate = next((q, c) for q, c in certified() if c.status == "optimal")
    assert "no valid command is closer than" in str(certificate)
    assert "no command of the region" in str(replace(certificate, status="infeasible", lower=np.inf, upper=np.inf))
    assert "none is found" in str(replace(certificate, status="gap", upper=np.inf))
    assert replace(certificate, status="infeasible", lower=np.inf, upper=np.inf).gap == 0


def test_a_certificate_of_another_question_is_refused() -> None:
    question, certificate = certified()[0]
    with pytest.raises(InvalidInput, match="kappa"):
        verify_certificate(replace(question, kappa=0.2), certificate)


def test_a_black_box_can_be_sampled_but_not_bounded_again() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -5.0]))
    question = Question(policy, np.zeros(1), np.zeros(2), 1, (0, 1), CommandSpace([-1, -1], [1, 1]))
    claim = Certificate("infeasible", np.inf, np.inf, 1e-3, 1, 0.0, 0.05, 1e-4, 0.0, 0.0, "l2")
    assert verify_certificate(question, claim, samples=1000).holds
    with pytest.raises(InvalidInput, match="fold"):
        verify_certificate(question, claim, samples=10, rebound=True)


def certificate(lower: float, slack: float = 0.02, **changes: Any) -> Certificate:
    """Of a question whose closest command is at 0.55."""
    base = Certificate("optimal", lower, 0.55, 1e-3, 1, 0.0, 0.05, slack, 0.0, 0.0, "l2")
    return replace(base, **changes)


def test_a_certificate_in_another_norm_is_refused() -> None:
    question = unit_question(LinePolicy())
    assert verify_certificate(question, certificate(0.5), samples=10).holds
    with pytest.raises(InvalidInput, match=r"a certificate for kappa 0\.05 and l2, got kappa 0\.05, l1"):
        verify_certificate(question, certificate(0.5, norm="l1"), samples=10)


def test_a_second_proof_allows_for_the_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_REBOUND_BOXES", 1000)
    rebounded = [
        verify_certificate(unit_question(LinePolicy()), certificate(lower), samples=1, rebound=True).rebounded
        for lower in (0.529, 0.54, 0.56)
    ]
    assert rebounded == [True, None, False]  # margins there are below kappa - slack, between, and above kappa


def test_a_certificate_holds_if_neither_samples_nor_a_second_proof_refute_it() -> None:
    assert [verify.Verification(9, n, 0.0, again).holds for n in (0, 1) for again in (True, None, False)] == [
        *(True, True, False),
        *(False, False, False),
    ]


def test_half_of_the_samples_are_near_the_surface() -> None:
    shell = CallablePolicy(lambda states, z: np.stack([np.zeros(len(z)), length(z) - 0.44], axis=1))
    report = verify_certificate(unit_question(shell, (0.0, 0.0)), certificate(0.4949), samples=4000)
    assert 0.15 < report.violations / report.samples < 0.25  # valid is one percent of the radius
    deep = CallablePolicy(lambda states, z: np.stack([np.zeros(len(z)), 0.3 - length(z)], axis=1))
    report = verify_certificate(unit_question(deep, (0.0, 0.0)), certificate(0.5), samples=4000)
    assert 0.08 < report.violations / report.samples < 0.17  # the other half is everywhere: 0.25 of the area, halved


def test_no_sample_lies_outside_the_ball_or_the_region() -> None:
    queries = []

    def record(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        queries.append(commands)
        return np.zeros((len(commands), 2))

    verify_certificate(unit_question(CallablePolicy(record), (-0.4, 0.0)), certificate(0.3), samples=1000)
    commands = np.concatenate(queries)
    assert (length(commands - [-0.4, 0.0]) < 0.3).all()
    assert commands.min() >= -0.5
