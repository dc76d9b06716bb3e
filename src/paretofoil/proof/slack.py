"""The difference between the deployed policy and the float64 network that proofs are about.

Margins: the difference is measured at probes, and proofs hold for a slack of several times as much. Inputs: a policy in
float32 rounds its commands, and proofs cover a region that is wider by this rounding.
"""

import numpy as np

from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.bounds import region_facets
from paretofoil.proof.branch_and_bound import Claim
from paretofoil.proof.networks import MarginNetwork, ProductNetwork

PROBES = 64
"""Commands at which policy and network are compared."""
SLACK = 1e-5
"""Least slack of a proof, in margins."""
CAUTION = 4
"""The slack of a proof is at least this many times the measured deviation."""
RANGE_SLACK = 1e-4
"""Proven ranges hold for margins of kappa and this much more, if the answer has it."""
RANGE_CAUTION = 1.5
"""The slack of a proven range is at least this many times the measured deviation."""
_FLOAT32 = 2.0**-24
"""Largest relative error of rounding to float32."""


def deviation(
    batch: QuestionBatch, row: int, network: MarginNetwork | ProductNetwork, z: np.ndarray, phase: str
) -> float:
    """Return the largest difference between policy and network at scaled changes z (N, d); one query each."""
    expected = network.margins(z).min(axis=1, initial=np.inf)
    deployed = batch.margins(np.full(len(z), row), z, phase)
    return float(np.abs(deployed - expected).max()) if network.num_rivals else 0.0


def probe_shares(dim: int) -> np.ndarray:
    """Return probes (PROBES, dim) as shares of the width of a box; every second one is a corner."""
    shares = np.random.default_rng(0).random((PROBES, dim))
    shares[::2] = np.round(shares[::2])
    return shares


def slack_for(deviation: float, clearance: float, least: float = SLACK) -> float:
    """Return the slack of a proof for a measured deviation and a clearance for the noise of the policy."""
    return max(least, CAUTION * deviation, clearance)


def range_clearance(batch: QuestionBatch) -> float:
    """Return the margin beyond kappa that a proven range keeps for the noise of the policy.

    It is half the clearance of searches, because answers lie at the edge of the whole clearance.
    """
    return batch.clearance / 2


def deployed_claim(question: Question, network: MarginNetwork | ProductNetwork, level: float) -> Claim:
    """Return the claim that some change of the region, as float32 policies see it, reaches the level."""
    (low, high), around = question.room, scaled_rounding(question)
    facets = region_facets(question, command_rounding(question))
    return Claim(network, low - around, high + around, level, question.norm, facets)


def scaled_rounding(question: Question) -> np.ndarray:
    """Return the largest error (d,) of a command of the region in float32, in scaled changes."""
    if question.space.simplex:
        # Rounded weights need not sum to 1, so that the error has a component across the plane.
        return np.abs(question.basis).T @ command_rounding(question)
    return command_rounding(question) / question.space.scale


def command_rounding(question: Question) -> np.ndarray:
    """Return the largest error (d,) of a command of the region in float32."""
    return float32_rounding(question.low, question.high)


def float32_rounding(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest error (n,) of inputs within low, high (n,) of a policy that computes in float32.

    The inputs are rounded, and the terms of the first layer's sums. Where the policy is steep, this is a large
    difference of margins, but a small one of inputs.
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    return (2 + largest.size) * _FLOAT32 * largest
