"""Explanations: the smallest change of the command that makes an agent choose the foil."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretofoil.agents.agent import Agent, as_command, decision_in, rollout, rollouts
from paretofoil.core.amounts import direction_names
from paretofoil.core.answer import Answer, Live, Rollouts, Start, Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput, as_whole
from paretofoil.core.json import brief
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Limits, Options, check_arguments
from paretofoil.core.policy import Policy, is_white_box
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.explanation.ask import ask
from paretofoil.explanation.attainable import closest_known, find_attainable, issue, whole_command
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.explanation.outcome import Outcome, explain_outcome, read_outcome
from paretofoil.explanation.outcome_search import Conditions
from paretofoil.explanation.questions import (
    Actions,
    FeatureAgent,
    Foil,
    Subject,
    action_words,
    all_foils,
    foils_of,
    make_decision,
    make_questions,
)
from paretofoil.proof.ranges import widen
from paretofoil.search.registry import choose_limits, choose_search

PROOFS_AT_ONCE = 4
"""Number of questions of an episode that are proven together. Progress is reported after each of these groups."""
_OTHER_NORM = 0.1
"""Share of the time limit that is kept for an easier proof in the norm linf, in case the proof in l2 is incomplete."""


@check_arguments
def explain(
    subject: Subject,
    decision: Decision | Episode | ArrayLike | None = None,
    foil: Foil | Outcome | None = None,
    *,
    state: ArrayLike | None = None,
    command: ArrayLike | None = None,
    collected: ArrayLike | None = None,
    valid_actions: Sequence[int] | None = None,
    space: CommandSpace | None = None,
    front: ArrayLike | None = None,
    actions: Actions | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    seed: int = 0,
    options: Options = DEFAULTS,
) -> Answer:
    """Return the smallest change of the command that makes the agent choose the foil, or a proof that none exists.

    Args:
        subject: An agent, a policy with `log_probs(states, commands)`, or a function of states and commands that
            returns log-probabilities.
        decision: A decision of a rollout; or give `state` and `command` instead. If the foil is an outcome, also an
            episode or a command: the question is then about the first decision of the episode.
        foil: The action that was not chosen, by name or number. For continuous actions, limits of amounts:
            "release >= 30", "20 <= release <= 30", `pf.more("release", 10)`. Or an outcome of the whole episode,
            `pf.outcome("treasure >= 50, time <= 10")`.
        state: State of the decision, if no decision is given.
        command: Command in that state: the return that is still to be collected, or preferences.
        collected: Return collected before that state; zero if omitted.
        valid_actions: Numbers of the actions that are valid in that state. If omitted, those that the environment of
            the agent allows; for a policy, all actions.
        space: Command space; by default that of the agent or policy.
        front: Front of full returns; by default that of the agent.
        actions: Names of the actions, or the `ActionSpace` of a function that returns amounts; by default those of the
            agent.
        search: "auto", the name of a search, or a search with its settings. For outcomes: auto, exact, rollouts.
        limits: Limits of time and queries. "auto" stops after 10 seconds if no time is given.
        seed: Seed of a search that is given by name.
        options: Options of the explanation, such as `Options(keep=["time"])`.
    """
    if foil is None:
        raise InvalidInput.expected("a foil: an action by name or number, or an outcome", "none")
    is_start = state is None and (decision is None) != (command is None)
    if isinstance(foil, Outcome) and isinstance(subject, Agent) and is_start:
        decision, command = _first_decision(subject, decision if command is None else command, seed), None
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


@check_arguments
@one_thread()
def explain_decision(
    subject: Subject,
    decision: Decision,
    foils: Sequence[Foil | Outcome] | None = None,
    *,
    space: CommandSpace | None = None,
    front: ArrayLike | None = None,
    actions: Actions | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    seed: int = 0,
    options: Options = DEFAULTS,
) -> list[Answer]:
    """Return one answer for each foil of a decision. The foils share the queries of a search.

    `foils` are actions by name or number, or outcomes; if omitted, every valid action that was not chosen. For
    continuous actions, they are limits of amounts; if omitted, a tenth of the range more, and a tenth less, in each
    dimension. The other arguments are those of `explain`; the limits apply to each question.
    """
    agent = subject if isinstance(subject, Agent) else None
    decision = make_decision(subject, decision, None, None)
    names, phrases = action_words(subject, actions)
    foils = all_foils(subject, decision, actions) if foils is None else foils
    action_foils = [foil for foil in foils if not isinstance(foil, Outcome)]
    if len(action_foils) < len(foils):
        if agent is None:
            raise InvalidInput.expected("an agent with an environment, because the foil is an outcome", repr(subject))
        settings: dict[str, Any] = {"search": search, "limits": limits, "seed": seed, "options": options}
        return [
            _with_outcome(agent, decision, foil, search, limits, options)
            if isinstance(foil, Outcome)
            else explain_decision(agent, decision, [foil], **settings)[0]
            for foil in foils
        ]
    questions = make_questions(subject, decision, action_foils, options, space=space, front=front, actions=actions)
    if not questions:
        return []
    finite = all(question.points() is not None for question in questions)
    method, limits = choose_search(search, questions[0].policy, seed, finite=finite), choose_limits(search, limits)
    answers = _ask_in_norms(questions, method, options, names, limits, phrases)
    outcomes = {} if agent is None or decision.snapshot is None else _roll_out(answers, decision, agent)
    return [_complete(a, q, decision, agent, options, outcomes) for a, q in zip(answers, questions, strict=True)]


def _ask_in_norms(
    questions: list[Question],
    method: Search,
    options: Options,
    names: Any,
    limits: Limits,
    phrases: Sequence[str] | None,
) -> list[Answer]:
    """Return one answer per question. If a proof in l2 is incomplete, the answer also has a proven answer in linf."""
    if not method.proves or questions[0].norm != "l2" or questions[0].space.simplex:
        return ask(questions, method, options, names, limits, phrases)
    reserve = None if limits.seconds is None else _OTHER_NORM * limits.seconds
    first = limits if reserve is None else replace(limits, seconds=limits.seconds - reserve)  # type: ignore[operator]
    answers = ask(questions, method, options, names, first, phrases)
    for row, answer in enumerate(answers):
        queries = None if limits.queries is None else limits.queries - answer.total_queries
        if answer.status is Status.FOUND and answer.proof is not None and (queries is None or queries > 0):
            question = replace(questions[row], norm="linf")
            [other] = ask([question], method, replace(options, k=1), names, Limits(reserve, queries), phrases)
            cost = {**answer.search.queries, "linf": other.total_queries}
            run = replace(answer.search, queries=cost, seconds=answer.search.seconds + other.search.seconds)
            proven = (other,) if other.status is Status.PROVEN_CLOSEST else ()
            answers[row] = replace(answer, search=run, other_norms=proven)
    return answers


def _first_decision(agent: Agent, start: Any, seed: int) -> Decision:
    """Return the first decision of an episode, or of the episode under a command. Return a decision unchanged."""
    if isinstance(start, Decision):
        return start
    return start[0] if isinstance(start, Episode) else decision_in(agent, start, 0, seed=seed)


def _with_outcome(
    agent: Agent, decision: Decision, foil: Outcome, search: Any, limits: Limits, options: Options
) -> Answer:
    """Return the answer to the question why the episode does not meet an outcome, with rollouts."""
    answer = explain_outcome(agent, decision, foil, search, choose_limits(search, limits), options)
    rollouts = _roll_out([answer], decision, agent, read_outcome(foil, agent))
    key = decision.command if answer.command is None else answer.command
    return replace(_with_place(answer, decision, agent), rollouts=rollouts[key.tobytes()])


@check_arguments
@one_thread()
def explain_episode(
    agent: Agent | Policy,
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

    These answers have no proven range and no rollouts, and `options.attainable` is not used. All other
    arguments are those of `explain`; the limits apply to each question.

    Args:
        agent: An agent, or a policy with free features of the state.
        episode: A rollout, or the command of one. For a policy with free features, the observations of an episode.
        steps: Steps of the episode; all if omitted.
        seed: Seed of the rollout, and of a search that is given by name.
        progress: Called with the answers so far and the number of questions, first with no answers.
    """
    subject: Agent | FeatureAgent = agent if isinstance(agent, Agent) else FeatureAgent(agent)
    if isinstance(subject, FeatureAgent):
        episode = _episode_of(subject, episode)
    elif not isinstance(episode, Episode):
        episode = rollout(subject, episode, seed=seed)  # type: ignore[arg-type]
    decisions, questions = [], list[Question]()
    for decision in steps_of(episode, steps):
        foils = foils_of(agent, decision)
        questions += make_questions(agent, decision, foils, options) if foils else []
        decisions += [decision] * len(foils)
    finite = all(question.points() is not None for question in questions)
    method, limits = choose_search(search, subject.policy, seed, finite=finite), choose_limits(search, limits)
    at_once = min(method.questions_at_once, PROOFS_AT_ONCE) if method.proves else method.questions_at_once
    answers: list[Answer] = []
    for start in range(0, len(questions), at_once):
        if progress is not None:
            progress(answers, len(questions))
        chunk = slice(start, start + at_once)
        some = ask(questions[chunk], method, options, subject.actions, limits, subject.phrases)
        placed = subject if isinstance(subject, Agent) else None
        answers += [_with_place(a, d, placed) for a, d in zip(some, decisions[chunk], strict=True)]
    if progress is not None:
        progress(answers, len(questions))
    discrete = subject.actor is None
    return FlipMap(
        agent=subject.name,
        objectives=subject.space.command_objectives,
        actions=subject.actions if discrete else direction_names(subject.actions),
        command=episode.command,
        achieved=episode.achieved,
        taken=tuple(d.action for d in episode) if discrete else (),
        amounts=tuple(tuple(d.amounts.tolist()) for d in episode if d.amounts is not None),
        steps=tuple(d.step for d in decisions),
        answers=tuple(answers),
    )


def _episode_of(agent: FeatureAgent, observations: Any) -> Episode:
    """Return the decisions of a policy with free features at the observations of an episode."""
    if isinstance(observations, Episode) or agent.actor is not None or agent.features.commands is not None:
        expected = "an agent and an episode, or observations for a policy with free features, discrete actions"
        got = f"{type(agent.policy).__name__} and {brief(observations)}"
        raise InvalidInput.expected(f"{expected} and no command", got)
    decisions = [replace(agent.decision_at(state), step=step) for step, state in enumerate(observations)]
    if not decisions:
        raise InvalidInput.expected("at least one observation", "none")
    return Episode(decisions[0].command, tuple(decisions), np.zeros(1), terminated=False)


def steps_of(episode: Episode, steps: Sequence[int] | None) -> list[Decision]:
    """Return the decisions at some steps, in the order of the episode; all decisions if `steps` is None."""
    if steps is None:
        return list(episode)
    expected = f"steps from 0 to {len(episode) - 1} of this episode"
    if not isinstance(steps, Iterable):
        raise InvalidInput.expected(f"a list of {expected}", brief(steps))
    numbers = {as_whole(step, expected) for step in steps}
    for step in numbers:
        if not 0 <= step < len(episode):
            raise InvalidInput.expected(expected, step)
    return [episode[step] for step in sorted(numbers)]


def _roll_out(
    answers: list[Answer], decision: Decision, agent: Agent, conditions: Conditions | None = None
) -> dict[bytes, Rollouts]:
    """Return the rollouts of the quoted commands of answers and alternatives. Keys are the bytes of the commands.

    With conditions, the original command is rolled out even if no command is quoted.
    """
    quoted = [a.command for first in answers for a in (first, *first.alternatives) if a.command is not None]
    if not quoted and conditions is None:
        return {}
    commands = [as_command(agent, command) for command in (decision.command, *quoted)]
    original, *others = issue(agent, decision, np.stack(commands), conditions=conditions)
    starts: list[Start | None] = [None] * len(quoted)
    if decision.step or decision.collected.any():
        issued, *instead = (whole_command(agent, decision, command) for command in commands)
        episodes = [None] * len(quoted) if agent.environment.stochastic else rollouts(agent, instead)
        reached = [None if episode is None else _reaches(episode, decision) for episode in episodes]
        starts = [Start(issued, *pair) for pair in zip(instead, reached, strict=True)]
    outcomes = {
        command.tobytes(): Rollouts(one.consequence, original.consequence, start)
        for command, one, start in zip(quoted, others, starts, strict=True)
    }
    return {decision.command.tobytes(): Rollouts(original=original.consequence)} | outcomes


def _reaches(episode: Episode, decision: Decision) -> bool:
    """Return whether an episode reaches the state of a decision at its step.

    A decision outside of an episode has no step; then the return collected before the state must be equal.
    """
    is_here = [np.array_equal(other.state, decision.state) for other in episode]
    if decision.step:
        return len(episode) > decision.step and is_here[decision.step]
    return any(np.allclose(episode[i].collected, decision.collected) for i in np.flatnonzero(is_here).tolist())


def _complete(
    answer: Answer,
    question: Question,
    decision: Decision,
    agent: Agent | None,
    options: Options,
    outcomes: Mapping[bytes, Rollouts],
    *,
    is_alternative: bool = False,
) -> Answer:
    """Return an answer and its alternatives with proven ranges and rollouts.

    The attainable command of an alternative changes only the objectives that the alternative changes. The answer gets
    the closest attainable command of all alternatives and of its own search, which may change all free objectives.
    """
    alternatives = [
        _complete(a, a.live.question, decision, agent, options, outcomes, is_alternative=True)
        for a in answer.alternatives
        if a.live
    ]
    answer = replace(
        _with_place(answer, decision, agent),
        alternatives=tuple(alternatives),
        other_norms=tuple(_with_place(other, decision, agent) for other in answer.other_norms),
    )
    command = answer.command
    if command is None or answer.live is None:
        return answer
    if is_white_box(question.policy):
        answer = _with_proven_range(answer, command, answer.live)
    if agent is None or command.tobytes() not in outcomes:
        return answer
    attainable = None
    greedy = question.probability is None or question.probability >= 0.5  # else a rollout need not take the foil
    if options.attainable and greedy and not agent.space.simplex:  # preferences ask for no return to be delivered
        others = [a.rollouts.attainable for a in alternatives if a.rollouts and a.rollouts.attainable]
        own = find_attainable(agent, decision, question, command, prove=not is_alternative)
        attainable = closest_known(own, others, command)
        if is_alternative and not attainable.found:  # only the answer itself reports that none was found
            attainable = None
    return replace(answer, rollouts=replace(outcomes[command.tobytes()], attainable=attainable))


def _with_place(answer: Answer, decision: Decision, agent: Agent | None) -> Answer:
    """Return the answer with the agent, the step, the collected return, and a function that draws the environment."""
    collected = decision.collected if decision.collected.any() else None
    in_episode = decision.step > 0 or (agent is not None and collected is None)
    question = replace(answer.question, step=decision.step if in_episode else None, collected=collected)
    if agent is None or answer.live is None:
        return replace(answer, question=question)
    scene = None if decision.snapshot is None else partial(agent.picture_at, decision)
    question = replace(question, agent=agent.name)
    return replace(answer, question=question, live=replace(answer.live, scene=scene, agent=agent))


def _with_proven_range(answer: Answer, command: np.ndarray, live: Live) -> Answer:
    """Return the answer with the proven range around its command; the queries of the proof are added to its own."""
    batch = QuestionBatch([live.question])
    batch.keep_clear(live.clearance)
    proven_range = widen(batch, 0, command)
    queries = dict(Counter(answer.search.queries) + batch.queries(0))
    return replace(answer, proven_range=proven_range, search=replace(answer.search, queries=queries))
