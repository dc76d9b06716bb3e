"""Margin networks: pads cover the rounding of long sums."""

import numpy as np
import pytest
from margins import unit_question
from networks import LayeredPolicy

from paretofoil.core.program import Function, Program
from paretofoil.proof.networks import margin_network


@pytest.mark.parametrize("width", [2, 100, 10_000])
def test_pads_cover_the_rounding_of_sums_of_any_length(width: int) -> None:
    """A sum of n terms errs by at most n roundings of the sum of their sizes."""
    weights = np.ones((width, 1)), np.vstack([np.zeros(width), np.ones(width)])
    folded = Program.of_layers(weights, (np.zeros(width), np.zeros(2)), ("relu",))
    network = margin_network(folded, unit_question(LayeredPolicy(folded), (0.0,)))
    sizes = width * 0.5  # commands are at most 0.5
    assert network.pads[-1][0] >= width * 2.0**-53 * sizes


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
def test_rough_errors_are_a_little_larger_than_the_largest_ones(activation: Function) -> None:
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((12, 2), (12, 12), (3, 12))]
    biases = [rng.normal(size=len(weight)) for weight in weights]
    folded = Program.of_layers(weights, biases, (activation,) * 2, unit=2.0**-53)
    question = unit_question(LayeredPolicy(folded), (0.3, 0.7))
    network = margin_network(folded, question)
    rough, largest = (error(*question.room) for error in (network.rough_error, network.largest_error))
    assert (largest <= rough).all()
    assert (rough <= 10 * largest).all()


def test_the_rough_error_of_other_functions_is_infinite() -> None:
    folded = Program.of_layers((np.ones((2, 1)), np.eye(2)), (np.zeros(2), np.zeros(2)), ("exp",), unit=2.0**-53)
    question = unit_question(LayeredPolicy(folded), (0.0,))
    assert np.isinf(margin_network(folded, question).rough_error(*question.room)).all()
