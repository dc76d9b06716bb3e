"""Agents: the value, how it is stored, and the ones that are shipped."""

from paretofoil.agents.agent import Agent
from paretofoil.agents.storage import save_agent
from paretofoil.agents.store import list_agents, load_agent

__all__ = ["Agent", "list_agents", "load_agent", "save_agent"]
