"""Margin networks: stacked ones give the same margins, and pads cover the rounding of long sums."""

import numpy as np
import pytest
from margins import unit_question
from networks import LayeredPolicy, layered_question, random_layers

from paretofoil.core.policy import FoldedPolicy
from paretofoil.proof.networks import margin_network, stack_networks


def test_stacked_networks_tell_the_margins_of_each() -> None:
    policy = random_layers(3, (2, 8, 6, 4), ("tanh", "relu"))
    questions = [layered_question(policy, seed) for seed in range(5)]
    networks = [margin_network(policy.fold(q.state), q) for q in questions]
    z = np.random.default_rng(0).normal(size=(5, 7, 2))
    together = stack_networks(networks, 3).margins(z)  # (5, 7, 3)
    for network, points, margins in zip(networks, z, together, strict=True):
        assert np.allclose(margins, network.margins(points), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("width", [2, 100, 10_000])
def test_pads_cover_the_rounding_of_sums_of_any_length(width: int) -> None:
    """A sum of n terms errs by at most n roundings of the sum of their sizes."""
    weights = np.ones((width, 1)), np.vstack([np.zeros(width), np.ones(width)])
    folded = FoldedPolicy(weights, (np.zeros(width), np.zeros(2)), ("relu",))
    network = margin_network(folded, unit_question(LayeredPolicy(folded), (0.0,)))
    sizes = width * 0.5  # commands are at most 0.5
    assert network.pads[-1][0] >= width * 2.0**-53 * sizes
