"""Networks that are hard to bound, with questions about them and planted commands.

`generate(seed)` returns one case, which depends on the seed only. Networks are designed in scaled coordinates around an
anchor, a command that float32 represents exactly. Scales are powers of two, so that a needle planted at the anchor
stays there exactly.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from networks import LayeredPolicy

from paretofoil.core.command import CommandSpace, Norm
from paretofoil.core.program import Activation, Program
from paretofoil.core.question import Question

Layers = list[tuple[np.ndarray, np.ndarray]]
ACTIVATIONS: tuple[Activation, ...] = ("sigmoid", "tanh", "relu", "elu", "softplus", "silu")
NORMS: tuple[Norm, ...] = ("l1", "l2", "linf")


@dataclass(frozen=True, eq=False)
class Case:
    """A question about a network, and a planted command."""

    seed: int
    kind: str
    question: Question
    planted: np.ndarray  # (d,): where the margin was set, in the region or right beside it

    @property
    def folded(self) -> Program:
        return self.question.policy.folded  # type: ignore[attr-defined]

    def __str__(self) -> str:
        layers = "-".join(str(weight.shape[1]) for weight in self.folded.layers.weights)
        return f"seed {self.seed} ({self.kind}, {layers} wide, {' '.join(self.folded.layers.activations)})"


@dataclass(frozen=True, eq=False)
class _Place:
    """The anchor and the scales of a network, and the position of the anchor in the search region."""

    anchor: np.ndarray  # (d,)
    scale: np.ndarray  # (d,), powers of two
    share: np.ndarray  # (d,): of the way from low to high; below 0 or above 1 is outside
    precision: type[np.floating]

    @property
    def dim(self) -> int:
        return len(self.anchor)


@dataclass(frozen=True, eq=False)
class _Design:
    """A network, and the margin of the foil at the anchor (or, if None, at some command)."""

    layers: Layers
    activations: tuple[Activation, ...]
    above_kappa: float | None = None


def generate(seed: int) -> Case:
    """Return the case of a seed; the kinds alternate."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    place = _place(rng, kind)
    design = KINDS[kind](rng, place, _num_actions(rng))
    question, planted = _pose(rng, _folded(design, place), design, place)
    return Case(seed, kind, question, planted)


def _place(rng: np.random.Generator, kind: str) -> _Place:
    dim = int(rng.integers(1, 7))
    offset = rng.choice([0.0, 1.0, 1e3, 1e6], p=[0.3, 0.3, 0.15, 0.25])
    scale = 2.0 ** rng.integers(-10, 11, size=dim) if rng.random() < 0.3 else np.ones(dim)
    if offset == 1e6 and rng.random() < 0.7:
        scale = np.full(dim, 2.0**-10)
    anchor = (offset * rng.choice([-1.0, 1.0], size=dim) + rng.normal(size=dim) * scale).astype(np.float32)
    share = rng.uniform(0.05, 0.95, size=dim) if rng.random() < 0.85 else np.full(dim, 0.5)  # where boxes are split
    if kind == "corner":
        share = np.round(share)
    if kind == "edge":  # right beside the region
        axis, beyond = rng.integers(dim), 10.0 ** rng.uniform(-12, -4)
        share[axis] = rng.choice([-beyond, 1.0 + beyond])
    precision = np.float32 if rng.random() < 0.5 else np.float64
    return _Place(anchor.astype(np.float64), scale, share, precision)


def _num_actions(rng: np.random.Generator) -> int:
    return int(rng.choice([2, 3, 4, 8, 20], p=[0.35, 0.25, 0.2, 0.1, 0.1]))


def _folded(design: _Design, place: _Place) -> Program:
    """Return the network as a function of commands, with float32 weights."""
    (weight, bias), *others = design.layers
    weight = _held(weight / place.scale, place)
    layers = [(weight, bias - weight @ place.anchor), *others]
    weights, biases = zip(*((_held(w, place), _held(b, place)) for w, b in layers), strict=True)
    return Program.of_layers(weights, biases, design.activations)


def _held(numbers: np.ndarray, place: _Place) -> np.ndarray:
    return numbers.astype(place.precision).astype(np.float64)


def _pose(rng: np.random.Generator, folded: Program, design: _Design, place: _Place) -> tuple[Question, np.ndarray]:
    """Return a question whose foil wins at the planted command by the designed margin."""
    low = place.anchor - place.share * place.scale
    space = CommandSpace(low, low + place.scale)
    command, region = _region(rng, space)
    num_actions = folded.num_outputs
    foil, kappa = 0, float(rng.choice([0.0, 1e-6, 0.05, 1.0], p=[0.1, 0.1, 0.7, 0.1]))
    valid = [0, *(a for a in range(1, num_actions) if a == 1 or rng.random() < 0.8)]
    asked = Question(
        LayeredPolicy(folded), np.zeros(1), command, foil, tuple(valid), space, kappa=kappa,
        low=region[0], high=region[1], norm=NORMS[rng.integers(3)],
    )  # fmt: skip
    planted, wanted = place.anchor, design.above_kappa
    samples = rng.uniform(asked.low, asked.high, size=(16, space.dim))
    if wanted is None:
        margins = real_margins(asked, folded, samples)
        planted = samples[np.argsort(margins)[rng.choice([-1, -1, -2, 8])]]
        wanted = float(rng.choice([-1e-3, -1e-6, 0.0, 1e-9, 1e-5, 1e-3]))
    shift = kappa + wanted - float(real_margins(asked, folded, planted[None])[0])
    weights, (*biases, last), activations = folded.layers
    last = _held(last + shift * (np.arange(num_actions) == foil), place)
    moved = Program.of_layers(weights, (*biases, last), activations)
    return replace(asked, policy=LayeredPolicy(moved, place.precision)), planted


def _region(rng: np.random.Generator, space: CommandSpace) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return a command and its search region: the space, possibly with some objectives fixed."""
    command = space.low + rng.random(space.dim) * (space.high - space.low)
    if rng.random() < 0.1:
        command = command + rng.normal(size=space.dim) * space.scale * rng.choice([1.0, 30.0])
    low, high = np.minimum(space.low, command), np.maximum(space.high, command)
    held = rng.random(space.dim) < rng.choice([0.0, 0.3, 1.0], p=[0.75, 0.22, 0.03])
    return command, (np.where(held, command, low), np.where(held, command, high))


def real_margins(question: Question, folded: Program, commands: np.ndarray) -> np.ndarray:
    """Return the foil's true margins (N,) at commands (N, d), in long doubles."""
    logits = folded.logits(commands.astype(np.longdouble))
    rivals = [action for action in question.valid_actions if action != question.foil]
    return (logits[:, [question.foil]] - logits[:, rivals]).min(axis=1, initial=np.inf)


# Designs: what is hard on a proof, in terms of v


def _shape(rng: np.random.Generator) -> tuple[tuple[Activation, ...], list[int]]:
    """Return activations and widths, most of them small."""
    depth = int(rng.choice(np.arange(5), p=[0.1, 0.3, 0.35, 0.15, 0.1]))
    mixed = rng.random() < 0.4
    count = len(ACTIVATIONS)
    kinds = rng.integers(count, size=depth) if mixed else np.full(depth, rng.integers(count))
    widths = rng.choice([2, 4, 8, 16, 64], size=depth, p=[0.2, 0.3, 0.3, 0.15, 0.05])
    return tuple(ACTIVATIONS[k] for k in kinds), [int(width) for width in widths]


def _random(rng: np.random.Generator, place: _Place, num_actions: int, gain: Callable[[], float]) -> _Design:
    """Return Gaussian weights scaled by `gain` per layer, with kinks near the anchor."""
    activations, widths = _shape(rng)
    layers = []
    for inputs, outputs in zip([place.dim, *widths], [*widths, num_actions], strict=True):
        weight = rng.normal(size=(outputs, inputs)) * gain() / np.sqrt(inputs)
        layers.append((weight, 0.5 * rng.normal(size=outputs) * np.abs(weight).sum(axis=1)))
    return _Design(layers, activations)


def _plain(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    return _random(rng, place, num_actions, lambda: 3.0)


def _saturated(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    return _random(rng, place, num_actions, lambda: float(10.0 ** rng.uniform(1, 6)))


def _extreme(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    """Weights from 1e-8 to 1e6, with a different size for each unit."""
    design = _random(rng, place, num_actions, lambda: 1.0)
    sizes = [10.0 ** rng.uniform(-8, 6, size=(len(bias), 1)) for _, bias in design.layers]
    layers = [(w * size, b * size[:, 0]) for (w, b), size in zip(design.layers, sizes, strict=True)]
    return replace(design, layers=layers)


def _dead(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    """Most units are constant, and some layers, too."""
    design = _random(rng, place, num_actions, lambda: 3.0)
    layers = [(w, b - 100.0 * (rng.random(len(b)) < rng.choice([0.5, 1.0]))) for w, b in design.layers[:-1]]
    return replace(design, layers=[*layers, design.layers[-1]])


def _ties(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    """Integer weights, duplicate units, and rivals that equal each other or almost the foil."""
    design = _random(rng, place, num_actions, lambda: 2.0)
    layers = [(np.round(weight), np.round(bias)) for weight, bias in design.layers]
    weight, bias = layers[-1]
    copied = rng.integers(num_actions, size=num_actions)
    weight, bias = weight[copied], bias[copied]
    weight[0] = weight[1] + 10.0 ** rng.uniform(-9, 0) * rng.integers(-1, 2, size=weight.shape[1])
    return replace(design, layers=[*layers[:-1], (weight, bias)])


def _branches(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    """Leaky ReLUs, residual sums and products with a state branch, written with pairs of ReLUs."""
    sizes = [place.dim, *rng.integers(2, 9, size=rng.integers(1, 4)), num_actions]
    layers: Layers = []
    carried = np.eye(place.dim)  # what the units before give, from what the ReLUs hold
    for inputs, outputs in itertools.pairwise(sizes):
        weight, bias = 2.0 * rng.normal(size=(outputs, inputs)) / np.sqrt(inputs), rng.normal(size=outputs)
        if inputs == outputs and rng.random() < 0.5:
            weight = weight + np.eye(inputs)
        weight = weight * rng.choice([0.0, 0.3, 1.0], size=inputs)
        pair = np.concatenate([weight, -weight]) @ carried
        layers.append((pair, np.concatenate([bias, -bias])))
        carried = np.concatenate([np.eye(outputs), -rng.choice([0.0, 0.01, 0.5]) * np.eye(outputs)], axis=1)
    weight, bias = layers[-1]
    layers[-1] = weight[:num_actions], bias[:num_actions]
    return _Design(layers, ("relu",) * (len(layers) - 1))


def _needle(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    """A bump at the anchor, 1e-1 to 1e-7 wide; elsewhere the foil loses by about 1."""
    activations = _shape(rng)[0] or ("relu",)
    sharp = rng.uniform(3, 23)
    sharp = np.round(sharp) if rng.random() < 0.5 else sharp  # a power of two, or what rounding moves off the anchor
    bump = _bump(rng, place.dim, activations, 2.0**sharp)
    bump[-1] = _of_the_foil(bump[-1][0] * rng.choice([1.0, 3.0, 30.0]), num_actions)
    inner = [3] * len(activations)
    ground = [
        (0.3 * rng.normal(size=(outputs, inputs)), 0.3 * rng.normal(size=outputs))
        for inputs, outputs in zip([place.dim, *inner], [*inner, num_actions], strict=True)
    ]
    return _Design(_beside(bump, ground), activations, float(rng.choice([0.0, 1e-9, 1e-6, 1e-3, 0.1])))


def _corner(rng: np.random.Generator, place: _Place, num_actions: int) -> _Design:
    """The foil's margin grows towards a corner, in some objectives 1e14 times as fast as in others."""
    activations, _ = _shape(rng)
    slopes = (2.0 * np.round(place.share) - 1.0) * 10.0 ** rng.uniform(-8, 6, size=place.dim)
    layers = [(slopes[None], np.zeros(1)), *((np.ones((1, 1)), np.zeros(1)) for _ in activations)]
    layers[-1] = _of_the_foil(layers[-1][0], num_actions)
    return _Design(layers, activations, float(10.0 ** rng.uniform(-9, -2)))


def _of_the_foil(row: np.ndarray, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a last layer in which only the foil, action 0, has weights."""
    weight = np.zeros((num_actions, row.shape[1]))
    weight[0] = row
    return weight, np.zeros(num_actions)


def _bump(rng: np.random.Generator, dim: int, activations: tuple[Activation, ...], sharp: float) -> Layers:
    """Return a network with one output that is highest at 0 and low beyond a distance of about 1 / sharp."""
    turned = np.eye(dim) + (rng.integers(-1, 2, size=(dim, dim)) if rng.random() < 0.5 else 0.0)
    if activations[0] not in ("sigmoid", "tanh"):  # 1 - sum of |turned v|, or what others make of it
        layers = [(sharp * np.concatenate([turned, -turned]), np.zeros(2 * dim))]
        row, bias = -np.ones((1, 2 * dim)), 1.0
    else:  # a rise and a fall for each, and only where all are up is the sum above the bias
        layers = [(sharp * np.concatenate([turned, turned]), np.repeat([2.0, -2.0], dim))]
        row, bias = np.repeat([[1.0, -1.0]], dim, axis=1), (0.5 - dim) * (0.76 if activations[0] == "sigmoid" else 1.93)
    for _ in activations[1:]:
        layers.append((row, np.full(1, bias)))
        row, bias = np.ones((1, 1)), 0.0
    return [*layers, (row, np.zeros(1))]


def _beside(first: Layers, second: Layers) -> Layers:
    """Return the sum of two networks of the same input."""
    joined = [tuple(map(np.concatenate, zip(first[0], second[0], strict=True)))]
    for (weight, bias), (other, shift) in zip(first[1:], second[1:], strict=True):
        zeros = np.zeros((len(bias), other.shape[1])), np.zeros((len(shift), weight.shape[1]))
        joined.append((np.block([[weight, zeros[0]], [zeros[1], other]]), np.concatenate([bias, shift])))
    size = len(first[-1][1])
    weight, bias = joined[-1]
    return [*joined[:-1], (weight[:size] + weight[size:], bias[:size] + bias[size:])]  # type: ignore[list-item]


KINDS: dict[str, Callable[[np.random.Generator, _Place, int], _Design]] = {
    "plain": _plain,
    "saturated": _saturated,
    "extreme": _extreme,
    "dead": _dead,
    "ties": _ties,
    "branches": _branches,
    "needle": _needle,
    "edge": _needle,
    "corner": _corner,
}
