"""Tasks about the agents that a participant meets: checked on them, with what is shown, and what is right."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import as_command, rollout
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.document import brief
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import Limits
from paretofoil.core.policy import shares
from paretofoil.explanation.consequence import consequence
from paretofoil.explanation.explain import explain
from paretofoil.explanation.pose import find_action
from paretofoil.web.study.plan import Condition, Task, UserStudy

CHECK_SECONDS = 5.0
"""How long it is looked, before a study begins, for a command that leads to the foil of a task."""
ALIKE = 1e-9
"""Two agents that differ by less serve alike."""


@dataclass(frozen=True)
class Verdict:
    """A reply beside what is right."""

    reply: str
    truth: str
    """What the agent does; of two agents, the one that serves better."""
    right: bool


@dataclass(frozen=True)
class Film:
    """An episode as it is watched, and the questions that are answered beside it."""

    agent: str
    command: tuple[float, ...]
    seed: int
    until: int | None
    """The moment at which it stops; None: at its end."""
    explained: tuple[tuple[int, str], ...]
    """Moments and foils."""


@dataclass(frozen=True)
class Posed:
    """A task about the agents of a condition."""

    task: Task
    films: tuple[Film, ...]
    judge: Callable[[Any], Verdict]
    truth: str
    """What is right, as far as it does not depend on the reply."""


def pose_task(task: Task, find: Callable[[str], Agent], condition: Condition) -> Posed:
    """The task as a participant of that condition meets it; `find` gives agents by name."""
    try:
        return _POSED[task.kind](task, find, condition)
    except InvalidInput as error:
        raise type(error)(f"task {task.name}, condition {condition.name}: {error}") from None


def check_conditions(study: UserStudy, find: Callable[[str], Agent]) -> None:
    """Refuse stand-ins that are not there or act elsewhere, and explanations that cannot be given."""
    for condition in study.conditions:
        for name, other in (condition.instead or {}).items():
            _same_world(find(name), find(other))
        if "influence" in condition.shows and find_spec("paretofoil.explanation.influence") is None:
            raise InvalidInput.expected("a condition without influence, which is not there", condition.name)


def _pose_predict(task: Task, find: Callable[[str], Agent], condition: Condition) -> Posed:
    name, agent, episode, decision = _moment(task, find, condition)
    truth = agent.actions[decision.action]

    def judge(reply: Any) -> Verdict:
        action = find_action(_word(reply), agent.actions, decision.valid_actions)
        return Verdict(agent.actions[action], truth, action == decision.action)

    return Posed(task, (_film(task, name, agent, episode),), judge, truth)


def _pose_steer(task: Task, find: Callable[[str], Agent], condition: Condition) -> Posed:
    name, agent, episode, decision = _moment(task, find, condition)
    foil = find_action(task.foil or "", agent.actions, decision.valid_actions)
    if foil == decision.action:
        raise InvalidInput.expected("a foil that the agent does not choose", task.foil)
    _check_feasible(agent, decision, foil)

    def judge(reply: Any) -> Verdict:
        if not isinstance(reply, list):
            raise InvalidInput.expected("a command as reply", brief(reply))
        command = as_command(agent, reply)
        done = int(np.argmax(_probabilities(agent, decision, command)))
        return Verdict(" ".join(map(repr, command.tolist())), agent.actions[done], done == foil)

    return Posed(task, (_film(task, name, agent, episode),), judge, agent.actions[foil])


def _pose_choose(task: Task, find: Callable[[str], Agent], condition: Condition) -> Posed:
    agents = {name: find(name) for name in task.agents}
    _same_world(*agents.values())
    films = tuple(_film(task, name, agent, _watched(task, agent)) for name, agent in agents.items())
    worth = {name: _worth(agent, task) for name, agent in agents.items()}
    if max(worth.values()) - min(worth.values()) < ALIKE:
        raise InvalidInput.expected("two agents of which one serves better", "two that serve alike")
    better = max(worth, key=worth.__getitem__)

    def judge(reply: Any) -> Verdict:
        if reply not in task.agents:
            raise InvalidInput.expected(f"one of {', '.join(task.agents)} as reply", brief(reply))
        return Verdict(reply, better, reply == better)

    return Posed(task, films, judge, better)


_POSED = {"predict": _pose_predict, "steer": _pose_steer, "choose": _pose_choose}


def _moment(task: Task, find: Callable[[str], Agent], condition: Condition) -> tuple[str, Agent, Episode, Decision]:
    """Who is asked about, and the decision that is."""
    name = condition.agent(task.agents[0])
    agent = find(name)
    episode = _watched(task, agent)
    if task.time is None or task.time >= len(episode):
        raise InvalidInput.expected(f"a moment from 0 to {len(episode) - 1} of the episode of {name}", task.time)
    decision = episode[task.time]
    if len(decision.valid_actions) < 2:
        raise InvalidInput.expected("a moment with a choice", f"{task.time}, at which {name} has none")
    return name, agent, episode, decision


def _watched(task: Task, agent: Agent) -> Episode:
    return rollout(agent, task.watched, seed=task.seed)


def _film(task: Task, name: str, agent: Agent, episode: Episode) -> Film:
    foils = tuple((time, _most_probable_foil(agent, episode, time)) for time in task.explained)
    return Film(name, task.watched, task.seed, task.time, foils)


def _most_probable_foil(agent: Agent, episode: Episode, time: int) -> str:
    if time >= len(episode):
        raise InvalidInput.expected(f"explained moments from 0 to {len(episode) - 1}", time)
    decision = episode[time]
    if not decision.others:
        raise InvalidInput.expected("explained moments with a choice", f"{time}, which has none")
    likely = _probabilities(agent, decision, decision.command)
    return agent.actions[max(decision.others, key=likely.__getitem__)]


def _probabilities(agent: Agent, decision: Decision, command: np.ndarray) -> np.ndarray:
    [row] = np.asarray(agent.policy.log_probs(decision.state[None], command[None]))
    return shares(agent.policy, row, decision.valid_actions)[0]


def _check_feasible(agent: Agent, decision: Decision, foil: int) -> None:
    answer = explain(agent, decision, foil=foil, limits=Limits(CHECK_SECONDS))
    if answer.command is None:
        raise InvalidInput.expected(
            "a foil that some command leads to", f"{agent.actions[foil]} ({answer.status.value})"
        )


def _worth(agent: Agent, task: Task) -> float:
    """How well an agent serves under the task's command: how little it misses, or how much it gets of what counts."""
    command = as_command(agent, task.command)
    start = rollout(agent, command, seed=task.seed)[0]
    achieved = consequence(agent, start, command, seed=task.seed).achieved
    if agent.space.simplex:
        return float(command @ achieved)
    return -float(np.max(np.abs(achieved - command[: len(achieved)]) / agent.space.scale[: len(achieved)]))


def _same_world(*agents: Agent) -> None:
    worlds = {agent.environment.name for agent in agents}
    if len(worlds) > 1:
        raise InvalidInput.expected("agents of one environment", " and ".join(sorted(worlds)))


def _word(reply: Any) -> str:
    if not isinstance(reply, str):
        raise InvalidInput.expected("the name of an action as reply", brief(reply))
    return reply


def poses_of(study: UserStudy, find: Callable[[str], Agent]) -> dict[tuple[str, str], Posed]:
    """Every task in every condition, by the names of both; alike ones are posed once."""
    check_conditions(study, find)
    made: dict[tuple[str, ...], Posed] = {}
    poses: dict[tuple[str, str], Posed] = {}
    for condition in study.conditions:
        for task in study.tasks:
            key = (task.name, *map(condition.agent, task.agents))
            if key not in made:
                made[key] = pose_task(task, find, condition)
            poses[condition.name, task.name] = made[key]
    return poses
