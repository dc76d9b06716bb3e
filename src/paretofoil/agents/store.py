"""Where agents are found: shipped with the package, or in the folder of one's own."""

import os
from importlib.resources import files
from pathlib import Path

from paretofoil.agents.agent import Agent
from paretofoil.agents.storage import DESCRIPTION, read_agent
from paretofoil.core.errors import InvalidInput, did_you_mean


def shipped_folder() -> Path:
    return Path(str(files("paretofoil.agents"))) / "shipped"


def local_folder() -> Path:
    """Where `paretofoil train` puts agents: $PARETOFOIL_AGENTS, or ./agents."""
    return Path(os.environ.get("PARETOFOIL_AGENTS", "agents"))


def list_agents() -> dict[str, Path]:
    """The name and folder of every agent that can be loaded by name; a local one hides a shipped one."""
    found: dict[str, Path] = {}
    for shelf in (shipped_folder(), local_folder()):
        if shelf.is_dir():
            found |= {path.parent.name: path.parent for path in sorted(shelf.glob(f"*/{DESCRIPTION}"))}
    return found


def shipped(name: str) -> str:
    """What a shipped agent is loaded by: its name, or its folder if a local one hides it."""
    folder = shipped_folder() / name
    return name if list_agents().get(name) == folder else str(folder)


def hiding(name: str) -> Path | None:
    """The folder of the local agent that hides a shipped one of this name; None if there are not both."""
    folder = list_agents().get(name)
    return folder if (shipped_folder() / name / DESCRIPTION).is_file() and shipped(name) != name else None


def load_agent(name: str | Path) -> Agent:
    """An agent by its name, or by the path of its folder."""
    known = list_agents()
    if str(name) in known:
        return read_agent(known[str(name)])
    if _is_folder(name):
        return read_agent(name)
    among = f"an agent among {', '.join(known)}, or " if known else ""
    raise InvalidInput.expected(f"{among}an agent's folder", did_you_mean(name, known))


def _is_folder(name: str | Path) -> bool:
    try:
        return name != "" and Path(name).is_dir()
    except (OSError, ValueError):  # a name that no file can have, such as one of 10,000 letters
        return False
