"""The checkpoint of a training: a safetensors file whose header holds all other values as JSON.

A checkpoint may be damaged, or come from anyone. The types of its values and the shapes of its arrays are checked.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import write_atomically
from paretofoil.core.json import Count, Fraction, brief, brief_words, read_value
from paretofoil.envs.batch import BatchEnv
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.replay import Demonstration

SCHEMA = 2
_HEADER = "training"
_COLUMNS = tuple(field.name for field in fields(Demonstration))
_KINDS = {"plan": "i", "actions": "i", "masks": "b"}
"""NumPy kinds of the columns of a demonstration; all other columns are floats."""
NonNegative = Annotated[float, msgspec.Meta(ge=0.0)]


@dataclass(frozen=True)
class TrainProgress:
    """One entry of the training log."""

    phase: str  # "explore" or "polish"
    iteration: Count  # or the round of the polish
    steps: Count
    seconds: NonNegative
    front_size: Count
    hypervolume: float
    fidelity: Fraction  # the share of the front that greedy rollouts reach
    loss: float

    @property
    def steps_per_second(self) -> float:
        return self.steps / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class Counters:
    """The progress of a training in numbers, from which it continues."""

    steps: Count
    iteration: Count
    round: Count
    explored: bool
    seconds: NonNegative
    measured: Count = 0
    """Environment steps of rollouts that measured the front. Missing in old files."""


@dataclass(frozen=True)
class Header:
    """All values of a checkpoint that are not arrays."""

    config: TrainConfig
    counters: Counters
    tried: list[list[int]]
    """Plans whose mean return was estimated."""
    boosts: list[tuple[list[float], NonNegative]]
    best_fidelity: Fraction | None
    log: list[TrainProgress]
    environment: str = ""
    """Missing in old files."""


def write_checkpoint(
    path: Path, arrays: Mapping[str, np.ndarray], header: Header, generator: Mapping[str, Any]
) -> None:
    """Write the file atomically: after a crash, the old file remains."""
    contiguous = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    text = json.dumps({"schema": SCHEMA, **asdict(header), "generator": generator}, allow_nan=False)
    write_atomically(path, save(contiguous, metadata={_HEADER: text}))


def read_checkpoint(path: Path, environment: str = "") -> tuple[dict[str, np.ndarray], Header, np.random.Generator]:
    """Return the arrays, the header and the random generator.

    A checkpoint of another environment is an error if both names are given.
    """
    try:
        if not path.is_file():
            raise OSError("no such file")
        with safe_open(path, framework="numpy") as file:
            stored = json.loads((file.metadata() or {})[_HEADER])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput.expected(f"{path} to be a checkpoint of a training", brief_words(error)) from None
    if not isinstance(stored, dict) or stored.get("schema") != SCHEMA:
        got = brief(stored.get("schema") if isinstance(stored, dict) else stored)
        raise InvalidInput.expected(f"a checkpoint of schema {SCHEMA}", got)
    generator = _read_generator(path, stored.pop("generator", None))
    header = read_value(Header, stored, f"the checkpoint {path}")
    if header.environment and environment and header.environment != environment:
        raise InvalidInput.expected(f"{path} to be a checkpoint of {environment}", f"one of {header.environment}")
    hidden = arrays.get("learner.network.hidden.bias", np.zeros(0))
    if hidden.shape != (header.config.hidden,):
        raise InvalidInput.expected(f"a network of {header.config.hidden} hidden units in {path}", hidden.size)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidInput.expected(f"finite numbers in {name} of {path}", "NaN or infinity")
    return arrays, header, generator


def _read_generator(path: Path, state: Any) -> np.random.Generator:
    """Return the random generator of a stored state, which `read_value` cannot read: its integers are too large."""
    generator = np.random.default_rng(0)
    try:
        generator.bit_generator.state = state
        if generator.bit_generator.state == state:
            return generator
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError):
        pass
    raise InvalidInput.expected(f"the state of a random generator in {path}", brief(state))


def check_learner(path: Path, ours: Mapping[str, np.ndarray], stored: Mapping[str, np.ndarray]) -> None:
    """Raise an error unless the stored arrays fit the network, and its optimiser if one is stored."""
    expected = {name: (array.dtype, array.shape) for name, array in ours.items() if name.startswith("network.")}
    got = {name: (array.dtype, array.shape) for name, array in stored.items()}
    if _sizes(expected) != _sizes(got):
        raise InvalidInput.expected(f"{path} to be a checkpoint for {_sizes(expected)}", _sizes(got))
    if any(name.startswith("optimiser.") for name in got):
        parameters = [form for name, form in expected.items() if name.endswith((".weight", ".bias"))]
        for number, form in enumerate(parameters):
            expected |= {f"optimiser.{number}.{moment}": form for moment in ("exp_avg", "exp_avg_sq")}
            expected[f"optimiser.{number}.step"] = (np.dtype(np.float32), (1,))
    for name in sorted({*expected, *got}):
        if expected.get(name) != got.get(name):
            raise InvalidInput.expected(f"{name} of {path} to be {_form(expected, name)}", _form(got, name))
        if name.endswith((".step", ".exp_avg_sq")) and (stored[name] < 0).any():
            raise InvalidInput.expected(f"{name} of {path} to be at least 0", float(stored[name].min()))


def _sizes(forms: Mapping[str, tuple[np.dtype, tuple[int, ...]]]) -> str:
    shapes = [forms.get(f"network.{name}.weight", (None, ()))[1] for name in ("state", "command", "output")]
    if any(len(shape) != 2 for shape in shapes):
        return "a network without weights"
    (_, states), (_, commands), (actions, _) = shapes
    return f"states of {states} numbers, commands of {commands}, {actions} actions"


def _form(forms: Mapping[str, tuple[np.dtype, tuple[int, ...]]], name: str) -> str:
    return f"{forms[name][0]} of shape {forms[name][1]}" if name in forms else "missing"


def pack(demonstrations: Sequence[Demonstration]) -> dict[str, np.ndarray]:
    """Return demonstrations as arrays: each column concatenated, and the lengths of its pieces."""
    packed: dict[str, np.ndarray] = {}
    for name in _COLUMNS if demonstrations else ():
        pieces = [getattr(d, name) for d in demonstrations]
        packed[name] = np.concatenate(pieces)
        packed[f"{name}_sizes"] = np.array([len(piece) for piece in pieces])
    return packed


def unpack(packed: Mapping[str, np.ndarray], path: Path, env: BatchEnv, command_size: int) -> list[Demonstration]:
    """Return the demonstrations of `pack`, or raise an error if they do not fit the environment."""
    if not packed:
        return []
    axes = {"states": (env.observation_size,), "masks": (env.num_actions,), "commands": (command_size,)}
    kinds = dict(_KINDS)
    if env.action_space is not None:
        axes |= {"plan": (env.num_actions,), "actions": (env.num_actions,)}
        kinds |= {"plan": "f", "actions": "f"}
    columns = [_split(packed, name, axes.get(name, ()), kinds.get(name, "f"), path) for name in _COLUMNS]
    if len({len(pieces) for pieces in columns}) != 1:
        raise InvalidInput.expected(f"columns of equal lengths in {path}", [len(pieces) for pieces in columns])
    demonstrations = [Demonstration(*pieces) for pieces in zip(*columns, strict=True)]
    for number, d in enumerate(demonstrations):
        lengths = [len(d.states), len(d.masks), len(d.commands), len(d.actions)]
        valid = len(set(lengths)) == 1 and 0 not in lengths and len(d.label) == len(d.error) == env.num_objectives
        actions = np.concatenate([d.plan, d.actions])
        if env.action_space is not None:
            valid = valid and np.array_equal(actions, env.action_space.clip(actions))
        else:
            valid = valid and not ((actions < 0) | (actions >= env.num_actions)).any()
            valid = valid and bool(d.masks[np.arange(len(d.actions)), d.actions].all())
        if not valid:
            what = f"demonstration {number} of {path} to have columns of one length and valid actions"
            raise InvalidInput.expected(what, f"lengths {lengths} and actions {brief(actions.tolist())}")
    return demonstrations


def _split(
    packed: Mapping[str, np.ndarray], name: str, axes: tuple[int, ...], kind: str, path: Path
) -> list[np.ndarray]:
    """Return the pieces of a column of demonstrations."""
    values, sizes = packed.get(name), packed.get(f"{name}_sizes")
    if values is None or sizes is None:
        raise InvalidInput.expected(f"{name} and {name}_sizes of demonstrations in {path}", sorted(packed))
    if values.dtype.kind != kind or values.ndim != 1 + len(axes) or values.shape[1:] != axes:
        raise InvalidInput.expected(f"{name} of {path} as rows of shape {axes}", f"{values.dtype} of {values.shape}")
    whole = sizes.ndim == 1 and len(sizes) > 0 and sizes.dtype.kind == "i"
    if not whole or (sizes < 0).any() or (sizes > len(values)).any() or sizes.sum() != len(values):
        raise InvalidInput.expected(f"{name}_sizes of {path} with the sum {len(values)}", brief(sizes.tolist()))
    return np.split(values, np.cumsum(sizes)[:-1])


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays whose names start with a prefix, without the prefix."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
