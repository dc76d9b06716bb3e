"""The checkpoint of a training: a safetensors file whose header holds all other values as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import write_whole
from paretofoil.pcn.replay import Demonstration

SCHEMA = 2
_HEADER = "training"
_COLUMNS = tuple(field.name for field in fields(Demonstration))


def write_checkpoint(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> None:
    """Write the file atomically: a crash leaves the old one."""
    contiguous = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    text = json.dumps({"schema": SCHEMA, **header}, allow_nan=False)
    write_whole(path, save(contiguous, metadata={_HEADER: text}))


def read_checkpoint(path: Path, environment: str = "") -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header. A checkpoint of another environment is an error if both names are given."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise InvalidInput.expected(f"{path} to be a checkpoint of a training", error) from None
    if header.get("schema") != SCHEMA:
        raise InvalidInput.expected(f"a checkpoint of schema {SCHEMA}", header.get("schema"))
    stored = header.get("environment")  # missing in old files
    if stored and environment and stored != environment:
        raise InvalidInput.expected(f"{path} to be a checkpoint of {environment}", f"one of {stored}")
    return arrays, header


def check_sizes(path: Path, ours: Mapping[str, np.ndarray], stored: Mapping[str, np.ndarray]) -> None:
    """Raise an error if the stored network has other sizes than ours."""
    expected, got = _sizes(ours), _sizes(stored)
    if expected != got:
        raise InvalidInput.expected(f"{path} to be a checkpoint for {expected}", got)


def _sizes(arrays: Mapping[str, np.ndarray]) -> str:
    states, commands = (arrays[f"network.{name}.weight"].shape[1] for name in ("state", "command"))
    actions = arrays["network.output.weight"].shape[0]
    return f"states of {states} numbers, commands of {commands}, {actions} actions"


def pack(demonstrations: Sequence[Demonstration]) -> dict[str, np.ndarray]:
    """Return demonstrations as arrays: each column concatenated, and the lengths of its pieces."""
    packed: dict[str, np.ndarray] = {}
    for name in _COLUMNS if demonstrations else ():
        pieces = [getattr(d, name) for d in demonstrations]
        packed[name] = np.concatenate(pieces)
        packed[f"{name}_sizes"] = np.array([len(piece) for piece in pieces])
    return packed


def unpack(packed: Mapping[str, np.ndarray]) -> list[Demonstration]:
    """Return the demonstrations of `pack`."""
    if not packed:
        return []
    columns = [np.split(packed[name], np.cumsum(packed[f"{name}_sizes"])[:-1]) for name in _COLUMNS]
    return [Demonstration(*pieces) for pieces in zip(*columns, strict=True)]


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays whose names start with a prefix, without the prefix."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
