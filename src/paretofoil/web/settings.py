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
    """Names, folders or "module:name" of agents; empty: every shipped and every local agent."""
    folders: tuple[Path, ...] = ()
    """Folders that hold folders of agents. Each of these agents is served, too."""
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 0
    """Worker processes for searches and proofs; 0: one for each core."""
    allowed_modules: tuple[str, ...] = ()
    """Modules that agents' environments may import."""
    queue: int = 64
    """Jobs that may wait."""
    memory: int = 64 << 20
    """Bytes of results that are kept."""
    uploads: int = 32
    """Agents that may be uploaded."""
    study: Path | None = None
    """The file of a user study that this server runs."""
    replies: Path | None = None
    """The file of the user study's replies; None: the study's name with .sqlite, in the current folder."""

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
        """Return whether only this machine can reach the server."""
        return self.host in LOOPBACK or (is_address(self.host) and ip_address(self.host).is_loopback)


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
