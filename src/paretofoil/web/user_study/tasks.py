"""The tasks of a user study with their right replies, checked on the agents that participants see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, as_command, rollout
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.core.options import Limits, Options
from paretofoil.core.policy import probabilities, query
from paretofoil.explanation.attainable import consequence
from paretofoil.explanation.explain import explain
from paretofoil.explanation.questions import find_action
from paretofoil.web.user_study.plan import (
    AgentTask,
    CheckTask,
    ChooseTask,
    Condition,
    PredictTask,
    SteerTask,
    Task,
    UserStudy,
)

CHECK_SECONDS = 5.0
"""Time limit of the search that checks whether some command makes the agent choose the foil of a task."""
MIN_DIFFERENCE = 1e-9
"""Two agents are equally good if their performance differs by less than this."""

FindAgent = Callable[[str], Agent]
"""Takes the name of an agent and returns the agent."""


@dataclass(frozen=True)
class JudgedReply:
    """A reply, and whether it is right. All fields are None for the last screen, which has only ratings."""

    reply: str | None = None
    truth: str | None = None
    """The right reply: what the agent does, or the better one of two agents."""
    correct: bool | None = None


@dataclass(frozen=True)
class ExplainedStep:
    """A step of a watched episode whose counterfactual is shown."""

    step: int
    foil: str


@dataclass(frozen=True)
class WatchedEpisode:
    """An episode that participants watch, and the steps that are explained beside it."""

    agent: str
    command: Sequence[float]
    seed: int
    until: int | None
    """The step at which the episode stops; None if it is shown to its end."""
    explained: tuple[ExplainedStep, ...]


@dataclass(frozen=True)
class PreparedTask:
    """A task in a condition: with its episodes, and the right reply."""

    task: Task
    episodes: tuple[WatchedEpisode, ...]
    judge: Callable[[Any], JudgedReply]
    """Compares a reply with the right one."""
    truth: str
    """The right reply; in a steer task, the action that the reply must make the agent choose."""


def prepare_tasks(study: UserStudy, find: FindAgent) -> dict[tuple[str, str], PreparedTask]:
    """Return every task in every condition, by (condition, task). Raise an error if a task cannot be done."""
    for condition in study.conditions:
        for name, other in condition.instead.items():
            _check_same_environment(find(name), find(other))
    by_agents: dict[tuple[str, ...], PreparedTask] = {}
    prepared: dict[tuple[str, str], PreparedTask] = {}
    for condition in study.conditions:
        for task in study.tasks:
            key = (task.name, *map(condition.agent, task.agents))
            if key not in by_agents:
                by_agents[key] = _prepare_task(task, find, condition)
            prepared[condition.name, task.name] = by_agents[key]
    return prepared


def _prepare_task(task: Task, find: FindAgent, condition: Condition) -> PreparedTask:
    try:
        if isinstance(task, CheckTask):
            return _prepare_check(task)
        if isinstance(task, ChooseTask):
            return _prepare_choose(task, find)
        name = condition.agent(task.agent)
        agent = find(name)
        episode = rollout(agent, task.watched, seed=task.seed)
        if task.step >= len(episode):
            raise InvalidInput.expected(f"a step from 0 to {len(episode) - 1} of the episode of {name}", task.step)
        decision = episode[task.step]
        if len(decision.valid_actions) < 2:
            got = f"step {task.step}, at which {name} has one"
            raise InvalidInput.expected("a step with two or more valid actions", got)
        watched = _watched_episode(task, name, agent, episode, until=task.step)
        if isinstance(task, PredictTask):
            return _prepare_predict(task, agent, decision, watched)
        return _prepare_steer(task, agent, decision, watched)
    except InvalidInput as error:
        raise type(error)(f"task {task.name}, condition {condition.name}: {error}") from None


def _prepare_check(task: CheckTask) -> PreparedTask:
    def judge(reply: Any) -> JudgedReply:
        if reply not in task.options:
            raise InvalidInput.expected(f"one of {', '.join(task.options)} as reply", brief(reply))
        return JudgedReply(reply, task.correct, reply == task.correct)

    return PreparedTask(task, (), judge, task.correct)


def _prepare_predict(task: PredictTask, agent: Agent, decision: Decision, watched: WatchedEpisode) -> PreparedTask:
    truth = agent.actions[decision.action]

    def judge(reply: Any) -> JudgedReply:
        if not isinstance(reply, str):
            raise InvalidInput.expected("the name of an action as reply", brief(reply))
        action = find_action(reply, agent.actions, decision.valid_actions)
        return JudgedReply(agent.actions[action], truth, action == decision.action)

    return PreparedTask(task, (watched,), judge, truth)


def _prepare_steer(task: SteerTask, agent: Agent, decision: Decision, watched: WatchedEpisode) -> PreparedTask:
    foil = find_action(task.foil, agent.actions, decision.valid_actions)
    if foil == decision.action:
        raise InvalidInput.expected("a foil that the agent does not choose", task.foil)
    answer = explain(agent, decision, foil=foil, limits=Limits(CHECK_SECONDS), options=Options(attainable=False))
    if answer.command is None:
        raise InvalidInput.expected(
            "a foil that the agent chooses under some command", f"{task.foil} ({answer.status.value})"
        )

    def judge(reply: Any) -> JudgedReply:
        if not isinstance(reply, list):
            raise InvalidInput.expected("a command as reply", brief(reply))
        command = as_command(agent, reply)
        action = int(np.argmax(_probabilities(agent, decision, command)))
        return JudgedReply(" ".join(map(repr, command.tolist())), agent.actions[action], action == foil)

    return PreparedTask(task, (watched,), judge, agent.actions[foil])


def _prepare_choose(task: ChooseTask, find: FindAgent) -> PreparedTask:
    agents = {name: find(name) for name in task.agents}
    _check_same_environment(*agents.values())
    episodes = tuple(
        _watched_episode(task, name, agent, rollout(agent, task.watched, seed=task.seed), until=None)
        for name, agent in agents.items()
    )
    performance = {name: _performance(agent, task) for name, agent in agents.items()}
    if max(performance.values()) - min(performance.values()) < MIN_DIFFERENCE:
        raise InvalidInput.expected("two agents of which one is better", f"equal performance: {performance}")
    better = max(performance, key=performance.__getitem__)

    def judge(reply: Any) -> JudgedReply:
        if reply not in task.agents:
            raise InvalidInput.expected(f"one of {', '.join(task.agents)} as reply", brief(reply))
        return JudgedReply(reply, better, reply == better)

    return PreparedTask(task, episodes, judge, better)


def _watched_episode(task: AgentTask, name: str, agent: Agent, episode: Episode, until: int | None) -> WatchedEpisode:
    explained = tuple(ExplainedStep(step, _most_probable_foil(agent, episode, step)) for step in task.explained)
    return WatchedEpisode(name, task.watched, task.seed, until, explained)


def _most_probable_foil(agent: Agent, episode: Episode, step: int) -> str:
    if step >= len(episode):
        raise InvalidInput.expected(f"explained steps from 0 to {len(episode) - 1}", step)
    decision = episode[step]
    if not decision.others:
        raise InvalidInput.expected("explained steps with two or more valid actions", f"step {step}, which has one")
    shares = _probabilities(agent, decision, decision.command)
    return agent.actions[max(decision.others, key=shares.__getitem__)]


def _probabilities(agent: Agent, decision: Decision, command: np.ndarray) -> np.ndarray:
    [row] = query(agent.discrete_policy, decision.state[None], command[None])
    return probabilities(agent.discrete_policy, row, decision.valid_actions)


def _performance(agent: Agent, task: ChooseTask) -> float:
    """Return the performance of an agent: minus the largest scaled error, or for preferences the weighted return."""
    command = as_command(agent, task.command)
    start = rollout(agent, command, seed=task.seed)[0]
    achieved = consequence(agent, start, command, seed=task.seed).achieved
    if agent.space.simplex:
        return float(command @ achieved)
    return -float(np.max(np.abs(achieved - command[: len(achieved)]) / agent.space.scale[: len(achieved)]))


def _check_same_environment(*agents: Agent) -> None:
    environments = {agent.environment.name for agent in agents}
    if len(environments) > 1:
        raise InvalidInput.expected("agents of one environment", " and ".join(sorted(environments)))
