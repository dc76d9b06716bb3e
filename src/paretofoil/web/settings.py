"""The settings of a server."""

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from paretofoil.core.errors import InvalidInput

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """Which agents to serve, where to listen, and the limits of the server."""

    agents: tuple[str, ...] = ()
    """Names, folders or "module:name" of agents; if empty, all shipped and local agents."""
    folders: tuple[Path, ...] = ()
    """Folders that contain folders of agents, all of which are served in addition."""
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 0
    """Number of worker processes for searches and proofs; if 0, one for each core."""
    allowed_modules: tuple[str, ...] = ()
    """Modules that agents' environments may import."""
    queue: int = 64
    """Largest number of waiting jobs."""
    memory: int = 64 << 20
    """Memory limit for results, in bytes."""
    uploads: int = 32
    """Largest number of uploaded agents."""
    study: Path | None = None
    """The file of a user study that this server runs."""
    replies: Path | None = None
    """The file of the user study's replies; if None, the study's name with .sqlite, in the current folder."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InvalidInput.expected("a port from 0 to 65535", self.port)
        if not 0 <= self.workers <= 256:
            raise InvalidInput.expected("0 to 256 workers", self.workers)

    @property
    def replies_path(self) -> Path:
        return self.replies or Path(f"{self.study.stem if self.study else 'study'}.sqlite")

    @property
    def num_workers(self) -> int:
        return self.workers or os.cpu_count() or 1

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK or (is_address(self.host) and ip_address(self.host).is_loopback)


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
