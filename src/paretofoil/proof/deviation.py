"""How far the deployed policy is from the folded one that proofs are about: measured, and allowed for."""

import numpy as np

from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.margin import MarginNetwork
from paretofoil.proof.product import ProductNetwork

PROBES = 64
"""Commands at which the two are compared."""
SLACK = 1e-5
"""The deployed policy's margins may be so far from the float64 ones, and more where probes show it."""
CAUTION = 4
"""The slack of a proof is at least this many times the deviation that the probes show."""
RANGE_SLACK = 1e-4
"""Ranges are proven for margins of kappa and up to so much more, so that the deployed float32 policy agrees."""
RANGE_CAUTION = 1.5
"""The slack of a range is at least this many times the deviation that probes in it show."""
_FLOAT32 = 2.0**-24
"""What rounding to float32 can change, relatively."""


def deviation(
    batch: QuestionBatch, row: int, network: MarginNetwork | ProductNetwork, z: np.ndarray, phase: str
) -> float:
    """The largest difference of the two margins of a question at scaled changes z (N, d); one query each."""
    folded = network.margins(z).min(axis=1, initial=np.inf)
    asked = batch.margins(np.full(len(z), row), z, phase)
    return float(np.abs(asked - folded).max()) if network.num_rivals else 0.0


def probe_shares(size: int) -> np.ndarray:
    """(PROBES, size): places in a box as shares of its width, every second one in a corner."""
    shares = np.random.default_rng(0).random((PROBES, size))
    shares[::2] = np.round(shares[::2])
    return shares


def slack_for(off: float, clearance: float, least: float = SLACK) -> float:
    """The slack of a proof, for a deviation that the probes show and a clearance for the noise of the policy."""
    return max(least, CAUTION * off, clearance)


def range_clearance(batch: QuestionBatch) -> float:
    """By how much more than kappa the foil wins in a range, for the noise of the policy.

    Half of what searches keep clear by, twice the noise that was seen: answers lie at the edge of the whole.
    """
    return batch.clearance / 2


def blur(question: Question) -> np.ndarray:
    """How far off, in scaled changes (d,), a policy that computes in float32 may see a command of the region."""
    if question.space.simplex:
        return np.abs(question.basis).T @ rounding(question)  # across the plane, too: rounded weights need not sum to 1
    return rounding(question) / question.space.scale


def rounding(question: Question) -> np.ndarray:
    """How far off each number (d,) of a command of the region may be seen."""
    return seen_off(question.low, question.high)


def seen_off(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far off a policy that computes in float32 may see each number (n,) of what lies within low, high.

    What it is given is rounded, and so are the terms of the first layer's sums. Where the policy is steep, as in a
    needle that no probe meets, that is no small difference of margins; but it is a small difference of commands.
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    return (2 + largest.size) * _FLOAT32 * largest
