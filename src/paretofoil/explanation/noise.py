"""How much a policy's answer to one and the same question varies with how it is asked.

A matrix product may give a row other last bits in another batch, half precision gives it few bits at all, and a
network whose dropout was left on answers at random. The first two are noise, which searches keep clear of and
checks allow for; the third is refused.
"""

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import ExactRows
from paretofoil.core.question import IMPOSSIBLE, QuestionBatch

PROBES = 64
"""Commands that are asked about together, and again in another order."""
BATCHES = (1, 2, 7)
"""Sizes of the small batches in which some of them are asked about once more."""
CAUTION = 4.0
"""Searches keep clear of kappa by so many times the noise that the probes show."""
RANDOM = 1e-3
"""A policy is random if its margins differ by more than this, and by more than this share of their usual size, when
the very same batch is asked twice."""


def clearance(batch: QuestionBatch) -> float:
    """By how much searches on these questions are to keep clear of kappa: 0 for a policy whose rows are exact."""
    return 0.0 if exact_rows(batch) else CAUTION * measure_noise(batch)


def exact_rows(batch: QuestionBatch) -> bool:
    """Whether the policy promises a row the same bits in any batch."""
    policy = batch.questions[0].policy
    return isinstance(policy, ExactRows) and policy.exact_rows


def measure_noise(batch: QuestionBatch, seed: int = 0) -> float:
    """The largest difference of a margin between two ways to ask about the same command; a random policy is refused."""
    generator = np.random.default_rng(seed)
    rows = np.arange(PROBES) % batch.size
    commands = batch.commands[rows] + generator.uniform(batch.low[rows], batch.high[rows]) * batch.scale[rows]

    def ask(which: np.ndarray) -> np.ndarray:
        return batch.margins_at(rows[which], commands[which], "noise")

    everything, shuffled = ask(np.arange(PROBES)), generator.permutation(PROBES)
    noise = _difference(everything[shuffled], ask(shuffled))
    for size in BATCHES:
        few = generator.choice(PROBES, size, replace=False)
        small = ask(few)
        noise = max(noise, _difference(everything[few], small))
    _refuse_random(small, ask(few))
    return noise


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest, where both are numbers of ordinary size: -inf for an action that cannot be is no noise."""
    usual = (np.abs(one) < _HUGE) & (np.abs(other) < _HUGE)
    return float(np.abs(one - other)[usual].max(initial=0.0))


def _refuse_random(one: np.ndarray, other: np.ndarray) -> None:
    differs = _difference(one, other)
    usual = np.abs(one)[np.abs(one) < _HUGE]
    if differs > RANDOM * max(1.0, float(np.median(usual))):
        raise InvalidInput.expected(
            "a policy that answers the same question in the same way",
            f"one whose margins differ by up to {differs:.3g} when the very same batch is asked twice: it is random "
            "(is dropout left on? call eval() on the module)",
        )


_HUGE = -IMPOSSIBLE / 2
