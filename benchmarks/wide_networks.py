"""Measure `Exact` on wide networks.

    python benchmarks/wide_networks.py [--widths 64,256,512] [--depths 2,3,4] [--forms relu,tanh,pcn] [--dims 2,3,4,6]
        [--questions 3] [--seconds 10] [--samples 0] [--norm l2] [--before CHECKOUT]

Other forms: normed (LayerNorm and GELU), lstm, gru. The networks imitate a smooth decision and are deployed as torch
float32 modules. With --before, another checkout of the repository answers the same questions in turn. Times, and the
time limit, are in CPU seconds of one thread. With --samples, random commands try to refute the proofs.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import nn

import paretofoil as pf
from paretofoil.core.command import CommandSpace, Norm
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


def make_module(form: str, dim: int, width: int, depth: int) -> nn.Module:
    kinds: dict[str, Any] = {"pcn": Pcn, "normed": Normed}
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


def ask(module: nn.Module, dim: int, count: int, seed: int, norm: Norm = "l2") -> list[Question]:
    """Return questions with random states, commands of the unit box, and foils."""
    generator = np.random.default_rng(seed)
    space = CommandSpace(np.zeros(dim), np.ones(dim))
    policy = pf.from_torch(module.eval(), np.full(STATE, 0.5), space, outputs="logits")
    questions = []
    for _ in range(count):
        state, command = generator.random(STATE).astype(np.float32), generator.random(dim)
        chosen = int(policy.log_probs(state[None], command[None])[0].argmax())
        foil = int(generator.choice([a for a in range(ACTIONS) if a != chosen]))
        what = policy, state, command, foil, tuple(range(ACTIONS)), space
        questions.append(Question(*what, np.zeros((0, dim)), 0.05, norm=norm))
    return questions


def measure(questions: list[Question], seconds: float, samples: int) -> dict[str, float]:
    """Return what the answers to questions take, and how many sampled commands refute a proof."""
    times, proofs, refuted = [], [], 0
    for question in questions:
        began = time.process_time()
        with one_thread():
            (finding,) = Exact().run(QuestionBatch([question]), Limits(seconds=seconds))
        times.append(time.process_time() - began)
        assert finding.certificate is not None
        proofs.append(finding.certificate)
        refuted += contradictions(question, finding.certificate.lower, samples)
    gaps = [1 - p.lower / p.upper if np.isfinite(p.upper) else 1.0 for p in proofs if p.status == "gap"]
    return {
        "settled": len(proofs) - len(gaps),
        "s": sum(times),
        "median s": float(np.median(times)),
        "longest s": max(times),
        "boxes": sum(proof.boxes for proof in proofs),
        "gap left": max(gaps, default=0.0),
        "refuted": refuted,
    }


def contradictions(question: Question, lower: float, samples: int) -> int:
    """Return how many sampled commands closer than the proven distance make the foil win."""
    generator, batch = np.random.default_rng(2), QuestionBatch([question])
    reach = min(lower, 1.0)
    z = generator.uniform(np.maximum(batch.low[0], -reach), np.minimum(batch.high[0], reach), (samples, batch.dim))
    z = z[batch.distances(z) < lower]
    return int((batch.margins(np.zeros(len(z), dtype=np.int64), z, "attack") >= question.kappa).sum())


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
    options = [f"--{name}={getattr(arguments, name)}" for name in ("questions", "seconds", "samples", "norm")]
    command = [sys.executable, __file__, "--child", ",".join(map(str, place)), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def child(arguments: argparse.Namespace) -> None:
    """Measure one network and print it as JSON."""
    time.perf_counter = time.process_time  # the clock of time limits, so that other processes do not matter
    form, *sizes = arguments.child.split(",")
    width, depth, dim, seed = map(int, sizes)
    torch.manual_seed(seed)
    module = make_module(form, dim, width, depth)
    imitate(module, dim, seed)
    questions = ask(module, dim, arguments.questions, seed, arguments.norm)
    found = {"boxes/s": rate(questions[0], 512), **measure(questions, arguments.seconds, arguments.samples)}
    print(json.dumps(found))


def main(arguments: argparse.Namespace) -> None:
    head = ("form", "width", "hidden layers", "d", "questions")
    what = ("settled", "s", "median s", "longest s", "boxes", "boxes/s", "gap left", "refuted")
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
            cells += [f"{found['settled']:.0f}", *(f"{found[one]:.2f}" for one in what[1:4])]
            cells += [f"{found['boxes']:,.0f}", f"{found['boxes/s']:,.0f}"]
            cells += [f"{found['gap left']:.1%}" if found["gap left"] else "–", f"{found['refuted']:.0f}"]
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
    parser.add_argument("--samples", type=int, default=0, help="commands that try to refute each proof")
    parser.add_argument("--norm", choices=get_args(Norm), default="l2", help="norm of the distance")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    child(options) if options.child else main(options)
