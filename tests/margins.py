"""Tiny margin networks whose bounds are known, and white-box policies made of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.program import Program
from paretofoil.core.question import Question
from paretofoil.proof.branch_and_bound import Claim
from paretofoil.proof.networks import MarginNetwork


def network(*layers: tuple[Any, Any], activation: Any = "relu", pads: Any = None) -> MarginNetwork:
    """Layers of (weight, bias) with one activation between them, and no pads unless they are given."""
    weights, biases = ([np.array(part, dtype=np.float64) for part in parts] for parts in zip(*layers, strict=True))
    pads = pads or [0.0] * len(layers)
    padded = tuple(np.full(len(bias), pad) for bias, pad in zip(biases, pads, strict=True))
    return MarginNetwork(Program.of_layers(weights, biases, (activation,) * (len(layers) - 1)), padded)


def claim(of: MarginNetwork, level: float, dim: int = 1, norm: Any = "l2") -> Claim:
    """In the box from -1 to 1."""
    return Claim(of, np.full(dim, -1.0), np.full(dim, 1.0), level, norm)


LINE = network(([[1.0]], [0.0]))
"""The margin z."""
TENT = network(([[1.0], [-1.0]], [-0.3, 0.3]), ([[-1.0, -1.0]], [0.0]))
"""The margin -|z - 0.3|: it reaches 0 at one point, which no box around it can exclude."""
TENTS = network(
    ([[-1.0], [1.0], [1.0], [1.0]], [0.3, -0.3, -0.55, -0.8]),
    ([[-1.0, -1.0, 2.0, -2.0]], [0.0]),
)
"""Two tents: the margin reaches 0 at 0.3 and at 0.8, with slope 1 on both sides of each."""
PLATEAU = network(([[10.0]], [5.0]), ([[-1.0]], [0.04]))
"""The margin 0.04 - relu(10 z + 5): at most 0.04, as the flat lower line of the ReLU shows."""


@dataclass(frozen=True, eq=False)
class LinePolicy:
    """The margin of action 1 is the first of `dim` numbers of the command; the deployed policy adds `off`."""

    dim: int = 2
    off: Callable[[np.ndarray], np.ndarray] = lambda commands: np.zeros(len(commands))

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.stack([np.zeros(len(commands)), commands[:, 0] + self.off(commands)], axis=1)

    def fold(self, state: np.ndarray) -> Program:
        return Program.of_layers((np.eye(2, self.dim)[::-1] * [[0.0], [1.0]],), (np.zeros(2),))


def unit_question(policy: Any, command: Any = (-0.5, 0.0), **changes: Any) -> Question:
    """The foil is action 1, in a space of width 1 around 0: scaled distances are differences of commands."""
    space = CommandSpace(np.full(len(command), -0.5), np.full(len(command), 0.5))
    return Question(policy, np.zeros(1), np.array(command), 1, (0, 1), space, **changes)
