"""Certificates serialise, and a second look refutes the false ones."""

import json
from dataclasses import replace

import numpy as np
import pytest
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.answer import Certificate
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
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


def test_certificates_go_through_json_unchanged() -> None:
    statuses = set()
    for _, certificate in certified(count=20):
        text = json.dumps(certificate.to_dict(), allow_nan=False)
        assert Certificate.from_dict(json.loads(text)) == certificate
        statuses.add(certificate.status)
    assert statuses == {"optimal", "infeasible"}


def test_a_certificate_says_what_it_assumes() -> None:
    _question, certificate = certified()[0]
    assert "float64" in certificate.assumptions
    assert f"{certificate.kappa:g} - {certificate.slack:g}" in certificate.assumptions
    assert certificate.deviation < certificate.slack
    assert certificate.pad < 1e-6


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
    with pytest.raises(InvalidInput, match="whole certificate"):
        Certificate.from_dict({"status": "optimal"})
    with pytest.raises(InvalidInput, match="status"):
        Certificate.from_dict({**certificate.to_dict(), "status": "perhaps"})


def test_a_black_box_can_be_sampled_but_not_bounded_again() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -5.0]))
    question = Question(policy, np.zeros(1), np.zeros(2), 1, (0, 1), CommandSpace([-1, -1], [1, 1]))
    claim = Certificate("infeasible", np.inf, np.inf, 1e-3, 1, 0.0, 0.05, 1e-4, 0.0, 0.0, "l2")
    assert verify_certificate(question, claim, samples=1000).holds
    with pytest.raises(InvalidInput, match="fold"):
        verify_certificate(question, claim, samples=10, rebound=True)
