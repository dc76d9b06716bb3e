"""How far the deployed policy is from the folded one that proofs are about: measured, never assumed."""

import numpy as np

from paretofoil.core.question import QuestionBatch
from paretofoil.proof.margin import MarginNetwork

PROBES = 64
"""Commands at which the two are compared."""


def deviation(batch: QuestionBatch, row: int, network: MarginNetwork, z: np.ndarray, phase: str) -> float:
    """The largest difference of the two margins of a question at scaled changes z (N, d); one query each."""
    folded = network.margins(z).min(axis=1, initial=np.inf)
    asked = batch.margins(np.full(len(z), row), z, phase)
    return float(np.abs(asked - folded).max()) if network.num_rivals else 0.0
