"""Errors of the server and their HTTP status. Worker processes import this module: keep FastAPI out of it."""

from typing import ClassVar

from paretofoil.core.errors import InvalidInput


class NotFound(InvalidInput):
    """The request names something that does not exist."""

    status: ClassVar[int] = 404


class Conflict(InvalidInput):
    """The request clashes with something that exists."""

    status: ClassVar[int] = 409


class Busy(Exception):
    """The queue is full."""


class WorkerFailure(Exception):
    """A worker process ended during a task; the message says why."""


def status_of(error: InvalidInput) -> int:
    """Return the HTTP status of an error."""
    return getattr(error, "status", 422)


def error_with_status(message: str, status: int) -> InvalidInput:
    """Return the error that a worker process reported."""
    kinds: dict[int, type[InvalidInput]] = {kind.status: kind for kind in (NotFound, Conflict)}
    return kinds.get(status, InvalidInput)(message)
