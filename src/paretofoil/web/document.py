"""Agents and episodes as the page is told of them: the library's JSON, and words and addresses beside it."""

from dataclasses import asdict
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import as_command
from paretofoil.core.attainable import DELIVERED
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Episode
from paretofoil.core.document import plain
from paretofoil.core.policy import shares, tells_values
from paretofoil.explanation.consequence import consequence
from paretofoil.search.registry import methods
from paretofoil.show.numbers import values
from paretofoil.web.moment import Course, Moments
from paretofoil.web.network import computable
from paretofoil.web.shelf import Shelf

EARLY = "-early"


def agent_summary(shelf: Shelf, name: str) -> dict[str, Any]:
    agent = shelf.agent(name)
    return {
        "name": name,
        "title": name.replace("-", " ").title(),
        "environment": agent.environment.name,
        "about": agent.environment.description,
        "objectives": [asdict(objective) for objective in agent.space.objectives],  # type: ignore[arg-type]
        "actions": list(agent.actions),
        "front_size": len(agent.front),
        "early": name.endswith(EARLY),
        "uploaded": shelf.place(name).uploaded,
        "beside": shelf.beside(name),
        "picture": f"/api/agents/{quote(name, safe='')}/picture.png",
    }


def agent_document(shelf: Shelf, name: str) -> dict[str, Any]:
    agent = shelf.agent(name)
    space = agent.space
    sides = {"low": space.low.tolist(), "high": space.high.tolist(), "scale": space.scale.tolist()}
    return {
        **agent_summary(shelf, name),
        "phrases": list(agent.phrases),
        "space": {"kind": space.shape, **sides},
        "front": agent.front.tolist(),
        "front_texts": [command_text(space, command) for command in agent.front],
        "achieved": None if agent.achieved is None else agent.achieved.tolist(),
        "reached": None if agent.achieved is None else agent.reached().tolist(),
        "stochastic": agent.environment.stochastic,
        "step_limit": agent.environment.max_steps,
        "horizon": agent.horizon,
        "values": tells_values(agent.policy),
        "paper_box": agent.environment.paper_box is not None and not agent.horizon,
        "provenance": plain(dict(agent.provenance)),
        "computable": computable(agent),
    }


def searches_document() -> list[dict[str, Any]]:
    loaded = [(method, method.load()) for method in methods()]
    return [{"name": m.name, "about": m.summary, "needs": kind.access, "proves": kind.proves} for m, kind in loaded]


def episode_document(agent: Agent, course: Course, episode: Episode) -> dict[str, Any]:
    """The library's JSON of an episode, and for each decision probabilities, words and a picture."""
    document = episode.to_dict()
    states, commands = (np.array([getattr(d, name) for d in episode]) for name in ("state", "command"))
    scores = np.asarray(agent.policy.log_probs(states, commands))
    for decision, row, shown in zip(episode, scores, document["decisions"], strict=True):
        likely, worth = shares(agent.policy, row, decision.valid_actions)
        shown["probabilities"] = likely.tolist()
        shown["values"] = None if worth is None else worth.tolist()
        shown["command_text"] = command_text(agent.space, decision.command)
        shown["picture"] = picture_address(course, decision.step)
    rewards = agent.space.objectives[: len(episode.achieved)]
    whole = episode.command + episode[0].collected  # of the whole episode, if this is the rest of one
    return {
        **document,
        "command_text": command_text(agent.space, episode.command),
        "achieved_text": values(rewards, episode.achieved),  # type: ignore[arg-type]
        "delivered": delivered(agent.space, whole, episode.achieved),
        "end_picture": picture_address(course, episode[-1].step + 1),
    }


def course_document(moments: Moments, course: Course) -> dict[str, Any]:
    return episode_document(moments.agent(course.agent), course, moments.episode(course))


def consequence_document(moments: Moments, course: Course) -> dict[str, Any]:
    """What follows a command that is issued at a moment: one episode's rest, and what it achieves in the mean."""
    agent = moments.agent(course.agent)
    decision = moments.decision(course.original, course.since or 0)
    after = consequence(agent, decision, as_command(agent, course.issued or ()), seed=course.seed)
    return {"episode": course_document(moments, course), "consequence": after.to_dict()}


def delivered(space: CommandSpace, command: np.ndarray, achieved: np.ndarray) -> bool | None:
    """Whether what was asked for was returned; preferences ask for no returns."""
    if space.simplex:
        return None
    size = len(achieved)
    return bool((np.abs(achieved - command[:size]) <= DELIVERED * space.scale[:size]).all())


def command_text(space: CommandSpace, command: np.ndarray) -> str:
    """ "8 treasure and 8 steps of time"; preferences: "0.25 fuel and 0.75 ore"."""
    return values(space.asked_for, command)


def picture_address(course: Course, time: int) -> str:
    asked: dict[str, Any] = {"agent": course.agent, "command": _listed(course.command), "seed": course.seed}
    if course.since is not None and course.issued is not None:
        asked |= {"since": course.since, "issued": _listed(course.issued)}
    return f"/api/pictures?{urlencode({**asked, 'time': time}, safe=',')}"


def _listed(command: tuple[float, ...]) -> str:
    return ",".join(map(repr, command))
