"""Where agents are loaded from: the package, the local folder, or a module of the user."""

import os
import re
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from paretofoil.agents.agent import Agent
from paretofoil.agents.storage import DESCRIPTION, read_agent
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.json import brief_words

_ADDRESS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def shipped_folder() -> Path:
    return Path(str(files("paretofoil.agents"))) / "shipped"


def local_folder() -> Path:
    """Return the folder of trained agents: $PARETOFOIL_AGENTS, or ./agents."""
    return Path(os.environ.get("PARETOFOIL_AGENTS", "agents"))


def list_agents() -> dict[str, Path]:
    """Return the folders of all agents by name. A local agent hides a shipped agent of the same name."""
    agents: dict[str, Path] = {}
    for folder in (shipped_folder(), local_folder()):
        if folder.is_dir():
            agents |= {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{DESCRIPTION}"))}
    return agents


def shipped(name: str) -> str:
    """Return the name of a shipped agent, or its folder if a local agent hides it."""
    folder = shipped_folder() / name
    return name if list_agents().get(name) == folder else str(folder)


def hiding_folder(name: str) -> Path | None:
    """Return the folder of the local agent that hides the shipped agent of this name, or None."""
    folder = list_agents().get(name)
    return folder if (shipped_folder() / name / DESCRIPTION).is_file() and shipped(name) != name else None


def load_agent(name: str | Path) -> Agent:
    """Return the agent with this name or in this folder."""
    agents = list_agents()
    if str(name) in agents:
        return read_agent(agents[str(name)])
    if _is_folder(name):
        return read_agent(name)
    names = f"an agent among {', '.join(agents)}, or " if agents else ""
    raise InvalidInput.expected(f"{names}an agent's folder", did_you_mean(name, agents))


def _is_folder(name: str | Path) -> bool:
    try:
        return name != "" and Path(name).is_dir()
    except (OSError, ValueError):  # a name that no file can have, such as one of 10,000 letters
        return False


def module_address(text: str) -> str | None:
    """Return the address module:name of an agent or of a function that makes one (also for module.py:name), or None."""
    address = text.replace(".py:", ":")
    return address if _ADDRESS.fullmatch(address) else None


def own_agent(address: str) -> Agent:
    """Import a module of the user and return its agent. The caller has checked that the module is allowed."""
    module, _, name = address.partition(":")
    try:
        value = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput.expected("an agent as module:name", f"{address} ({brief_words(error)})") from None
    agent = value() if callable(value) and not isinstance(value, Agent) else value
    if not isinstance(agent, Agent):
        raise InvalidInput.expected(f"{address} to be an agent (pf.Agent)", type(agent).__name__)
    return agent
