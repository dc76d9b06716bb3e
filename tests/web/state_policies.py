"""Policies of one's own with free features of the state, as `paretofoil serve state_policies:balancer` takes them."""

import numpy as np
import torch
from torch import nn

import paretofoil as pf

EXAMPLE = [0.1, 0.2, 0.03, 0.1]
ANGLE, VELOCITY = pf.Feature("pole angle", 2, -0.2, 0.2, "rad"), pf.Feature("pole velocity", 3, -2, 2, "rad/s")

_network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
with torch.no_grad():
    generator = torch.Generator().manual_seed(0)
    for weights in _network.parameters():
        weights.copy_(torch.randn(weights.shape, generator=generator))
    _network[0].weight[:, 2] += 6 * _network[2].weight[1]  # leaning to the right, it pushes right
    _network[2].bias.zero_()

balancer = pf.from_torch(_network, EXAMPLE, free=[ANGLE, VELOCITY])


def table() -> object:
    """A black box of one whole number: action 1 in cell 7 only."""
    cell = pf.Feature("cell", 0, 2, 9, whole=True)
    return pf.from_function(
        lambda states: np.where(states[:, :1] == 7, [[-1.0, 0.0]], [[0.0, -1.0]]), [2.0], free=[cell]
    )


_linear = nn.Linear(6, 2)
with torch.no_grad():
    _linear.weight.copy_(torch.tensor([[0.0, 0, 2, 0, 1, 0], [0.0, 0, 0, 0, 0, 0.2]]))
    _linear.bias.zero_()

commanded = pf.from_torch(
    _linear,
    EXAMPLE,
    pf.CommandSpace([0, -10], [1, 0], ["speed", pf.Objective("time", "steps", cost=True)]),
    inputs="concatenated",
    free=[ANGLE],
)
"""Action 0 if 2 angle + speed > -0.2 steps: with a command and a free feature."""
