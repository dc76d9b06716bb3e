"""Upside-down RL: a network of states, desired returns and desired horizons is explained, with a proof."""

import numpy as np
import pytest
import torch
from pages import block_that_begins
from torch import Tensor, nn

import paretofoil as pf

STATE = [0.5, 0.2]


class Earner(nn.Module):
    """Earn a little at once, earn much in two steps, or rest."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(4, 32), nn.Linear(32, 3)

    def forward(self, states: Tensor, returns: Tensor, horizons: Tensor) -> Tensor:
        return self.output(torch.tanh(self.hidden(torch.cat([states, returns / 10, horizons / 20], dim=1))))


@pytest.fixture(scope="module")
def behaviour() -> Earner:
    """Trained to repeat what random episodes did, given what they returned and how long they took."""
    rng = np.random.default_rng(0)
    horizons = rng.integers(1, 21, size=2000)
    busy = rng.random(2000)
    actions = np.where(rng.random(2000) < busy, np.where(rng.random(2000) < 0.5, 0, 1), 2)
    returns = np.minimum(10, horizons * busy * np.where(actions == 1, 1.0, 0.5))
    inputs = torch.tensor(np.column_stack([returns, horizons])).float()
    torch.manual_seed(0)
    network = Earner()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    states = torch.tensor(STATE).expand(2000, 2)
    for _ in range(300):
        loss = nn.functional.cross_entropy(network(states, inputs[:, :1], inputs[:, 1:]), torch.tensor(actions))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


@pytest.mark.long
def test_a_trained_behaviour_function_is_explained_with_a_proof(behaviour: Earner) -> None:
    lines = block_that_begins("docs/explain-your-own-agent.md", "class Behaviour(nn.Module)").text
    names = {"behaviour": behaviour, "pf": pf, "nn": nn, "s": STATE}
    exec(lines.rpartition("print(")[0], names)
    policy, command = names["policy"], [8.0, 10.0]
    answer = pf.explain(policy, state=STATE, command=command, foil=2)
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert answer.command is not None
    assert answer.command[0] < 8.0 or answer.command[1] > 10.0, "rest needs less to earn, or more time"
    asked, found = (torch.tensor([[*STATE, *numbers]]).float() for numbers in (command, answer.command))
    assert behaviour(asked[:, :2], asked[:, 2:3], asked[:, 3:]).argmax() != 2
    assert behaviour(found[:, :2], found[:, 2:3], found[:, 3:]).argmax() == 2
