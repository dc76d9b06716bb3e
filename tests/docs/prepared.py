"""Write the files that pages of the documentation need."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import torch
from checkpoints import morl_file, morl_network
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.agents.import_agent import as_integers
from paretofoil.web.user_study.plan import read_user_study
from paretofoil.web.user_study.replies import Replies


def write_networks(folder: Path) -> None:
    """Write an ONNX file, a PCN in the format of MORL-Baselines that imitates a shipped agent, and a front."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _export(folder / "network.onnx")
    (folder / "weights").mkdir()
    (folder / "weights" / "PCN_model.pt").write_bytes(morl_file(_imitation("deep-sea-treasure")))
    (folder / "front.txt").write_text(
        "0.7, -1, 1\n23.7, -19, 19\n"
    )  # of the map deep-sea-treasure-v0, with the horizon


class _SideBySide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        return self.layers(torch.cat([states, commands], dim=1))


def _export(file: Path) -> None:
    names = ["states", "commands"]
    rows = {name: {0: "rows"} for name in (*names, "scores")}
    with torch.random.fork_rng():
        torch.manual_seed(4)
        torch.onnx.export(
            _SideBySide(), (torch.zeros(2, 2), torch.zeros(2, 2)), str(file),
            input_names=names, output_names=["scores"], dynamic_axes=rows, dynamo=False,
        )  # fmt: skip


def _imitation(name: str) -> nn.Module:
    """Train a network of MORL-Baselines' form to act like a shipped agent under the commands of its front."""
    shipped = pf.load_agent(name)
    episodes = [pf.rollout(shipped, command) for command in shipped.front]
    numbers = as_integers(shipped.environment)[0]  # type: ignore[index]
    decisions = [(decision, len(episode) - t) for episode in episodes for t, decision in enumerate(episode)]
    states = torch.tensor(np.array([numbers @ decision.state for decision, _ in decisions])).float()
    commands = torch.tensor(np.array([[*decision.command, left] for decision, left in decisions])).float()
    actions = torch.tensor([decision.action for decision, _ in decisions])
    network = morl_network(states.shape[1], commands.shape[1], len(shipped.actions))
    optimiser = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=0.01)
    for _ in range(1000):
        loss = nn.functional.nll_loss(network(states, commands), actions)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


def write_agent(folder: Path) -> None:
    pf.save_agent(pf.load_agent("branch-path"), folder / "agents" / "my-agent")


def write_user_study(folder: Path) -> None:
    """Copy the example, and write a file without replies."""
    example = folder / "docs" / "user-study.json"
    example.parent.mkdir()
    shutil.copy(Path(__file__).parents[2] / "docs" / "user-study.json", example)
    Replies(folder / "user-study.sqlite", read_user_study(example)).close()
