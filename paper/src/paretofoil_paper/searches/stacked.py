"""Margin networks of many questions, evaluated together: arrays, and changes z, have a first axis of questions."""

from collections.abc import Sequence

import numpy as np

from paretofoil.proof.networks import MarginNetwork, stack_networks


def stack_rivals(networks: Sequence[MarginNetwork], num_rivals: int) -> MarginNetwork:
    """Return one network of many questions about one policy. Missing rivals repeat the last, which changes no minimum.

    With the same number of rivals in every batch, a question's margins do not depend on the rest of the batch.
    """
    rivals = [np.minimum(np.arange(num_rivals), network.num_rivals - 1).tolist() for network in networks]
    return stack_networks([network.only(keep) for network, keep in zip(networks, rivals, strict=True)])
