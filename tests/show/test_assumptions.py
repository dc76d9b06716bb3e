"""A proof that assumes small rounding errors says so; one that derives them does not."""

from dataclasses import replace

import paretofoil as pf
from paretofoil.core.answer import ProvenRange


def test_a_proof_with_measured_rounding_errors_names_its_assumption() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    answer = pf.explain(agent, pf.rollout(agent, command=(8, -8))[5], foil="down")
    assert answer.proof is not None
    assert answer.proven_range is not None
    assert answer.proof.rounding == "derived"
    assert "assuming" not in answer.paragraph()
    measured = replace(
        answer,
        proof=replace(answer.proof, rounding="measured", slack=4.9e-5),  # rounded down: the proof allows for no more
        proven_range=ProvenRange(answer.proven_range.low, answer.proven_range.high, 1e-4),
    )
    assert "(proven, for a margin of 0.05, assuming rounding errors below 4e-05, as measured)" in measured.paragraph()
    assert "choose down (proven, assuming rounding errors below 0.0001, as measured)." in measured.paragraph()
