"""How networks that were trained elsewhere see the environments of the catalogue.

Others encode the same states by other numbers, and count the same actions in another order. The difference is put into
the imported network: a first layer, whose ReLU changes nothing, makes their numbers of ours, and the rows of the output
layer are put into our order. So the imported agent lives in our environment, like any other.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paretofoil import envs
from paretofoil.agents.checkpoint import Checkpoint
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.catalogue_entry import OneHot
from paretofoil.pcn.policy import Layer, PCNPolicy

Box = tuple[tuple[float, ...], tuple[float, ...]]
"""The least and the most of each objective."""


@dataclass(frozen=True)
class Translation:
    """From an environment of ours to what a network was trained in."""

    observe: Callable[[envs.CatalogueEntry], Layer | None]
    """The layer that makes their observation of ours; None if they are the same."""
    actions: tuple[str, ...] | None = None
    """The names of the network's actions in its own order; ours if not given."""
    box: Box | None = None
    """The commands that it was trained for, where its authors say so; otherwise the natural limits."""


def as_it_is(entry: envs.CatalogueEntry) -> Layer | None:
    """The same observation."""
    return None


def as_numbers(entry: envs.CatalogueEntry) -> Layer | None:
    """The raw whole numbers, where ours are one-hot vectors side by side: x = 0 h_0 + 1 h_1 + 2 h_2 ..."""
    if not isinstance(entry.encode, OneHot):
        return None
    sizes = entry.encode.sizes
    weight = np.zeros((len(sizes), sum(sizes)), dtype=np.float32)
    for row, size in enumerate(sizes):
        start = sum(sizes[:row])
        weight[row, start : start + size] = np.arange(size) if size > 1 else 1.0
    return weight, np.zeros(len(sizes), dtype=np.float32)


def as_cells(entry: envs.CatalogueEntry) -> Layer | None:
    """One one-hot vector for the pairs of row and column, where ours are two: h_rc = relu(h_r + h_c - 1)."""
    rows, columns = entry.encode.sizes  # type: ignore[attr-defined]
    weight = np.zeros((rows, columns, rows + columns), dtype=np.float32)
    weight[np.arange(rows), :, np.arange(rows)] = 1.0
    weight[:, np.arange(columns), rows + np.arange(columns)] = 1.0
    return weight.reshape(rows * columns, -1), np.full(rows * columns, -1.0, dtype=np.float32)


_AROUND = ("right", "up", "left", "down")
_FRUIT_7 = (9.497, 8.780, 8.505, 9.138, 9.277, 9.318)
_FRUIT_6 = (9.592, 8.230, 9.175, 9.067, 8.460, 8.959)
AUTHORS: dict[str, Translation] = {
    "branch-path": Translation(as_numbers, _AROUND, ((0.0,) * 2, (3.0,) * 2)),
    "collect-two": Translation(as_numbers, _AROUND, ((0.0,) * 4, (1.0,) * 4)),
    "reward-line": Translation(as_numbers, _AROUND, ((0.0,) * 2, (1.0,) * 2)),
    "deep-sea-treasure": Translation(as_cells, ("up", "right", "down", "left"), ((0.0, -200.0), (124.0, -1.0))),
    "fruit-tree": Translation(as_it_is, box=((0.0,) * 6, _FRUIT_7)),
    "fruit-tree-6": Translation(as_it_is, box=((0.0,) * 6, _FRUIT_6)),
    "minecart": Translation(as_it_is, box=((0.0, 0.0, -200.0), (1.5, 1.5, 0.0))),
}
"""The environments of the authors' code that the catalogue has as well."""
MORL_BASELINES = Translation(as_numbers)
"""MO-Gymnasium's raw observations, and its actions, whose order is ours."""


def translation_of(checkpoint: Checkpoint, entry: envs.CatalogueEntry) -> Translation:
    """How the network of a checkpoint sees an environment."""
    if checkpoint.origin == "MORL-Baselines":
        return MORL_BASELINES
    if entry.name not in AUTHORS:
        raise InvalidInput.expected(f"an environment of the authors' networks, among {', '.join(AUTHORS)}", entry.name)
    return AUTHORS[entry.name]


def translate(checkpoint: Checkpoint, entry: envs.CatalogueEntry) -> PCNPolicy:
    """The network of a checkpoint as a policy of an environment of ours."""
    translation = translation_of(checkpoint, entry)
    first = translation.observe(entry)
    seen, given = entry.observation_size if first is None else len(first[1]), checkpoint.state[0][0].shape[1]
    if given != seen:
        what = f"a network of {seen} state numbers, as networks of {checkpoint.origin} have in {entry.name}"
        raise InvalidInput.expected(what, given)
    if len(checkpoint.head) < 2 or len(checkpoint.head[-1][1]) != len(entry.actions):
        what = f"a network with a hidden layer and the {len(entry.actions)} actions of {entry.name}"
        raise InvalidInput.expected(what, f"{len(checkpoint.head) - 1} and {len(checkpoint.head[-1][1])}")
    theirs = translation.actions or entry.actions
    order = [theirs.index(action) for action in entry.actions]
    (output, output_bias), (hidden, hidden_bias) = checkpoint.head[-1], checkpoint.head[0]
    (state, state_bias), (command, command_bias) = checkpoint.state[-1], checkpoint.command[-1]
    return PCNPolicy(
        state_weight=state,
        state_bias=state_bias,
        command_weight=command,
        command_bias=command_bias,
        hidden_weight=hidden,
        hidden_bias=hidden_bias,
        output_weight=output[order],
        output_bias=output_bias[order],
        state_layers=(*(() if first is None else (first,)), *checkpoint.state[:-1]),
        command_layers=checkpoint.command[:-1],
        hidden_layers=checkpoint.head[1:-1],
    )
