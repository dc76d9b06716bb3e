"""Agents: loading, saving, and adapters for policies of other libraries."""

from paretofoil.agents.agent import Agent
from paretofoil.agents.store import list_agents, load_agent, save_agent

__all__ = ["Agent", "list_agents", "load_agent", "save_agent"]
