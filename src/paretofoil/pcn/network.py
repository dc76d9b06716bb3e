"""The network while it is trained, in torch; `export` gives the NumPy policy that is deployed."""

import numpy as np
import torch
from torch import nn

from paretofoil.pcn.policy import PCNPolicy


class PCNNetwork(nn.Module):
    """The network of `PCNPolicy`, with its inputs scaled outside the trained weights.

    States and commands are scaled to about unit size: s' = (s - shift) * scale, likewise for commands, whose
    scale includes the gain. The scalings follow the replay and are folded into the weights on export.
    """

    def __init__(self, state_size: int, command_size: int, num_actions: int, hidden: int, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng():  # initial weights depend on the seed alone, and no global state is touched
            torch.manual_seed(seed)
            self.state = nn.Linear(state_size, hidden)
            self.command = nn.Linear(command_size, hidden)
            self.hidden = nn.Linear(hidden, hidden)
            self.output = nn.Linear(hidden, num_actions)
        for name, size in (("state", state_size), ("command", command_size)):
            self.register_buffer(f"{name}_shift", torch.zeros(size, dtype=torch.float64))
            self.register_buffer(f"{name}_scale", torch.ones(size, dtype=torch.float64))

    def rescale(self, name: str, shift: np.ndarray, scale: np.ndarray) -> None:
        """Set how the inputs named "state" or "command" are scaled."""
        getattr(self, f"{name}_shift").copy_(torch.from_numpy(np.asarray(shift, dtype=np.float64)))
        getattr(self, f"{name}_scale").copy_(torch.from_numpy(np.asarray(scale, dtype=np.float64)))

    def scaled(self, name: str, inputs: np.ndarray) -> torch.Tensor:
        """(N, size) -> (N, size) float32."""
        shift, scale = getattr(self, f"{name}_shift"), getattr(self, f"{name}_scale")
        return ((torch.from_numpy(np.asarray(inputs, dtype=np.float64)) - shift) * scale).float()

    def forward(self, states: torch.Tensor, commands: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Scaled states and commands, valid actions (N, A) -> (N, A) log-probabilities, -inf where invalid."""
        hidden = torch.sigmoid(self.state(states)) * torch.sigmoid(self.command(commands))
        logits = self.output(torch.relu(self.hidden(hidden)))
        return torch.log_softmax(logits.masked_fill(~masks, float("-inf")), dim=1)

    def export(self) -> PCNPolicy:
        """The deployed policy: the scalings are folded into the first layers, in float64."""

        def fold(name: str) -> tuple[np.ndarray, np.ndarray]:
            layer: nn.Linear = getattr(self, name)
            weight = layer.weight.detach().double() * getattr(self, f"{name}_scale")
            bias = layer.bias.detach().double() - weight @ getattr(self, f"{name}_shift")
            return weight.float().numpy(), bias.float().numpy()

        state_weight, state_bias = fold("state")
        command_weight, command_bias = fold("command")
        return PCNPolicy(
            state_weight=state_weight,
            state_bias=state_bias,
            command_weight=command_weight,
            command_bias=command_bias,
            hidden_weight=self.hidden.weight.detach().numpy(),
            hidden_bias=self.hidden.bias.detach().numpy(),
            output_weight=self.output.weight.detach().numpy(),
            output_bias=self.output.bias.detach().numpy(),
        )
