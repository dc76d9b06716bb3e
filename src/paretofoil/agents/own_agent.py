"""Agents of a user's own modules, addressed as module:name. Whoever calls this has allowed the module."""

import re
from importlib import import_module

from paretofoil.agents.agent import Agent
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief_words

_ADDRESS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def module_address(text: str) -> str | None:
    """module:name, an agent of the user's own or a function that makes it, also if module.py:name is typed; or None."""
    address = text.replace(".py:", ":")
    return address if _ADDRESS.fullmatch(address) else None


def own_agent(address: str) -> Agent:
    """Import the module, and take what it made."""
    module, _, name = address.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput.expected("an agent as module:name", f"{address} ({brief_words(error)})") from None
    agent = found() if callable(found) and not isinstance(found, Agent) else found
    if not isinstance(agent, Agent):
        raise InvalidInput.expected(f"{address} to be an agent (pf.Agent)", type(agent).__name__)
    return agent
