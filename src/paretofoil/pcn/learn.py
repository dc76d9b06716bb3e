"""Supervised learning on the replay: imitate each demonstration under the command that it fulfils."""

import numpy as np
import torch

from paretofoil.pcn.network import PCNNetwork
from paretofoil.pcn.replay import Samples


class Learner:
    """A network and its optimiser."""

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
        """One update per learning rate, on samples drawn by their probabilities; returns the mean loss."""
        states = self.network.scaled("state", samples.states)
        commands = self.network.scaled("command", samples.commands)
        masks = torch.from_numpy(samples.masks)
        actions = torch.from_numpy(samples.actions)[:, None]
        cumulative = np.cumsum(probabilities)
        draws = rng.random((len(learning_rates), batch_size)) * cumulative[-1]
        batches = torch.from_numpy(np.searchsorted(cumulative, draws, side="right").clip(max=len(cumulative) - 1))
        total = 0.0
        for batch, learning_rate in zip(batches, learning_rates, strict=True):
            self.optimiser.param_groups[0]["lr"] = float(learning_rate)
            log_probs = self.network(states[batch], commands[batch], masks[batch])
            loss = -log_probs.gather(1, actions[batch]).mean()
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            total += float(loss.detach())
        return total / max(len(learning_rates), 1)

    def arrays(self) -> dict[str, np.ndarray]:
        """The weights, scalings and moments by name; `restore` is the inverse."""
        found = {f"network.{name}": value.numpy().copy() for name, value in self.network.state_dict().items()}
        for index, state in self.optimiser.state_dict()["state"].items():
            for name, value in state.items():
                found[f"optimiser.{index}.{name}"] = value.numpy().copy()
        return found

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go back to the state that `arrays` told."""
        tensors = {name: torch.from_numpy(value.copy()) for name, value in arrays.items()}
        prefix = "network."
        self.network.load_state_dict({k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)})
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("optimiser."):
                _, index, name = key.split(".")
                moments.setdefault(int(index), {})[name] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
