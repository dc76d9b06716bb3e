"""Values as JSON documents: each names its schema, and one that is not whole is refused with a sentence.

A document may come from anywhere. It is read with limits, and field by field: a reader takes what JSON gave and returns
the value, or says what it expected.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from reprlib import Repr
from typing import Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput

Reader = Callable[[Any], Any]

MAX_CHARACTERS = 64 << 20
"""Of a document: far more than any value needs."""
MAX_DEPTH = 100
"""Lists in lists."""
MAX_INTEGER = 1 << 64
"""The largest seed that torch takes."""
MAX_NUMBER = 1e100
"""Larger ones overflow in the first square that is taken of them."""
MAX_TEXT = 10_000
"""Characters of a name or a word."""

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, with which a name could write to the terminal, and halves of characters."""


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts only; infinity is the string "infinity", a value with `to_dict` its dict."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and np.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def brief(value: Any) -> str:
    """A value in an error's sentence, however large it is."""
    shown = Repr()
    shown.maxstring = shown.maxother = 80
    return shown.repr(value)


def integer(value: Any) -> int:
    if type(value) is not int:  # true and false are of another type
        raise InvalidInput.expected("a whole number", brief(value))
    if abs(value) > MAX_INTEGER:
        raise InvalidInput.expected(f"a whole number of at most {MAX_INTEGER:,}", "a larger one")
    return value


def number(value: Any) -> float:
    """A number, or "infinity"."""
    return float(value) if isinstance(value, str) and value in ("infinity", "-infinity") else finite(value)


def finite(value: Any) -> float:
    if type(value) is int:
        return float(integer(value))
    if type(value) is not float:
        raise InvalidInput.expected("a number", brief(value))
    if not abs(value) <= MAX_NUMBER:
        raise InvalidInput.expected(f"a finite number of at most {MAX_NUMBER:g}", brief(value))
    return value


def text(value: Any) -> str:
    """Words of one line."""
    if not isinstance(value, str):
        raise InvalidInput.expected("a text", brief(value))
    if len(value) > MAX_TEXT or _UNPRINTABLE.search(value):
        raise InvalidInput.expected(f"a line of at most {MAX_TEXT:,} printable characters", brief(value))
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput.expected("true or false", brief(value))
    return value


def sized(*shape: int | None) -> Callable[[Any], np.ndarray]:
    """A reader of arrays of finite numbers of that shape; None is any size but 0."""
    told = " x ".join("some" if size is None else str(size) for size in shape)

    def read(value: Any) -> np.ndarray:
        if not isinstance(value, list):
            raise InvalidInput.expected(f"a list of {told} numbers", brief(value))
        numbers = _numbers(value)
        try:
            found = np.array(numbers, dtype=np.float64)
        except ValueError:
            raise InvalidInput.expected("lists of numbers, equally long", brief(value)) from None
        if found.ndim != len(shape) or not all(
            size == (wanted or max(size, 1)) for size, wanted in zip(found.shape, shape, strict=True)
        ):
            raise InvalidInput.expected(f"a list of {told} numbers", f"shape {found.shape}")
        found.setflags(write=False)
        return found

    return read


def _numbers(value: Any) -> Any:
    return [_numbers(item) for item in value] if isinstance(value, list) else finite(value)


def within(read: Reader, low: float, high: float) -> Reader:
    """A reader of numbers from low to high."""

    def read_within(value: Any) -> Any:
        found = read(value)
        if not low <= found <= high:
            raise InvalidInput.expected(f"a number from {low:,} to {high:,}", brief(value))
        return found

    return read_within


def one_of(*known: str) -> Reader:
    """A reader of one of these words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise InvalidInput.expected(f"one of {', '.join(known)}", brief(value))
        return value

    return read


def several(read: Reader, most: int | None = None) -> Callable[[Any], tuple[Any, ...]]:
    """A reader of lists, each item of which that reader reads."""

    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise InvalidInput.expected("a list", brief(value))
        if most is not None and len(value) > most:
            raise InvalidInput.expected(f"a list of at most {most:,}", f"one of {len(value):,}")
        return tuple(map(read, value))

    return read_all


def optional(read: Reader) -> Reader:
    """A reader that leaves null as None."""
    return lambda value: None if value is None else read(value)


def by_name(read: Reader) -> Callable[[Any], dict[str, Any]]:
    """A reader of values by name."""

    def read_all(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise InvalidInput.expected("values by name", brief(value))
        return {text(name): _read_field(name, read, item) for name, item in value.items()}

    return read_all


def record(
    fields: Mapping[str, Reader], others: Mapping[str, Reader] | None = None, *, what: str = ""
) -> Callable[[Any], dict[str, Any]]:
    """A reader of the fields of an object: all of the first, and of the others those that are there.

    A field that is not named here is not read: a newer version, or a reader's note. `what` names the object where one
    of the first is missing; without it that is a KeyError, for `whole` to tell.
    """

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise InvalidInput.expected(f"an object with {', '.join(fields)}", brief(value))
        missing = [name for name in fields if name not in value]
        if what and missing:
            raise InvalidInput.expected(f"a whole {what}", f"one in which {missing[0]!r} is missing")
        there = {name: reader for name, reader in (others or {}).items() if name in value}
        return {name: _read_field(name, reader, value[name]) for name, reader in {**fields, **there}.items()}

    return read


def renamed(values: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return the values under the names of today, given as old="new"."""
    return {names.get(name, name): value for name, value in values.items()}


def _read_field(name: str, read: Reader, value: Any) -> Any:
    try:
        return read(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


_OBJECTIVE = record(
    {"name": text},
    {
        "unit": text,
        "cost": flag,
        "probability": flag,
        "natural_low": optional(finite),
        "natural_high": optional(finite),
    },
)


def objective(value: Any) -> Objective:
    """What `asdict` made of an objective."""
    return Objective(**_OBJECTIVE(value))


def write_document(values: dict[str, Any], indent: int | None = None) -> str:
    return json.dumps(values, indent=indent, allow_nan=False)


def read_document(document: str | bytes, what: str) -> Any:
    """JSON within the limits above."""
    if len(document) > MAX_CHARACTERS:
        raise InvalidInput.expected(f"{what} of at most {MAX_CHARACTERS:,} characters", f"{len(document):,}")
    try:
        values = json.loads(document, parse_int=_parse_integer, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput.expected(f"{what} as JSON", f"text that is not JSON ({brief_words(error)})") from None
    except RecursionError:
        raise _too_deep(what) from None
    inner = [values]
    for _ in range(MAX_DEPTH):
        inner = [item for outer in inner for item in _items(outer) if type(item) in (list, dict)]
        if not inner:
            return values
    raise _too_deep(what)


def _items(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container if isinstance(container, list) else ()


def _too_deep(what: str) -> InvalidInput:
    return InvalidInput.expected(f"{what} with at most {MAX_DEPTH} lists in each other", "more")


def _parse_integer(digits: str) -> int:
    # Python itself takes time that grows with the square of the digits, and refuses more than 4,300 of them.
    if len(digits) > len(str(MAX_INTEGER)) + 1:
        raise InvalidInput.expected(f"whole numbers of at most {MAX_INTEGER:,}", f"one of {len(digits):,} digits")
    return int(digits)


def _refuse_constant(name: str) -> Any:
    raise InvalidInput.expected("finite numbers", name)


def brief_words(error: object) -> str:
    """An error's sentence as one line of some length."""
    words = " ".join(str(error).split())
    return words if len(words) <= 400 else f"{words[:397]}..."


@contextmanager
def whole(values: Any, schema: str, what: str) -> Iterator[None]:
    """Read a document of that schema inside; another one, or one with something missing or amiss, is refused."""
    if not isinstance(values, Mapping) or values.get("schema") != schema:
        got = brief(values.get("schema")) if isinstance(values, Mapping) else type(values).__name__
        raise InvalidInput.expected(f"{what} of schema {schema}", got)
    try:
        yield
    except KeyError as error:
        raise InvalidInput(f"expected a whole {what} of schema {schema}, got one in which {error} is missing") from None
    except (TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
        told = f"got one in which: {brief_words(error)}"
        raise InvalidInput(f"expected a whole {what} of schema {schema}, {told}") from None
