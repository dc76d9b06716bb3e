"""The gradient and the updates of the training in NumPy against torch's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from paretofoil.core.amounts import ActionSpace
from paretofoil.pcn.network import Learner, PCNNetwork
from paretofoil.pcn.replay import Samples

SIZES = (22, 2, 4, 64)  # state, command, actions, hidden
AMOUNTS = ActionSpace(list("abcd"), [""] * 4, np.array([0.0, -1.0, 2.0, 0.0]), np.array([10.0, 1.0, 3.0, 1.0]))


class TorchNetwork(nn.Module):
    """The same network in torch."""

    def __init__(self, amounts: bool, seed: int = 3) -> None:
        super().__init__()
        self.amounts = amounts
        states, commands, actions, hidden = SIZES
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.state, self.command = nn.Linear(states, hidden), nn.Linear(commands, hidden)
            self.hidden, self.output = nn.Linear(hidden, hidden), nn.Linear(hidden, actions)

    def loss(self, states: np.ndarray, commands: np.ndarray, masks: np.ndarray, targets: np.ndarray) -> Any:
        inputs = torch.from_numpy(states), torch.from_numpy(commands)
        product = torch.sigmoid(self.state(inputs[0])) * torch.sigmoid(self.command(inputs[1]))
        outputs = self.output(torch.relu(self.hidden(product)))
        if self.amounts:
            return nn.functional.mse_loss(outputs, torch.from_numpy(targets))
        outputs = outputs.masked_fill(~torch.from_numpy(masks), -torch.inf)
        return nn.functional.cross_entropy(outputs, torch.from_numpy(targets))

    def vector(self, gradients: bool = False) -> np.ndarray:
        return torch.cat([(p.grad if gradients else p).flatten() for p in self.parameters()]).detach().numpy()


@dataclass(frozen=True)
class Batch:
    samples: Any
    targets: np.ndarray  # actions, or scaled amounts

    @property
    def inputs(self) -> tuple[np.ndarray, ...]:
        return self.samples.states, self.samples.commands.astype(np.float32), self.samples.masks, self.targets


def make_batch(amounts: bool, count: int = 300) -> Batch:
    rng = np.random.default_rng(0)
    states, commands = rng.normal(size=(count, SIZES[0])).astype(np.float32), 3 * rng.normal(size=(count, SIZES[1]))
    masks, actions = rng.random((count, SIZES[2])) < 0.6, rng.integers(SIZES[2], size=count)
    masks[np.arange(count), actions] = True
    targets = actions
    if amounts:
        actions = AMOUNTS.low + rng.random((count, SIZES[2])) * (AMOUNTS.high - AMOUNTS.low)
        middle, half = (AMOUNTS.high + AMOUNTS.low) / 2, (AMOUNTS.high - AMOUNTS.low) / 2
        targets = ((actions - middle) / half).astype(np.float32)
    return Batch(Samples(states, masks, commands, actions, np.zeros(count, dtype=int)), targets)


def make_networks(amounts: bool) -> tuple[PCNNetwork, TorchNetwork]:
    return PCNNetwork(*SIZES, seed=3, action_space=AMOUNTS if amounts else None), TorchNetwork(amounts)


@pytest.mark.parametrize("seed", [0, 1, 2**31 + 5, 2**40 + 3])
def test_a_seed_gives_the_initial_weights_of_torch(seed: int) -> None:
    np.testing.assert_array_equal(PCNNetwork(*SIZES, seed).vector, TorchNetwork(False, seed).vector())


@pytest.mark.parametrize("amounts", [False, True])
def test_the_gradient_is_that_of_torch_to_rounding(amounts: bool) -> None:
    (ours, theirs), batch = make_networks(amounts), make_batch(amounts)
    gradient = np.empty_like(ours.vector)
    loss = ours.gradient(*batch.inputs, gradient)  # type: ignore[call-arg]
    expected = theirs.loss(*batch.inputs)  # type: ignore[call-arg]
    expected.backward()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-6)
    largest = np.abs(theirs.vector(gradients=True)).max()
    np.testing.assert_allclose(gradient, theirs.vector(gradients=True), rtol=1e-4, atol=1e-6 * largest)


@pytest.mark.parametrize("amounts", [False, True])
def test_updates_are_those_of_torch_to_rounding(amounts: bool) -> None:
    (ours, theirs), batch = make_networks(amounts), make_batch(amounts)
    learner, optimiser = Learner(ours), torch.optim.Adam(theirs.parameters())
    count, rates = len(batch.targets), np.linspace(3e-3, 1e-3, 20)
    loss = learner.fit(batch.samples, np.full(count, 1 / count), 64, rates, np.random.default_rng(5))
    losses, draws = [], np.random.default_rng(5).random((len(rates), 64))
    for rate, rows in zip(rates, (draws * count).astype(int), strict=True):
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        step = theirs.loss(*(part[rows] for part in batch.inputs))  # type: ignore[call-arg]
        step.backward()
        optimiser.step()
        losses.append(float(step.detach()))
    assert loss == pytest.approx(np.mean(losses), rel=1e-5)
    np.testing.assert_allclose(ours.vector, theirs.vector(), atol=2e-5)  # the updates are up to 0.05


def test_a_learner_continues_from_the_arrays_of_torch() -> None:
    """Earlier versions trained in torch: their checkpoints hold its optimiser."""
    batch, (ours, theirs) = make_batch(False), make_networks(False)
    optimiser = torch.optim.Adam(theirs.parameters())
    for _ in range(3):
        optimiser.zero_grad()
        theirs.loss(*batch.inputs).backward()  # type: ignore[call-arg]
        optimiser.step()
    arrays = {f"network.{name}": value.detach().numpy() for name, value in theirs.named_parameters()}
    for name, size in (("state", SIZES[0]), ("command", SIZES[1])):
        arrays |= {f"network.{name}_shift": np.zeros(size), f"network.{name}_scale": np.ones(size)}
    for number, moments in optimiser.state_dict()["state"].items():
        arrays |= {f"optimiser.{number}.{name}": np.atleast_1d(value.numpy()) for name, value in moments.items()}
    learner = Learner(ours)
    learner.restore(arrays)
    assert arrays.keys() == learner.arrays().keys()
    gradient = np.empty_like(ours.vector)
    ours.gradient(*batch.inputs, gradient)  # type: ignore[call-arg]
    learner.update(gradient, 1e-3)
    optimiser.zero_grad()
    theirs.loss(*batch.inputs).backward()  # type: ignore[call-arg]
    optimiser.step()
    np.testing.assert_allclose(ours.vector, theirs.vector(), atol=1e-6)
