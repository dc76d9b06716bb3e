"""Try to refute proofs about networks whose rounding errors are hard to bound, and print a table by kind of network.

python benchmarks/attack_proofs.py [--answers 2500] [--commands 20000] [--seed 0] [--kinds clamp half ...] [--rows FILE]

Answer number n has the seed n. With --rows, the row of each answer is appended to a file of JSON lines. Answers that
are in this file are not repeated, so that you can continue a long run. Only white-box policies are attacked: if
rounding makes a module a black box, another module of its kind takes its place.

For each proof, the deployed module is evaluated at commands that the proof excludes. They lie anywhere in the search
region, in its corners, near the lower bound, near the closest command, and next to the numbers of coarse formats such
as float16. A command that makes the foil win by kappa refutes the proof. The exit code is 1 if a proof was refuted.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from rich.progress import track
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.core.policy import Policy, WhiteBoxPolicy
from paretofoil.core.question import QuestionBatch

SECONDS = 1.0
"""Time limit per question."""
NEAR, FAR = (-5.0, -1.0), (-1.5, 0.0)
"""Powers of 10: at which share of the way from where the choice changes a command lies. Where numbers are coarse,
nothing is proven about commands that are near."""
Powers = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Case:
    """A policy, a state, a command and a foil."""

    policy: Policy
    state: np.ndarray
    command: np.ndarray
    foil: int


class Clamped(nn.Module):
    """A network with a unit whose lower limit, which the state sets, exceeds its upper limit.

    torch returns the upper limit then, whatever the unit is. Action 1 wins in a small corner of the region alone.
    """

    def __init__(self, corner: np.ndarray, inwards: np.ndarray, share: float, limit: float) -> None:
        super().__init__()
        weight = torch.tensor(1.0 / inwards, dtype=torch.float32)
        self.way = nn.Linear(len(corner), 1)  # 0 in the corner, 1 at the far end of each objective
        with torch.no_grad():
            self.way.weight[0] = weight
            self.way.bias[0] = -(weight @ torch.tensor(corner, dtype=torch.float32))
        self.share, self.limit = share, limit

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        way = self.way(commands) / self.share
        lower, upper = states[:, :1] ** 2 * self.limit, -(states[:, :1] ** 2)
        unit = torch.clamp(way - 1.0, lower, upper)
        wins = 4.0 * torch.relu(1.0 - way) - 1.0 - 3.0 * (unit - upper)
        return torch.cat([0.0 * wins, wins, 0.0 * wins - 1.0], dim=1)


class Steep(nn.Module):
    """Tanh units that are saturated nearly everywhere, so that a margin jumps where a unit changes its sign."""

    def __init__(self, rng: np.random.Generator, low: np.ndarray, high: np.ndarray, gain: float, state: Tensor) -> None:
        super().__init__()
        units, dim = int(rng.integers(1, 9)), len(low)
        self.first, self.last = nn.Linear(len(state) + dim, units), nn.Linear(units, 3)
        weight = rng.normal(size=(units, dim)) * gain / (high - low)
        through = rng.uniform(low, high, size=(units, dim))  # a command at which each unit is 0
        with torch.no_grad():
            self.first.weight[:, : len(state)] = torch.tensor(rng.normal(size=(units, len(state))) * gain)
            self.first.weight[:, len(state) :] = torch.tensor(weight)
            self.first.bias[:] = -(self.first.weight[:, : len(state)].double() @ state.double())
            self.first.bias.sub_(torch.tensor((weight * through).sum(axis=1)))
            self.last.weight[:] = torch.tensor(rng.integers(-4, 5, size=(3, units)))  # exact in every number format
            self.last.bias[:] = torch.tensor(rng.integers(-2, 3, size=3))

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        return self.last(torch.tanh(self.first(torch.cat([states, commands], dim=1))))


class Dense(nn.Module):
    """Linear layers of the state and the command side by side, with an activation between them."""

    def __init__(self, sizes: Sequence[int], activation: nn.Module, gain: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layer = nn.Linear(inputs, outputs)
            layer.weight.data *= gain
            layers += [layer, activation]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        return self.layers(torch.cat([states, commands], dim=1))


class Normed(nn.Module):
    """A layer that normalises units of any mean and size, of state and command or of the command alone."""

    def __init__(self, rng: np.random.Generator, dim: int) -> None:
        super().__init__()
        width = 4 * int(rng.integers(2, 9))
        norms = nn.LayerNorm(width), nn.GroupNorm(4, width), nn.RMSNorm(width)
        self.first, self.norm = nn.Linear(2 + dim, width), norms[int(rng.integers(3))]
        self.first.weight.data *= 10.0 ** rng.uniform(-4, 2)
        self.first.bias.data += rng.choice([0.0, 1.0, 100.0])
        self.middle, self.last = nn.Linear(width, width), nn.Linear(width, 3)
        self.last.weight.data *= rng.choice([1.0, 10.0])

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        x = self.norm(self.first(torch.cat([states, commands], dim=1)))
        return self.last(nn.functional.gelu(self.middle(x)))


class Attending(nn.Module):
    """A block of a transformer that reads two tokens of the state and one of the command."""

    def __init__(self, rng: np.random.Generator, dim: int) -> None:
        super().__init__()
        width = 4 * int(rng.integers(1, 5))
        self.state, self.command, self.last = nn.Linear(2, width), nn.Linear(dim, width), nn.Linear(width, 3)
        self.block = nn.TransformerEncoderLayer(
            width, 2, 2 * width, 0.0, "gelu", batch_first=True, norm_first=bool(rng.integers(2))
        )
        self.command.weight.data *= 10.0 ** rng.uniform(-1, 1)

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        tokens = torch.stack([self.state(states), self.state(2.0 * states), self.command(commands)], dim=1)
        return self.last(self.block(tokens)[:, -1])


def norm_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Layers that normalise, in float32 and float64."""
    dim = int(rng.integers(1, 4))
    dtype = (torch.float32, torch.float64)[int(rng.integers(2))]
    module = Normed(rng, dim).to(dtype)
    return _case(module, rng, *_region(rng, dim), rng.normal(size=2), near=10.0 ** rng.uniform(*powers))


def attention_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Attention, in float32 and float64."""
    dim = int(rng.integers(1, 3))
    dtype = (torch.float32, torch.float64)[int(rng.integers(2))]
    module = Attending(rng, dim).to(dtype)
    return _case(module, rng, *_region(rng, dim), rng.normal(size=2), near=10.0 ** rng.uniform(*powers))


def clamp_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Clamps whose lower limit exceeds the upper one."""
    low, high = _region(rng, int(rng.integers(1, 4)))
    lower = rng.random(len(low)) < 0.5
    corner, inwards = np.where(lower, low, high), np.where(lower, high - low, low - high)
    module = Clamped(corner, inwards, share=10.0 ** rng.uniform(-3, -1), limit=float(rng.choice([-2.0, 0.0, 1.0])))
    return _case(module, rng, low, high, rng.normal(size=2), foil=1)


def half_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Saturated tanh layers in float16 or bfloat16."""
    low, high = _region(rng, int(rng.integers(1, 4)))
    state = torch.tensor(rng.normal(size=2))
    module = Steep(rng, low, high, 10.0 ** rng.uniform(0, 4), state)
    dtype = (torch.float16, torch.bfloat16)[int(rng.integers(2))]
    return _case(module.to(dtype), rng, low, high, state.numpy(), near=10.0 ** rng.uniform(*powers))


def large_state_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Terms of the state and of the bias, in float32, that are far larger than those of the command."""
    low, high = _region(rng, int(rng.integers(1, 4)))
    state = torch.tensor(rng.normal(size=2) * 10.0 ** rng.uniform(3, 8), dtype=torch.float32)
    module = Steep(rng, low, high, 10.0 ** rng.uniform(0, 3), state)
    return _case(module, rng, low, high, state.numpy(), near=10.0 ** rng.uniform(*powers))


def saturated_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Steep networks in float32 and float64, with a command close to where the choice changes."""
    dim = int(rng.integers(1, 5))
    sizes = [2 + dim, *[int(rng.integers(4, 33))] * int(rng.integers(1, 3)), 3]
    module = Dense(sizes, _activation(rng), gain=float(rng.choice([3.0, 10.0, 30.0])))
    dtype = (torch.float32, torch.float64)[int(rng.integers(2))]
    return _case(module.to(dtype), rng, *_region(rng, dim), rng.normal(size=2), near=10.0 ** rng.uniform(*powers))


def ordinary_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Networks as people write them."""
    dim = int(rng.integers(1, 5))
    return _case(Dense([2 + dim, 32, 32, 3], _activation(rng), gain=2.0), rng, *_region(rng, dim), rng.normal(size=2))


def _activation(rng: np.random.Generator) -> nn.Module:
    kinds = (nn.Tanh, nn.Sigmoid, nn.ReLU, nn.ELU, nn.Softplus, nn.SiLU)
    return kinds[int(rng.integers(len(kinds)))]()


KINDS: dict[str, Callable[..., Case]] = {
    "clamp": clamp_case,
    "half": half_case,
    "large-state": large_state_case,
    "saturated": saturated_case,
    "ordinary": ordinary_case,
    "norm": norm_case,
    "attention": attention_case,
}


def white_box_case(kind: str, rng: np.random.Generator) -> Case:
    """Return a case of a kind about a policy that answers can be proven about."""
    powers = (NEAR, FAR)[int(rng.integers(2))]
    while True:
        with suppress(pf.InvalidInput):  # float16 overflows
            case = KINDS[kind](rng, powers)
            if isinstance(case.policy, WhiteBoxPolicy):
                return case


def _region(rng: np.random.Generator, dim: int) -> tuple[np.ndarray, np.ndarray]:
    width = 10.0 ** rng.uniform(-1, 2, size=dim)
    low = np.where(rng.random(dim) < 0.5, -width, 10.0 ** rng.uniform(-2, 2, size=dim))
    return low, low + width


def _case(
    module: nn.Module,
    rng: np.random.Generator,
    low: np.ndarray,
    high: np.ndarray,
    state: np.ndarray,
    *,
    foil: int | None = None,
    near: float | None = None,
) -> Case:
    """A question about a random command, or about one at this share of the way from where the choice changes."""
    space = pf.CommandSpace(low=low, high=high, objectives=[f"objective {i}" for i in range(len(low))])
    policy = pf.from_torch(module.eval(), state, space, outputs="logits")

    def scores(commands: np.ndarray) -> np.ndarray:
        return policy.log_probs(np.repeat(np.asarray(state)[None], len(commands), axis=0), commands)

    commands = rng.uniform(low, high, size=(256, len(low)))
    choices = scores(commands).argmax(axis=1)
    command, others = commands[0], commands[choices != choices[0]]
    if near is not None and len(others):
        here, there = command, others[0]
        for _ in range(40):
            middle = (here + there) / 2
            here, there = (middle, there) if scores(middle[None]).argmax() == choices[0] else (here, middle)
        foil, command = int(scores(there[None]).argmax()), here + near * (command - here)
    if foil is None:
        foil = int(np.argsort(-scores(command[None])[0])[rng.choice([1, 1, 2])])
    return Case(policy, np.asarray(state), command, foil)


def attack(case: Case, count: int, rng: np.random.Generator) -> tuple[list[str], int, float]:
    """Return the status and the rounding of the answer, the number of commands tried, and their largest margin."""
    try:
        answer = pf.explain(
            case.policy, state=case.state, command=case.command, foil=case.foil, limits=pf.Limits(seconds=SECONDS)
        )
    except pf.InvalidInput:  # rounding decides which of two actions is chosen, and here it is the foil
        return ["refused"], 0, -np.inf
    lower, labels = answer.lower_bound, [answer.status.value]
    if answer.proof is not None and answer.proof.status != "gap":
        labels.append(answer.proof.rounding)
    if not lower > 0:
        return labels, 0, -np.inf
    assert answer.live is not None
    question = answer.live.question
    batch = QuestionBatch([question])
    z = _excluded_changes(batch, lower, answer, count, rng)
    margins = batch.margins(np.zeros(len(z), dtype=np.int64), z, "attack")
    return labels, len(z), float((margins - question.kappa).max(initial=-np.inf))


def _excluded_changes(
    batch: QuestionBatch, lower: float, answer: pf.Answer, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Scaled changes (N, d) inside the region that are closer than the lower bound."""
    low, high, dim, fifth = batch.low[0], batch.high[0], batch.dim, count // 5
    anywhere = rng.uniform(low, high, size=(fifth, dim))
    corners = np.where(rng.random((fifth, dim)) < 0.5, low, high) * (1 - 1e-3 * rng.random((fifth, dim)) ** 4)
    if np.isfinite(lower):
        direction = rng.normal(size=(2 * fifth, dim))
        direction /= batch.distances(direction)[:, None]
        surface = direction * lower * (1 - 10.0 ** rng.uniform(-9, 0, size=(2 * fifth, 1)))
        if answer.closest is not None:
            closest = batch.changes_to(np.zeros(1, dtype=np.int64), answer.closest.command[None])
            shrink = lower / batch.distances(closest)[0] * (1 - 10.0 ** rng.uniform(-9, -1, size=(fifth, 1)))
            surface[:fifth] = closest * shrink + rng.normal(size=(fifth, dim)) * lower * 10.0 ** rng.uniform(
                -8, -1, size=(fifth, 1)
            )
    else:
        surface = rng.uniform(low, high, size=(2 * fifth, dim))
    z = np.clip(np.concatenate([anywhere, corners, surface, _representable(batch, surface[:fifth], rng)]), low, high)
    return z[batch.distances(z) < lower]


def _representable(batch: QuestionBatch, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Changes that lead to commands just beside the numbers of a coarse format, where rounding jumps."""
    commands = batch.commands_at(np.zeros(len(z), dtype=np.int64), z)
    bits = rng.choice([8, 11, 24], size=(len(z), 1))
    step = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(commands), 1e-30))) + 1 - bits)
    jump = (np.round(commands / step) + 0.5 * rng.choice([-1, 0, 1], size=commands.shape)) * step
    beside = jump * (1 + rng.choice([-1e-12, 0.0, 1e-12], size=commands.shape))
    return batch.changes_to(np.zeros(len(z), dtype=np.int64), beside)


COLUMNS = (
    *("answers", "proven closest", "proven infeasible", "found", "not found", "refused", "derived", "measured"),
    *("attacked", "commands", "refuted"),
)


def main(arguments: argparse.Namespace) -> int:
    file: Path | None = arguments.rows
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    rows = {row["seed"]: row for row in map(json.loads, lines)}
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for n in track(range(arguments.seed, arguments.seed + arguments.answers), "Attacking proofs"):
            if n in rows:
                continue
            kind = arguments.kinds[n % len(arguments.kinds)]
            torch.manual_seed(n)
            rng = np.random.default_rng(n)
            labels, tried, worst = attack(white_box_case(kind, rng), arguments.commands, rng)
            rows[n] = {"seed": n, "kind": kind, "labels": labels, "commands": tried, "refuted": worst >= 0}
            if file is not None:
                with file.open("a") as stream:
                    stream.write(json.dumps(rows[n]) + "\n")
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for row in rows.values():
        numbers = {"attacked": row["commands"] > 0, "commands": row["commands"], "refuted": row["refuted"]}
        counts[row["kind"]].update({"answers": 1, **dict.fromkeys(row["labels"], 1), **numbers})
    print(f"| kind | {' | '.join(COLUMNS)} |\n|---{'|---:' * len(COLUMNS)}|")
    for kind, count in {**counts, "all": sum(counts.values(), Counter())}.items():
        print(f"| {kind} | {' | '.join(f'{int(count[column]):,}' for column in COLUMNS)} |")
    refuted = [row["seed"] for row in rows.values() if row["refuted"]]
    for seed in refuted:
        print(f"refuted: --seed {seed} --answers 1 --kinds {' '.join(arguments.kinds)}")
    return int(bool(refuted))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=2500, help="Number of answers to attack.")
    parser.add_argument("--commands", type=int, default=20_000, help="Number of commands per answer.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first answer.")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--rows", type=Path, help="File of JSON lines to continue and to append to.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(read_arguments()))
