"""The public names of Paretofoil. They are imported when they are first used; see `__init__.py`."""

from paretofoil.agents.agent import Agent as Agent
from paretofoil.agents.agent import rollout as rollout
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
from paretofoil.core import __version__ as __version__
from paretofoil.core.amounts import ActionSpace as ActionSpace
from paretofoil.core.amounts import between as between
from paretofoil.core.amounts import less as less
from paretofoil.core.amounts import more as more
from paretofoil.core.answer import Answer as Answer
from paretofoil.core.answer import Status as Status
from paretofoil.core.command import CommandSpace as CommandSpace
from paretofoil.core.command import Objective as Objective
from paretofoil.core.decision import Decision as Decision
from paretofoil.core.decision import Episode as Episode
from paretofoil.core.errors import InvalidInput as InvalidInput
from paretofoil.core.influence import Influence as Influence
from paretofoil.core.options import Limits as Limits
from paretofoil.core.options import Options as Options
from paretofoil.core.question import Question as Question
from paretofoil.envs.catalogue import allow as allow
from paretofoil.explanation.atlas import atlas as atlas
from paretofoil.explanation.check_policy import check_policy as check_policy
from paretofoil.explanation.explain import explain as explain
from paretofoil.explanation.explain import explain_decision as explain_decision
from paretofoil.explanation.explain import explain_episode as explain_episode
from paretofoil.explanation.flip_map import FlipMap as FlipMap
from paretofoil.explanation.influence import influence as influence
from paretofoil.explanation.influence import influence_episode as influence_episode
from paretofoil.explanation.never import Never as Never
from paretofoil.explanation.never import never as never
from paretofoil.explanation.outcome import explain_outcome as explain_outcome
from paretofoil.proof.verify import verify_certificate as verify_certificate
from paretofoil.search.registry import register_search as register_search
from paretofoil.show.landscape import landscape as landscape

__all__: list[str]
