"""How much a policy's answer to one and the same question varies with how it is asked.

A matrix product may give a row other last bits in another batch, half precision gives it few bits at all, and a
network whose dropout was left on answers at random. The first two are noise, which searches keep clear of and
checks allow for; the third is refused.
"""

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import IMPOSSIBLE, ExactRows
from paretofoil.core.question import QuestionBatch

CANDIDATES = 128
"""Random commands that are asked about first, together."""
PROBES = 32
"""Of those, so many whose margins are nearest to kappa are asked about again: far away, where an action is all but
impossible, logarithms of tiny probabilities can be much noisier than where answers lie."""
BATCHES = (1, 2, 7)
"""Sizes of the batches in which each probe is asked about, and an answer when it is checked."""
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
    rows = np.arange(CANDIDATES) % batch.num_questions
    commands = batch.commands_at(rows, generator.uniform(batch.low[rows], batch.high[rows]))
    candidates = batch.margins_at(rows, commands, "noise")
    near = np.argsort(np.abs(candidates - batch.kappa[rows]), kind="stable")[:PROBES]
    rows, commands = rows[near], commands[near]

    def ask(order: np.ndarray, size: int) -> np.ndarray:
        margins = np.empty(PROBES)
        for some in np.split(order, range(size, PROBES, size)):
            margins[some] = batch.margins_at(rows[some], commands[some], "noise")
        return margins

    together, again = (ask(np.arange(PROBES), PROBES) for _ in range(2))
    _refuse_random(together, again)
    apart = [ask(generator.permutation(PROBES), size) for size in BATCHES]
    return float(_differences(candidates[near], together, *apart).max(initial=0.0))


def _differences(*ways: np.ndarray) -> np.ndarray:
    """Between the lowest and the highest margin of each command (N,) over ways to ask, where all are of ordinary size:
    -inf for an action that cannot be is no noise."""
    usual = np.max(np.abs(ways), axis=0) < _HUGE
    return np.ptp(ways, axis=0)[usual]


def _refuse_random(one: np.ndarray, other: np.ndarray) -> None:
    differs = float(_differences(one, other).max(initial=0.0))
    size = np.abs(one)[np.abs(one) < _HUGE]
    if differs > RANDOM * max(1.0, float(np.median(size)) if len(size) else 0.0):
        raise InvalidInput.expected(
            "a policy that answers the same question in the same way",
            f"one whose margins differ by up to {differs:.3g} when the very same batch is asked twice: it is random "
            "(is dropout left on? call eval() on the module)",
        )


_HUGE = -IMPOSSIBLE / 2
