"""The one verb: why this, and not that? What change of the command would have made the agent choose the foil?"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout, rollouts
from paretofoil.core.answer import Answer, Rollouts, Start
from paretofoil.core.command import CommandSpace, Norm
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.policy import Policy, as_policy, is_white_box
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.core.whole_number import as_whole
from paretofoil.explanation.ask import Wishes, ask
from paretofoil.explanation.attainable import closest_known, find_attainable
from paretofoil.explanation.consequence import consequence
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.explanation.pose import Box, as_decision, find_action, paper_box, pose_each, restrict, space_of
from paretofoil.proof.ranges import widen
from paretofoil.search.registry import choose_limits, choose_search

Subject = Agent | Policy | Callable[[np.ndarray, np.ndarray], Any]
"""What explains itself: an agent, or any policy with `log_probs(states, commands)`, or such a function."""

PROOFS_AT_ONCE = 4
"""Proofs of an episode that are sought together: each may take seconds, and answers are to come as they are found."""


def explain(
    subject: Subject,
    decision: Decision | None = None,
    *,
    foil: str | int,
    state: Any = None,
    command: Any = None,
    collected: Any = None,
    valid_actions: Sequence[int] | None = None,
    **options: Any,
) -> Answer:
    """Explain one decision: why not the foil?

    Args:
        subject: an agent, or any policy with `log_probs(states, commands)`, or such a function.
        decision: a decision of a rollout; or give `state` and `command` (and what follows) instead.
        foil: the action that was not chosen, by name or number.
        collected: what was collected before this state; zero if not given.
        valid_actions: the actions that can be taken here; if not given, an agent looks them up, a policy has all.
        options: everything that `explain_decision` takes.
    """
    decision = decision_of(subject, decision, state, command, collected, valid_actions)
    [answer] = explain_decision(subject, decision, foils=[foil], **options)
    return answer


def decision_of(
    subject: Subject,
    decision: Decision | None,
    state: Any,
    command: Any,
    collected: Any = None,
    valid_actions: Sequence[int] | None = None,
) -> Decision:
    """The decision that is given, or one of one's own.

    An agent looks up which actions are valid in a state, and what follows; of a policy all of that is given.
    """
    if decision is not None:
        if any(value is not None for value in (state, command, collected, valid_actions)):
            raise InvalidInput.expected("either a decision, or a state and a command", "both")
        return decision
    if isinstance(subject, Agent) and state is not None and command is not None and valid_actions is None:
        return subject.decision_at(state, command, collected)
    return as_decision(state, command, collected, valid_actions)


def explain_decision(
    subject: Subject,
    decision: Decision,
    *,
    foils: Sequence[str | int] | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    seed: int = 0,
    space: CommandSpace | None = None,
    box: Box = "reachable",
    front: Any = None,
    actions: Sequence[str] | None = None,
    kappa: float | None = None,
    norm: Norm = "l2",
    keep: Sequence[str | int] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    sparse: bool = False,
    k: int = 1,
    min_change: float = 0.0,
    attainable: bool = True,
) -> list[Answer]:
    """Explain one decision against several foils, searched together: why none of these?

    Args:
        subject: an agent, or any policy with `log_probs(states, commands)`, or such a function.
        decision: a decision of a rollout, or of `Agent.decision_at`.
        foils: the actions that were not chosen, by name or number; every other valid one if not given.
        search: "auto", the name of a search, or a search with its settings.
        limits: how many seconds and queries each question may take; "auto" takes 10 seconds if no time is given.
        seed: of a search that is given by its name.
        space: the box of commands; an agent brings its own, and so does a policy of `from_torch` and the like.
        box: search what can still be fulfilled of the space, or the whole of the "paper"'s box, which sizes are then
            shares of.
        front: the front of returns (full, not remaining); an agent brings its own.
        actions: the names of the actions; an agent brings its own.
        kappa: by how much the foil must win; if not given, 0.05 in log-probabilities, or 1 % of what lies between the
            least and the most valuable action where the policy tells values.
        norm: how the size of a change is measured.
        keep: objectives that must not change.
        ranges: for some objectives, the lowest and highest value that may be asked for.
        sparse: change as few objectives as possible first, then be close.
        k: how many answers; the further ones are `answer.alternatives`.
        min_change: an objective that would change by less than this share of its range is kept, where possible.
        attainable: whether a command is sought, beside the answer, that an agent delivers on; some hundred rollouts.
    """
    agent = subject if isinstance(subject, Agent) else None
    policy = agent.policy if agent else as_policy(subject)
    names = agent.actions if agent else actions
    the_space = space_of(agent or policy, space)
    whole = paper_box(agent, box)
    returns = front if front is not None else (agent.front if agent else None)
    numbers = (
        other_actions(decision)
        if foils is None
        else [find_action(foil, names, decision.valid_actions) for foil in foils]
    )
    posed = pose_each(policy, decision, numbers, the_space, returns, kappa=kappa, norm=norm, box=whole)
    questions = [restrict(question, keep, ranges or {}) for question in posed]
    wishes = Wishes(sparse, k, min_change)
    phrases = agent.phrases if agent else None
    chosen, within = choose_search(search, policy, seed), choose_limits(search, limits)
    answers = ask(questions, chosen, wishes, names, within, phrases)
    answers = [_with_surroundings(a, decision, agent) for a in answers]
    if agent is None or decision.snapshot is None:
        return answers
    answers = _with_starts(answers, decision, agent)
    if not attainable or the_space.simplex:  # preferences are delivered by whatever is best under them
        return answers
    return [_with_attainable(a, q, decision, agent) for a, q in zip(answers, questions, strict=True)]


def other_actions(decision: Decision) -> list[int]:
    """The foils of a decision: every valid action that was not chosen."""
    if not decision.others:
        raise InvalidInput.expected("a moment with at least two valid actions", "one with a single valid action")
    return decision.others


def explain_episode(
    agent: Agent,
    episode: Episode | Sequence[float] | np.ndarray,
    *,
    times: Sequence[int] | None = None,
    search: str | Search = "auto",
    limits: Limits = NO_LIMITS,
    box: Box = "reachable",
    kappa: float | None = None,
    norm: Norm = "l2",
    seed: int = 0,
    show: Callable[[Sequence[Answer], int], None] | None = None,
) -> FlipMap:
    """Every decision of an episode and every valid foil, searched together.

    Args:
        agent: whose episode it is.
        episode: a rollout, or the command of one.
        times: the moments to ask about; all if not given.
        search: as in `explain_decision`.
        limits: for each question.
        box: as in `explain_decision`.
        kappa: as in `explain_decision`; of values, each moment has its own.
        norm: how changes are measured.
        seed: of the search, and of the rollout.
        show: called with the answers so far and the number of questions: once before the first, then as they come.
    """
    if not isinstance(episode, Episode):
        episode = rollout(agent, episode, seed=seed)
    moments, whole = moments_of(episode, times), paper_box(agent, box)
    asked = [d for d in moments for _ in d.others]
    wanted: dict[str, Any] = {"kappa": kappa, "norm": norm, "box": whole}
    posed = (pose_each(agent.policy, d, d.others, agent.space, agent.front, **wanted) for d in moments)
    questions = [question for of_moment in posed for question in of_moment]
    chosen, within = choose_search(search, agent.policy, seed), choose_limits(search, limits)
    at_once = min(chosen.questions_at_once, PROOFS_AT_ONCE) if chosen.proves else chosen.questions_at_once
    answers: list[Answer] = []
    tell = show or (lambda so_far, total: None)
    tell(answers, len(asked))
    for start in range(0, len(asked), at_once):
        chunk = slice(start, start + at_once)
        found = ask(questions[chunk], chosen, actions=agent.actions, limits=within, phrases=agent.phrases)
        answers += [_placed(a, d, agent) for a, d in zip(found, asked[chunk], strict=True)]
        tell(answers, len(asked))
    return FlipMap(
        agent=agent.name,
        objectives=agent.space.asked_for,
        actions=agent.actions,
        command=episode.command,
        achieved=episode.achieved,
        taken=tuple(d.action for d in episode),
        steps=tuple(d.step for d in asked),
        answers=tuple(answers),
    )


def moments_of(episode: Episode, times: Sequence[int] | None) -> list[Decision]:
    """The decisions to ask about, in the order of the episode."""
    if times is None:
        return list(episode)
    what = f"moments from 0 to {len(episode) - 1} of this episode"
    numbers = {as_whole(time, what) for time in times}
    for time in numbers:
        if not 0 <= time < len(episode):
            raise InvalidInput.expected(what, time)
    return [episode[time] for time in sorted(numbers)]


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
    if decision.step == 0:
        return answers
    found = [a for first in answers for a in (first, *first.alternatives) if a.command is not None]
    spent = np.zeros_like(decision.collected) if agent.space.simplex else decision.collected
    issued = decision.command + spent
    commands = [a.command + spent for a in found]
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
            if attainable.known:
                known.append(attainable)
            else:
                other = replace(other, rollouts=replace(other.rollouts, attainable=None))
        others.append(other)
    best = closest_known(find_attainable(agent, decision, question, found.command), known, found.command)
    return replace(found, rollouts=replace(found.rollouts, attainable=best), alternatives=tuple(others))


def _passes(episode: Episode, decision: Decision) -> bool:
    """Whether an episode comes through the state of a decision at the same moment."""
    return len(episode) > decision.step and bool(np.array_equal(episode[decision.step].state, decision.state))


def _placed(found: Answer, decision: Decision, agent: Agent | None) -> Answer:
    """The same answer, which knows of whom and where it was asked."""
    if agent is None or found.live is None:
        return found
    scene = None if decision.snapshot is None else partial(agent.picture_at, decision)
    question = replace(found.question, agent=agent.name, step=decision.step)
    return replace(found, question=question, live=replace(found.live, scene=scene))
