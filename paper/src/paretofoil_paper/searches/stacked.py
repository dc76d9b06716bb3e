"""Margin networks of many questions, evaluated together: arrays, and changes z, have a first axis of questions."""

from collections.abc import Sequence

import numpy as np

from paretofoil.proof.networks import MarginNetwork


def stack_networks(networks: Sequence[MarginNetwork], num_rivals: int) -> MarginNetwork:
    """Return one network of many questions about one policy. Missing rivals repeat the last, which changes no minimum.

    With the same number of rivals in every batch, a question's margins do not depend on the rest of the batch.
    """
    rivals = [np.minimum(np.arange(num_rivals), network.num_rivals - 1) for network in networks]

    def stacked(layers: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        *inner, last = zip(*layers, strict=True)
        return (*map(np.stack, inner), np.stack([part[keep] for part, keep in zip(last, rivals, strict=True)]))

    return MarginNetwork(
        stacked([network.weights for network in networks]),
        stacked([network.biases for network in networks]),
        networks[0].activations,
        stacked([network.pads for network in networks]),
    )


def smallest_and_slopes(network: MarginNetwork, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest margin (..., N) at changes z (..., N, d), and its derivative; cheaper than all margins."""
    margins, passed = network.forward(z)
    rival = margins.argmin(axis=-1)[..., None]
    slopes = np.take_along_axis(network.weights[-1], rival, axis=-2)
    for weight, derivative in zip(network.weights[-2::-1], network.derivatives(passed)[::-1], strict=True):
        slopes = (slopes * derivative) @ weight
    return np.take_along_axis(margins, rival, axis=-1)[..., 0], slopes
