"""Checkpoints of other libraries: torch modules of their classes, saved whole by `torch.save`."""

import io
import pickle
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

AUTHORS, AUTHORS_HORIZON = "pcn.env_setup", "pcn.env_setup_horizon"
MORL = "morl_baselines.multi_policy.pcn.pcn"


class Network(nn.Module):
    """A PCN with any number of layers before each sigmoid and after their product."""

    def __init__(self, states: int, commands: int, actions: int, *, deep: int, hidden: int = 24, more: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.s_emb = nn.Sequential(*_layers(states, hidden, hidden, deep), nn.Sigmoid())
            self.c_emb = nn.Sequential(*_layers(commands, hidden, hidden, deep), nn.Sigmoid())
            self.fc = nn.Sequential(*_layers(hidden, hidden, actions, 2 + more), nn.LogSoftmax(dim=1))
        self.scaling_factor: Any = torch.linspace(0.1, 0.3, commands)[None]

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        return self.fc(self.s_emb(states) * self.c_emb(commands * self.scaling_factor))


def _layers(inputs: int, hidden: int, outputs: int, count: int) -> Iterator[nn.Module]:
    for i in range(count):
        if i > 0:
            yield nn.ReLU()
        layer = nn.Linear(hidden if i > 0 else inputs, outputs if i == count - 1 else hidden)
        layer.weight.data *= 3.0  # so that commands matter
        yield layer


def authors_network(states: int, commands: int, actions: int, **options: Any) -> Network:
    return Network(states, commands, actions, **{"deep": 2, **options})


def morl_network(states: int, commands: int, actions: int) -> Network:
    """Return a network as in MORL-Baselines: one layer before each sigmoid, scaling factors as a parameter."""
    network = Network(states, commands, actions, deep=1)
    network.scaling_factor = nn.Parameter(network.scaling_factor[0], requires_grad=False)
    return network


def continuous_network(states: int, commands: int, actions: int) -> Network:
    """Return a network as in MORL-Baselines for continuous actions: the outputs are the amounts."""
    network = morl_network(states, commands, actions)
    network.fc = network.fc[:-1]
    return network


def save_as(network: nn.Module, module: str, name: str) -> bytes:
    """Return what `torch.save` writes for a network whose class has this name."""
    kind = type(name, (type(network),), {"__module__": module})
    network.__class__ = kind
    written = io.BytesIO()
    with _importable(module, kind):
        torch.save(network, written)
    return written.getvalue()


@contextmanager
def _importable(module: str, kind: type) -> Iterator[None]:
    """Register a class under the module in which pickle looks it up."""
    parts = module.split(".")
    names = [".".join(parts[: i + 1]) for i in range(len(parts))]
    added = [name for name in names if name not in sys.modules]
    for name in added:
        sys.modules[name] = ModuleType(name)
    setattr(sys.modules[module], kind.__name__, kind)
    try:
        yield
    finally:
        for name in added:
            del sys.modules[name]


def authors_file(network: nn.Module, name: str = "DiscreteCommandModel", horizon: bool = False) -> bytes:
    return save_as(network, AUTHORS_HORIZON if horizon else AUTHORS, f"Horizon{name}" if horizon else name)


def morl_file(network: nn.Module) -> bytes:
    return save_as(network, MORL, "DiscreteActionsDefaultModel")


def rewritten(data: bytes, change: Callable[[str, bytes], bytes | None], compress: int = zipfile.ZIP_STORED) -> bytes:
    """Return the archive with files replaced, or removed for None, and with valid checksums."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w", compress) as new:
        for name in old.namelist():
            content = change(name.partition("/")[2], old.read(name))
            if content is not None:
                new.writestr(name, content)
    return written.getvalue()


def with_pickle(data: bytes, payload: bytes) -> bytes:
    """Return the archive with another pickle."""
    return rewritten(data, lambda name, content: payload if name == "data.pkl" else content)


def pickle_that_calls(function: Callable[..., Any], *arguments: Any, protocol: int = 2) -> bytes:
    """Return a pickle that calls a function when it is loaded."""

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return function, arguments

    return pickle.dumps(Trap(), protocol=protocol)


def ask_network(network: nn.Module, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return network(torch.tensor(states).float(), torch.tensor(commands).float()).double().numpy()


VALID = authors_file(authors_network(121, 2, 4))
"""A valid checkpoint for Deep Sea Treasure."""
