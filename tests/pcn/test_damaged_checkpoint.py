"""Damaged and crafted checkpoints: `Trainer.resume` reads them, or raises an error that says what is wrong."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from paretofoil.core.errors import InvalidInput
from paretofoil.envs import make_batch
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.train import Trainer

CONFIG = TrainConfig(steps=300, warmup=20, episodes=4, hidden=4, updates=2, polish_rounds=3, polish_updates=2)
MAKE = partial(make_batch, "branch-path")
ODD: list[Any] = [None, True, -1, 0, 0.5, 1e308, float("nan"), float("inf"), 10**30, "x", "\x1b", [], {}, [[]], [None]]
Arrays = dict[str, np.ndarray]


def _replace(inner: Any, key: Any, odd: Any) -> None:
    inner[key] = odd


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Arrays, Any]:
    """The arrays and the header of a training that has explored and polished."""
    path, trainer = tmp_path_factory.mktemp("training") / "checkpoint", Trainer(MAKE, CONFIG)
    while not trainer.round:
        line = trainer.polish() if trainer.explored else trainer.explore()
        trainer.log += [line] if line else []
    trainer.replay.tried = {(0, 1)}
    trainer.save(path)
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["training"])  # noqa: SIM118


def resume(path: Path, arrays: Arrays, header: Any) -> Trainer | None:
    """Return the training of a checkpoint; None if it is refused. Any other error fails the test."""
    path.write_bytes(save(arrays, metadata={"training": header if isinstance(header, str) else json.dumps(header)}))
    before = path.read_bytes()
    try:
        return Trainer.resume(path, MAKE)
    except InvalidInput:
        return None
    finally:
        assert path.read_bytes() == before


def places(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys of every value inside a header; of a list only the first item."""
    yield keys
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value[:1]))
        if isinstance(value, list)
        else []
    )
    for key, item in items:
        yield from places(item, (*keys, key))


def changed(header: Any, keys: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    header = deepcopy(header)
    inner = header
    for key in keys[:-1]:
        inner = inner[key]
    change(inner, keys[-1])
    return header


def use(trainer: Trainer) -> None:
    with suppress(InvalidInput):  # weights may be such that the loss is not finite
        trainer.polish()
        trainer.result()


SHARES = pytest.mark.parametrize("every", [30, pytest.param(1, marks=pytest.mark.long)])
"""Try each change, or a part of them."""


@SHARES
def test_no_header_raises_anything_but_invalid_input(tmp_path: Path, stored: tuple[Arrays, Any], every: int) -> None:
    arrays, header = stored
    path, refused, accepted = tmp_path / "checkpoint", 0, 0
    assert resume(path, arrays, header) is not None
    changes: list[tuple[tuple[Any, ...], Callable[[Any, Any], None]]] = []
    for keys in list(places(header))[1:]:
        changes.append((keys, lambda inner, key: inner.pop(key)))
        changes += [(keys, partial(_replace, odd=odd)) for odd in ODD]
    for keys, change in changes[::every]:
        one = changed(header, keys, change)
        trainer = resume(path, arrays, one)
        refused, accepted = refused + (trainer is None), accepted + (trainer is not None)
        if trainer is not None and one["config"] == header["config"]:
            use(trainer)
    assert refused > 500 / every
    assert accepted > 50 / every  # a number may well be another one


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "null", '"x"', "[" * 100_000, "1" * 10_000, '{"schema": 2}', "{}"]
)
def test_a_header_of_another_form_is_an_error(tmp_path: Path, stored: tuple[Arrays, Any], text: str) -> None:
    assert resume(tmp_path / "checkpoint", stored[0], text) is None


@SHARES
def test_no_array_raises_anything_but_invalid_input(tmp_path: Path, stored: tuple[Arrays, Any], every: int) -> None:
    arrays, header = stored
    path, refused, tried = tmp_path / "checkpoint", 0, 0
    for name, array in arrays.items():
        others = [array[:-1], array[None], array.astype(np.uint8), np.zeros((0, 3), array.dtype), array.ravel()]
        others += [np.concatenate([array, array]), array - 7 if array.dtype != bool else ~array]
        if array.dtype.kind == "f":
            others += [np.full_like(array, np.nan), np.full_like(array, np.inf), array.astype(np.float16)]
        for other in [None, *others]:
            tried += 1
            if tried % every:
                continue
            kept = {key: value for key, value in arrays.items() if key != name}
            trainer = resume(path, kept if other is None else {**kept, name: other}, header)
            refused += trainer is None
            if trainer is not None:
                use(trainer)
    assert refused > 5 * len(arrays) / every


def test_a_truncated_or_flipped_file_is_an_error_or_a_training(tmp_path: Path, stored: tuple[Arrays, Any]) -> None:
    path = tmp_path / "checkpoint"
    assert resume(path, *stored) is not None
    whole, random = path.read_bytes(), np.random.default_rng(0)
    for cut in [*random.integers(len(whole), size=10), len(whole) - 1, 0, 8]:
        path.write_bytes(whole[:cut])
        with pytest.raises(InvalidInput):
            Trainer.resume(path, MAKE)
    for place in random.integers(len(whole), size=20):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(random.integers(8))
        path.write_bytes(flipped)
        with suppress(InvalidInput):
            Trainer.resume(path, MAKE)
