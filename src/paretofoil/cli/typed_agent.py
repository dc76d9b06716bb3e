"""Agents as people type them: stored ones by name or folder, and their own as module:object."""

from paretofoil.agents.agent import Agent
from paretofoil.agents.own_agent import module_address, own_agent
from paretofoil.agents.store import hiding, load_agent
from paretofoil.cli.console import note
from paretofoil.cli.options import allow_typed


def find_agent(name: str) -> Agent:
    """A stored agent; "module:object" imports that module, which whoever types it allows, and takes what it made."""
    address = module_address(name)
    if address is None:
        tell_hiding(name)
        return load_agent(name)
    allow_typed([address.partition(":")[0]])
    return own_agent(address)


def tell_hiding(name: str) -> None:
    """Say that a name stands for a local agent where a shipped one has it as well."""
    folder = hiding(name)
    if folder is not None:
        note(f"note: {name} is your own agent in {folder} here, not the shipped one of that name.")
