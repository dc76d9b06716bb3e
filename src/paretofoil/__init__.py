"""Paretofoil: why this action, and not that one?

Counterfactual explanations for command-conditioned reinforcement-learning agents.
"""

from typing import TYPE_CHECKING

from paretofoil.core import __version__
from paretofoil.core.display import lazy_names, register_displays

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent as Agent
    from paretofoil.agents.agent import decision_in as decision_in
    from paretofoil.agents.agent import rollout as rollout
    from paretofoil.agents.agent import rollouts as rollouts
    from paretofoil.agents.import_agent import import_agent as import_agent
    from paretofoil.agents.onnx import from_onnx as from_onnx
    from paretofoil.agents.sb3 import from_sb3 as from_sb3
    from paretofoil.agents.store import list_agents as list_agents
    from paretofoil.agents.store import load_agent as load_agent
    from paretofoil.agents.store import save_agent as save_agent
    from paretofoil.agents.torch_policy import from_q_module as from_q_module
    from paretofoil.agents.torch_policy import from_torch as from_torch
    from paretofoil.agents.training import train as train
    from paretofoil.agents.value_policy import from_q_table as from_q_table
    from paretofoil.agents.value_policy import from_q_values as from_q_values
    from paretofoil.core.answer import Answer as Answer
    from paretofoil.core.answer import Attainable as Attainable
    from paretofoil.core.answer import Status as Status
    from paretofoil.core.command import CommandSpace as CommandSpace
    from paretofoil.core.command import Objective as Objective
    from paretofoil.core.decision import Decision as Decision
    from paretofoil.core.decision import Episode as Episode
    from paretofoil.core.errors import InvalidInput as InvalidInput
    from paretofoil.core.influence import Influence as Influence
    from paretofoil.core.influence import InfluenceProfile as InfluenceProfile
    from paretofoil.core.options import Limits as Limits
    from paretofoil.core.options import Options as Options
    from paretofoil.core.options import Stop as Stop
    from paretofoil.core.question import Question as Question
    from paretofoil.core.search import Finding as Finding
    from paretofoil.core.search import Search as Search
    from paretofoil.envs.catalogue import allow as allow
    from paretofoil.explanation.ask import ask as ask
    from paretofoil.explanation.attainable import consequence as consequence
    from paretofoil.explanation.check_policy import check_policy as check_policy
    from paretofoil.explanation.explain import explain as explain
    from paretofoil.explanation.explain import explain_decision as explain_decision
    from paretofoil.explanation.explain import explain_episode as explain_episode
    from paretofoil.explanation.flip_map import FlipMap as FlipMap
    from paretofoil.explanation.influence import influence as influence
    from paretofoil.explanation.influence import influence_episode as influence_episode
    from paretofoil.explanation.never import Never as Never
    from paretofoil.explanation.never import never as never
    from paretofoil.proof.verify import verify_certificate as verify_certificate
    from paretofoil.search.boundary import Boundary as Boundary
    from paretofoil.search.cf_zoo import CFZoo as CFZoo
    from paretofoil.search.exact import Exact as Exact
    from paretofoil.search.nearest_front import NearestFront as NearestFront
    from paretofoil.search.registry import register_search as register_search
    from paretofoil.show.decision_figure import figure_decision as figure_decision
    from paretofoil.show.flip_map import figure_flip_map as figure_flip_map
    from paretofoil.show.front_figure import figure_front as figure_front
    from paretofoil.show.influence import figure_influence as figure_influence
    from paretofoil.show.landscape import Landscape as Landscape
    from paretofoil.show.landscape import landscape as landscape

__getattr__, _names = lazy_names(
    __name__,
    {
        "paretofoil.agents.agent": ("Agent", "decision_in", "rollout", "rollouts"),
        "paretofoil.agents.import_agent": ("import_agent",),
        "paretofoil.agents.onnx": ("from_onnx",),
        "paretofoil.agents.sb3": ("from_sb3",),
        "paretofoil.agents.store": ("list_agents", "load_agent", "save_agent"),
        "paretofoil.agents.torch_policy": ("from_q_module", "from_torch"),
        "paretofoil.agents.training": ("train",),
        "paretofoil.agents.value_policy": ("from_q_table", "from_q_values"),
        "paretofoil.core.answer": ("Answer", "Attainable", "Status"),
        "paretofoil.core.command": ("CommandSpace", "Objective"),
        "paretofoil.core.decision": ("Decision", "Episode"),
        "paretofoil.core.errors": ("InvalidInput",),
        "paretofoil.core.influence": ("Influence", "InfluenceProfile"),
        "paretofoil.core.options": ("Limits", "Options", "Stop"),
        "paretofoil.core.question": ("Question",),
        "paretofoil.core.search": ("Finding", "Search"),
        "paretofoil.envs.catalogue": ("allow",),
        "paretofoil.explanation.ask": ("ask",),
        "paretofoil.explanation.check_policy": ("check_policy",),
        "paretofoil.explanation.attainable": ("consequence",),
        "paretofoil.explanation.explain": ("explain", "explain_decision", "explain_episode"),
        "paretofoil.explanation.flip_map": ("FlipMap",),
        "paretofoil.explanation.influence": ("influence", "influence_episode"),
        "paretofoil.explanation.never": ("Never", "never"),
        "paretofoil.proof.verify": ("verify_certificate",),
        "paretofoil.search.boundary": ("Boundary",),
        "paretofoil.search.cf_zoo": ("CFZoo",),
        "paretofoil.search.exact": ("Exact",),
        "paretofoil.search.nearest_front": ("NearestFront",),
        "paretofoil.search.registry": ("register_search",),
        "paretofoil.show.decision_figure": ("figure_decision",),
        "paretofoil.show.flip_map": ("figure_flip_map",),
        "paretofoil.show.front_figure": ("figure_front",),
        "paretofoil.show.influence": ("figure_influence",),
        "paretofoil.show.landscape": ("Landscape", "landscape"),
    },
)
__all__ = ["__version__", *_names]

register_displays(
    {
        "Agent.html": "paretofoil.show.notebook:agent_html",
        "Answer.html": "paretofoil.show.notebook:answer_html",
        "Answer.paragraph": "paretofoil.show.sentences:paragraph",
        "Answer.plot": "paretofoil.show.decision_figure:figure_decision",
        "Answer.sentence": "paretofoil.show.sentences:one_line",
        "FlipMap.html": "paretofoil.show.notebook:flip_map_html",
        "Influence.html": "paretofoil.show.influence:influence_html",
        "Influence.sentence": "paretofoil.show.influence:influence_sentence",
        "InfluenceProfile.html": "paretofoil.show.influence:profile_html",
        "InfluenceProfile.plot": "paretofoil.show.influence:figure_influence",
        "InfluenceProfile.sentence": "paretofoil.show.influence:profile_summary",
        "Never.sentence": "paretofoil.show.never:never_sentence",
        "FlipMap.plot": "paretofoil.show.flip_map:figure_flip_map",
    }
)


def __dir__() -> list[str]:
    return __all__
