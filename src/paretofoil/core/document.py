"""Values as JSON documents: each names its schema, and one that is not whole is refused with a sentence.

A document may come from anywhere. It is read with limits, and field by field: a reader takes what JSON gave and returns
the value, or says what it expected.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import _UNPRINTABLE, MAX_INTEGER, MAX_NUMBER, MAX_TEXT, brief, brief_words

Reader = Callable[[Any], Any]


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
