"""Agents as people type them: stored ones by name or folder, and their own as module:object."""

from importlib import import_module
from pathlib import Path

from paretofoil.agents.agent import Agent
from paretofoil.agents.shelf import load_agent
from paretofoil.cli.options import allow_typed
from paretofoil.core.errors import InvalidInput


def find_agent(name: str) -> Agent:
    """A stored agent; "module:object" imports that module, which whoever types it allows, and takes what it made."""
    module, colon, attribute = name.rpartition(":")
    if not (module and colon and attribute) or Path(name).is_dir():
        return load_agent(name)
    allow_typed([module.removesuffix(".py")])
    try:
        found = getattr(import_module(module.removesuffix(".py")), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidInput.expected(f"an agent {attribute} in a module {module}", f"an error ({error})") from None
    if not isinstance(found, Agent):
        raise InvalidInput.expected(f"{name} to be an agent (pf.Agent)", type(found).__name__)
    return found
