"""Independent checks of certificates: queries of the deployed policy, and a simpler proof of the lower bound."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.answer import Certificate
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.bounds import region_facets
from paretofoil.proof.branch_and_bound import Claim, bound_boxes
from paretofoil.proof.networks import question_network
from paretofoil.proof.slack import whole_grid

_CHUNK = 1 << 17
_REBOUND_BOXES = 1_000_000
"""Maximum number of boxes to prove a bound again."""


@dataclass(frozen=True, eq=False)
class Verification:
    """The result of checks of a certificate."""

    samples: int
    """Number of sampled commands that the certificate excludes."""
    violations: int
    """Number of samples that are valid on the policy; one is enough to refute the certificate."""
    worst: float
    """Largest margin among the samples; the certificate holds if it is below kappa."""
    rebounded: bool | None = None
    """True if the lower bound was proven again, False if it was refuted, None if undecided or not requested."""
    boxes: int = 0
    """Number of boxes of the second proof."""

    @property
    def holds(self) -> bool:
        return self.violations == 0 and self.rebounded is not False

    def __str__(self) -> str:
        verdict = "no violation" if self.violations == 0 else f"{self.violations} violations"
        again = {True: "; proven again", False: "; refuted by a second proof", None: ""}[self.rebounded]
        largest = f" (largest margin {self.worst:.4f})" if self.samples else ""
        return f"{verdict} among {self.samples} sampled commands{largest}{again}"


def verify_certificate(
    question: Question, certificate: Certificate, samples: int = 100_000, *, rebound: bool = False, seed: int = 0
) -> Verification:
    """Check that no command closer than the lower bound of a certificate makes the foil win.

    Args:
        question: The question of the certificate.
        certificate: The certificate to check.
        samples: Number of commands at which the deployed policy is queried.
        rebound: Prove the lower bound again, only by splitting and rejecting boxes, without the incumbent and the
            contractions of the search. Needs a white-box policy.
        seed: Seed of the samples.
    """
    if certificate.kappa != question.kappa or certificate.norm != question.norm:
        got = f"kappa {certificate.kappa:g}, {certificate.norm}"
        raise InvalidInput.expected(f"a certificate for kappa {question.kappa:g} and {question.norm}", got)
    samples = samples if certificate.lower > 0 else 0  # no command is closer than the command itself
    violations, worst = _sample(question, certificate, samples, np.random.default_rng(seed))
    if not rebound:
        return Verification(samples, violations, worst)
    decided, boxes = _rebound(question, certificate)
    return Verification(samples, violations, worst, decided, boxes)


def _sample(
    question: Question, certificate: Certificate, samples: int, generator: np.random.Generator
) -> tuple[int, float]:
    """Return violations and the largest margin among random commands. Half of them are near the surface of the ball."""
    batch = QuestionBatch([question])
    low, high, dim = batch.low[0], batch.high[0], batch.dim
    violations, worst = 0, -np.inf
    for first in range(0, samples, _CHUNK):
        size = min(_CHUNK, samples - first)
        if np.isinf(certificate.lower):
            z = generator.uniform(low, high, size=(size, dim))
        else:
            direction = generator.normal(size=(size, dim))
            direction /= batch.distances(direction)[:, None]
            share = generator.random((size, 1)) ** (1.0 / dim)
            share[size // 2 :] = 1.0 - 0.05 * (1.0 - share[size // 2 :])
            z = np.clip(direction * share * certificate.lower * (1 - 1e-9), low, high)
        rows = np.zeros(size, dtype=np.int64)
        z = batch.project(rows, z)
        z = z[batch.distances(z) < certificate.lower]  # whole numbers near the surface may lie beyond it
        margins = batch.margins(rows[: len(z)], z, "verify")
        violations += int((margins >= question.kappa).sum())
        worst = max(worst, float(margins.max(initial=-np.inf)))
    return violations, worst


def _rebound(question: Question, certificate: Certificate) -> tuple[bool | None, int]:
    """Prove or refute the lower bound again; return the result and the number of boxes."""
    network = question_network(question, " for a second proof")
    batch, level = QuestionBatch([question]), question.kappa - certificate.slack
    parts_of_region = region_facets(question), whole_grid(question)
    claim = Claim(network, batch.low[0], batch.high[0], level, question.norm, *parts_of_region)
    low, high, num_boxes = claim.low[None], claim.high[None], 0
    while len(low):
        if num_boxes >= _REBOUND_BOXES:
            return None, num_boxes
        parts = []
        for first in range(0, len(low), _CHUNK >> 7):
            part = slice(first, first + (_CHUNK >> 7))
            boxes = bound_boxes(claim, low[part], high[part], certificate.lower, contract=False)
            num_boxes += len(low[part])
            near = batch.distances(boxes.point) < certificate.lower
            inside = batch.project(np.zeros(near.sum(), dtype=np.int64), boxes.point[near])
            inside = inside[batch.distances(inside) < certificate.lower]
            if (network.margins(inside).min(axis=1, initial=np.inf) >= question.kappa).any():
                return False, num_boxes
            parts.append(boxes.halves())
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    return True, num_boxes
