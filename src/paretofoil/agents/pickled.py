"""What a pickle says, without doing any of it.

A pickle is a program: it names functions and calls them. Here its instructions are only written down: a name stays a
`Name` and a call a `Call`, whatever they are of. No module is imported and nothing is called, and a name that is not
on the reader's list, or an instruction that `torch.save` does not use, ends the reading.
"""

import pickletools
import struct
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from paretofoil.core.document import brief
from paretofoil.core.errors import InvalidInput

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
