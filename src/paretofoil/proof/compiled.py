"""Proofs compiled by numba (extra `[fast]`), for networks that are chains of layers.

The compiled form is used after `enable()`, or if the environment variable PARETOFOIL_COMPILED is 1. It is not the
default, because importing numba takes longer than an explanation. The last digits of closest commands may differ
between the compiled form and the NumPy form.
"""

import importlib.util
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.proof.networks import MarginNetwork, OddsNetwork

if TYPE_CHECKING:
    from paretofoil.proof.kernels import Chain

MAX_UNITS = 128
"""Wider networks are bounded in NumPy, whose matrix products are faster for these."""

kernels: Any = None
"""The compiled functions, once they are enabled."""


def enable(wanted: bool = True) -> bool:
    """Use the compiled form in this process from now on, or the NumPy form; return whether the compiled form is used.

    The first proofs on a machine compile for about a minute, and store the result.
    """
    global kernels
    kernels = None
    if wanted and importlib.util.find_spec("numba") is not None:
        from paretofoil.proof import kernels as loaded

        kernels = loaded
    return kernels is not None


def chain_of(network: MarginNetwork | OddsNetwork) -> "Chain | None":
    """Return a network as numbers for the compiled functions; None if they are not enabled, or do not cover it."""
    if kernels is None or network.rounding is not None or network.layers is None:
        return None
    weights, biases, activations, pads = network.layers
    sizes = [weights[0].shape[-1], *map(len, biases)]
    if max(sizes) > MAX_UNITS or not all(kind in kernels.KINDS for kind in activations):
        return None
    kinds = np.array([kernels.KINDS[kind] for kind in activations], dtype=np.int64)
    parts: list[np.ndarray] = []
    for weight, bias, pad in zip(weights, biases, pads, strict=True):
        parts += [weight.ravel(), np.abs(weight).ravel(), bias, pad]
    return np.array(sizes, dtype=np.int64), kinds, np.concatenate(parts)


if os.environ.get("PARETOFOIL_COMPILED") == "1":
    enable()
