"""Quick work: episodes, pictures, networks, and whether a question can be asked.

It takes milliseconds, or a second for a long episode, and is done one after the other in a process of its own: in the
server's it would hold up every request, since Python runs one thread at a time.
"""

import base64
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import as_command
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.pose import find_action, paper_box, pose, restrict
from paretofoil.search.registry import choose_search
from paretofoil.web.document import consequence_document, course_document
from paretofoil.web.moment import Course, Moments
from paretofoil.web.network import folded_document, probabilities_of
from paretofoil.web.picture import Pictures

Fields = Mapping[str, Any]


class Quick:
    """What is known of the agents that were asked about: their episodes and pictures are kept."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self.moments = Moments(self._agents.__getitem__)
        self.pictures = Pictures(self.moments)

    def meet(self, name: str, agent: Agent) -> None:
        self._agents[name] = agent


@cache
def quick() -> Quick:
    """That of this process."""
    return Quick()


def course_of(asked: Fields) -> Course:
    issued, since = asked.get("issued"), asked.get("since")
    other = None if issued is None else tuple(issued)
    return Course(asked["agent"], tuple(asked["command"]), asked["seed"], since, other)


def _episode(agent: Agent, asked: Fields) -> Any:
    return course_document(quick().moments, course_of(asked))


def _consequence(agent: Agent, asked: Fields) -> Any:
    return consequence_document(quick().moments, course_of(asked))


def _world(agent: Agent, asked: Fields) -> Any:
    return _encoded(quick().pictures.of_start(asked["agent"]))


def _picture(agent: Agent, asked: Fields) -> Any:
    return _encoded(quick().pictures.of_moment(course_of(asked), asked["time"]))


def _encoded(png: bytes) -> str:
    return base64.b64encode(png).decode("ascii")


def _folded(agent: Agent, asked: Fields) -> Any:
    return folded_document(agent, asked["state"])


def _probabilities(agent: Agent, asked: Fields) -> Any:
    valid = asked["valid_actions"]
    if max(valid) >= len(agent.actions):
        raise InvalidInput.expected(f"actions from 0 to {len(agent.actions) - 1}", max(valid))
    commands = np.stack([as_command(agent, command) for command in asked["commands"]])
    return probabilities_of(agent, asked["state"], valid, commands)


def _check_answer(agent: Agent, asked: Fields) -> Any:
    """The fields of a question that can be asked; whatever is wrong with it is told now, not when its turn comes."""
    decision = quick().moments.decision(course_of(asked), asked["time"])
    foil = find_action(asked["foil"], agent.actions, decision.valid_actions)
    if foil == decision.action:
        raise InvalidInput.expected("a foil that the agent does not choose", agent.actions[foil])
    choose_search(asked["search"], agent.policy, asked["seed"])
    box = paper_box(agent, asked["box"])
    question = pose(agent.policy, decision, foil, agent.space, agent.front, norm=asked["norm"], box=box)
    restrict(question, asked["keep"], {name: (low, high) for name, (low, high) in asked["ranges"].items()})
    return {**asked, "foil": foil}


def _check_times(agent: Agent, asked: Fields) -> Any:
    """The fields of a question about moments that there are, each once and in their order."""
    choose_search(asked.get("search", "auto"), agent.policy, asked["seed"])
    episode, times = quick().moments.episode(course_of(asked)), asked["times"]
    for time in times or ():
        if time >= len(episode):
            raise InvalidInput.expected(f"moments from 0 to {len(episode) - 1} of this episode", time)
    return {**asked, "times": None if times is None else sorted(set(times))}


QUICK: dict[str, Callable[[Agent, Fields], Any]] = {
    "check-answer": _check_answer,
    "check-times": _check_times,
    "consequence": _consequence,
    "episode": _episode,
    "folded": _folded,
    "picture": _picture,
    "probabilities": _probabilities,
    "world": _world,
}
