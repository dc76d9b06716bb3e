"""Reads networks of MORL-Baselines and PCNs of the authors from files of `torch.save`.

Such a file is an archive with a pickled module and the numbers of its tensors. A pickle is a program that names and
calls functions. It is not executed here: `read_pickle` returns names as `Name` and calls as `Call`. A name outside the
list of supported names, or an instruction that `torch.save` does not use, is an error.
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

from paretofoil.agents.store import read_bytes
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.pcn.policy import Layer

MAX_BYTES = 1 << 18
"""The largest pickle, without the numbers of the tensors: fifty times the size of known networks."""
DICTIONARY = "collections OrderedDict"
_MARK = object()
_NAMES_ONLY = "with supported classes and functions only"


@dataclass(frozen=True)
class Name:
    """The name of a function or a class: "module name"."""

    name: str


@dataclass(frozen=True, eq=False)
class Stored:
    """A reference to data outside the pickle."""

    reference: Any


@dataclass(eq=False)
class Call:
    """A call that was not executed, and the state that its result would get."""

    name: str
    arguments: tuple[Any, ...]
    state: Any = None


class _Stack(list[Any]):
    """A stack of values and marks. Taking more values than there are is an IndexError."""

    def since_mark(self) -> list[Any]:
        """Remove the last mark, and remove and return everything above it."""
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
    """Return the value that a pickle describes, as plain values, names, calls and references."""
    if len(data) > MAX_BYTES:
        raise InvalidInput.expected(f"a pickle of at most {MAX_BYTES} bytes", len(data))
    stack, memo = _Stack(), dict[int, Any]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # for a backslash in a name, which is refused below
            for instruction, argument, _ in pickletools.genops(data):
                if instruction.name == "STOP":
                    return stack.pop()
                _follow(instruction.name, argument, stack, memo, allowed)
    except InvalidInput:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, struct.error):
        raise InvalidInput.expected("a complete pickle", "a damaged pickle") from None
    raise InvalidInput.expected("a complete pickle", "a pickle that ends early")


def _follow(name: str, argument: Any, stack: _Stack, memo: dict[int, Any], allowed: Collection[str]) -> None:
    if name == "GLOBAL":
        if argument not in allowed:
            raise InvalidInput.expected(f"a checkpoint {_NAMES_ONLY}", brief(argument))
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
    function, arguments = stack.take(2)
    if not isinstance(function, Name) or not isinstance(arguments, tuple):
        raise TypeError("not a call")
    is_dict = function.name == DICTIONARY and not arguments  # filled by later instructions
    stack.append({} if is_dict else Call(function.name, arguments))


def _set_state(stack: _Stack) -> None:
    value, state = stack.take(2)
    if not isinstance(value, dict):  # attributes of an ordered dictionary are ignored
        value.state = state
    stack.append(value)


def _fill(stack: _Stack, items: list[Any]) -> None:
    keys = items[::2]
    if not all(isinstance(key, str | int) for key in keys):  # hashing a deeply nested tuple could crash
        raise TypeError("neither names nor numbers")
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
    "SETITEMS": lambda stack: _fill(stack, stack.since_mark()),
    "SETITEM": lambda stack: _fill(stack, stack.take(2)),
    "BINPERSID": lambda stack: stack.append(Stored(stack.pop())),
    "NEWOBJ": _call,
    "REDUCE": _call,
    "BUILD": _set_state,
}
"""The effect on the stack of each instruction without an argument."""


Origin = Literal["the authors", "MORL-Baselines"]
_MORL, _AUTHORS = "morl_baselines.multi_policy.pcn.pcn", "pcn.env_setup"
CLASSES: dict[str, Origin] = {
    f"{_MORL} DiscreteActionsDefaultModel": "MORL-Baselines",
    f"{_MORL} ContinuousActionsDefaultModel": "MORL-Baselines",
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
"""The supported classes of networks, and their origin."""
_ACTIVATION = "torch.nn.modules.activation"
_RELU, _SIGMOID, _LOG_SOFTMAX = (f"{_ACTIVATION} {name}" for name in ("ReLU", "Sigmoid", "LogSoftmax"))
_LINEAR, _SEQUENTIAL = "torch.nn.modules.linear Linear", "torch.nn.modules.container Sequential"
_PARAMETER, _TENSOR = "torch._utils _rebuild_parameter", "torch._utils _rebuild_tensor_v2"
_STORAGES = {"torch FloatStorage": "<f4", "torch DoubleStorage": "<f8"}
_POLICY = "policy_state_dict"
_IGNORED = (
    *("__builtin__ set", "builtins set", "_codecs encode", "numpy dtype"),
    *("numpy._core.multiarray scalar", "numpy.core.multiarray scalar"),
)
"""Names in attributes that are ignored."""
ALLOWED = frozenset(
    (*CLASSES, *_STORAGES, *_IGNORED, _LINEAR, _RELU, _SIGMOID, _LOG_SOFTMAX, _SEQUENTIAL, _PARAMETER, _TENSOR)
) | {DICTIONARY}
MAX_LAYERS = 16
"""The largest number of modules in a Sequential, activations included."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The network of a file, and its origin."""

    origin: Origin
    state: tuple[Layer, ...]
    """The layers of the state, with a ReLU after each but the last, and a sigmoid after the last."""
    command: tuple[Layer, ...]
    """The layers of the command, with the same activations. The first layer includes the scaling of commands."""
    head: tuple[Layer, ...]
    """The layers from the product of the two to the logits, or to the amounts of continuous actions."""
    sha256: str
    """The hash of the file."""
    continuous: bool = False
    """Whether actions are continuous."""


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Return the PCN of a file of MORL-Baselines (`PCN.save`) or of the authors."""
    data = read_bytes(Path(path), "a checkpoint")
    try:
        return _read_network(_open_archive(data), hashlib.sha256(data).hexdigest())
    except InvalidInput as error:
        other = _other_kind(data)
        if other is None or _NAMES_ONLY in str(error):  # the error names the class
            advice = "" if other is None else f". The file is {other}"
            raise InvalidInput(f"{path}: {error}{advice}") from None
        raise InvalidInput(f"{path}: expected a PCN of MORL-Baselines or of the authors, got {other}") from None


_OTHER_KINDS = (
    (b"lcn.lcn", "an LCN of MORL-Baselines; load it and pass its model to pf.from_torch"),
    (b"psi_net_0_state_dict", "GPI-LS or GPI-PD of MORL-Baselines; load it and use pf.from_q_table"),
    (_POLICY.encode(), "CAPQL or GPI-LS with continuous actions, of MORL-Baselines; use pf.from_morl"),
    (b"q_net_state_dict", "Envelope of MORL-Baselines; load it and pass its q_net to pf.from_q_module"),
    (b"_stable_baselines3_version", "a model of Stable-Baselines3; load it and use pf.from_sb3"),
    (b"constants.pkl", "a TorchScript module; use pf.from_torch(torch.jit.load(file), ...)"),
    (b"\x12\x07pytorch", "an ONNX network; use pf.from_onnx"),
    (b"data_offsets", "a file of safetensors; if it is an agent of Paretofoil, use its folder as it is"),
    (b"_rebuild_tensor_v2", "a torch module or its weights; load it and use pf.from_torch"),
)
"""Text that identifies files of other kinds, and what to do with such a file."""


def _other_kind(data: bytes) -> str | None:
    """Return a description of a file that is not a PCN, by the text in it; None if its kind is unknown."""
    if any(name.replace(" ", "\n").encode() in data for name in CLASSES):
        return None  # a PCN, but a wrong one
    return next((kind for text, kind in _OTHER_KINDS if text in data), None)


Read = Callable[[str], bytes]
"""The name of a file in an archive -> its content."""


def _open_archive(data: bytes) -> Read:
    """Return a function that reads the files of a checkpoint.

    Compressed files are refused, because they could be larger than the archive.
    """
    try:
        files = zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN:
        raise InvalidInput.expected("an archive of torch.save", f"{len(data):,} bytes of another format") from None
    folders = [name.removesuffix("/data.pkl") for name in files.namelist() if name.endswith("/data.pkl")]
    if len(folders) != 1:
        raise InvalidInput.expected("an archive of torch.save with one data.pkl", f"{len(folders)} of them")
    [folder] = folders

    def read(name: str) -> bytes:
        try:
            info = files.getinfo(f"{folder}/{name}")
            content = files.read(info) if info.compress_type == zipfile.ZIP_STORED else None
        except KeyError:
            raise InvalidInput.expected(f"{name} in the archive", "an archive without it") from None
        except _BROKEN:
            raise InvalidInput.expected(f"{name} to be readable", "a broken archive") from None
        if content is None:
            raise InvalidInput.expected(f"{name} to be stored without compression", "a compressed file")
        return content

    byte_order = read("byteorder") if f"{folder}/byteorder" in files.namelist() else b"little"
    if byte_order != b"little":
        raise InvalidInput.expected("little-endian numbers", f"byte order {brief(byte_order)}")
    return read


_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, OSError, RuntimeError, OverflowError)
"""The errors of zipfile for broken archives; an encrypted archive is a RuntimeError."""


def _read_network(read: Read, sha256: str) -> Checkpoint:
    network = read_pickle(read("data.pkl"), ALLOWED)
    if not isinstance(network, Call) or network.name not in CLASSES:
        classes = ", ".join(name.replace(" ", ".") for name in CLASSES)
        raise InvalidInput.expected(f"a network of a class among {classes}", _name(network))
    continuous = "Continuous" in network.name
    (weight, bias), *others = _read_sequence(read, network, "c_emb", _SIGMOID)
    with np.errstate(all="ignore"):  # the policy refuses what is not finite
        scaled = (weight * _read_factor(read, network, weight.shape[1])).astype(np.float32)
    return Checkpoint(
        origin=CLASSES[network.name],
        state=_read_sequence(read, network, "s_emb", _SIGMOID),
        command=((scaled, bias), *others),
        head=_read_sequence(read, network, "fc", None if continuous else _LOG_SOFTMAX),
        sha256=sha256,
        continuous=continuous,
    )


def read_actor(path: str | Path) -> dict[str, np.ndarray]:
    """Return the weights of the actor by name, from a file of CAPQL or GPI-LS with continuous actions."""
    data = read_bytes(Path(path), "an actor")
    try:
        read = _open_archive(data)
        stored = read_pickle(read("data.pkl"), ALLOWED)
        weights = stored.get(_POLICY) if isinstance(stored, dict) else None
        if not isinstance(weights, dict) or not weights:
            got = _other_kind(data) or _name(stored)
            raise InvalidInput.expected("an actor of CAPQL or GPI-LS with continuous actions", got)
        return {str(name): _read_tensor(read, value, str(name)) for name, value in weights.items()}
    except InvalidInput as error:
        advice = "; save the agent with save_replay_buffer=False" if b"replay_buffer" in data else ""
        raise InvalidInput(f"{path}: {error}{advice}") from None


def _read_factor(read: Read, network: Call, size: int) -> np.ndarray:
    """Return the scaling factors (size,) of commands, which are an attribute or a parameter of the network."""
    value = _attribute(network, "scaling_factor", None) or _attribute(network, "_parameters", {}).get("scaling_factor")
    factor = _read_tensor(read, value, "scaling_factor").reshape(-1)
    if factor.size != size:
        raise InvalidInput.expected(f"a scaling_factor of {size} numbers", factor.size)
    return factor.astype(np.float64)


def _read_sequence(read: Read, network: Call, name: str, last: str | None) -> tuple[Layer, ...]:
    """Return the affine layers of a Sequential of Linear, ReLU, ..., Linear and, if given, a last activation."""
    sequence = _attribute(network, "_modules", {}).get(name)
    parts = list(_attribute(sequence, "_modules", {}).values())
    if not isinstance(sequence, Call) or sequence.name != _SEQUENTIAL or not 2 <= len(parts) <= MAX_LAYERS:
        raise InvalidInput.expected(f"{name} to be a Sequential of 2 to {MAX_LAYERS} parts", _name(sequence))
    kinds = [_name(part) for part in parts]
    ends = [_LINEAR] if last is None else [_LINEAR, last]
    if kinds != [_LINEAR, _RELU] * ((len(parts) - len(ends)) // 2) + ends:
        form = f"Linear, ReLU, ..., {', '.join(kind.split()[-1] for kind in ends)}"
        raise InvalidInput.expected(f"{name} to be {form}", ", ".join(kind.split()[-1] for kind in kinds))
    return tuple(_read_linear(read, part, name) for part in parts[::2])


def _read_linear(read: Read, part: Any, name: str) -> Layer:
    parameters = _attribute(part, "_parameters", {})
    weight, bias = (_read_tensor(read, parameters.get(key), f"{name} {key}") for key in ("weight", "bias"))
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or not weight.size:
        got = f"shapes {weight.shape} and {bias.shape}"
        raise InvalidInput.expected(f"a weight and a bias of matching shapes in {name}", got)
    with np.errstate(over="ignore"):  # the policy refuses what is not finite
        return weight.astype(np.float32), bias.astype(np.float32)


def _read_tensor(read: Read, value: Any, name: str) -> np.ndarray:
    """Return the numbers of a tensor or parameter."""
    if isinstance(value, Call) and value.name == _PARAMETER and value.arguments:
        value = value.arguments[0]
    if not isinstance(value, Call) or value.name != _TENSOR or len(value.arguments) < 4:
        raise InvalidInput.expected(f"{name} to be a tensor", _name(value))
    stored, offset, shape, stride = value.arguments[:4]
    numbers = _read_storage(read, stored, name)
    if not _are_sizes(shape) or not _are_sizes((offset,)) or stride != _contiguous(shape):
        raise InvalidInput.expected(f"{name} to be a contiguous tensor", f"shape {brief(shape)}, {brief(stride)}")
    size = math.prod(shape)
    if offset + size > numbers.size:
        raise InvalidInput.expected(f"{offset + size} numbers for {name}", numbers.size)
    return numbers[offset : offset + size].reshape(shape)


def _read_storage(read: Read, stored: Any, name: str) -> np.ndarray:
    reference = stored.reference if isinstance(stored, Stored) else ()
    if not isinstance(reference, tuple) or len(reference) < 3 or reference[0] != "storage":
        raise InvalidInput.expected(f"{name} to be stored in the archive", brief(reference))
    kind, key = reference[1], reference[2]
    if not isinstance(kind, Name) or kind.name not in _STORAGES or not isinstance(key, str):
        raise InvalidInput.expected(f"{name} to be stored in single or double precision", _name(kind))
    data = read(f"data/{key}")
    dtype = np.dtype(_STORAGES[kind.name])
    return np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)


def _attribute(module: Any, name: str, default: Any) -> Any:
    """Return an attribute of a pickled module, or the default if it is missing or of another kind."""
    state = module.state if isinstance(module, Call) else None
    value = state.get(name, default) if isinstance(state, dict) else default
    return value if default is None or isinstance(value, dict) else default


def _name(value: Any) -> str:
    return value.name if isinstance(value, Call | Name) else brief(value)


def _are_sizes(numbers: Any) -> bool:
    return (
        isinstance(numbers, tuple) and len(numbers) <= 4 and all(type(n) is int and 0 <= n < 1 << 31 for n in numbers)
    )


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
