"""Sobol points are those of SciPy, bit for bit."""

import numpy as np
import pytest
from scipy.stats import qmc

from paretofoil.search.boundary import sobol


@pytest.mark.parametrize(("dim", "seed"), [(2, 0), (3, 7), (12, 1), (13, 0)])
def test_points_are_those_of_scipy(dim: int, seed: int) -> None:
    expected = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(seed)).random(2048)
    draw = sobol(dim, seed)
    parts = [draw(count) for count in (64, 128, 1, 1855)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
