"""Proofs about preferences: the facets of the region are part of the proof."""

import numpy as np
import pytest
from policies import random_commands, random_pcn, random_question

from paretofoil.core.command import CommandSpace
from paretofoil.core.question import Question
from paretofoil.explanation.ask import ask
from paretofoil.proof.bounds import region_facets
from paretofoil.proof.verify import verify_certificate
from paretofoil.search import Exact


def questions(dim: int) -> list[Question]:
    policy = random_pcn(dim, objectives=dim)
    space = CommandSpace.preferences([f"objective {i}" for i in range(dim)])
    return [random_question(policy, seed, space=space) for seed in range(12)]


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_every_question_on_the_simplex_is_resolved_and_no_sample_violates_the_certificate(dim: int) -> None:
    kinds = set()
    rng = np.random.default_rng(0)
    for question in questions(dim):
        [found] = ask([question], Exact())
        assert found.proof.status in ("optimal", "infeasible")
        kinds.add(found.proof.status)
        weights = random_commands(rng, question.space, 4000)
        weights = weights[np.linalg.norm(weights - question.command, axis=1) < found.lower_bound]
        states = np.repeat(question.state[None], len(weights), axis=0)
        scores = question.policy.log_probs(states, weights)
        lead = scores[:, question.foil] - np.delete(scores, question.foil, axis=1).max(axis=1)
        assert (lead < question.kappa).all()
        assert verify_certificate(question, found.proof, 2000, rebound=True).holds
    assert kinds == {"optimal", "infeasible"}


def test_a_change_is_inside_all_facets_exactly_if_it_is_in_the_region() -> None:
    question = questions(3)[0]
    low, high = np.maximum(question.command - 0.2, 0.0), np.minimum(question.command + 0.1, 1.0)
    question = Question(
        question.policy, question.state, question.command, question.foil, (0, 1, 2), question.space, low=low, high=high
    )
    facets, rng = region_facets(question), np.random.default_rng(0)
    weights = random_commands(rng, question.space, 5000)
    z = (weights - question.command) @ question.basis
    inside = ((weights >= question.low) & (weights <= question.high)).all(axis=1)
    assert facets is not None
    assert np.array_equal((facets.values(z) >= 0).all(axis=1), inside)
    assert 0 < inside.sum() < len(inside)
    outwards = region_facets(question, np.full(3, 1e-3))
    assert outwards is not None
    assert (outwards.offsets > facets.offsets + 9e-4).all()


def test_a_box_has_no_facets() -> None:
    assert region_facets(random_question(random_pcn(2), 0)) is None
