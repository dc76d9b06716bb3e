"""Errors of the server. Worker processes import this module, so it must not import FastAPI."""

from paretofoil.core.errors import InvalidInput


class NotFound(InvalidInput):
    """A request for something that does not exist."""


class Conflict(InvalidInput):
    """A request that is in conflict with something that exists."""


class Busy(Exception):
    """The server cannot handle a request now; the client should try again."""


class WorkerFailure(Exception):
    """A worker ended or was stopped before its task was finished; the message says why."""


STATUSES: dict[type[InvalidInput], int] = {NotFound: 404, Conflict: 409}
"""HTTP statuses of errors. That of any other `InvalidInput` is 422."""
