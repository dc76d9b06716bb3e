"""The one verb: why this, and not that? What change of the command would have made the agent choose the foil?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.command import CommandSpace, Norm, as_vector
from paretofoil.counterfactual import Counterfactual
from paretofoil.decision import Decision, Episode
from paretofoil.episode import rollout
from paretofoil.errors import InvalidInput
from paretofoil.flip_map import FlipMap
from paretofoil.inquiry import Wishes, answer
from paretofoil.outlook import consequence
from paretofoil.policy import FoldablePolicy, Policy, as_policy
from paretofoil.question import KAPPA, Question
from paretofoil.search import Search, choose_search
from paretofoil.search.region import widen


def explain(
    subject: Agent | Policy | Callable[[np.ndarray, np.ndarray], Any],
    decision: Decision | None = None,
    *,
    foil: str | int,
    search: str | Search = "auto",
    state: Any = None,
    command: Any = None,
    space: CommandSpace | None = None,
    front: Any = None,
    collected: Any = None,
    valid_actions: Sequence[int] | None = None,
    actions: Sequence[str] | None = None,
    kappa: float = KAPPA,
    norm: Norm = "l2",
    keep: Sequence[str | int] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    sparse: bool = False,
    k: int = 1,
    min_change: float = 0.0,
) -> Counterfactual:
    """Explain one decision.

    Args:
        subject: an agent, or any policy with `log_probs(states, commands)`, or such a function.
        decision: a decision of a rollout; or give `state` and `command` (and what follows) instead.
        foil: the action that was not chosen, by name or number.
        search: "auto", the name of a search, or a search with its settings.
        space: the box of commands; an agent brings its own.
        front: the archive of returns (full, not remaining); an agent brings its own.
        collected: what was collected before this state; zero if not given.
        valid_actions: the actions that can be taken here; all if not given.
        kappa: by how much the foil must win.
        norm: how the size of a change is measured.
        keep: objectives that must not change.
        ranges: for some objectives, the lowest and highest value that may be asked for.
        sparse: change as few objectives as possible first, then be close.
        k: how many answers; the further ones are `answer.alternatives`.
        min_change: changes below this share of an objective's range are undone where possible.
    """
    agent = subject if isinstance(subject, Agent) else None
    policy = agent.policy if agent else as_policy(subject)
    names = agent.actions if agent else actions
    if decision is None:
        decision = _as_decision(state, command, collected, valid_actions)
    elif any(value is not None for value in (state, command, collected, valid_actions)):
        raise InvalidInput.expected("either a decision, or a state and a command", "both")
    the_space = space or (agent.space if agent else None)
    if the_space is None:
        raise InvalidInput.expected("the command space of a policy (space=CommandSpace(low, high, names))", "none")
    archive = front if front is not None else (agent.front if agent else None)
    question = pose(policy, decision, find_action(foil, names), the_space, archive, kappa=kappa, norm=norm)
    question = restrict(question, keep, ranges or {})
    [found] = answer([question], choose_search(search, policy), Wishes(sparse, k, min_change), names)
    return _with_surroundings(found, question, decision, agent)


def pose(
    policy: Policy,
    decision: Decision,
    foil: int,
    space: CommandSpace,
    front: Any = None,
    *,
    kappa: float = KAPPA,
    norm: Norm = "l2",
) -> Question:
    """The question about a decision; a front of full returns becomes remaining commands R_j - R_col."""
    as_vector(decision.command, "the command", space.size)
    remaining = np.zeros((0, space.size))
    if front is not None:
        archive = np.asarray(front, dtype=np.float64)
        if archive.ndim != 2 or archive.shape[1] != space.size:
            raise InvalidInput.expected(f"a front of points with {space.size} numbers", f"shape {archive.shape}")
        remaining = archive - decision.collected
    valid = decision.valid_actions or _all_actions(policy, decision)
    return Question(
        policy, decision.state, decision.command, foil, valid, space, front=remaining, kappa=kappa, norm=norm
    )


def restrict(question: Question, keep: Sequence[str | int], ranges: Mapping[str, tuple[float, float]]) -> Question:
    """The same question, with objectives locked and others held to ranges."""
    low, high = question.low.copy(), question.high.copy()
    for name in keep:
        i = question.space.index(name)
        low[i] = high[i] = question.command[i]
    for name, (lowest, highest) in ranges.items():
        i = question.space.index(name)
        if not lowest <= question.command[i] <= highest:
            raise InvalidInput.expected(
                f"a range of {question.space.names[i]} that holds the command's {question.command[i]:g}",
                f"{lowest:g} to {highest:g}",
            )
        low[i], high[i] = max(low[i], lowest), min(high[i], highest)
    return replace(question, low=low, high=high)


def explain_episode(
    agent: Agent,
    episode: Episode | Sequence[float] | np.ndarray,
    *,
    search: str | Search = "auto",
    kappa: float = KAPPA,
    norm: Norm = "l2",
    seed: int = 0,
) -> FlipMap:
    """Every decision of an episode and every valid foil, searched together."""
    if not isinstance(episode, Episode):
        episode = rollout(agent, episode, seed=seed)
    asked = [(d, foil) for d in episode for foil in d.valid_actions if foil != d.action]
    questions = [pose(agent.policy, d, foil, agent.space, agent.front, kappa=kappa, norm=norm) for d, foil in asked]
    answers = answer(questions, choose_search(search, agent.policy), actions=agent.actions)
    times = tuple(d.time for d, _ in asked)
    taken = tuple(d.action for d in episode)
    return FlipMap(agent.name, episode.command, episode.achieved, taken, times, tuple(answers))


def find_action(action: str | int, names: Sequence[str] | None) -> int:
    """The number of an action that is given by its name or number."""
    if isinstance(action, str):
        if names is None:
            raise InvalidInput.expected("the number of an action, since the actions have no names", repr(action))
        lowered = [name.lower() for name in names]
        if action.lower() in lowered:
            return lowered.index(action.lower())
        if not action.isdecimal():
            raise InvalidInput.expected(f"an action among {', '.join(names)}", repr(action))
    number = int(action)
    if number < 0 or (names is not None and number >= len(names)):
        limit = f" to {len(names) - 1}" if names is not None else ""
        raise InvalidInput.expected(f"an action number from 0{limit}", number)
    return number


def _as_decision(state: Any, command: Any, collected: Any, valid_actions: Sequence[int] | None) -> Decision:
    if state is None or command is None:
        raise InvalidInput.expected("a decision, or a state and a command", "neither")
    wanted = as_vector(command, "the command")
    before = np.zeros(wanted.size) if collected is None else as_vector(collected, "what was collected", wanted.size)
    if valid_actions is not None and not len(valid_actions):
        raise InvalidInput.expected("at least one valid action", "none")
    return Decision(np.asarray(state, dtype=np.float32), wanted, tuple(valid_actions or ()), -1, before)


def _all_actions(policy: Policy, decision: Decision) -> tuple[int, ...]:
    scores = np.asarray(policy.log_probs(decision.state[None], decision.command[None]))
    if scores.ndim != 2:
        raise InvalidInput.expected("log-probabilities of shape (1, actions)", f"shape {scores.shape}")
    return tuple(range(scores.shape[1]))


def _with_surroundings(
    found: Counterfactual, question: Question, decision: Decision, agent: Agent | None
) -> Counterfactual:
    """Add the proven region and the consequence, where they can be had."""
    command = found.command
    if command is None:
        return found
    if isinstance(question.policy, FoldablePolicy):
        found = replace(found, region=widen(question, command))
    if agent is not None and decision.snapshot is not None:
        found = replace(found, consequence=consequence(agent, decision, command))
    return found
