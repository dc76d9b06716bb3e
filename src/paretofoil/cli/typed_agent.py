"""Agents as people type them: stored ones by name or folder, and their own as module:object."""

from paretofoil.agents.agent import Agent
from paretofoil.agents.own_agent import module_address, own_agent
from paretofoil.agents.shelf import load_agent
from paretofoil.cli.options import allow_typed


def find_agent(name: str) -> Agent:
    """A stored agent; "module:object" imports that module, which whoever types it allows, and takes what it made."""
    address = module_address(name)
    if address is None:
        return load_agent(name)
    allow_typed([address.partition(":")[0]])
    return own_agent(address)
