"""Values as JSON documents: each names its schema, and one that is not whole is refused with a sentence."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput


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


def array(value: Any) -> np.ndarray:
    """What `plain` made of an array: lists of numbers."""
    read = np.array(value, dtype=np.float64)
    if read.ndim == 0:
        raise InvalidInput.expected("a list of numbers", repr(value))
    return read


def integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput.expected("a whole number", repr(value))
    return value


def number(value: Any) -> float:
    """A number, or "infinity"."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("infinity", "-infinity")):
        raise InvalidInput.expected("a number", repr(value))
    return float(value)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput.expected("a text", repr(value))
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput.expected("true or false", repr(value))
    return value


def several(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """A reader of lists, each item of which that reader reads."""

    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise InvalidInput.expected("a list", repr(value))
        return tuple(map(read, value))

    return read_all


def optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader that leaves null as None."""
    return lambda value: None if value is None else read(value)


def counts(value: Any) -> dict[str, int]:
    """Whole numbers by name."""
    if not isinstance(value, dict):
        raise InvalidInput.expected("numbers by name", repr(value))
    return {name: integer(count) for name, count in value.items()}


def write_document(values: dict[str, Any], indent: int | None = None) -> str:
    return json.dumps(values, indent=indent, allow_nan=False)


def read_document(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput.expected(f"{what} as JSON", f"text that is not JSON ({error})") from None


@contextmanager
def whole(values: Any, schema: str, what: str) -> Iterator[None]:
    """Read a document of that schema inside; another one, or one with something missing or amiss, is refused."""
    if not isinstance(values, dict) or values.get("schema") != schema:
        got = values.get("schema") if isinstance(values, dict) else type(values).__name__
        raise InvalidInput.expected(f"{what} of schema {schema}", got)
    try:
        yield
    except KeyError as error:
        raise InvalidInput(f"expected a whole {what} of schema {schema}, got one in which {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"expected a whole {what} of schema {schema}, got one in which: {error}") from None
