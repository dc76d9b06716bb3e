"""Who can be asked: agents of the package, of folders and modules given at the start, and uploaded ones."""

import base64
import binascii
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any

from paretofoil import envs
from paretofoil.agents.agent import Agent
from paretofoil.agents.own_agent import module_address, own_agent
from paretofoil.agents.shelf import list_agents
from paretofoil.agents.storage import DESCRIPTION, WEIGHTS, read_agent, read_description
from paretofoil.core.document import brief, brief_words, write_document
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.web.errors import Taken, Unknown
from paretofoil.web.settings import Settings

UPLOADED_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
"""What an upload may be called: nothing that means something to a file system, or to a page."""


@dataclass(frozen=True)
class Place:
    """Where an agent comes from, so that another process can load it."""

    address: str
    """Its folder, or module:name."""
    uploaded: bool = False

    def load(self) -> Agent:
        return read_agent(self.address) if module_address(self.address) is None else own_agent(self.address)


class Shelf:
    """The agents of a server by name. A name keeps its meaning as long as the server lives."""

    def __init__(self, settings: Settings) -> None:
        self.broken: dict[str, str] = {}
        self._settings = settings
        self._lock = Lock()
        self._agents: dict[str, tuple[Agent, Place]] = {}
        self._uploads: Path | None = None
        asked_for = set(map(_name, settings.agents))
        for name, place in places(settings).items():
            self._load(name, place, strict=name in asked_for)

    def _load(self, name: str, place: Place, *, strict: bool) -> None:
        """Whatever is wrong with one of many, the others are to be seen; one that was asked for by name must load."""
        try:
            self._agents[name] = place.load(), place
        except Exception as error:
            if strict:
                raise
            self.broken[name] = brief_words(error)

    def names(self) -> list[str]:
        return list(self._agents)

    def agent(self, name: str) -> Agent:
        return self._find(name)[0]

    def place(self, name: str) -> Place:
        return self._find(name)[1]

    def _find(self, name: str) -> tuple[Agent, Place]:
        found = self._agents.get(name)
        if found is None:
            raise Unknown.expected(f"an agent among {', '.join(self._agents)}", did_you_mean(name[:80], self._agents))
        return found

    def beside(self, name: str) -> list[str]:
        """The other agents of the same environment."""
        environment = self.agent(name).environment.name
        return [n for n, (a, _) in self._agents.items() if n != name and a.environment.name == environment]

    def upload(self, name: str, description: Mapping[str, Any], weights: str) -> Agent:
        """An agent in our own format, read by the library's own reader; it lives as long as the server."""
        if not UPLOADED_NAME.fullmatch(name):
            raise InvalidInput.expected("a name of at most 63 small letters, digits and hyphens", brief(name))
        files = _checked_files(name, description, weights)
        with self._lock:
            if name in self._agents:
                raise Taken.expected("a name that no agent has yet", repr(name))
            uploaded = sum(place.uploaded for _, place in self._agents.values())
            if uploaded >= self._settings.uploads:
                raise Taken.expected(f"at most {self._settings.uploads} uploaded agents", "one more")
            agent, place = self._keep(name, files)
            self._agents = {**self._agents, name: (agent, place)}  # others may be reading the one before
        return agent

    def _keep(self, name: str, files: Mapping[str, bytes]) -> tuple[Agent, Place]:
        self._uploads = self._uploads or Path(mkdtemp(prefix="paretofoil-uploads-"))
        folder = self._uploads / name
        folder.mkdir()
        try:
            for file, content in files.items():
                (folder / file).write_bytes(content)
            return read_agent(folder), Place(str(folder), uploaded=True)
        except Exception as error:
            shutil.rmtree(folder)
            if isinstance(error, InvalidInput):
                raise InvalidInput(str(error).replace(f"{folder}", name)) from None
            raise

    def close(self) -> None:
        if self._uploads is not None:
            shutil.rmtree(self._uploads, ignore_errors=True)


def _checked_files(name: str, description: Mapping[str, Any], weights: str) -> dict[str, bytes]:
    """The files of an uploaded agent, whose environment must be one of the catalogue.

    Others are made with arguments from the file, and may have steps without end.
    """
    described = {**description, "name": name}
    environment = read_description(described)["environment"]["name"]
    if environment not in envs.names():
        raise InvalidInput.expected(f"an environment among {', '.join(envs.names())}", brief(environment))
    try:
        binary = base64.b64decode(weights, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput.expected("the weights in base64", brief(weights)) from None
    return {DESCRIPTION: write_document(described).encode(), WEIGHTS: binary}


def places(settings: Settings) -> dict[str, Place]:
    """Where the agents of a server are; of two that have a name, the first one keeps it."""
    known = {name: Place(str(folder.absolute())) for name, folder in list_agents().items()}
    found = {_name(given): _given(given, known) for given in settings.agents} or known
    for folder in settings.folders:
        if not folder.is_dir():
            raise InvalidInput.expected("a folder of agents", folder)
        for path in sorted(folder.glob(f"*/{DESCRIPTION}")):
            found.setdefault(path.parent.name, Place(str(path.parent.absolute())))
    return found


def _name(given: str) -> str:
    return module_address(given) or Path(given).name or given


def _given(given: str, known: Mapping[str, Place]) -> Place:
    if given in known:
        return known[given]
    address = module_address(given)
    if address is not None or (Path(given) / DESCRIPTION).is_file():
        return Place(address or str(Path(given).absolute()))
    raise InvalidInput.expected(
        f"an agent among {', '.join(known)}, an agent's folder, or module:name", did_you_mean(given, known)
    )
