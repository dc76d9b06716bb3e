"""A minute of attacks on proofs (`benchmarks/soundness.py` is an hour of them), and what they found, case by case."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from attacks import attack
from folded import KINDS, generate
from networks import LayeredPolicy, layered_question, random_layers
from threadpoolctl import threadpool_limits
from tiers import long_except

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Stop
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding
from paretofoil.proof.halfspace import cut
from paretofoil.proof.networks import margin_network
from paretofoil.proof.ranges import widen
from paretofoil.proof.verify import verify_certificate
from paretofoil.search.exact import Exact

NETWORKS = (40, 320)
"""Of each kind, quick and long; every 8th is attacked as a whole."""


@pytest.mark.parametrize("networks", long_except(NETWORKS, (40,)))
@pytest.mark.parametrize("turn", range(len(KINDS)), ids=list(KINDS))
def test_nothing_is_proven_that_an_attack_refutes(turn: int, networks: int) -> None:
    violations: list[str] = []
    seen: Counter[str] = Counter()
    with threadpool_limits(1):
        for number in range(networks):
            told, tally = attack(generate(number * len(KINDS) + turn), whole=number % 8 == 0)
            violations += told
            seen += tally
    assert not violations, "\n".join(violations)
    assert seen["proofs"] + seen["refused"] == networks


def needle(at: float, low: float, high: float, *, slope: float = 2.0**26) -> Question:
    """A float32 policy whose foil wins by 0.1 at a command, and loses by 0.5 from a hundred millionth away on."""
    weights = np.array([[slope], [-slope]]), np.array([[-1.0, -1.0]]), np.array([[0.0], [0.6]])
    biases = np.array([-slope * at, slope * at]), np.array([1.0]), np.array([0.5, 0.0])
    policy = LayeredPolicy(Program.of_layers(weights, biases, ("relu", "relu")))
    space = CommandSpace([0.0], [1.0])
    return Question(policy, np.zeros(1), np.array([low]), 1, (0, 1), space, low=np.array([low]), high=np.array([high]))


def prove(question: Question) -> Finding:
    [finding] = Exact(max_boxes=2000, start=None).run(QuestionBatch([question]))  # what no start finds must be proven
    assert finding.certificate is not None
    return finding


def test_what_float32_rounds_into_a_needle_is_not_proven_impossible() -> None:
    beside = needle(1.0, 0.5, 1.0 - 2e-8)
    [margin] = QuestionBatch([beside]).margins_at(np.zeros(1, dtype=int), beside.high[None], "test")
    assert margin >= beside.kappa  # though the needle itself is outside
    assert prove(beside).certificate.status != "infeasible"  # type: ignore[union-attr]
    assert prove(needle(1.0, 0.5, 1.0 - 1e-6)).certificate.status == "infeasible"  # type: ignore[union-attr]


def test_far_from_0_a_lower_bound_leaves_out_what_float32_cannot_tell_apart() -> None:
    far = Program.of_layers((np.array([[0.0], [1.0]]),), (np.array([0.0, -1e6]),))
    space = CommandSpace([1e6], [1e6 + 1])
    asked = Question(LayeredPolicy(far, np.float64), np.zeros(1), space.low, 1, (0, 1), space)
    finding = prove(asked)
    certificate = finding.certificate
    assert certificate is not None
    assert certificate.upper == pytest.approx(0.05, abs=1e-3)
    assert certificate.lower == 0.0  # three roundings are 0.18 of the range
    assert (certificate.status, finding.stop) == ("gap", Stop.COMPLETE)
    found = widen(QuestionBatch([asked]), 0, space.low + 0.6)
    assert found is not None
    assert found.low[0] - 1e6 >= 0.05 + 3 * 2.0**-24 * 1e6


def test_a_certificate_that_claims_nothing_holds_though_the_command_itself_is_valid() -> None:
    asked = layered_question(random_layers(3, (2, 8, 3), ("relu",)), 3)
    greedy = int(asked.policy.log_probs(asked.state[None], asked.command[None]).argmax())
    asked = replace(asked, foil=greedy, kappa=0.0)
    certificate = prove(asked).certificate
    assert certificate is not None
    assert certificate.lower == 0.0
    report = verify_certificate(asked, certificate, samples=100, rebound=True)
    assert report.holds
    assert str(report) == "no violation among 0 sampled commands; proven again"


def test_half_spaces_without_slope_overflow_nothing() -> None:
    flat, box = np.zeros((1, 2, 2)), (np.full((1, 2), -1.0), np.full((1, 2), 1.0))
    low, high = cut(flat, np.full((1, 2), -1e60), *box, 2.0, "l2")
    assert np.array_equal([low, high], box)


def test_a_policy_whose_numbers_would_overflow_is_refused() -> None:
    asked = layered_question(random_layers(0, (2, 4, 3), ("relu",)), 0)
    folded = asked.policy.fold(asked.state)  # type: ignore[attr-defined]
    weights, biases, activations = folded.layers
    huge = Program.of_layers([weight * 1e50 for weight in weights], biases, activations)
    with pytest.raises(InvalidInput, match=r"computed numbers stay below 1e\+80"):
        margin_network(huge, asked)
