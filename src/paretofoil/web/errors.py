"""What the server refuses, by whose fault it is."""

from typing import ClassVar

from paretofoil.core.errors import InvalidInput


class Unknown(InvalidInput):
    """Something is asked for that is not there."""

    status: ClassVar[int] = 404


class Taken(InvalidInput):
    """A name is to be given that something has already."""

    status: ClassVar[int] = 409


class Busy(Exception):
    """There is more to do than may wait."""


def status_of(error: InvalidInput) -> int:
    """The HTTP status of a refusal."""
    return getattr(error, "status", 422)


def retold(sentence: str, status: int) -> InvalidInput:
    """A refusal that another process told."""
    kinds: dict[int, type[InvalidInput]] = {kind.status: kind for kind in (Unknown, Taken)}
    return kinds.get(status, InvalidInput)(sentence)
