"""Explanations: the smallest change of the command that makes an agent choose the foil."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from paretofoil.agents.agent import Agent, rollout, rollouts
from paretofoil.core.answer import Answer, Rollouts, Start
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput, as_whole
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Limits, Options, suggest_arguments
from paretofoil.core.policy import as_policy, is_white_box
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.explanation.attainable import closest_known, consequence, find_attainable, whole_command
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.explanation.questions import Subject, make_decision, make_questions
from paretofoil.proof.ranges import widen
from paretofoil.search.registry import choose_limits, choose_search

PROOFS_AT_ONCE = 4
"""Proofs of an episode that are computed together: each may take seconds, and answers are reported one by one."""


@suggest_arguments
def explain(
    subject: Subject,
    decision: Decision | None = None,
    foil: str | int | None = None,
    *,
    state: ArrayLike | None = None,
    command: ArrayLike | None = None,
    collected: ArrayLike | None = None,
    valid_actions: Sequence[int] | None = None,
    space: CommandSpace | None = None,
    front: ArrayLike | None = None,
    actions: Sequence[str] | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    seed: int = 0,
    options: Options = DEFAULTS,
) -> Answer:
    """Return the smallest change of the command that makes the agent choose the foil, or that there is none.

    Args:
        subject: An agent, or a policy with `log_probs(states, commands)`, or a function that returns the same.
        decision: A decision of a rollout; or give `state` and `command` instead.
        foil: The action that was not chosen, by name or number.
        state: State of the decision, if no decision is given.
        command: Command in that state: the return that is still to be collected, or preferences.
        collected: Return collected before that state; zero if omitted.
        valid_actions: Actions that are possible there. If omitted, an agent knows them; for a policy, all are.
        space: Command space. Agents and policies of `from_torch` have their own.
        front: Front of full returns. An agent has its own.
        actions: Names of the actions. An agent has its own.
        search: "auto", the name of a search, or a search with its settings.
        limits: Limits of time and queries. "auto" stops after 10 seconds if no time is given.
        seed: Seed of a search that is given by name.
        options: Options of the explanation, such as `Options(keep=["time"])`.
    """
    if foil is None:
        raise InvalidInput.expected("a foil: an action by name or number", "none")
    decision = make_decision(subject, decision, state, command, collected, valid_actions)
    [answer] = explain_decision(
        subject,
        decision,
        [foil],
        space=space,
        front=front,
        actions=actions,
        search=search,
        limits=limits,
        seed=seed,
        options=options,
    )
    return answer


@suggest_arguments
def explain_decision(
    subject: Subject,
    decision: Decision,
    foils: Sequence[str | int] | None = None,
    *,
    space: CommandSpace | None = None,
    front: ArrayLike | None = None,
    actions: Sequence[str] | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    seed: int = 0,
    options: Options = DEFAULTS,
) -> list[Answer]:
    """Return one answer for each foil of a decision; they are searched together.

    Args:
        subject: An agent or a policy, as in `explain`.
        decision: A decision of a rollout, or of `Agent.decision_at`.
        foils: Actions that were not chosen, by name or number; if omitted, every other valid action.
        space: As in `explain`.
        front: As in `explain`.
        actions: As in `explain`.
        search: As in `explain`.
        limits: Limits for each question.
        seed: As in `explain`.
        options: As in `explain`.
    """
    agent = subject if isinstance(subject, Agent) else None
    policy = agent.policy if agent else as_policy(subject)
    names, phrases = (agent.actions, agent.phrases) if agent else (actions, None)
    foils = other_actions(decision) if foils is None else foils
    questions = make_questions(subject, decision, foils, options, space=space, front=front, actions=actions)
    method, limits = choose_search(search, policy, seed), choose_limits(search, limits)
    answers = ask(questions, method, options, names, limits, phrases)
    answers = [_with_surroundings(a, decision, agent) for a in answers]
    if agent is None or decision.snapshot is None:
        return answers
    answers = _with_starts(answers, decision, agent)
    if not options.attainable or agent.space.simplex:  # any policy fulfils preferences as well as it can
        return answers
    return [_with_attainable(a, q, decision, agent) for a, q in zip(answers, questions, strict=True)]


def other_actions(decision: Decision) -> list[int]:
    """Return the foils of a decision: every valid action that was not chosen."""
    if not decision.others:
        raise InvalidInput.expected("a decision with at least two valid actions", list(decision.valid_actions))
    return decision.others


@suggest_arguments
def explain_episode(
    agent: Agent,
    episode: Episode | ArrayLike,
    *,
    steps: Sequence[int] | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    seed: int = 0,
    options: Options = DEFAULTS,
    progress: Callable[[Sequence[Answer], int], None] | None = None,
) -> FlipMap:
    """Return the answers for every step of an episode and every valid foil, as a flip map.

    Answers of a flip map have no proven range and no rollouts: `options.attainable` is not used.

    Args:
        agent: The agent.
        episode: A rollout, or the command of one.
        steps: Steps of the episode; all if omitted.
        search: As in `explain`.
        limits: Limits for each question.
        seed: Seed of the rollout, and of a search that is given by name.
        options: As in `explain`.
        progress: Called with the answers so far and the number of questions, first before the first answer.
    """
    if not isinstance(episode, Episode):
        episode = rollout(agent, episode, seed=seed)  # type: ignore[arg-type]
    decisions = [d for d in steps_of(episode, steps) for _ in d.others]
    questions = [
        question
        for decision in steps_of(episode, steps)
        for question in make_questions(agent, decision, decision.others, options)
    ]
    method, limits = choose_search(search, agent.policy, seed), choose_limits(search, limits)
    at_once = min(method.questions_at_once, PROOFS_AT_ONCE) if method.proves else method.questions_at_once
    answers: list[Answer] = []
    for start in range(0, len(questions), at_once):
        if progress is not None:
            progress(answers, len(questions))
        chunk = slice(start, start + at_once)
        some = ask(questions[chunk], method, options, agent.actions, limits, agent.phrases)
        answers += [_placed(a, d, agent) for a, d in zip(some, decisions[chunk], strict=True)]
    if progress is not None:
        progress(answers, len(questions))
    return FlipMap(
        agent=agent.name,
        objectives=agent.space.asked_for,
        actions=agent.actions,
        command=episode.command,
        achieved=episode.achieved,
        taken=tuple(d.action for d in episode),
        steps=tuple(d.step for d in decisions),
        answers=tuple(answers),
    )


def steps_of(episode: Episode, steps: Sequence[int] | None) -> list[Decision]:
    """Return the decisions at these steps, in the order of the episode; all if `steps` is None."""
    if steps is None:
        return list(episode)
    expected = f"steps from 0 to {len(episode) - 1} of this episode"
    numbers = {as_whole(step, expected) for step in steps}
    for step in numbers:
        if not 0 <= step < len(episode):
            raise InvalidInput.expected(expected, step)
    return [episode[step] for step in sorted(numbers)]


def _with_surroundings(found: Answer, decision: Decision, agent: Agent | None) -> Answer:
    """Add where it was asked, and to each command that is quoted its proven range and its consequence."""
    others = tuple(_with_surroundings(other, decision, agent) for other in found.alternatives)
    found, command = replace(_placed(found, decision, agent), alternatives=others), found.command
    if command is None or found.live is None:
        return found
    if is_white_box(found.live.question.policy):
        batch = QuestionBatch([found.live.question])
        batch.keep_clear(found.live.clearance)
        found = replace(found, proven_range=widen(batch, 0, command))
        queries = dict(Counter(found.search.queries) + batch.queries(0))
        found = replace(found, search=replace(found.search, queries=queries))
    if agent is not None and decision.snapshot is not None:
        after, before = (consequence(agent, decision, issued) for issued in (command, decision.command))
        found = replace(found, rollouts=Rollouts(after, before))
    return found


def _with_starts(answers: list[Answer], decision: Decision, agent: Agent) -> list[Answer]:
    """Add what each quoted command means for the command at the start, rolled out together."""
    if decision.step == 0 and not decision.collected.any():
        return answers
    found = [a for first in answers for a in (first, *first.alternatives) if a.command is not None]
    issued = whole_command(agent, decision, decision.command)
    commands = [whole_command(agent, decision, a.command) for a in found if a.command is not None]
    stochastic = agent.environment.stochastic
    episodes = [None] * len(found) if stochastic or not found else rollouts(agent, commands)
    starts = {
        id(a): Start(issued, c, None if e is None else _passes(e, decision))
        for a, c, e in zip(found, commands, episodes, strict=True)
    }

    def started(answer: Answer) -> Answer:
        others = tuple(map(started, answer.alternatives))
        if id(answer) in starts and answer.rollouts is not None:
            answer = replace(answer, rollouts=replace(answer.rollouts, start=starts[id(answer)]))
        return replace(answer, alternatives=others)

    return list(map(started, answers))


def _with_attainable(found: Answer, question: Question, decision: Decision, agent: Agent) -> Answer:
    """Add what to ask for, within what the user left open; an alternative changes its own objectives only.

    What one of them knows the answer knows too, and an alternative that knows nothing says nothing.
    """
    if found.command is None or found.rollouts is None:
        return found
    others, known = [], []
    for other in found.alternatives:
        other = _with_attainable(other, other.live.question, decision, agent) if other.live else other
        attainable = None if other.rollouts is None else other.rollouts.attainable
        if other.rollouts is not None and attainable is not None:
            if attainable.found:
                known.append(attainable)
            else:
                other = replace(other, rollouts=replace(other.rollouts, attainable=None))
        others.append(other)
    best = closest_known(find_attainable(agent, decision, question, found.command), known, found.command)
    return replace(found, rollouts=replace(found.rollouts, attainable=best), alternatives=tuple(others))


def _passes(episode: Episode, decision: Decision) -> bool:
    """Return whether an episode reaches the state of a decision at its step.

    A decision that no episode made has no step: it is reached if the same return was collected before.
    """
    same = [np.array_equal(other.state, decision.state) for other in episode]
    if decision.step:
        return len(episode) > decision.step and same[decision.step]
    return any(np.allclose(episode[i].collected, decision.collected) for i in np.flatnonzero(same).tolist())


def _placed(found: Answer, decision: Decision, agent: Agent | None) -> Answer:
    """Return the answer with the name of the agent, the step, and what had been collected before."""
    question = found.question
    if decision.collected.any():
        question = replace(question, collected=decision.collected)
    if agent is None or found.live is None:
        return replace(found, question=question)
    scene = None if decision.snapshot is None else partial(agent.picture_at, decision)
    step = None if decision.step == 0 and question.collected is not None else decision.step
    question = replace(question, agent=agent.name, step=step)
    return replace(found, question=question, live=replace(found.live, scene=scene))
