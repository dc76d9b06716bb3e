"""Documents: dataclasses that are stored as JSON, and read by the types of their fields.

A document may come from anyone. Its size, depth and numbers are checked before it is read. Each field must have the
type that the dataclass declares. An error names the field, the expected type and the given value.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from reprlib import Repr
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np

from paretofoil.core.errors import InvalidInput

MAX_CHARACTERS = 64 << 20
"""Largest length of a document."""
MAX_DEPTH = 100
"""Largest number of nested lists and objects."""
MAX_INTEGER = 1 << 64
"""Largest whole number, which is the largest seed of torch."""
MAX_NUMBER = 1e100
"""Largest number. Squares of larger numbers overflow."""
MAX_TEXT = 10_000
"""Largest length of a text in a document."""

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, which could manipulate a terminal, and surrogates."""

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0)]
Fraction = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
if TYPE_CHECKING:
    Bound: TypeAlias = float
else:
    Bound = float | Literal["infinity", "-infinity"]  # JSON has no infinity; `__post_init__` must call float
UNSTORED = {"stored": False}
"""Metadata of a field that is neither written nor read, because its value belongs to the running process."""


class Document:
    """A dataclass that is stored as JSON under a schema, such as "paretofoil/answer/2"."""

    SCHEMA: ClassVar[str]
    EARLIER: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Earlier schemas that can be read, each with a map from its field names to the current ones."""

    def __str__(self) -> str:
        return str(show(self, "sentence")) if is_shown(self, "sentence") else repr(self)

    def _repr_html_(self) -> str | None:
        """Return the value for a notebook; None if it has only text."""
        return str(show(self, "html")) if is_shown(self, "html") else None

    def to_dict(self) -> dict[str, Any]:
        return {"schema": self.SCHEMA, **self.derived(), **plain_fields(self)}

    def derived(self) -> dict[str, Any]:
        """Return additional values for people and other programs. They are written, but not read."""
        return {}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        name = schema_name(cls.SCHEMA)
        value = read_value(cls, cls.current(values), name)
        try:
            value.check_all()
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error}") from None
        return value

    @classmethod
    def current(cls, values: Any) -> dict[str, Any]:
        """Return the fields of a document, of this or an earlier schema, under their current names."""
        schema = values.get("schema") if isinstance(values, Mapping) else values
        if not isinstance(values, Mapping) or schema not in (cls.SCHEMA, *cls.EARLIER):
            raise InvalidInput.expected(f"{schema_name(cls.SCHEMA)} of schema {cls.SCHEMA}", brief(schema))
        values = values if schema == cls.SCHEMA else cls.upgrade(values)
        stored = {name: values[name] for name in stored_fields(cls) if name in values}
        inner = {name: kind for name, kind in cls._inner().items() if isinstance(stored.get(name), list)}
        return stored | {name: [kind.current(value) for value in stored[name]] for name, kind in inner.items()}

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a document of an earlier schema with the current names of fields."""
        names = cls.EARLIER[values["schema"]]
        return {names.get(name, name): value for name, value in values.items()}

    @classmethod
    @cache
    def _inner(cls) -> dict[str, type["Document"]]:
        """Return the fields that hold documents, tuple[Kind, ...], and their kinds."""
        kinds = {name: (*get_args(hint), None)[0] for name, hint in get_type_hints(cls).items()}
        return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Document)}

    def check_all(self) -> None:
        """Check the nested documents first, then this one."""
        for name in self._inner():
            for value in getattr(self, name):
                value.check_all()
        self.check()

    def check(self) -> None:
        """Raise InvalidInput if the fields of a document that was read do not fit each other."""

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        return cls.from_dict(read_document(text, schema_name(cls.SCHEMA)))


def is_shown(value: Any, form: str) -> bool:
    """Return whether `show` has this form of a value: "sentence", "html", "plot", ..."""
    return f"{type(value).__name__}.{form}" in import_module("paretofoil").DISPLAYS


def show(value: Any, form: str, *args: Any, **options: Any) -> Any:
    """Return the sentence, HTML, figure or other form of a value.

    Values of `core` cannot import the layer `show`. The dictionary `paretofoil.DISPLAYS` names its functions.
    """
    place: str = import_module("paretofoil").DISPLAYS[f"{type(value).__name__}.{form}"]
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)(value, *args, **options)


def as_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return a pandas DataFrame with one row per mapping."""
    try:
        import pandas
    except ImportError:
        raise InvalidInput("pandas is not installed. Install it with: pip install pandas") from None
    return pandas.DataFrame(list(rows))


def schema_name(schema: str) -> str:
    """Return the name of a document: "an answer", "a flip map"."""
    name = schema.split("/")[1].replace("-", " ")
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def plain(value: Any) -> Any:
    """Return a value as numbers, strings, lists and dicts; infinity becomes the string "infinity"."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(value) if not math.isinf(value) else "infinity" if value > 0 else "-infinity"
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return plain_fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return {key: plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def plain_fields(value: Any) -> dict[str, Any]:
    """Return the stored fields of a dataclass as plain values."""
    return {name: plain(getattr(value, name)) for name in stored_fields(value)}


def stored_fields(kind: Any) -> list[str]:
    """Return the names of the fields of a dataclass that are written and read."""
    return [f.name for f in fields(kind) if f.metadata.get("stored", True)]


def write_document(values: dict[str, Any], indent: int | None = None) -> str:
    return json.dumps(values, indent=indent, allow_nan=False)


def read_document(document: str | bytes, what: str) -> Any:
    """Return the plain values of a JSON document within the limits of length, depth and whole numbers."""
    if len(document) > MAX_CHARACTERS:
        raise InvalidInput.expected(f"{what} of at most {MAX_CHARACTERS:,} characters", f"{len(document):,}")
    try:
        values = json.loads(document, parse_int=_parse_integer, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput.expected(f"{what} as JSON", f"invalid JSON ({brief_words(error)})") from None
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
    return InvalidInput.expected(f"{what} with at most {MAX_DEPTH} nested lists and objects", "more levels")


def _parse_integer(digits: str) -> int:
    # int() itself takes time that grows with the square of the digits, and refuses more than 4,300 of them.
    if len(digits) > len(str(MAX_INTEGER)) + 1 or abs(int(digits)) > MAX_INTEGER:
        got = digits if len(digits) < 50 else f"one of {len(digits):,} digits"
        raise InvalidInput.expected(f"whole numbers of at most {MAX_INTEGER:,}", got)
    return int(digits)


def _refuse_constant(name: str) -> Any:
    raise InvalidInput.expected("finite numbers", name)


def read_value(kind: type[T], values: Any, what: str) -> T:
    """Return a value of this type from plain values; `what` names it in errors ("an answer").

    Unknown fields are ignored, because a later version may have written them.
    """
    _check_leaves(values, what, "")
    try:
        return msgspec.convert(values, kind, dec_hook=_read_array)
    except msgspec.ValidationError as error:
        raise _explain(str(error), kind, values, what) from None


def _check_leaves(value: Any, what: str, path: str) -> None:
    """Raise an error for a number or a text beyond the limits."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _check_leaves(name, what, f"{path} (a name)")
            _check_leaves(item, what, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _check_leaves(item, what, f"{path}[{i}]")
    elif isinstance(value, str) and not is_line(value):
        expected = f"a line of at most {MAX_TEXT:,} printable characters {_where(path, what)}"
        raise InvalidInput.expected(expected, brief(value))
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise InvalidInput.expected(f"a number of at most {MAX_INTEGER:,} {_where(path, what)}", brief(value))
    elif isinstance(value, float) and not abs(value) <= MAX_NUMBER:
        raise InvalidInput.expected(f"a number of at most {MAX_NUMBER:g} {_where(path, what)}", brief(value))


def is_line(text: str) -> bool:
    """Return whether a text is one line of printable characters, within the limit of length."""
    return len(text) <= MAX_TEXT and not _UNPRINTABLE.search(text)


def _read_array(kind: Any, value: Any) -> np.ndarray:
    """Return a list of numbers as an array; msgspec calls this for types that it does not support."""
    try:
        array = np.array(msgspec.convert(value, list[float]), dtype=np.float64)
    except ValueError:
        array = np.zeros(0)
    if array.size == 0:
        raise InvalidInput.expected("a list of numbers", brief(value))
    array.setflags(write=False)
    return array


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


_SIGNS = {"`": "", " | ": " or ", ">= ": "of at least ", "<= ": "of at most ", "> ": "above ", "< ": "below "}


def _explain(message: str, kind: Any, values: Any, what: str) -> InvalidInput:
    """Return the error for a value that could not be read, with its path.

    msgspec gives the path and the expected type: "Expected `int | null`, got `str` - at `$.question.step`".
    """
    reason, _, path = message.partition(" - at `$")
    path = path.strip(".`")
    steps = re.findall(r"\w+", path)
    if reason.startswith("Object missing"):
        name = ".".join(filter(None, (path, reason.split("`")[1])))
        return InvalidInput.expected(f"{what} with the field {name}", "one without it")
    if reason.startswith("Invalid enum value"):
        expected = f"one of {', '.join(_choices(kind, steps))}"
    elif reason.startswith("Expected"):
        expected = re.sub(r"\w+", lambda m: _WORDS.get(m[0], m[0]), reason.split(", got")[0].split("`", 1)[1])
        for sign, words in _SIGNS.items():
            expected = expected.replace(sign, words)
    else:  # raised by a hook or by __post_init__
        return InvalidInput(f"{path} of {what}: {reason}" if path else f"{what}: {reason}")
    return InvalidInput.expected(f"{expected} {_where(path, what)}", brief(_value_at(values, steps)))


def _where(path: str, what: str) -> str:
    return f"at {path} of {what}" if path else f"as {what}"


def _value_at(values: Any, steps: list[str]) -> Any:
    for step in steps:
        values = values[int(step)] if isinstance(values, list | tuple) else values.get(step)
    return values


def _choices(kind: Any, steps: list[str]) -> list[str]:
    """Return the words that the field at this path may have."""
    info: Any = msgspec.inspect.type_info(kind)
    for step in steps:
        [info] = [k for k in getattr(info, "types", (info,)) if hasattr(k, "fields") or hasattr(k, "item_type")]
        info = info.item_type if step.isdigit() else next(f.type for f in info.fields if f.name == step)
    kinds = getattr(info, "types", (info,))
    words = [word for k in kinds for word in getattr(k, "values", ())]
    return words + [member.value for k in kinds for member in getattr(k, "cls", ())]


def brief(value: Any) -> str:
    """Return a value as text for an error, shortened if it is large."""
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return f"a whole number of about {math.floor(math.log10(abs(value))) + 1:,} digits"
    shown = Repr()
    shown.maxstring = shown.maxother = 80
    return shown.repr(value)


def brief_words(error: object) -> str:
    """Return the message of an error as one line, shortened if it is long."""
    words = " ".join(str(error).split())
    return words if len(words) <= 400 else f"{words[:397]}..."
