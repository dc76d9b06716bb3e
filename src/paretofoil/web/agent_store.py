"""The agents of a server: shipped agents, those of the folders and modules in its settings, and uploaded ones."""

import base64
import binascii
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any

from paretofoil import envs
from paretofoil.agents.agent import Agent
from paretofoil.agents.store import (
    DESCRIPTION,
    WEIGHTS,
    AgentDocument,
    list_agents,
    module_address,
    own_object,
    read_agent,
)
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.json import brief, brief_words, write_document
from paretofoil.web.errors import Busy, Conflict, NotFound
from paretofoil.web.settings import Settings
from paretofoil.web.state_policy import StatePolicy

UPLOAD_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
"""Names of uploaded agents, which are safe in file names and in addresses."""
IN_MEMORY = "memory/"
"""Prefix of the address of an agent that exists in this process only."""
Shown = Agent | StatePolicy
"""What the page shows: an agent, or a policy with free features of its state."""


def load_from(address: str) -> Shown:
    """Return the agent or policy at an address, which is a folder or module:name."""
    if module_address(address) is None:
        return read_agent(address)
    own = own_object(address)
    return own if isinstance(own, Agent) else StatePolicy(own, address)


def check_agent(shown: Shown) -> Agent:
    """Return an agent unchanged; raise an error for a policy without an environment."""
    if not isinstance(shown, Agent):
        raise InvalidInput.expected("an agent with an environment", f"{shown.name}, a policy without an environment")
    return shown


class AgentStore:
    """The agents of a server by name. While the server runs, a name is never used for a second agent."""

    def __init__(self, settings: Settings, *, load: bool = True) -> None:
        """Load the agents of the settings; with load=False, start without agents."""
        self.broken: dict[str, str] = {}
        """Agents that cannot be loaded, with the reason for each."""
        self.uploaded: set[str] = set()
        self._deleted: set[str] = set()
        """Names of deleted agents. Workers and clients may still have results about them."""
        self._settings = settings
        self._lock = Lock()
        self._agents: dict[str, tuple[Shown, str]] = {}
        """Each agent with its address, from which worker processes load it."""
        self._uploads: Path | None = None
        if load:
            self._load(settings)

    def _load(self, settings: Settings) -> None:
        stored = {name: str(folder.absolute()) for name, folder in list_agents().items()}
        required = dict(_name_and_address(text, stored) for text in settings.agents)
        addresses = dict(required or stored)
        addresses |= {name: address for name, address in _in_folders(settings).items() if name not in addresses}
        for name, address in addresses.items():
            try:
                self._agents[name] = load_from(address), address
            except Exception as error:
                if name in required:
                    raise
                self.broken[name] = brief_words(error)

    def hold(self, agent: Agent) -> str:
        """Add an agent that exists in this process only; return its name here, with a number if the name is taken."""
        names = [agent.name, *(f"{agent.name}-{number}" for number in range(2, len(self._agents) + 2))]
        name = next(name for name in names if name not in self._agents or self.shown(name) is agent)
        self._agents[name] = agent, f"{IN_MEMORY}{name}"
        return name

    def names(self) -> list[str]:
        return list(self._agents)

    def shown(self, name: str) -> Shown:
        return self._find(name)[0]

    def agent(self, name: str) -> Agent:
        return check_agent(self.shown(name))

    def address(self, name: str) -> str:
        return self._find(name)[1]

    def _find(self, name: str) -> tuple[Shown, str]:
        if name not in self._agents:
            raise NotFound.expected(f"an agent among {', '.join(self._agents)}", did_you_mean(name[:80], self._agents))
        return self._agents[name]

    def siblings(self, name: str) -> list[str]:
        """Return the other agents of the same environment."""
        environment = self.agent(name).environment.name
        agents = {n: a for n, (a, _) in self._agents.items() if n != name and isinstance(a, Agent)}
        return [n for n, agent in agents.items() if agent.environment.name == environment]

    def upload(self, name: str, description: Mapping[str, Any], weights: str) -> None:
        """Add an agent in the library's format. It exists until the server stops.

        Its environment must be in the catalogue. Others take arguments from the file, and their episodes may never end.
        """
        if not UPLOAD_NAME.fullmatch(name):
            raise InvalidInput.expected("a name of at most 63 lower-case letters, digits and hyphens", brief(name))
        document = {**description, "name": name}
        environment = AgentDocument.from_dict(document).environment.name
        if environment not in envs.names():
            raise InvalidInput.expected(f"an environment among {', '.join(envs.names())}", brief(environment))
        try:
            files = {DESCRIPTION: write_document(document).encode(), WEIGHTS: base64.b64decode(weights, validate=True)}
        except (binascii.Error, ValueError):
            raise InvalidInput.expected("the weights in base64", brief(weights)) from None
        with self._lock:
            if name in self._agents or name in self._deleted:
                raise Conflict.expected("an unused name (those of deleted agents count as used)", repr(name))
            if len(self.uploaded) >= self._settings.uploads:
                raise Conflict(f"the server already has {len(self.uploaded)} uploaded agents, which is the limit")
            self._agents = {**self._agents, name: self._write(name, files)}  # a new dict: others may be reading the old
            self.uploaded.add(name)

    def delete(self, name: str) -> None:
        """Delete an uploaded agent and its files."""
        with self._lock:
            folder = self.address(name)
            if name not in self.uploaded:
                raise Conflict.expected("the name of an uploaded agent", repr(name))
            self._agents = {other: agent for other, agent in self._agents.items() if other != name}
            self.uploaded.remove(name)
            self._deleted.add(name)
        shutil.rmtree(folder, ignore_errors=True)

    def _write(self, name: str, files: Mapping[str, bytes]) -> tuple[Agent, str]:
        """Write the files of an uploaded agent and read them with the library's reader."""
        self._uploads = self._uploads or Path(mkdtemp(prefix="paretofoil-uploads-"))
        folder = self._uploads / name
        try:
            folder.mkdir()
            for file, content in files.items():
                (folder / file).write_bytes(content)
            return read_agent(folder), str(folder)
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, InvalidInput):
                raise InvalidInput(str(error).replace(f"{folder}", name)) from None
            if isinstance(error, OSError):
                raise Busy(f"the server cannot store agents now ({error.strerror}); please try again later") from None
            raise

    def close(self) -> None:
        if self._uploads is not None:
            shutil.rmtree(self._uploads, ignore_errors=True)


def _name_and_address(text: str, stored: Mapping[str, str]) -> tuple[str, str]:
    """Return the name and the address of an agent given as name, folder or module:name."""
    address = module_address(text) or stored.get(text)
    if address is None and not (Path(text) / DESCRIPTION).is_file():
        expected = f"an agent among {', '.join(stored)}, an agent's folder, or module:name"
        raise InvalidInput.expected(expected, did_you_mean(text, stored))
    return module_address(text) or Path(text).name or text, address or str(Path(text).absolute())


def _in_folders(settings: Settings) -> dict[str, str]:
    """Return the addresses of the agents in the server's folders. Of agents with one name, the first is used."""
    addresses: dict[str, str] = {}
    for folder in settings.folders:
        if not folder.is_dir():
            raise InvalidInput.expected("a folder of agents", folder)
        for path in sorted(folder.glob(f"*/{DESCRIPTION}")):
            addresses.setdefault(path.parent.name, str(path.parent.absolute()))
    return addresses
