"""The deployed NumPy policy against the torch network, and its promise about batches."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy, PolicyAtStates, WhiteBoxPolicy
from paretofoil.pcn.network import PCNNetwork
from paretofoil.pcn.policy import PCNPolicy

SHAPES = [(7, 3, 6, 128), (22, 2, 4, 64), (40, 6, 2, 50), (12, 4, 3, 16)]  # state, command, actions, hidden


def make_network(shape: tuple[int, int, int, int]) -> PCNNetwork:
    network = PCNNetwork(*shape, seed=1)
    network.rescale("state", np.full(shape[0], 0.3), np.linspace(0.5, 2.0, shape[0]))
    network.rescale("command", np.linspace(-1.0, 1.0, shape[1]), np.full(shape[1], 4.0))
    return network


def make_inputs(shape: tuple[int, int, int, int], num: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(num, shape[0])).astype(np.float32), 3 * rng.normal(size=(num, shape[1]))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_exported_policy_computes_what_the_trained_network_does(shape):
    network = make_network(shape)
    states, commands = make_inputs(shape, 200)
    layers = {name: (torch.tensor(weight), torch.tensor(bias)) for name, (weight, bias) in network.layers.items()}
    linear = torch.nn.functional.linear
    embedded = torch.sigmoid(linear(torch.tensor(network.scaled("state", states)), *layers["state"]))
    requested = torch.sigmoid(linear(torch.tensor(network.scaled("command", commands)), *layers["command"]))
    outputs = linear(torch.relu(linear(embedded * requested, *layers["hidden"])), *layers["output"])
    expected = torch.log_softmax(outputs, dim=1).numpy()
    np.testing.assert_allclose(network.export().log_probs(states, commands), expected, atol=1e-5)


def deep_policy(shape: tuple[int, int, int, int]) -> PCNPolicy:
    """A network as others train them: a layer more before each sigmoid and behind the hidden layer."""
    states, commands, actions, hidden = shape
    rng = np.random.default_rng(2)

    def layer(outputs: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
        weight = 3.0 * rng.normal(size=(outputs, inputs)) / np.sqrt(inputs)
        return weight.astype(np.float32), rng.normal(size=outputs).astype(np.float32)

    return PCNPolicy(
        state=(layer(50, states), layer(30, 50), layer(hidden, 30)),
        command=(layer(20, commands), layer(hidden, 20)),
        head=(layer(hidden, hidden), layer(40, hidden), layer(actions, 40)),
    )


def as_torch(policy: PCNPolicy) -> torch.nn.Module:
    """The same network, from its arrays, in double precision."""
    arrays = {name: torch.tensor(array).double() for name, array in policy.arrays().items()}

    def through(x: torch.Tensor, *names: str) -> torch.Tensor:
        for name in names:
            separator = "." if "." in name else "_"
            x = x @ arrays[f"{name}{separator}weight"].T + arrays[f"{name}{separator}bias"]
            x = torch.relu(x) if name != names[-1] else x
        return x

    def forward(states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        embedded = torch.sigmoid(through(states, "state_layers.0", "state_layers.1", "state"))
        requested = torch.sigmoid(through(commands, "command_layers.0", "command"))
        return through(embedded * requested, "hidden", "hidden_layers.0", "output").log_softmax(1)

    return forward


@pytest.mark.parametrize("shape", SHAPES)
def test_a_deep_network_computes_layer_by_layer_what_torch_does(shape):
    policy = deep_policy(shape)
    states, commands = make_inputs(shape, 200)
    expected = as_torch(policy)(torch.tensor(states).double(), torch.tensor(commands).double()).numpy()
    np.testing.assert_allclose(policy.log_probs(states, commands), expected, atol=2e-4)
    assert (policy.state_size, policy.command_size, policy.num_actions) == shape[:3]
    folded = policy.fold(states[0])
    assert folded.layers.activations == ("relu", "sigmoid", "relu", "relu")
    exact = folded.logits(commands)
    scores = as_torch(policy)(
        torch.tensor(states[:1]).double().expand(200, -1), torch.tensor(commands).double()
    ).numpy()
    np.testing.assert_allclose(exact - exact[:, :1], scores - scores[:, :1], atol=1e-10)


def test_a_deep_network_is_made_again_from_its_arrays():
    policy = deep_policy(SHAPES[0])
    again = PCNPolicy.from_arrays(policy.arrays())
    states, commands = make_inputs(SHAPES[0], 20)
    assert np.array_equal(policy.log_probs(states, commands), again.log_probs(states, commands))
    for name in ("state_layers.0.bias", "state_layers.1.weight", "hidden_layers.0.weight"):
        with pytest.raises(InvalidInput, match="arrays named"):
            PCNPolicy.from_arrays({key: array for key, array in policy.arrays().items() if key != name})
    with pytest.raises(InvalidInput, match=r"state_layers\.1\.weight of shape \(30, 50\), got \(30, 49\)"):
        PCNPolicy.from_arrays({**policy.arrays(), "state_layers.1.weight": np.ones((30, 49), dtype=np.float32)})
    with pytest.raises(InvalidInput, match=r"state_layers\.0\.weight with 2 axes, got shape \(\)"):
        PCNPolicy.from_arrays({**policy.arrays(), "state_layers.0.weight": np.array(1.0, dtype=np.float32)})


WIDE = [(22, 2, 4, 256), (22, 3, 4, 512)]


@pytest.mark.parametrize("policy", [*(make_network(s).export() for s in SHAPES), *map(deep_policy, SHAPES + WIDE)])
def test_a_row_has_the_same_bits_in_any_batch(policy):
    states, commands = make_inputs((policy.state_size, policy.command_size, policy.num_actions, 0), 3000)
    together, logits = policy.log_probs(states, commands), policy.at(states)(np.arange(3000), commands)
    rng = np.random.default_rng(1)
    for size in [*range(1, 35), 100, 1023, 2048, 2999]:
        rows = rng.permutation(3000)[:size]
        np.testing.assert_array_equal(policy.log_probs(states[rows], commands[rows]), together[rows])
        query = policy.at(states[rows])
        np.testing.assert_array_equal(query(np.arange(size)[::-1], commands[rows[::-1]]), logits[rows[::-1]])


@pytest.mark.parametrize("shape", SHAPES)
def test_folding_gives_the_same_logits(shape):
    policy = make_network(shape).export()
    states, commands = make_inputs(shape, 50)
    logits = policy.at(states)(np.zeros(50, dtype=int), commands)
    np.testing.assert_allclose(policy.fold(states[0]).logits(commands), logits, atol=1e-5)


def test_extreme_commands_give_finite_logits_and_no_warning():
    policy = make_network(SHAPES[0]).export()
    states, _ = make_inputs(SHAPES[0], 2)
    assert np.isfinite(policy.log_probs(states, np.array([[1e30, 0, 0], [-1e30, 0, 0]]))).all()


def test_it_is_all_kinds_of_policy():
    policy = make_network(SHAPES[0]).export()
    assert isinstance(policy, Policy)
    assert isinstance(policy, PolicyAtStates)
    assert isinstance(policy, WhiteBoxPolicy)


def test_weights_that_do_not_fit_are_refused():
    policy = make_network(SHAPES[0]).export()
    arrays = policy.arrays()
    with pytest.raises(InvalidInput, match="hidden_weight of shape"):
        PCNPolicy.from_arrays({**arrays, "hidden_weight": arrays["hidden_weight"][:, :-1]})
    with pytest.raises(InvalidInput, match="finite float32 numbers, got NaN or infinity"):
        PCNPolicy.from_arrays({**arrays, "output_bias": arrays["output_bias"] * np.float32(np.nan)})
    with pytest.raises(InvalidInput, match="finite float32 numbers, got float64"):
        PCNPolicy.from_arrays({**arrays, "output_bias": arrays["output_bias"].astype(np.float64)})
    with pytest.raises(InvalidInput, match="arrays named"):
        PCNPolicy.from_arrays({"state_weight": arrays["state_weight"]})
    with pytest.raises(InvalidInput, match="head with at least 2 layers, got 1"):
        replace(policy, head=policy.head[:1])
