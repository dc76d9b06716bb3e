"""What a server is started with, and what it allows."""

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from paretofoil.core.errors import InvalidInput

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """Whom to serve, where, and with how much room."""

    agents: tuple[str, ...] = ()
    """Names, folders, or "module:name" of agents; every shipped and local one if none is given."""
    folders: tuple[Path, ...] = ()
    """Folders of agents' folders, each of which is served as well."""
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 0
    """Processes that search and prove; one for each core if 0."""
    allowed_modules: tuple[str, ...] = ()
    """Modules that agents' environments may import."""
    queue: int = 64
    """Jobs that may wait; the next one is told to come again."""
    memory: int = 64 << 20
    """Bytes of results that are kept; those that were not asked for longest are forgotten."""
    uploads: int = 32
    """Agents that may be uploaded."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InvalidInput.expected("a port from 0 to 65535", self.port)
        if not 0 <= self.workers <= 256:
            raise InvalidInput.expected("0 to 256 workers", self.workers)

    @property
    def num_workers(self) -> int:
        return self.workers or os.cpu_count() or 1

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK or (_is_address(self.host) and ip_address(self.host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
