"""A minute of attacks on proofs; `benchmarks/soundness.py` is an hour of them, and shows a seed again."""

from collections import Counter

import pytest
from attacks import attack
from folded import KINDS, generate
from threadpoolctl import threadpool_limits

NETWORKS = 320
"""Of each kind; of these every 8th is attacked as a whole."""


@pytest.mark.parametrize("turn", range(len(KINDS)), ids=list(KINDS))
def test_nothing_is_proven_that_an_attack_refutes(turn: int) -> None:
    violations: list[str] = []
    seen: Counter[str] = Counter()
    with threadpool_limits(1):
        for number in range(NETWORKS):
            told, tally = attack(generate(number * len(KINDS) + turn), whole=number % 8 == 0)
            violations += told
            seen += tally
    assert not violations, "\n".join(violations)
    assert seen["proofs"] + seen["refused"] == NETWORKS
