"""The address of a cluster: whether anything answers there, which the engines themselves are slow to tell."""

import socket
import time
from urllib.parse import urlsplit

from paretofoil.core.errors import InvalidInput
from paretofoil.study.loss import WorkersLostError


def knock(address: str, seconds: float, *, greets: bool = False) -> None:
    """Wait until something answers; a cluster that is only just started may refuse for a while.

    Ray alone would wait for minutes, Dask for ever for a scheduler that hangs.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return connect(address, seconds, greets=greets)
        except OSError as error:
            if time.monotonic() >= until:
                raise WorkersLostError(
                    f"expected a cluster that answers at {address} within {seconds:.0f} s, got: {error}"
                ) from error
        time.sleep(0.2)


def connect(address: str, seconds: float, *, greets: bool = False) -> None:
    """An OSError unless something listens there, and says something first if it is of the kind that greets."""
    with socket.create_connection(_host_and_port(address), timeout=seconds) as connection:
        if greets and not connection.recv(1):
            raise ConnectionError("the connection was closed")


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        if parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:  # a port that is no number
        pass
    raise InvalidInput.expected("an address with a host and a port, as in tcp://scheduler:8786", repr(address))
