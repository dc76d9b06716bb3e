"""Training of the network in torch; `PCNNetwork.export` returns the NumPy policy that is deployed."""

from typing import Any

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.pcn.policy import PCN, Layer, PCNActor, PCNPolicy
from paretofoil.pcn.replay import Samples

try:
    import torch
    from torch import nn
except ImportError:
    raise InvalidInput.missing("torch", "torch") from None


class PCNNetwork(nn.Module):
    """The network of `PCNPolicy` with scaled inputs: s' = (s - shift) * scale, and likewise for commands.

    The scalings follow the replay. `export` folds them into the weights. The outputs for continuous actions are scaled,
    too: -1 is the lowest amount and 1 the highest.
    """

    def __init__(
        self,
        state_size: int,
        command_size: int,
        num_actions: int,
        hidden: int,
        seed: int,
        action_space: ActionSpace | None = None,
    ) -> None:
        super().__init__()
        self.action_space = action_space
        with (
            torch.random.fork_rng()
        ):  # the initial weights depend only on the seed, and the global generator is not changed
            torch.manual_seed(seed)
            self.state = nn.Linear(state_size, hidden)
            self.command = nn.Linear(command_size, hidden)
            self.hidden = nn.Linear(hidden, hidden)
            self.output = nn.Linear(hidden, num_actions)
        for name, size in (("state", state_size), ("command", command_size)):
            self.register_buffer(f"{name}_shift", torch.zeros(size, dtype=torch.float64))
            self.register_buffer(f"{name}_scale", torch.ones(size, dtype=torch.float64))

    def rescale(self, name: str, shift: np.ndarray, scale: np.ndarray) -> None:
        """Set the scaling of the input "state" or "command"."""
        getattr(self, f"{name}_shift").copy_(torch.from_numpy(np.asarray(shift, dtype=np.float64)))
        getattr(self, f"{name}_scale").copy_(torch.from_numpy(np.asarray(scale, dtype=np.float64)))

    def scaled(self, name: str, inputs: np.ndarray) -> torch.Tensor:
        """Return the scaled inputs (N, size), in float32."""
        shift, scale = getattr(self, f"{name}_shift"), getattr(self, f"{name}_scale")
        return ((torch.from_numpy(np.asarray(inputs, dtype=np.float64)) - shift) * scale).float()

    def forward(self, states: torch.Tensor, commands: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities (N, A) for scaled states and commands; -inf for invalid actions.

        For continuous actions, return the scaled amounts (N, dimensions).
        """
        hidden = torch.sigmoid(self.state(states)) * torch.sigmoid(self.command(commands))
        outputs: torch.Tensor = self.output(torch.relu(self.hidden(hidden)))
        if self.action_space is not None:
            return outputs
        return torch.log_softmax(outputs.masked_fill(~masks, float("-inf")), dim=1)

    def loss(self, outputs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of actions (N,): their negative log-likelihood, or the squared error of amounts."""
        if self.action_space is None:
            return -outputs.gather(1, actions[:, None]).mean()
        low, high = (torch.tensor(side) for side in (self.action_space.low, self.action_space.high))
        return nn.functional.mse_loss(outputs, ((2 * actions - low - high) / (high - low)).float())

    def export(self) -> PCN:
        """Return the policy to deploy; the scalings are folded into the first layers, in float64."""

        def fold(name: str) -> Layer:
            layer: nn.Linear = getattr(self, name)
            weight = layer.weight.detach().double() * getattr(self, f"{name}_scale")
            bias = layer.bias.detach().double() - weight @ getattr(self, f"{name}_shift")
            return weight.float().numpy(), bias.float().numpy()

        hidden, (weight, bias) = (
            (layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in (self.hidden, self.output)
        )
        space = self.action_space
        if space is not None:
            half, middle = (space.high - space.low) / 2, (space.high + space.low) / 2
            weight, bias = (half[:, None] * weight).astype(np.float32), (half * bias + middle).astype(np.float32)
        network = PCNPolicy(state=(fold("state"),), command=(fold("command"),), head=(hidden, (weight, bias)))
        return network if space is None else PCNActor(network, space)


class Learner:
    """A network and its optimiser: supervised learning of the actions of the replay."""

    def __init__(self, network: PCNNetwork) -> None:
        self.network = network
        self.optimiser = torch.optim.Adam(network.parameters(), fused=True)

    def fit(
        self,
        samples: Samples,
        probabilities: np.ndarray,
        batch_size: int,
        learning_rates: np.ndarray,
        rng: np.random.Generator,
    ) -> float:
        """Make one update per learning rate on samples drawn by their probabilities; return the mean loss."""
        states = self.network.scaled("state", samples.states)
        commands = self.network.scaled("command", samples.commands)
        masks = torch.from_numpy(samples.masks)
        actions = torch.from_numpy(samples.actions)
        cumulative = np.cumsum(probabilities)
        draws = rng.random((len(learning_rates), batch_size)) * cumulative[-1]
        batches = torch.from_numpy(np.searchsorted(cumulative, draws, side="right").clip(max=len(cumulative) - 1))
        total = 0.0
        for batch, learning_rate in zip(batches, learning_rates, strict=True):
            self.optimiser.param_groups[0]["lr"] = float(learning_rate)
            loss: Any = self.network.loss(self.network(states[batch], commands[batch], masks[batch]), actions[batch])
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            total += float(loss.detach())
        return total / max(len(learning_rates), 1)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights, scalings and Adam moments by name; `restore` is the inverse."""
        arrays = {f"network.{name}": value.numpy().copy() for name, value in self.network.state_dict().items()}
        for index, state in self.optimiser.state_dict()["state"].items():
            for name, value in state.items():
                arrays[f"optimiser.{index}.{name}"] = value.numpy().copy()
        return arrays

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Set the state to the result of `arrays`."""
        tensors = {name: torch.from_numpy(value.copy()) for name, value in arrays.items()}
        prefix = "network."
        self.network.load_state_dict({k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)})
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("optimiser."):
                _, index, name = key.split(".")
                moments.setdefault(int(index), {})[name] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
