"""Pareto Conditioned Networks that were trained elsewhere, from the files that `torch.save` made of them.

Such a file is an archive: a pickle of the whole module, and the numbers of its tensors beside it. The pickle is only
looked at (`pickled.py`), and what it says must be a network of a known class and form; nothing in the file is executed.
"""

import hashlib
import io
import math
import pickletools
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from paretofoil.agents.storage import read_bytes
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.pcn.policy import Layer

MAX_BYTES = 1 << 18
"""Of a pickle, whose numbers lie elsewhere: fifty times what the known networks need."""
DICTIONARY = "collections OrderedDict"
_MARK = object()


@dataclass(frozen=True)
class Name:
    """A function or a class, as "module name"."""

    name: str


@dataclass(frozen=True, eq=False)
class Stored:
    """What lies outside of the pickle, and how it is referred to."""

    reference: Any


@dataclass(eq=False)
class Call:
    """A call that was not made, and the state that its result was to get."""

    name: str
    arguments: tuple[Any, ...]
    state: Any = None


class _Stack(list[Any]):
    """Values, with marks between them; what a broken program takes from nowhere is an IndexError."""

    def since_mark(self) -> list[Any]:
        """Take everything above the last mark, and the mark."""
        place = len(self) - 1
        while self[place] is not _MARK:
            place -= 1
            if place < 0:
                raise IndexError("no mark")
        taken = self[place + 1 :]
        del self[place:]
        return taken

    def take(self, count: int) -> list[Any]:
        if len(self) < count:
            raise IndexError("too few values")
        taken = self[len(self) - count :]
        del self[len(self) - count :]
        return taken


def read_pickle(data: bytes, allowed: Collection[str]) -> Any:
    """The value that a pickle describes, made of plain values, names, calls and references.

    Args:
        data: the pickle.
        allowed: the names that it may mention, as "module name".
    """
    if len(data) > MAX_BYTES:
        raise InvalidInput.expected(f"a pickle of at most {MAX_BYTES} bytes", len(data))
    stack, memo = _Stack(), dict[int, Any]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a backslash in a name, which is refused below
            for instruction, argument, _ in pickletools.genops(data):
                if instruction.name == "STOP":
                    return stack.pop()
                _follow(instruction.name, argument, stack, memo, allowed)
    except InvalidInput:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, struct.error):
        raise InvalidInput.expected("a whole pickle", "one that is broken") from None
    raise InvalidInput.expected("a whole pickle", "one without an end")


def _follow(name: str, argument: Any, stack: _Stack, memo: dict[int, Any], allowed: Collection[str]) -> None:
    if name == "GLOBAL":
        if argument not in allowed:
            raise InvalidInput.expected("a checkpoint with names of the closed list only", brief(argument))
        stack.append(Name(argument))
    elif name in _CONSTANTS:
        stack.append(argument)
    elif name in ("BINPUT", "LONG_BINPUT"):
        memo[argument] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(memo[argument])
    elif name in _INSTRUCTIONS:
        _INSTRUCTIONS[name](stack)
    elif name != "PROTO":
        raise InvalidInput.expected("a checkpoint as torch.save writes it", f"the instruction {name}")


_CONSTANTS = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING", "BINSTRING"}


def _call(stack: _Stack) -> None:
    called, arguments = stack.take(2)
    if not isinstance(called, Name) or not isinstance(arguments, tuple):
        raise TypeError("not a call")
    empty = called.name == DICTIONARY and not arguments  # is filled by the instructions that fill dictionaries
    stack.append({} if empty else Call(called.name, arguments))


def _set_state(stack: _Stack) -> None:
    made, state = stack.take(2)
    if not isinstance(made, dict):  # an ordered dictionary may carry attributes, which say nothing here
        made.state = state
    stack.append(made)


def _set_items(stack: _Stack) -> None:
    _fill(stack, stack.since_mark())


def _set_item(stack: _Stack) -> None:
    _fill(stack, stack.take(2))


def _fill(stack: _Stack, items: list[Any]) -> None:
    keys = items[::2]
    if not all(isinstance(key, str) for key in keys):  # the hash of a deep tuple would be computed without a limit
        raise TypeError("not names")
    stack[-1].update(zip(keys, items[1::2], strict=True))


def _append_all(stack: _Stack) -> None:
    items = stack.since_mark()
    stack[-1].extend(items)


def _tuple(count: int) -> Callable[[_Stack], None]:
    return lambda stack: stack.append(tuple(stack.take(count)))


_INSTRUCTIONS: dict[str, Callable[[_Stack], None]] = {
    "MARK": lambda stack: stack.append(_MARK),
    "NONE": lambda stack: stack.append(None),
    "NEWTRUE": lambda stack: stack.append(True),
    "NEWFALSE": lambda stack: stack.append(False),
    "EMPTY_DICT": lambda stack: stack.append({}),
    "EMPTY_LIST": lambda stack: stack.append([]),
    "EMPTY_TUPLE": _tuple(0),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "TUPLE": lambda stack: stack.append(tuple(stack.since_mark())),
    "APPENDS": _append_all,
    "APPEND": lambda stack: stack[-2].append(stack.pop()),
    "SETITEMS": _set_items,
    "SETITEM": _set_item,
    "BINPERSID": lambda stack: stack.append(Stored(stack.pop())),
    "NEWOBJ": _call,
    "REDUCE": _call,
    "BUILD": _set_state,
}
"""What each instruction without an argument does to the stack."""


Origin = Literal["the authors", "MORL-Baselines"]
_MORL, _AUTHORS = "morl_baselines.multi_policy.pcn.pcn", "pcn.env_setup"
CLASSES: dict[str, Origin] = {
    f"{_MORL} DiscreteActionsDefaultModel": "MORL-Baselines",
    f"{_MORL} Model": "MORL-Baselines",  # before version 1.1
    f"{_AUTHORS} DiscreteCommandModel": "the authors",
    f"{_AUTHORS} WalkroomModel": "the authors",
    f"{_AUTHORS} FruitTreeModel": "the authors",
    f"{_AUTHORS} MinecartModel": "the authors",
    f"{_AUTHORS}_horizon HorizonDiscreteCommandModel": "the authors",
    f"{_AUTHORS}_horizon HorizonVectorCommandModel": "the authors",
    f"{_AUTHORS}_horizon HorizonFruitTreeModel": "the authors",
    f"{_AUTHORS}_horizon HorizonMinecartModel": "the authors",
}
"""The classes whose networks are known to be of this form, and whose they are."""
_ACTIVATION = "torch.nn.modules.activation"
_RELU, _SIGMOID, _LOG_SOFTMAX = (f"{_ACTIVATION} {name}" for name in ("ReLU", "Sigmoid", "LogSoftmax"))
_LINEAR, _SEQUENTIAL = "torch.nn.modules.linear Linear", "torch.nn.modules.container Sequential"
_PARAMETER, _TENSOR = "torch._utils _rebuild_parameter", "torch._utils _rebuild_tensor_v2"
_STORAGES = {"torch FloatStorage": "<f4", "torch DoubleStorage": "<f8"}
_IGNORED = (
    *("__builtin__ set", "builtins set", "_codecs encode", "numpy dtype"),
    *("numpy._core.multiarray scalar", "numpy.core.multiarray scalar"),
)
"""What is mentioned for attributes that are not looked at."""
ALLOWED = frozenset(
    (*CLASSES, *_STORAGES, *_IGNORED, _LINEAR, _RELU, _SIGMOID, _LOG_SOFTMAX, _SEQUENTIAL, _PARAMETER, _TENSOR)
) | {DICTIONARY}
MAX_LAYERS = 16
"""Parts of a sequence, activations included."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A network as its file describes it, and where it comes from."""

    origin: Origin
    state: tuple[Layer, ...]
    """Affine layers with a ReLU between any two, and a sigmoid behind the last."""
    command: tuple[Layer, ...]
    """The same; the factors that the network applies to commands are part of the first."""
    head: tuple[Layer, ...]
    """The same for the product of the two, without the sigmoid: it gives logits."""
    sha256: str
    """Of the file."""


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a PCN of MORL-Baselines (`PCN.save`) or of the authors; anything else is refused with a sentence."""
    data = read_bytes(Path(path), "a checkpoint")
    try:
        archive = _Archive.open(data)
        return _read_network(archive, hashlib.sha256(data).hexdigest())
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


@dataclass(frozen=True, eq=False)
class _Archive:
    """The files of a checkpoint, none of them compressed, so that none can be larger than the whole."""

    files: zipfile.ZipFile
    folder: str

    @classmethod
    def open(cls, data: bytes) -> "_Archive":
        try:
            files = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN:
            raise InvalidInput.expected("an archive as torch.save writes it", "something else") from None
        folders = [name.removesuffix("/data.pkl") for name in files.namelist() if name.endswith("/data.pkl")]
        if len(folders) != 1:
            raise InvalidInput.expected("an archive with one data.pkl, as torch.save writes it", f"{len(folders)}")
        return cls(files, folders[0])

    def read(self, name: str) -> bytes:
        try:
            about = self.files.getinfo(f"{self.folder}/{name}")
            content = self.files.read(about) if about.compress_type == zipfile.ZIP_STORED else None
        except KeyError:
            raise InvalidInput.expected(f"{name} in the archive", "none") from None
        except _BROKEN:
            raise InvalidInput.expected(f"{name} to be whole", "a broken archive") from None
        if content is None:
            raise InvalidInput.expected(f"{name} as torch.save writes it", "compressed")
        return content

    @property
    def byte_order(self) -> bytes:
        return self.read("byteorder") if f"{self.folder}/byteorder" in self.files.namelist() else b"little"


_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, OSError, RuntimeError, OverflowError)
"""What zipfile raises at broken archives; an encrypted one, or one of a later version, is a RuntimeError."""


def _read_network(archive: _Archive, sha256: str) -> Checkpoint:
    if archive.byte_order != b"little":
        raise InvalidInput.expected("numbers that are little-endian", brief(archive.byte_order))
    network = read_pickle(archive.read("data.pkl"), ALLOWED)
    if not isinstance(network, Call) or network.name not in CLASSES:
        known = ", ".join(name.replace(" ", ".") for name in CLASSES)
        raise InvalidInput.expected(f"a network of a class among {known}", _called(network))
    (weight, bias), *others = _read_sequence(archive, network, "c_emb", _SIGMOID)
    with np.errstate(all="ignore"):  # the policy refuses what is not finite
        scaled = (weight * _read_factor(archive, network, weight.shape[1])).astype(np.float32)
    return Checkpoint(
        origin=CLASSES[network.name],
        state=_read_sequence(archive, network, "s_emb", _SIGMOID),
        command=((scaled, bias), *others),
        head=_read_sequence(archive, network, "fc", _LOG_SOFTMAX),
        sha256=sha256,
    )


def _read_factor(archive: _Archive, network: Call, size: int) -> np.ndarray:
    """(size,): what commands are multiplied by; an attribute of the network, or a parameter."""
    given = _attribute(network, "scaling_factor", None) or _attribute(network, "_parameters", {}).get("scaling_factor")
    factor = _read_tensor(archive, given, "scaling_factor").reshape(-1)
    if factor.size != size:
        raise InvalidInput.expected(f"a scaling_factor of {size} numbers", factor.size)
    return factor.astype(np.float64)


def _read_sequence(archive: _Archive, network: Call, name: str, last: str) -> tuple[Layer, ...]:
    """The affine layers of a Linear, ReLU, ..., Linear and a last activation."""
    sequence = _attribute(network, "_modules", {}).get(name)
    parts = list(_attribute(sequence, "_modules", {}).values())
    if not isinstance(sequence, Call) or sequence.name != _SEQUENTIAL or not 2 <= len(parts) <= MAX_LAYERS:
        raise InvalidInput.expected(f"{name} to be a Sequential of 2 to {MAX_LAYERS} parts", _called(sequence))
    kinds = [_called(part) for part in parts]
    if kinds != [_LINEAR, _RELU] * (len(parts) // 2 - 1) + [_LINEAR, last]:
        form = f"Linear layers with a ReLU between any two and a {last.split()[-1]} at the end"
        raise InvalidInput.expected(f"{name} to be {form}", ", ".join(kind.split()[-1] for kind in kinds))
    return tuple(_read_linear(archive, part, name) for part in parts[::2])


def _read_linear(archive: _Archive, part: Any, name: str) -> Layer:
    parameters = _attribute(part, "_parameters", {})
    weight, bias = (_read_tensor(archive, parameters.get(key), f"{name} {key}") for key in ("weight", "bias"))
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or not weight.size:
        raise InvalidInput.expected(f"a weight and a bias that fit in {name}", f"{weight.shape} and {bias.shape}")
    with np.errstate(over="ignore"):  # the policy refuses what is not finite
        return weight.astype(np.float32), bias.astype(np.float32)


def _read_tensor(archive: _Archive, value: Any, name: str) -> np.ndarray:
    """The numbers of a tensor, which may be wrapped as a parameter."""
    if isinstance(value, Call) and value.name == _PARAMETER and value.arguments:
        value = value.arguments[0]
    if not isinstance(value, Call) or value.name != _TENSOR or len(value.arguments) < 4:
        raise InvalidInput.expected(f"{name} to be a tensor", _called(value))
    stored, offset, shape, stride = value.arguments[:4]
    numbers = _read_storage(archive, stored, name)
    if not _whole(shape) or not _whole((offset,)) or stride != _contiguous(shape):
        raise InvalidInput.expected(f"{name} to be a contiguous tensor", f"shape {brief(shape)}, {brief(stride)}")
    size = math.prod(shape)
    if offset + size > numbers.size:
        raise InvalidInput.expected(f"{offset + size} numbers for {name}", numbers.size)
    return numbers[offset : offset + size].reshape(shape)


def _read_storage(archive: _Archive, stored: Any, name: str) -> np.ndarray:
    reference = stored.reference if isinstance(stored, Stored) else ()
    if not isinstance(reference, tuple) or len(reference) < 3 or reference[0] != "storage":
        raise InvalidInput.expected(f"{name} to be stored in the archive", brief(reference))
    kind, key = reference[1], reference[2]
    if not isinstance(kind, Name) or kind.name not in _STORAGES or not isinstance(key, str):
        raise InvalidInput.expected(f"{name} to be stored in single or double precision", _called(kind))
    data = archive.read(f"data/{key}")
    dtype = np.dtype(_STORAGES[kind.name])
    return np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)


def _attribute(module: Any, name: str, default: Any) -> Any:
    """What the state of a pickled module has under a name."""
    state = module.state if isinstance(module, Call) else None
    found = state.get(name, default) if isinstance(state, dict) else default
    return found if default is None or isinstance(found, dict) else default


def _called(value: Any) -> str:
    return value.name if isinstance(value, Call | Name) else brief(value)


def _whole(numbers: Any) -> bool:
    return (
        isinstance(numbers, tuple) and len(numbers) <= 4 and all(type(n) is int and 0 <= n < 1 << 31 for n in numbers)
    )


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
