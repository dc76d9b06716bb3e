"""The margin network: one question or many stacked, the same numbers."""

import numpy as np
from networks import layered_question, random_layers

from paretofoil.proof.margin import margin_network, stack_networks


def test_stacked_networks_tell_the_margins_of_each() -> None:
    policy = random_layers(3, (2, 8, 6, 4), ("tanh", "relu"))
    questions = [layered_question(policy, seed) for seed in range(5)]
    networks = [margin_network(policy.fold(q.state), q) for q in questions]
    z = np.random.default_rng(0).normal(size=(5, 7, 2))
    together = stack_networks(networks, 3).margins(z)  # (5, 7, 3)
    for network, points, margins in zip(networks, z, together, strict=True):
        assert np.allclose(margins, network.margins(points), rtol=1e-12, atol=1e-12)
