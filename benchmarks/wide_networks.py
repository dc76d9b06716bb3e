"""Measure `Exact` on wide networks.

    python benchmarks/wide_networks.py [--widths 64,256,512] [--depths 2,3,4] [--forms relu,tanh,pcn] [--dims 2,3,4,6]
        [--questions 3] [--seconds 10] [--before CHECKOUT]

Other forms: normed (LayerNorm and GELU), lstm, gru, transformer (a Decision Transformer with four heads). The networks
imitate a smooth decision and are deployed as torch float32 modules. With --before, another checkout of the
repository answers the same questions in turn. Times are CPU seconds of one thread.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import paretofoil as pf
from paretofoil.core.command import CommandSpace
from paretofoil.core.options import Limits
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.proof.networks import margin_network
from paretofoil.search import Exact

ACTIONS, STATE = 4, 3
BATCH, UPDATES = 512, 1500


class Pcn(nn.Module):
    """A network of the form of a PCN: a product of sigmoids of state and command, then ReLU layers."""

    def __init__(self, dim: int, width: int, depth: int) -> None:
        super().__init__()
        self.state = nn.Sequential(nn.Linear(STATE, width), nn.Sigmoid())
        self.command = nn.Sequential(nn.Linear(dim, width), nn.Sigmoid())
        hidden = [layer for _ in range(depth - 1) for layer in (nn.Linear(width, width), nn.ReLU())]
        self.head = nn.Sequential(*hidden, nn.Linear(width, ACTIONS))

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.head(self.state(states) * self.command(commands))
        return output


class Plain(nn.Module):
    """A multilayer perceptron of the concatenated state and command."""

    def __init__(self, dim: int, width: int, depth: int, activation: type[nn.Module]) -> None:
        super().__init__()
        sizes = [STATE + dim] + [width] * depth
        hidden = [layer for n, m in itertools.pairwise(sizes) for layer in (nn.Linear(n, m), activation())]
        self.body = nn.Sequential(*hidden, nn.Linear(width, ACTIONS))

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.body(torch.cat([states, commands], dim=-1))
        return output


class Normed(nn.Module):
    """Layers with LayerNorm and GELU, of the concatenated state and command."""

    def __init__(self, dim: int, width: int, depth: int) -> None:
        super().__init__()
        sizes = [STATE + dim] + [width] * depth
        hidden = [
            layer for n, m in itertools.pairwise(sizes) for layer in (nn.Linear(n, m), nn.LayerNorm(m), nn.GELU())
        ]
        self.body = nn.Sequential(*hidden, nn.Linear(width, ACTIONS))

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.body(torch.cat([states, commands], dim=-1))
        return output


class Recurrent(nn.Module):
    """An LSTM or a GRU of three steps; the last one has the command, and the others the state alone."""

    def __init__(self, kind: Any, dim: int, width: int, depth: int) -> None:
        super().__init__()
        self.first, self.dim = nn.Linear(STATE + dim, width), dim
        self.memory = kind(width, width, depth - 1, batch_first=True)
        self.last = nn.Linear(width, ACTIONS)

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        past = torch.cat([states, torch.zeros(len(states), self.dim)], dim=-1)
        steps = torch.stack([past, 0.5 * past, torch.cat([states, commands], dim=-1)], dim=1)
        output: torch.Tensor = self.last(self.memory(self.first(steps))[0][:, -1])
        return output


class DecisionTransformer(nn.Module):
    """Tokens of five past steps, then the command and the state, with causal attention and four heads."""

    def __init__(self, dim: int, width: int, depth: int) -> None:
        super().__init__()
        self.command, self.state = nn.Linear(dim, width), nn.Linear(STATE, width)
        self.place = nn.Parameter(0.1 * torch.randn(12, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, ACTIONS)

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        past = [self.state(states * share) for share in torch.linspace(0.1, 1.0, 10)]
        tokens = torch.stack([*past, self.command(commands), self.state(states)], dim=1) + self.place
        mask = nn.Transformer.generate_square_subsequent_mask(12)
        for block in self.blocks:
            tokens = block(tokens, mask, is_causal=True)
        output: torch.Tensor = self.last(self.norm(tokens[:, -1]))
        return output


def make_module(form: str, dim: int, width: int, depth: int) -> nn.Module:
    kinds: dict[str, Any] = {"pcn": Pcn, "normed": Normed, "transformer": DecisionTransformer}
    if form in kinds:
        module: nn.Module = kinds[form](dim, width, depth)
        return module
    if form in ("lstm", "gru"):
        return Recurrent({"lstm": nn.LSTM, "gru": nn.GRU}[form], dim, width, depth)
    return Plain(dim, width, depth, {"relu": nn.ReLU, "tanh": nn.Tanh}[form])


def imitate(module: nn.Module, dim: int, seed: int) -> None:
    """Train a module to imitate the decisions of a random smooth function."""
    torch.manual_seed(seed)
    waves, shift, weight = torch.randn(STATE + dim, 24) * 1.5, torch.rand(24) * 6.3, torch.randn(24, ACTIONS)
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    for _ in range(UPDATES):
        states, commands = torch.rand(BATCH, STATE), torch.rand(BATCH, dim)
        wanted = (torch.sin(torch.cat([states, commands], dim=1) @ waves + shift) @ weight).argmax(dim=1)
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(states, commands), wanted).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def ask(module: nn.Module, dim: int, count: int, seed: int) -> list[Question]:
    """Return questions with random states, commands of the unit box, and foils."""
    generator = np.random.default_rng(seed)
    space = CommandSpace(np.zeros(dim), np.ones(dim))
    policy = pf.from_torch(module.eval(), np.full(STATE, 0.5), space, outputs="logits")
    questions = []
    for _ in range(count):
        state, command = generator.random(STATE).astype(np.float32), generator.random(dim)
        chosen = int(policy.log_probs(state[None], command[None])[0].argmax())
        foil = int(generator.choice([a for a in range(ACTIONS) if a != chosen]))
        questions.append(Question(policy, state, command, foil, tuple(range(ACTIONS)), space, np.zeros((0, dim)), 0.05))
    return questions


def measure(questions: list[Question], seconds: float) -> np.ndarray:
    """Return [decided, CPU seconds, boxes, largest remaining gap as a share of the distance]."""
    began, resolved, boxes, left = time.process_time(), 0, 0, 0.0
    for question in questions:
        with one_thread():
            (finding,) = Exact().run(QuestionBatch([question]), Limits(seconds=seconds))
        proof = finding.certificate
        assert proof is not None
        resolved += proof.status != "gap"
        boxes += proof.boxes
        if proof.status == "gap":
            left = max(left, 1 - proof.lower / proof.upper if np.isfinite(proof.upper) else 1.0)
    return np.array([resolved, time.process_time() - began, boxes, left])


def rate(question: Question, count: int) -> float:
    """Return how many boxes of a tenth of the search region's width are bounded per CPU second."""
    folded = question.policy.fold(question.state)  # type: ignore[attr-defined]
    network = margin_network(folded, question)
    low, high = ((side - question.command) / question.space.scale for side in (question.low, question.high))
    corner = low + 0.9 * np.random.default_rng(0).random((count, low.size)) * (high - low)
    with one_thread():
        began = time.process_time()
        network.upper_bounds(corner, corner + 0.1 * (high - low))
        return count / (time.process_time() - began)


def run(arguments: argparse.Namespace, checkout: Path, *place: str | int) -> dict[str, float]:
    """Return what a process that imports a checkout measures of one network."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    options = ["--questions", str(arguments.questions), "--seconds", str(arguments.seconds)]
    command = [sys.executable, __file__, "--child", ",".join(map(str, place)), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def child(arguments: argparse.Namespace) -> None:
    """Measure one network and print it as JSON."""
    form, *sizes = arguments.child.split(",")
    width, depth, dim, seed = map(int, sizes)
    torch.manual_seed(seed)
    module = make_module(form, dim, width, depth)
    imitate(module, dim, seed)
    questions = ask(module, dim, arguments.questions, seed)
    speed = rate(questions[0], 2048)
    resolved, seconds, boxes, left = measure(questions, arguments.seconds)
    print(json.dumps({"resolved": resolved, "s": seconds, "boxes": boxes, "boxes/s": speed, "gap left": left}))


def main(arguments: argparse.Namespace) -> None:
    head, what = ("form", "width", "hidden layers", "d", "questions"), ("resolved", "s", "boxes", "boxes/s", "gap left")
    checkouts = {"after": Path(__file__).parents[1]}
    if arguments.before:
        checkouts = {"before": arguments.before, **checkouts}
    columns = [f"{when}: {one}" for when in checkouts for one in what]
    print(f"| {' | '.join((*head, *columns))} |\n|---|" + "---:|" * (len(head) + len(columns) - 1))
    runs = itertools.product(arguments.forms, arguments.widths, arguments.depths, arguments.dims)
    for number, (form, width, depth, dim) in enumerate(runs):
        cells = []
        for checkout in checkouts.values():
            found = run(arguments, checkout, form, width, depth, dim, number)
            cells += [f"{found['resolved']:.0f}", f"{found['s']:.2f}", f"{found['boxes']:,.0f}"]
            cells += [f"{found['boxes/s']:,.0f}", f"{found['gap left']:.1%}" if found["gap left"] else "–"]
        print("| " + " | ".join([form, *map(str, (width, depth, dim, arguments.questions)), *cells]) + " |", flush=True)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="folder of another checkout, measured beside this one")
    parser.add_argument("--widths", type=numbers, default=[64, 256, 512])
    parser.add_argument("--depths", type=numbers, default=[2, 3, 4])
    parser.add_argument("--forms", type=lambda text: text.split(","), default=["relu", "tanh", "pcn"])
    parser.add_argument("--dims", type=numbers, default=[2, 3, 4, 6])
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit per question")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    child(options) if options.child else main(options)
