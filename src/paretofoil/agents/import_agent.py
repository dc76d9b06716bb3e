"""Imports networks of MORL-Baselines and of the authors as agents.

Other code encodes states and orders actions differently. The differences become a part of the imported network: an
additional first layer computes their observation from ours, and the rows of the output layer are put into our order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import HORIZON, Agent
from paretofoil.agents.checkpoint import Checkpoint, read_checkpoint
from paretofoil.agents.store import read_bytes
from paretofoil.core import __version__
from paretofoil.core.command import CommandSpace, Objective, as_vector
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.json import brief, brief_words
from paretofoil.envs.catalogue import OneHot
from paretofoil.envs.episode import EXACT, evaluate, greedy, is_reached, run_episodes
from paretofoil.envs.front import known_front
from paretofoil.pcn.policy import PCN, Layer, PCNActor, PCNPolicy

FAITHFUL = 0.01
"""A point of the environment's front is kept if the return of its rollout is within this scaled distance of it."""
BOX_DECIMALS = 3
"""The authors trained with the paper's box, rounded to this many decimals."""
MAX_ROWS = 10_000
"""The largest number of commands in the file of a front."""
MAX_HORIZON = 200
"""The largest horizon that is tried for the points of a front without horizons."""


def import_agent(
    file: str | Path,
    environment: str | envs.CatalogueEntry,
    *,
    front: str | Path | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    name: str | None = None,
) -> Agent:
    """Return an agent from a PCN of MORL-Baselines (`PCN.save`) or of the authors. The file is not executed.

    Args:
        file: the checkpoint.
        environment: the environment in which it was trained: a name from `paretofoil envs`, or your own entry.
        front: a text file with one command per row, see `read_front`; by default the points of the environment's front
            that the network reaches.
        ranges: the lowest and the highest command of objectives, by name; by default the range of the authors'
            training, or the range of possible returns.
        name: the name of the agent; by default that of the file.
    """
    entry, checkpoint = envs.entry(environment), read_checkpoint(file)
    try:
        policy = translate(checkpoint, entry)
        size = checkpoint.command[0][0].shape[1]
        given = None if front is None else read_front(front, _objectives(entry, size), entry)
        space = _space(checkpoint, entry, size, ranges or {}, given)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    rows = given or _find_front(entry, policy, space)
    measured = evaluate(envs.make_batch(entry), policy, rows.commands)
    origin = "the range of its training" if checkpoint.origin == "the authors" else "the range of possible returns"
    provenance: dict[str, Any] = {
        "imported": f"a PCN of {checkpoint.origin}",
        "file": Path(file).name,
        "sha256": checkpoint.sha256,
        "front": f"the environment's own, within {FAITHFUL:.0%}" if front is None else Path(front).name,
        "command_box": f"{origin}; {', '.join(ranges)} as given" if ranges else origin,
        "versions": {"paretofoil": __version__},
    }
    if rows.returns is not None and not entry.stochastic:  # there a stated return is that of one episode
        same = is_reached(rows.returns, measured.achieved, measured.error, EXACT)
        provenance["returns as stated"] = f"{int(same.sum())} of {len(same)}"
    return Agent(
        name or Path(file).stem, policy, entry, space, rows.commands, measured.achieved, measured.error, provenance
    )


def _objectives(entry: envs.CatalogueEntry, size: int) -> tuple[Objective, ...]:
    """Return the objectives of commands of this size, with or without a horizon."""
    if size - len(entry.objectives) not in (0, 1):
        expected = f"commands of the {len(entry.objectives)} objectives of {entry.name}, with or without a horizon"
        raise InvalidInput.expected(expected, f"{size} numbers")
    return (*entry.objectives, HORIZON)[:size]


def _space(
    checkpoint: Checkpoint,
    entry: envs.CatalogueEntry,
    size: int,
    ranges: Mapping[str, tuple[float, float]],
    front: "FrontRows | None",
) -> CommandSpace:
    """Return the space of commands: the given ranges, else those of the authors' training or of possible returns.

    An infinite range is replaced by that of the front's commands.
    """
    objectives = _objectives(entry, size)
    sides = np.array([*(o.limits for o in entry.objectives), (1.0, entry.max_steps)][:size])
    if checkpoint.origin == "the authors" and entry.paper_box is not None:
        sides[: len(entry.objectives)] = np.round(entry.paper_box, BOX_DECIMALS).T
    names = [o.name for o in objectives]
    for name, side in ranges.items():
        if name not in names:
            raise InvalidInput.expected(f"ranges of objectives among {', '.join(names)}", did_you_mean(name, names))
        sides[names.index(name)] = as_vector(side, f"the range of {name}", 2)
    if front is not None:
        of_front = np.stack([front.commands.min(axis=0), front.commands.max(axis=0)], axis=1)
        sides = np.where(np.isfinite(sides) | (np.ptp(of_front, axis=1) == 0.0)[:, None], sides, of_front)
    infinite = [name for name, side in zip(names, sides, strict=True) if not np.isfinite(side).all()]
    if infinite:
        expected = f"a finite range for {', '.join(infinite)}: ranges=..., or front=... with different values"
        raise InvalidInput.expected(expected, "an infinite range")
    return CommandSpace(sides[:, 0], sides[:, 1], objectives)


@dataclass(frozen=True, eq=False)
class FrontRows:
    """The commands of a front and, if given, their returns."""

    commands: np.ndarray  # (F, c)
    returns: np.ndarray | None = None  # (F, d)


def read_front(file: str | Path, objectives: Sequence[Objective], entry: envs.CatalogueEntry) -> FrontRows:
    """Return the rows of a text file: a command, or a command and its return, as numbers with commas between them."""
    path, size, returns = Path(file), len(objectives), len(entry.objectives)
    lines = read_bytes(path, "a front").decode(errors="replace").splitlines()
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not 1 <= len(rows) <= MAX_ROWS:
        raise InvalidInput.expected(f"{path} with 1 to {MAX_ROWS:,} commands", len(rows))
    try:
        table = np.loadtxt(rows, delimiter=",", ndmin=2)
        fits = table.shape[1] in (size, size + returns) and np.isfinite(table).all()
        got = brief(rows[0])
    except ValueError as error:  # it names the row
        fits, got = False, brief_words(error)
    if not fits:
        names = ", ".join(o.name for o in objectives)
        expected = f"{path} with {size} finite numbers per row, separated by commas ({names})"
        raise InvalidInput.expected(f"{expected}, or with {size + returns}: a command and its returns", got)
    return FrontRows(table[:, :size], table[:, size:] if table.shape[1] > size else None)


def _find_front(entry: envs.CatalogueEntry, policy: PCN, space: CommandSpace) -> FrontRows:
    """Return the points of the environment's front that the policy reaches, each with its best horizon."""
    points = None if entry.stochastic else known_front(entry)  # one episode is not enough in a stochastic environment
    if points is None:
        reason = "is stochastic" if entry.stochastic else "has no known front"
        raise InvalidInput.expected(f"the file of a front (front=...), because {entry.name} {reason}", "no file")
    shape, size = (len(points), min(entry.max_steps, MAX_HORIZON) if space.dim > points.shape[1] else 1), space.dim
    commands = np.ones((*shape, size))  # (points, horizons, c)
    commands[:, :, : points.shape[1]] = points[:, None]
    commands[:, :, points.shape[1] :] = 1.0 + np.arange(shape[1])[:, None]
    flat = commands.reshape(-1, size)
    episodes = run_episodes(envs.make_batch(entry), greedy(policy), flat, np.zeros(len(flat), dtype=np.uint64))
    returns = np.concatenate([episodes.returns, flat[:, points.shape[1] :]], axis=1)  # a horizon counts as reached
    distance = space.distance(flat, returns).reshape(shape)
    unused = np.abs(flat[:, -1] - episodes.lengths).reshape(shape)  # breaks ties
    best = commands[np.arange(len(points)), np.lexsort((unused, distance), axis=1)[:, 0]]
    kept = best[distance.min(axis=1) <= FAITHFUL]
    if not len(kept):
        expected = f"a network that reaches a point of the front of {entry.name}, or the file of a front"
        raise InvalidInput.expected(expected, f"one that reaches none of {len(points)}")
    return FrontRows(kept)


@dataclass(frozen=True)
class Translation:
    """The differences between our environment and that of an imported network."""

    observe: Callable[[envs.CatalogueEntry], Layer | None] | None = None
    """Entry -> the layer that computes their observation from ours; None if observations are equal."""
    actions: tuple[str, ...] | None = None
    """The actions in the order of the network; None for our order."""


def as_integers(entry: envs.CatalogueEntry) -> Layer | None:
    """Return the layer from our concatenated one-hot vectors to integers: x = 0 h_0 + 1 h_1 + 2 h_2 + ..."""
    if not isinstance(entry.encode, OneHot):
        return None
    sizes = entry.encode.sizes
    weight = np.zeros((len(sizes), sum(sizes)), dtype=np.float32)
    for row, size in enumerate(sizes):
        start = sum(sizes[:row])
        weight[row, start : start + size] = np.arange(size) if size > 1 else 1.0
    return weight, np.zeros(len(sizes), dtype=np.float32)


def as_index(entry: envs.CatalogueEntry, sizes: Sequence[int] | None = None) -> Layer:
    """Return the layer from our one-hot vectors and flags to one one-hot vector of all their combinations.

    A combination of n values is relu(h_1 + ... + h_n - (n - 1)), with 1 - f for a flag f that is not set. The first
    value changes slowest. `sizes` are the lengths of the one-hot vectors, 1 for a flag; by default those of the entry.
    """
    sizes = entry.encode.sizes if sizes is None else sizes  # type: ignore[attr-defined]
    combinations = np.indices([max(size, 2) for size in sizes]).reshape(len(sizes), -1)  # (n, combinations)
    weight = np.zeros((combinations.shape[1], sum(sizes)), dtype=np.float32)
    bias = np.full(len(weight), 1.0 - len(sizes), dtype=np.float32)
    start = 0
    for values, size in zip(combinations, sizes, strict=True):
        if size == 1:
            weight[:, start] = 2.0 * values - 1.0
            bias += 1.0 - values
        else:
            weight[np.arange(len(weight)), start + values] = 1.0
        start += size
    return weight, bias


_AROUND = ("right", "up", "left", "down")
AUTHORS: dict[str, Translation] = {
    "branch-path": Translation(as_integers, _AROUND),
    "collect-two": Translation(as_integers, _AROUND),
    "reward-line": Translation(as_integers, _AROUND),
    "deep-sea-treasure": Translation(as_index, ("up", "right", "down", "left")),
    "breakable-bottles": Translation(partial(as_index, sizes=(5, 3, 3, 1, 1, 1))),
    "resource-gathering": Translation(as_index),
    "fruit-tree": Translation(),
    "fruit-tree-6": Translation(),
    "minecart": Translation(),
    **{f"walkroom-{n}": Translation() for n in range(2, 10)},
    **{name: Translation() for name in ("three-tree", "mountain-car", "lunar-lander", "reacher")},
}
"""The environments of the authors' code that are in the catalogue."""
MORL_BASELINES = Translation(as_integers)
"""Raw observations of MO-Gymnasium, and actions in our order."""


def translate(checkpoint: Checkpoint, entry: envs.CatalogueEntry) -> PCN:
    """Return the network of a checkpoint as a policy in our environment."""
    translation = MORL_BASELINES if checkpoint.origin == "MORL-Baselines" else AUTHORS.get(entry.name)
    if translation is None:
        expected = (
            f"one of the environments of the authors' code ({', '.join(AUTHORS)}), because the authors saved the file"
        )
        raise InvalidInput.expected(expected, entry.name)
    if checkpoint.continuous != (entry.action_space is not None):
        kinds = ("continuous", "discrete") if checkpoint.continuous else ("discrete", "continuous")
        expected = f"an environment with {kinds[0]} actions, as the network has"
        raise InvalidInput.expected(expected, f"{entry.name} with {kinds[1]} ones")
    first = None if translation.observe is None else translation.observe(entry)
    size, stored = entry.observation_size if first is None else len(first[1]), checkpoint.state[0][0].shape[1]
    if stored != size:
        expected = f"a network with {size} state inputs, as networks of {checkpoint.origin} have for {entry.name}"
        raise InvalidInput.expected(expected, f"{stored} state inputs")
    if len(checkpoint.head) < 2 or len(checkpoint.head[-1][1]) != len(entry.actions):
        expected = f"a network with a hidden layer and the {len(entry.actions)} actions of {entry.name}"
        got = f"{len(checkpoint.head) - 1} hidden layers and {len(checkpoint.head[-1][1])} actions"
        raise InvalidInput.expected(expected, got)
    theirs = translation.actions or entry.actions
    order = [theirs.index(action) for action in entry.actions]
    output, bias = checkpoint.head[-1]
    network = PCNPolicy(
        state=checkpoint.state if first is None else (first, *checkpoint.state),
        command=checkpoint.command,
        head=(*checkpoint.head[:-1], (output[order], bias[order])),
    )
    return network if entry.action_space is None else PCNActor(network, entry.action_space)
