"""Stacked networks give the margins and slopes of each network."""

import numpy as np
from networks import layered_question, random_layers

from paretofoil.proof.networks import margin_network
from paretofoil_paper.searches.stacked import stack_rivals


def test_stacked_networks_give_the_margins_and_slopes_of_each() -> None:
    policy = random_layers(3, (2, 8, 6, 4), ("tanh", "relu"))
    questions = [layered_question(policy, seed) for seed in range(5)]
    networks = [margin_network(policy.fold(q.state), q) for q in questions]
    z = np.random.default_rng(0).normal(size=(5, 7, 2))
    together = stack_rivals(networks, 3)
    for network, points, margins, smallest, slope in zip(
        networks, z, together.margins(z), *together.smallest_and_slopes(z), strict=True
    ):
        expected, slopes = network.margins_and_slopes(points)
        least = expected.argmin(axis=1)
        assert np.allclose(margins, expected, rtol=1e-12, atol=1e-12)
        assert np.allclose(smallest, expected.min(axis=1), rtol=1e-12, atol=1e-12)
        assert np.allclose(slope, slopes[np.arange(7), least], rtol=1e-9, atol=1e-12)
