"""Margin networks: pads cover the rounding of long sums."""

import numpy as np
import pytest
from margins import unit_question
from networks import LayeredPolicy

from paretofoil.core.program import Program
from paretofoil.proof.networks import margin_network


@pytest.mark.parametrize("width", [2, 100, 10_000])
def test_pads_cover_the_rounding_of_sums_of_any_length(width: int) -> None:
    """A sum of n terms errs by at most n roundings of the sum of their sizes."""
    weights = np.ones((width, 1)), np.vstack([np.zeros(width), np.ones(width)])
    folded = Program.of_layers(weights, (np.zeros(width), np.zeros(2)), ("relu",))
    network = margin_network(folded, unit_question(LayeredPolicy(folded), (0.0,)))
    sizes = width * 0.5  # commands are at most 0.5
    assert network.pads[-1][0] >= width * 2.0**-53 * sizes
