"""Agents, episodes and policies as JSON documents for the page: the library's JSON with texts and links added.

`page/js/types.d.ts` declares their fields.
"""

import base64
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import numpy as np

from paretofoil.agents.agent import Agent, as_command
from paretofoil.core.amounts import ActionSpace, direction_names
from paretofoil.core.answer import DELIVERED
from paretofoil.core.command import CommandSpace, as_vector
from paretofoil.core.decision import Episode
from paretofoil.core.json import plain
from paretofoil.core.policy import WhiteBoxActor, WhiteBoxPolicy, action_values, probabilities, query, tells_values
from paretofoil.envs.batch import tabulate
from paretofoil.envs.pictures import place_of
from paretofoil.explanation.attainable import consequence
from paretofoil.explanation.episodes import is_provable
from paretofoil.explanation.questions import foils_of
from paretofoil.search.registry import methods
from paretofoil.show.numbers import quantities
from paretofoil.web.agent_store import AgentStore, Shown
from paretofoil.web.episodes import EpisodeCache, EpisodeSpec
from paretofoil.web.errors import NotFound
from paretofoil.web.guide import GUIDES
from paretofoil.web.state_policy import StatePolicy, as_state


def agent_summary(store: AgentStore, name: str) -> dict[str, Any]:
    """Return the entry of an agent, or of a policy with free features, in the list of agents."""
    agent = store.shown(name)
    objectives = [asdict(objective) for objective in agent.space.objectives]  # type: ignore[arg-type]
    both = {"name": name, "objectives": objectives, "actions": list(foil_names(agent))}
    if isinstance(agent, StatePolicy):
        what = "state and the command" if agent.features.num_commands else "state"
        about = f"A policy that is explained by features of its state. You set the {what}."
        none: dict[str, Any] = {"front_size": 0, "early": False, "uploaded": False, "siblings": [], "picture": None}
        return {**both, "title": name, "environment": name, "about": about, **none}
    return {
        **both,
        "title": name.replace("-", " ").title(),
        "environment": agent.environment.name,
        "about": agent.environment.description,
        "front_size": len(agent.front),
        "early": name.endswith("-early"),  # an under-trained twin
        "uploaded": name in store.uploaded,
        "siblings": store.siblings(name),
        "picture": f"/api/agents/{quote(name, safe='')}/picture.png",
    }


def agent_document(store: AgentStore, name: str) -> dict[str, Any]:
    """Return the description of an agent for the page. Fields that a policy with free features lacks are empty."""
    agent = store.shown(name)
    space = agent.space
    document = {
        **agent_summary(store, name),
        **dict.fromkeys(("observation", "achieved", "reached", "amounts", "guide")),
        **{key: [] for key in ("front", "front_texts", "returns", "cells")},
        **dict.fromkeys(("stochastic", "horizon", "paper_box", "atlas"), False),
        "phrases": list(agent.phrases),
        "space": {"kind": space.shape, **plain({"low": space.low, "high": space.high, "scale": space.scale})},
        "values": agent.actor is None and tells_values(agent.discrete_policy),
        "white_box": isinstance(agent.policy, WhiteBoxPolicy | WhiteBoxActor),
        "step_limit": 1,
        "provenance": {},
    }
    if isinstance(agent, StatePolicy):
        return {**document, "observation": agent.observation()}
    guide = GUIDES.get(agent.environment.name)
    return {
        **document,
        "front": agent.front.tolist(),
        "front_texts": [command_text(space, command) for command in agent.front],
        "achieved": None if agent.achieved is None else agent.achieved.tolist(),
        "reached": None if agent.achieved is None else agent.reached().tolist(),
        "stochastic": agent.environment.stochastic,
        "step_limit": agent.environment.max_steps,
        "horizon": agent.horizon,
        "paper_box": agent.environment.paper_box is not None and not agent.horizon,
        "provenance": plain(dict(agent.provenance)),
        "amounts": None if agent.actor is None else _amounts(agent.actor.actions),
        "atlas": has_atlas(agent),
        "returns": [asdict(objective) for objective in agent.environment.objectives],
        "cells": cells_document(agent),
        "guide": None if guide is None or len(guide.command) != space.dim or space.simplex else asdict(guide),
    }


def foil_names(agent: Shown) -> tuple[str, ...]:
    """Return the names of foils: the actions; for continuous actions, more and less of each dimension."""
    return agent.actions if agent.actor is None else direction_names(agent.actions)


def _amounts(space: ActionSpace) -> list[dict[str, Any]]:
    """Return the dimensions of continuous actions."""
    names = ("name", "unit", "phrase", "low", "high")
    sides = zip(space.names, space.units, space.phrases, space.low.tolist(), space.high.tolist(), strict=True)
    return [dict(zip(names, side, strict=True)) for side in sides]


def has_atlas(agent: Agent) -> bool:
    """Return whether the outcomes of all commands can be proven and drawn as a map."""
    return agent.space.dim == 2 and not (agent.space.simplex or agent.environment.stochastic) and is_provable(agent)


def cells_document(agent: Agent) -> list[dict[str, Any]]:
    """Return the cells that an outcome can name, such as "(3, 4)", with their places in the picture.

    The list is empty if the environment has no such cells, or if several have one place in the picture.
    """
    entry = agent.environment
    if not entry.finite or place_of(entry, {"state": 0}) is None:
        return []
    places: dict[str, Any] = {}
    for number, state in enumerate(tabulate(entry).states):
        cell = ", ".join(f"{x:g}" for x in np.atleast_1d(state[entry.state[0]]).tolist())
        places.setdefault(f"({cell})", place_of(entry, {"state": number}))
    if len(set(places.values())) < len(places):
        return []
    return [{"cell": cell, "place": plain(place)} for cell, place in places.items()]


def searches_document() -> list[dict[str, Any]]:
    """Return the name, description and requirements of each search."""
    loaded = [(method, method.load()) for method in methods()]
    return [{"name": m.name, "about": m.summary, "needs": kind.access, "proves": kind.proves} for m, kind in loaded]


def episode_document(agent: Agent, spec: EpisodeSpec, episode: Episode) -> dict[str, Any]:
    """Return the library's JSON of an episode, with probabilities, texts and links to pictures."""
    document = episode.to_dict()
    for decision, entry in zip(episode, document["decisions"], strict=True):
        entry["command_text"] = command_text(agent.space, decision.command)
        entry["picture"] = spec.picture_link(decision.step)
        entry["place"] = place_of(agent.environment, decision.snapshot)
        if agent.actor is not None:
            entry |= {"valid_actions": foils_of(agent, decision), "probabilities": [], "values": None}
    if agent.actor is None:
        states, commands = (np.array([getattr(d, name) for d in episode]) for name in ("state", "command"))
        scores = query(agent.discrete_policy, states, commands)
        for decision, row, entry in zip(episode, scores, document["decisions"], strict=True):
            entry["probabilities"] = plain(probabilities(agent.discrete_policy, row, decision.valid_actions))
            entry["values"] = plain(action_values(agent.discrete_policy, row))
    rewards = agent.space.objectives[: len(episode.achieved)]
    delivered: bool | None = None  # preferences ask for no return
    if not agent.space.simplex:
        whole = episode.command + episode[0].collected  # the command for the whole episode, if this is the rest of one
        scale = agent.space.scale[: len(rewards)]
        delivered = bool((np.abs(episode.achieved - whole[: len(rewards)]) <= DELIVERED * scale).all())
    return {
        **document,
        "command_text": command_text(agent.space, episode.command),
        "achieved_text": quantities(rewards, episode.achieved, agent.space.low, agent.space.high),  # type: ignore[arg-type]
        "delivered": delivered,
        "end_picture": spec.picture_link(episode[-1].step + 1),
        "end_place": place_of(agent.environment, episode.end),
    }


def consequence_document(cache: EpisodeCache, agent: Agent, spec: EpisodeSpec) -> dict[str, Any]:
    """Return the rest of an episode after another command is issued, and the mean outcome of that command."""
    decision = cache.decision(agent, spec.original, spec.since or 0)
    outcome = consequence(agent, decision, as_command(agent, spec.issued or ()), seed=spec.seed)
    rest = episode_document(agent, spec, cache.episode(agent, spec))
    return {"episode": rest, "consequence": plain(outcome)}


def command_text(space: CommandSpace, command: np.ndarray) -> str:
    """Return a command as text: "8 treasure in 8 steps", or for preferences "0.25 fuel and 0.75 ore"."""
    return quantities(space.command_objectives, command, space.low, space.high)


def folded_document(agent: Shown, state: Any) -> dict[str, Any]:
    """Return the policy at a state as a small network whose only input is the command. The page evaluates it.

    It is the network that proofs bound, in float32: a sequence of affine layers, with activations between them. A
    matrix of weights (outputs, inputs) is stored row by row in base64. The outputs are logits, or amounts of continuous
    actions.
    """
    policy = agent.policy
    if not isinstance(policy, WhiteBoxPolicy | WhiteBoxActor):
        raise NotFound.expected("an agent with a white-box policy", f"{agent.name}, which has a black-box policy")
    fold = policy.fold_amounts if isinstance(policy, WhiteBoxActor) else policy.fold
    folded = fold(check_state(agent, state))
    if not folded.is_chain:
        raise NotFound.expected("an agent whose policy is a chain of layers", f"{agent.name}, whose policy is not")
    weights, biases, activations = folded.layers
    layers = zip(weights, biases, (*activations, "none"), strict=True)
    return {
        "layers": [
            {
                "outputs": len(bias),
                "inputs": weight.shape[1],
                "weight": as_base64(weight.astype("<f4").tobytes()),
                "bias": as_base64(bias.astype("<f4").tobytes()),
                "activation": activation,
            }
            for weight, bias, activation in layers
        ]
    }


def check_state(agent: Shown, state: Any) -> np.ndarray:
    """Return a state of the right length as float32; raise an error for numbers that float32 cannot hold."""
    size = agent.features.size if isinstance(agent, StatePolicy) else agent.environment.observation_size
    return as_state(as_vector(state, "the state", size))


def as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
