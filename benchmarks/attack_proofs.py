"""Try to refute proofs about generated policies, and print a table by kind of question.

python benchmarks/attack_proofs.py [--answers 2500] [--commands 20000] [--seed 0] [--kinds clamp half ...] [--rows FILE]

There are two groups of kinds: those whose rounding is hard, and those of all other regions, foils and norms
(`--kinds regions`): constraints, whole numbers, features of the state, continuous actions, probabilities, l1 and linf,
preferences, tables of values, four to six objectives, and numbers of all scales.

Answer number n has the seed n. With --rows, the row of each answer is appended to a file of JSON lines. Answers that
are in this file are not repeated, so that you can continue a long run. Only white-box policies are attacked: if
rounding makes a module a black box, another module of its kind takes its place.

For each proof, the deployed module is evaluated at commands that the proof excludes. They lie anywhere in the search
region, on a grid (of up to two numbers), in corners, on facets, near the lower bound, near the closest command, at the
ends of ascents of the margin, and next to the numbers of coarse formats such as float16. A command that makes the foil
win by kappa refutes the proof. Whether a command belongs to the region, and its distance, are computed here, not by the
library. In proven ranges, corners and the ends of descents are tried; a command under which the foil does not win by
kappa refutes the range. The exit code is 1 if a proof was refuted.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import track
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.core.amounts import Actor
from paretofoil.core.command import length
from paretofoil.core.policy import Policy, TabularPolicy, WhiteBoxActor, WhiteBoxPolicy, WhiteBoxValues
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.networks import question_network

SECONDS = 1.0
"""Time limit per question."""
NEAR, FAR = (-5.0, -1.0), (-1.5, 0.0)
"""Powers of 10: at which share of the way from where the choice changes a command lies. Where numbers are coarse,
nothing is proven about commands that are near."""
Powers = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Case:
    """A policy, a state, a command and a foil."""

    policy: Policy | Actor
    state: np.ndarray
    command: np.ndarray | None
    foil: Any
    space: pf.CommandSpace | None = None
    """For policies without one."""
    options: pf.Options = field(default_factory=pf.Options)
    rules: tuple[tuple[np.ndarray, float], ...] = ()
    """What commands fulfil beside their ranges: slopes . command <= bound."""


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


class Turning(nn.Module):
    """A network whose first units turn inside the region of commands, whatever its ranges are."""

    def __init__(
        self,
        rng: np.random.Generator,
        region: tuple[np.ndarray, np.ndarray],
        activation: nn.Module,
        num_outputs: int = 3,
    ) -> None:
        super().__init__()
        (low, high), units = region, int(rng.integers(4, 33))
        width = np.where(high > low, high - low, 1.0)
        weight = rng.normal(size=(units, len(low))) * 10.0 ** rng.uniform(0, 1.5) / width
        self.first, self.activation = nn.Linear(2 + len(low), units).double(), activation
        with torch.no_grad():
            self.first.weight[:, 2:] = torch.tensor(weight)
            self.first.bias[:] = -torch.tensor((weight * rng.uniform(low, high, size=weight.shape)).sum(axis=1))
        self.rest = Dense([units, *[units] * int(rng.integers(0, 2)), num_outputs], activation, gain=3.0)
        self.to((torch.float32, torch.float64)[int(rng.integers(2))])

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        hidden = self.activation(self.first(torch.cat([states, commands], dim=1)))
        return self.rest.layers(hidden)


def facets_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Linear constraints, some of them close to the command."""
    return _restricted_case(rng, int(rng.integers(2, 5)), num_rules=int(rng.integers(1, 4)))


def whole_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Whole numbers beside others, some with constraints and far outside of their ranges."""
    dim = int(rng.integers(2, 4))
    return _restricted_case(rng, dim, num_rules=int(rng.integers(2)), num_whole=int(rng.integers(1, dim)))


def _restricted_case(rng: np.random.Generator, dim: int, num_rules: int, num_whole: int = 0) -> Case:
    (low, high), whole = _region(rng, dim), np.arange(dim) < num_whole
    low = np.where(whole, np.round(low), low)
    high = np.where(whole, low + 10.0 ** rng.integers(4, size=dim) * rng.integers(1, 10, size=dim), high)
    command = rng.uniform(low, high)
    if rng.random() < 0.2:
        command += (high - low) * rng.choice([-1.0, 1.0], size=dim) * 10.0 ** rng.uniform(0, 6 * (num_whole > 0), dim)
    command = np.where(whole, np.round(command), command)
    names = [f"n{i}" for i in range(dim)]
    rules = []
    for _ in range(num_rules):
        slopes = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0], size=dim) / rng.choice([1.0, *(high - low)])
        slopes[0] = slopes[0] or 1.0
        reach = np.abs(slopes) @ (high - low)
        rules.append((slopes, float(slopes @ command + reach * 10.0 ** rng.uniform(-6, 0))))
    texts = [
        f"{' '.join(f'{slope:+.17g} {name}' for slope, name in zip(slopes, names, strict=True))} <= {bound!r}"
        for slopes, bound in rules
    ]
    objectives = [pf.Objective(name, whole=bool(only)) for name, only in zip(names, whole, strict=True)]
    space = pf.CommandSpace(low, high, objectives, constraints=texts)
    module = Turning(rng, (np.minimum(low, command), np.maximum(high, command)), _activation(rng))
    return _posed(module, rng, space, command, options=pf.Options(norm=_norm(rng)), rules=tuple(rules))


def _norm(rng: np.random.Generator) -> Any:
    return str(rng.choice(["l2", "l1", "linf"]))


def _posed(
    module: nn.Module, rng: np.random.Generator, space: pf.CommandSpace, command: np.ndarray, **more: Any
) -> Case:
    """A question about the second or the third action under a command."""
    state = rng.normal(size=2)
    policy = pf.from_torch(module.eval(), state, space, outputs="logits")
    foil = int(np.argsort(-policy.log_probs(state[None], command[None])[0])[rng.choice([1, 1, 2])])
    return Case(policy, state, command, foil, **more)


def features_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Features of the state, with factors, some of whole numbers, with or without a command."""
    (low, high), size, features = _region(rng, int(rng.integers(1, 4))), 5, []
    state, places = rng.normal(size=size).astype(np.float32), rng.permutation(size).tolist()
    for i, (least, most) in enumerate(zip(low, high, strict=True)):
        factors = {places[i]: float(rng.choice([1.0, 1.0, -0.1, 1e3]))}
        factors |= {places[-1]: 0.3} if i == 0 and rng.random() < 0.3 else {}
        whole = bool(rng.random() < 0.2 and most - least > 2)
        features.append(pf.Feature(f"f{i}", factors, float(least), float(most), whole=whole))
        factor, value = factors[places[i]], np.ceil(least) if whole else rng.uniform(least, most)
        state[places[i]] = np.float32(value * (1.0 if whole else factor))
    features = [pf.Feature(f.name, f.place, f.low, f.high, whole=True) if f.whole else f for f in features]
    dim = int(rng.integers(2))
    space = pf.CommandSpace(-np.ones(1), np.ones(1), ["n"]) if dim else None
    module = Dense([size + dim, *[int(rng.integers(4, 33))] * int(rng.integers(1, 3)), 3], _activation(rng), gain=2.0)
    with torch.no_grad():
        module.layers[0].weight[:, :size] /= torch.tensor(1.0 + np.abs(state))  # type: ignore[index, operator]
    module.to((torch.float32, torch.float64)[int(rng.integers(2))])
    taken: nn.Module = module if dim else module.layers
    policy = pf.from_torch(taken.eval(), state, space, outputs="logits", free=features)
    command = rng.uniform(-1.0, 1.0, size=dim) if dim else None
    numbers = policy.module.features.complete(state, command)  # type: ignore[operator, union-attr]
    foil = int(np.argsort(-policy.log_probs(state[None], numbers[None])[0])[rng.choice([1, 1, 2])])
    return Case(policy, state, command, foil, options=pf.Options(norm=_norm(rng)))


def amounts_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Continuous actions: half-spaces and bands of one amount or of two."""
    low, high = _region(rng, int(rng.integers(1, 4)))
    space, state = pf.CommandSpace(low, high), rng.normal(size=2)
    module = Turning(rng, (low, high), _activation(rng), num_outputs=2)
    actions = pf.ActionSpace(["a", "b"], ["", ""], np.array([-1.0, -2.0]), np.array([1.0, 3.0]))
    actor = pf.from_torch(module.eval(), state, space, actions=actions)
    commands = rng.uniform(low, high, size=(64, len(low)))
    amounts = actions.clip(actor.amounts(np.repeat(state[None], 64, axis=0), commands))
    least, most = np.sort(amounts[rng.choice(64, size=2), 0])
    foil = (
        pf.between("a", float(most), None),
        pf.between("a", float(least) - 0.1, float(least) + 0.1),
        pf.between("a", None, float(least)) & pf.between("b", float(amounts[1, 1]), None),
        pf.more("b", 0.3),
        pf.less("a", 0.2),
    )[int(rng.integers(5))]
    return Case(actor, state, commands[0], foil, options=pf.Options(norm=_norm(rng)))


def probability_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """A probability of the foil in place of a margin, near the largest one that some command reaches."""
    low, high = _region(rng, int(rng.integers(1, 6)))
    case = _posed(Turning(rng, (low, high), _activation(rng)), rng, pf.CommandSpace(low, high), rng.uniform(low, high))
    commands = rng.uniform(low, high, size=(1000, len(low)))
    scores = case.policy.log_probs(np.repeat(case.state[None], 1000, axis=0), commands)  # type: ignore[union-attr]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    best = np.sort(odds[:, case.foil] / odds.sum(axis=1))[int(rng.choice([500, 950, 999]))]
    probability = float(np.clip(best * (1.0 + rng.choice([-1e-3, 1e-3, 0.05])), 1e-6, 1.0 - 1e-6))
    return Case(case.policy, case.state, case.command, case.foil, options=pf.Options(probability=probability))


def norms_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Boxes in other norms, with objectives that must not change, or smaller ranges, and answers of few changes."""
    low, high = _region(rng, int(rng.integers(2, 6)))
    command = rng.uniform(low, high)
    keep = tuple(np.flatnonzero(rng.random(len(low)) < 0.3)[: len(low) - 1].tolist())
    ranges = {"objective 0": (float(low[0]), float(command[0]))} if 0 not in keep and rng.random() < 0.3 else {}
    options = pf.Options(
        norm=_norm(rng), keep=keep, ranges=ranges, sparse=bool(rng.integers(2)), k=int(rng.integers(1, 3))
    )
    return _posed(
        Turning(rng, (low, high), _activation(rng)), rng, pf.CommandSpace(low, high), command, options=options
    )


def preferences_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Preferences, for logits and for values that the preferences weigh."""
    dim = int(rng.integers(2, 5))
    space, command = pf.CommandSpace.preferences([f"n{i}" for i in range(dim)]), rng.dirichlet(np.ones(dim))
    if rng.random() < 0.5:
        command = np.where(np.arange(dim) == rng.integers(dim), 1.0, 0.0)
    region, options = (np.zeros(dim), np.ones(dim)), pf.Options(keep=[0] if dim > 2 and rng.random() < 0.3 else [])
    if rng.random() < 0.5:
        return _posed(Turning(rng, region, _activation(rng)), rng, space, command, options=options)
    module, state = Turning(rng, region, _activation(rng), num_outputs=3 * dim), rng.normal(size=2)
    policy = pf.from_q_module(_Valued(module, dim).eval(), state, space)
    foil = int(np.argsort(-policy.log_probs(state[None], command[None])[0])[rng.choice([1, 1, 2])])
    return Case(policy, state, command, foil, options=options)


class _Valued(nn.Module):
    """Outputs as values (N, num_actions, d)."""

    def __init__(self, module: nn.Module, dim: int) -> None:
        super().__init__()
        self.module, self.dim = module, dim

    def forward(self, states: Tensor, weights: Tensor) -> Tensor:
        return self.module(states, weights).reshape(-1, 3, self.dim)


def table_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Tables of values, as of GPI and Envelope Q-learning, in float32 and float64."""
    dim, count = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    vectors = rng.normal(size=(3, count, dim)) * 10.0 ** rng.uniform(-3, 6)
    if rng.random() < 0.5:
        vectors = vectors.astype(np.float32)
    if rng.random() < 0.3:
        vectors[1] = vectors[0] + vectors[1] * 1e-4  # two actions with nearly the same values
    policy, command = pf.from_q_table(lambda state: vectors), rng.dirichlet(np.full(dim, 0.5))
    space, state = pf.CommandSpace.preferences([f"n{i}" for i in range(dim)]), np.zeros(1)
    foil = int(np.argsort(-policy.log_probs(state[None], command[None])[0])[rng.choice([1, 1, 2])])
    return Case(policy, state, command, foil, space)


def many_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Four to six objectives, whose bounds use caps and parabolas."""
    low, high = _region(rng, int(rng.integers(4, 7)))
    activation = (nn.Sigmoid, nn.Tanh)[int(rng.integers(2))]()
    return _posed(Turning(rng, (low, high), activation), rng, pf.CommandSpace(low, high), rng.uniform(low, high))


def scales_case(rng: np.random.Generator, powers: Powers = NEAR) -> Case:
    """Large offsets and small ranges, objectives without a range, and commands far outside of the ranges."""
    dim = int(rng.integers(1, 6))
    low = rng.choice([-1.0, 1.0], size=dim) * 10.0 ** rng.uniform(-6, 6, size=dim)
    high = low + np.abs(low) * 10.0 ** rng.uniform(-6, 1, size=dim) * (rng.random(dim) < 0.8)
    command = rng.uniform(low, high)
    if rng.random() < 0.5:
        command += (high - low) * rng.normal(size=dim) * 10.0 ** rng.uniform(0, 4)
    space = pf.CommandSpace(low, high)
    module = Turning(rng, (np.minimum(low, command), np.maximum(high, command)), _activation(rng))
    return _posed(module, rng, space, command, options=pf.Options(norm=_norm(rng)))


KINDS: dict[str, Callable[..., Case]] = {
    "clamp": clamp_case,
    "half": half_case,
    "large-state": large_state_case,
    "saturated": saturated_case,
    "ordinary": ordinary_case,
    "norm": norm_case,
    "attention": attention_case,
}
"""Networks whose rounding errors are hard to bound."""
REGIONS: dict[str, Callable[..., Case]] = {
    "facets": facets_case,
    "whole": whole_case,
    "features": features_case,
    "amounts": amounts_case,
    "probability": probability_case,
    "norms": norms_case,
    "preferences": preferences_case,
    "table": table_case,
    "many": many_case,
    "scales": scales_case,
}
"""Other regions, foils and norms than margins in boxes of commands in l2."""
PROVABLE = (WhiteBoxPolicy, WhiteBoxValues, WhiteBoxActor, TabularPolicy)


def white_box_case(kind: str, rng: np.random.Generator) -> Case:
    """Return a case of a kind about a policy that answers can be proven about."""
    powers = (NEAR, FAR)[int(rng.integers(2))]
    while True:
        with suppress(pf.InvalidInput):  # float16 overflows
            case = {**KINDS, **REGIONS}[kind](rng, powers)
            if isinstance(case.policy, PROVABLE):
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
            case.policy,
            state=case.state,
            command=case.command,
            foil=case.foil,
            space=case.space,
            limits=pf.Limits(seconds=SECONDS),
            options=case.options,
        )
    except pf.InvalidInput:  # rounding decides which of two actions is chosen, and here it is the foil
        return ["refused"], 0, -np.inf
    labels, tried, worst = [answer.status.value], 0, -np.inf
    if answer.proof is not None and answer.proof.status != "gap":
        labels.append(answer.proof.rounding)
    for each in (answer, *answer.alternatives, *answer.other_norms):
        assert each.live is not None
        question = each.live.question
        batch = QuestionBatch([question])
        claims = [(1.0, _excluded_commands(case, batch, each, count, rng))] if each.lower_bound > 0 else []
        if each.proven_range is not None:
            labels.append("range")
            claims.append((-1.0, _range_commands(case, batch, each.proven_range, count // 5, rng)))
        for sign, commands in claims:
            excess = sign * (
                batch.margins_at(np.zeros(len(commands), dtype=np.int64), commands, "attack") - question.kappa
            )
            tried += len(commands)
            worst = max(worst, float(excess[excess != 0.0 if sign < 0 else slice(None)].max(initial=-np.inf)))
    return labels, tried, worst


def _excluded_commands(
    case: Case, batch: QuestionBatch, answer: pf.Answer, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Commands (N, d) of the region that are closer than the lower bound."""
    question, lower = batch.questions[0], answer.lower_bound
    z = _excluded_changes(batch, lower, answer, count, rng)
    if not isinstance(case.policy, TabularPolicy):
        most = lower * (1 - 1e-9) if np.isfinite(lower) else 1e100
        z = np.concatenate([z, _ascend(question, z, batch.low[0], batch.high[0], most)])
    if batch.dim <= 2:  # a grid
        sides = zip(np.maximum(batch.low[0], -lower), np.minimum(batch.high[0], lower), strict=True)
        axes = [np.linspace(least, most, round(count ** (1 / batch.dim))) for least, most in sides]
        z = np.concatenate([z, np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)])
    commands = [batch.commands_at(np.zeros(len(z), dtype=np.int64), z)]
    for slopes, bound in case.rules:  # onto the facet, along one number or all, and off it by the last digits
        some = commands[0][: count // 5]
        way = np.where(rng.random(some.shape) < 0.5, slopes * question.space.scale**2, 0.0) * ~question.space.whole
        steep = way @ slopes
        onto = some + np.divide(bound - some @ slopes, steep, out=np.zeros(len(some)), where=steep > 0)[:, None] * way
        commands.append(onto * (1.0 + rng.integers(-2, 3, size=some.shape) * 2.0**-52))
    every = np.clip(np.concatenate(commands), question.low, question.high)
    change = (every.astype(np.longdouble) - question.command) / question.space.scale
    return every[_in_region(case, question, every) & (length(change, question.norm) < lower * (1 - 1e-12))]


def _range_commands(case: Case, batch: QuestionBatch, proven: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Commands (N, d) of a proven range: anywhere, in corners, and at the ends of descents of the margin."""
    question, low, high = batch.questions[0], proven.low, proven.high
    share = rng.random((count, len(low)))
    share[::2] = np.round(share[::2])
    commands = low + share * (high - low)
    if question.space.simplex:
        commands = question.space.project(commands, low, high)
    elif not isinstance(case.policy, TabularPolicy):
        z, first, last = ((side - question.command) / question.space.scale for side in (commands, low, high))
        ends = question.command + _ascend(question, z, first, last, 1e100, sign=-1.0) * question.space.scale
        commands = np.concatenate([commands, ends])
    commands = np.clip(np.where(question.space.whole, np.round(commands), commands), low, high)
    return commands[_in_region(case, question, commands)]


def _in_region(case: Case, question: Question, commands: np.ndarray) -> np.ndarray:
    """Return which commands (N, d) are in the region: by the library, or by the rules themselves."""
    inside = ((commands >= question.low) & (commands <= question.high)).all(axis=1)
    if question.space.simplex:
        return inside & (np.abs(commands.sum(axis=1) - 1.0) < 1e-12)
    whole = (np.round(commands) == commands)[:, question.space.whole].all(axis=1)
    kept = [commands.astype(np.longdouble) @ slopes <= bound for slopes, bound in case.rules]
    by_rules = np.logical_and.reduce([whole, *kept])
    result: np.ndarray = inside & (by_rules | question.space.allows(commands))
    return result


def _ascend(
    question: Question, z: np.ndarray, low: np.ndarray, high: np.ndarray, most: float, sign: float = 1.0
) -> np.ndarray:
    """Return changes (N, d) of low, high within a distance at which ascents of the least margin end; or descents."""
    network = question_network(question, " to attack a proof")

    def least(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        margins, slopes = network.margins_and_slopes(points)
        return sign * margins.min(axis=1), sign * slopes[np.arange(len(points)), margins.argmin(axis=1)]

    if not len(z):
        return z
    values, slopes = least(z)
    best = np.argsort(-values, kind="stable")[:64]
    z, values, slopes = z[best], values[best], slopes[best]
    for step in np.repeat(0.5 ** np.arange(1, 12), 3):
        aim = z + step * np.minimum(high - low, most) * slopes / np.maximum(np.abs(slopes).max(axis=1), 1e-300)[:, None]
        aim = np.clip(aim, low, high)
        aim *= (most / np.maximum(length(aim, question.norm), most))[:, None]
        there, turned = least(aim)
        up = there > values
        z, slopes = np.where(up[:, None], aim, z), np.where(up[:, None], turned, slopes)
        values = np.where(up, there, values)
    return z


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
    *("range", "attacked", "commands", "refuted"),
)


def main(arguments: argparse.Namespace) -> int:
    file: Path | None = arguments.rows
    kinds = [kind for name in arguments.kinds for kind in (REGIONS if name == "regions" else [name])]
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    rows = {row["seed"]: row for row in map(json.loads, lines)}
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for n in track(range(arguments.seed, arguments.seed + arguments.answers), "Attacking proofs"):
            if n in rows:
                continue
            kind = kinds[n % len(kinds)]
            torch.manual_seed(n)
            rng = np.random.default_rng(n)
            labels, tried, worst = attack(white_box_case(kind, rng), arguments.commands, rng)
            rows[n] = {"seed": n, "kind": kind, "labels": labels, "commands": tried, "refuted": worst >= 0}
            if file is not None:
                with file.open("a") as stream:
                    stream.write(json.dumps(rows[n]) + "\n")
    counts: dict[str, Counter[str]] = {
        kind: Counter() for kind in dict.fromkeys([*kinds, *(row["kind"] for row in rows.values())])
    }
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
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS, *REGIONS, "regions"], default=list(KINDS))
    parser.add_argument("--rows", type=Path, help="File of JSON lines to continue and to append to.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(read_arguments()))
