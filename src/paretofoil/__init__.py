"""Paretofoil: why this action, and not that one?

Counterfactual explanations for command-conditioned reinforcement-learning agents.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from paretofoil.agents import Agent as Agent
    from paretofoil.agents import list_agents as list_agents
    from paretofoil.agents import load_agent as load_agent
    from paretofoil.agents import save_agent as save_agent
    from paretofoil.command import CommandSpace as CommandSpace
    from paretofoil.command import Objective as Objective
    from paretofoil.counterfactual import Counterfactual as Counterfactual
    from paretofoil.counterfactual import Outcome as Outcome
    from paretofoil.decision import Decision as Decision
    from paretofoil.decision import Episode as Episode
    from paretofoil.episode import rollout as rollout
    from paretofoil.episode import rollouts as rollouts
    from paretofoil.errors import InvalidInput as InvalidInput
    from paretofoil.explanation import explain as explain
    from paretofoil.explanation import explain_episode as explain_episode
    from paretofoil.flip_map import FlipMap as FlipMap
    from paretofoil.inquiry import Wishes as Wishes
    from paretofoil.inquiry import answer as answer
    from paretofoil.outlook import consequence as consequence
    from paretofoil.question import Question as Question
    from paretofoil.search import Boundary as Boundary
    from paretofoil.search import CFZoo as CFZoo
    from paretofoil.search import Exact as Exact
    from paretofoil.search import LocalZoo as LocalZoo
    from paretofoil.search import NearestFront as NearestFront
    from paretofoil.search.verify import verify_certificate as verify_certificate

_PLACES = {
    "paretofoil.agents": ("Agent", "list_agents", "load_agent", "save_agent"),
    "paretofoil.inquiry": ("Wishes", "answer"),
    "paretofoil.command": ("CommandSpace", "Objective"),
    "paretofoil.counterfactual": ("Counterfactual", "Outcome"),
    "paretofoil.decision": ("Decision", "Episode"),
    "paretofoil.errors": ("InvalidInput",),
    "paretofoil.explanation": ("explain", "explain_episode"),
    "paretofoil.flip_map": ("FlipMap",),
    "paretofoil.question": ("Question",),
    "paretofoil.episode": ("rollout", "rollouts"),
    "paretofoil.outlook": ("consequence",),
    "paretofoil.search": ("Boundary", "CFZoo", "Exact", "LocalZoo", "NearestFront"),
    "paretofoil.search.verify": ("verify_certificate",),
}
_HOMES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Names load their module when they are first used, so that `paretofoil --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
