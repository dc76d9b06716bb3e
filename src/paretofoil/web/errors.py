"""Errors of the server. Worker processes import this module: keep FastAPI out of it."""

from paretofoil.core.errors import InvalidInput


class NotFound(InvalidInput):
    """The request names something that does not exist."""


class Conflict(InvalidInput):
    """The request clashes with something that exists."""


class Busy(Exception):
    """The queue is full."""


class WorkerFailure(Exception):
    """A worker process ended during a task; the message says why."""


STATUSES: dict[type[InvalidInput], int] = {NotFound: 404, Conflict: 409}
"""HTTP statuses of errors; that of all others is 422."""
