"""From a checkpoint that was made elsewhere to an agent that can be saved, asked and studied like any other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import HORIZON, Agent
from paretofoil.agents.checkpoint import Checkpoint, read_checkpoint
from paretofoil.agents.storage import read_bytes
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.core.policy import Policy
from paretofoil.core.version import __version__
from paretofoil.envs.catalogue import OneHot
from paretofoil.envs.episode import EXACT, Evaluation, evaluate, greedy, run_episodes
from paretofoil.envs.front import known_front
from paretofoil.pcn.policy import Layer, PCNPolicy

FAITHFUL = 0.01
"""A command of the environment's own front is kept if what it returns is so close to it, in scaled distance."""
MAX_ROWS = 10_000
"""Of a front's file."""
MAX_HORIZON = 200
"""The longest horizon that is tried for a command that comes without one."""


def import_agent(
    file: str | Path,
    environment: str | envs.CatalogueEntry,
    *,
    front: str | Path | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    name: str | None = None,
) -> Agent:
    """Make an agent of a PCN that MORL-Baselines (`PCN.save`) or the authors' code wrote; nothing in it is executed.

    Args:
        file: the checkpoint.
        environment: where it was trained: a name from `paretofoil envs`, or an entry of one's own.
        front: a text file of the commands that it learned to reach, a row each, as `read_front` describes; if not
            given, those points of the environment's own front that it reaches.
        ranges: the least and the most that may be asked of an objective, by name, for those where it is not to be
            what the network's authors say, or else what an episode can return.
        name: the agent's name; that of the file if not given.
    """
    entry, checkpoint = envs.entry(environment), read_checkpoint(file)
    try:
        policy = translate(checkpoint, entry)
        space = _space(checkpoint, entry, policy.command_size, ranges or {})
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    rows = _find_front(entry, policy, space) if front is None else read_front(front, space, len(entry.objectives))
    measured = evaluate(envs.make_batch(entry), policy, rows.commands)
    told = {
        "imported": f"a PCN of {checkpoint.origin}",
        "file": Path(file).name,
        "sha256": checkpoint.sha256,
        "front": f"the environment's own, within {FAITHFUL:.0%}" if front is None else Path(front).name,
        "command_box": _box_origin(checkpoint, entry, ranges or {}),
        "versions": {"paretofoil": __version__},
        **_as_stated(rows, measured),
    }
    called = name or Path(file).stem
    return Agent(called, policy, entry, space, rows.commands, measured.achieved, measured.error, told)


def _as_stated(rows: "FrontRows", measured: Evaluation) -> dict[str, str]:
    """How many commands return here what their file states, where it does."""
    if rows.returns is None:
        return {}
    same = (np.abs(measured.achieved - rows.returns) <= EXACT + 3.0 * measured.error).all(axis=1)
    return {"returns as stated": f"{int(same.sum())} of {len(same)}"}


def _box_origin(checkpoint: Checkpoint, entry: envs.CatalogueEntry, ranges: Mapping[str, tuple[float, float]]) -> str:
    known = translation_of(checkpoint, entry).box is not None
    origin = "what its authors trained it for" if known else "what an episode can return"
    return f"{origin}, with {', '.join(ranges)} as it was said" if ranges else origin


def _space(
    checkpoint: Checkpoint, entry: envs.CatalogueEntry, size: int, ranges: Mapping[str, tuple[float, float]]
) -> CommandSpace:
    if size - len(entry.objectives) not in (0, 1):
        what = f"commands of the {len(entry.objectives)} objectives of {entry.name}, with a horizon or without"
        raise InvalidInput.expected(what, f"{size} numbers")
    objectives = with_horizon(entry.objectives)[:size]
    box = translation_of(checkpoint, entry).box
    sides = [o.limits for o in entry.objectives] if box is None else list(zip(*box, strict=True))
    sides += [(1.0, float(entry.max_steps))] * (size - len(sides))
    names = [o.name for o in objectives]
    for name, side in ranges.items():
        if name not in names:
            raise InvalidInput.expected(f"ranges of {', '.join(names)}", name)
        sides[names.index(name)] = side
    unknown = [name for name, side in zip(names, sides, strict=True) if not np.isfinite(side).all()]
    if unknown:
        raise InvalidInput.expected(f"a range of what may be asked of {', '.join(unknown)}", "none")
    low, high = zip(*sides, strict=True)
    return CommandSpace(low, high, objectives)  # type: ignore[arg-type]


def with_horizon(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """The numbers of a command that ends with a horizon."""
    return (*objectives, HORIZON)


@dataclass(frozen=True, eq=False)
class FrontRows:
    """Commands, and what they are stated to return."""

    commands: np.ndarray  # (F, c)
    returns: np.ndarray | None = None  # (F, d)


def read_front(file: str | Path, space: CommandSpace, objectives: int) -> FrontRows:
    """The rows of a text file: a command, or a command and its return, with commas between; # begins a remark."""
    path = Path(file)
    lines = read_bytes(path, "a front").decode(errors="replace").splitlines()
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not 1 <= len(rows) <= MAX_ROWS:
        raise InvalidInput.expected(f"{path} with 1 to {MAX_ROWS:,} commands", len(rows))
    numbers = [_numbers(row, path) for row in rows]
    width = len(numbers[0])
    if width not in (space.dim, space.dim + objectives) or any(len(row) != width for row in numbers):
        what = f"{path} with rows of {space.dim} numbers ({', '.join(space.names)})"
        raise InvalidInput.expected(f"{what}, or of those and {objectives} returns", brief(rows[0]))
    table = np.array(numbers)
    return FrontRows(table[:, : space.dim], table[:, space.dim :] if width > space.dim else None)


def _numbers(row: str, path: Path) -> list[float]:
    try:
        numbers = [float(part) for part in row.split(",")]
    except ValueError:
        numbers = [np.nan]
    if not np.isfinite(numbers).all():
        raise InvalidInput.expected(f"{path} with finite numbers, and commas between them", brief(row))
    return numbers


def _find_front(entry: envs.CatalogueEntry, policy: Policy, space: CommandSpace) -> FrontRows:
    """The points of the environment's own front that the policy reaches; with a horizon, under the one that fits."""
    points = None if entry.stochastic else known_front(entry)  # one episode tells little where chance plays a part
    if points is None:
        raise InvalidInput.expected(f"a front's file, because {entry.name} is random or its front not known", "none")
    shape, size = (len(points), min(entry.max_steps, MAX_HORIZON) if space.dim > points.shape[1] else 1), space.dim
    commands = np.ones((*shape, size))  # (points, horizons, c)
    commands[:, :, : points.shape[1]] = points[:, None]
    commands[:, :, points.shape[1] :] = 1.0 + np.arange(shape[1])[:, None]
    asked = commands.reshape(-1, size)
    episodes = run_episodes(envs.make_batch(entry), greedy(policy), asked, np.zeros(len(asked), dtype=np.uint64))
    returns = np.concatenate([episodes.returns, asked[:, points.shape[1] :]], axis=1)  # no horizon counts as missed
    off = space.distance(asked, returns).reshape(shape)
    surplus = np.abs(asked[:, -1] - episodes.lengths).reshape(shape)  # of equals, the horizon that is used up
    best = commands[np.arange(len(points)), np.lexsort((surplus, off), axis=1)[:, 0]]
    kept = best[off.min(axis=1) <= FAITHFUL]
    if not len(kept):
        what = f"a network that reaches a point of the front of {entry.name}, or a front's file"
        raise InvalidInput.expected(what, f"one that reaches none of {len(points)}")
    return FrontRows(kept)


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
