"""Make questions from a decision and foils: the search region, the margin and the remaining front."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.amounts import (
    ActionSpace,
    Actor,
    AmountFoil,
    AmountScores,
    FoilPolicy,
    as_actor,
    direction_names,
    directions_of,
    make_limits,
    query_amounts,
)
from paretofoil.core.command import CommandSpace, as_points, as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput, as_whole, did_you_mean
from paretofoil.core.feature import Features
from paretofoil.core.json import brief
from paretofoil.core.options import DEFAULTS, Options
from paretofoil.core.policy import Policy, as_policy, greedy_action, query, tells_values
from paretofoil.core.question import KAPPA, Question
from paretofoil.explanation.ask import action_names

Subject = Agent | Policy | Actor | Callable[[np.ndarray, np.ndarray], Any]
"""An agent, a policy with `log_probs(states, commands)`, or a function of states and commands."""
Foil = str | int | AmountFoil
"""An action by name or number; for continuous actions, limits of amounts: "release >= 30", `pf.more("release", 10)`."""
Actions = Sequence[str] | ActionSpace
"""The names of discrete actions, or the space of continuous ones."""
VALUE_SHARE = 0.01
"""The default kappa of a value-based policy, as a share of the difference between its largest and smallest value."""


def make_questions(
    subject: Subject,
    decision: Decision,
    foils: Sequence[Foil],
    options: Options = DEFAULTS,
    *,
    space: CommandSpace | None = None,
    front: Any = None,
    actions: Actions | None = None,
) -> list[Question]:
    """Return the questions about a decision, one for each foil.

    Args:
        subject: An agent or a policy.
        decision: The decision.
        foils: Actions that were not chosen, by name or number. For continuous actions, limits of amounts, or numbers of
            directions (see `foils_of`).
        options: Only `box`, `kappa`, `probability`, `norm`, `keep` and `ranges` are used.
        space: Command space; by default that of the agent or policy.
        front: Front of full returns, or of preferences; by default that of the agent.
        actions: Names of the actions, or the space of continuous ones; by default those of the agent or policy.
    """
    agent = subject if isinstance(subject, Agent) else None
    actor = agent.actor if agent else as_actor(subject, actions)
    policy: Any = agent.policy if agent else actor or as_policy(subject)
    space = space or getattr(agent or policy, "space", None)
    if not isinstance(space, CommandSpace):
        expected = "the command space of the policy: space=CommandSpace(low, high, names)"
        raise InvalidInput.expected(expected, repr(space))
    names, front = action_words(subject, actions)[0], agent.front if front is None and agent else front
    as_vector(decision.command, "the command", space.dim)
    values: dict[str, Any] = {
        "state": decision.state,
        "command": decision.command,
        "front": _remaining(front, decision, space),
        "norm": options.norm,
    }
    if options.box == "paper":
        if agent is None:
            raise InvalidInput.expected("an agent, because box='paper' needs its environment", f"the policy {policy!r}")
        values |= {"space": agent.paper_space, "trained": space}
    else:
        low, high = reachable_region(space, decision.command, decision.collected)
        values |= {"space": space, "low": low, "high": high}
    if actor is not None:
        if options.probability is not None:
            raise InvalidInput.expected("discrete actions with options.probability", repr(actor.actions))
        values["kappa"] = options.kappa or 0.0
        possible = _amounts_of(subject, actor, decision)
        if possible is None:
            raise InvalidInput.expected("a state with more than one possible action", f"only {decision.amounts}")
        parts = [_amount_question(actor, possible, decision, foil, values["kappa"]) for foil in foils]
    else:
        values["kappa"] = default_kappa(policy, decision) if options.kappa is None else options.kappa
        if options.probability is not None:
            values |= {"kappa": 0.0, "probability": options.probability}
        valid = decision.valid_actions or tuple(range(len(_scores(policy, decision))))
        numbers = [find_action(foil, names, decision.valid_actions) for foil in foils]  # type: ignore[arg-type]
        parts = [{"policy": policy, "foil": number, "valid_actions": valid} for number in numbers]
    return [restrict(Question(**values, **part), options.keep, options.ranges) for part in parts]


def action_words(subject: Subject, actions: Actions | None) -> tuple[Any, tuple[str, ...] | None]:
    """Return the names of the actions, and the phrases for what was done ("gone down"); None if they are unknown."""
    if isinstance(subject, Agent):
        return subject.actions, subject.phrases
    features = features_of(subject)
    if actions is None and features is not None:
        return features.actions, features.phrases
    return actions, None


def features_of(subject: Any) -> Features | None:
    """Return the free features of a policy; None if it has none."""
    features = getattr(subject, "features", None)
    return features if isinstance(features, Features) else None


def make_region(subject: Subject, decision: Decision, options: Options, space: CommandSpace | None = None) -> Question:
    """Return a question that stands for the search region of a decision. Its foil is arbitrary.

    Its scores are those of the policy; for continuous actions, the amounts.
    """
    agent = subject if isinstance(subject, Agent) else None
    actor = agent.actor if agent else as_actor(subject)
    if actor is None:
        action = decision.action if decision.action >= 0 else (*decision.valid_actions, 0)[0]
        [question] = make_questions(subject, decision, [action], options, space=space)
        return question
    space, front = space or getattr(agent or actor, "space", None), agent.front if agent else None
    [question] = make_questions(AmountScores(actor), decision, [0], options, space=space, front=front)
    return question


def _amounts_of(subject: Subject, actor: Actor, decision: Decision) -> ActionSpace | None:
    """Return the continuous actions that are possible at a decision; None if there is only one."""
    return subject.amounts_at(decision.state) if isinstance(subject, Agent) else actor.actions


def _amount_question(
    actor: Actor, possible: ActionSpace, decision: Decision, foil: Any, kappa: float
) -> dict[str, Any]:
    """Return the fields of a question whose foil limits the amounts of continuous actions.

    Its policy has two kinds of actions: to keep all limits, which is the foil, and to break one of them.
    """
    now = amounts_at(actor, decision)
    if isinstance(foil, int):
        directions = directions_of(possible, now)
        if foil not in directions:
            names = direction_names(possible.names)
            expected = ", ".join(f"{names[i]} ({i})" for i in directions) or "none is possible in this state"
            raise InvalidInput.expected(f"the number of a direction of the actions ({expected})", foil)
        foil = directions[foil]
    limits = make_limits(foil, possible, now, kappa)
    policy = FoilPolicy.of(actor, limits)
    if policy.is_met(now):
        chosen = zip(possible.clip(now), possible.names, strict=True)
        got = f"{policy.names[0]}: it chooses {' and '.join(f'{amount:.4g} of {name}' for amount, name in chosen)}"
        raise InvalidInput.expected("a foil that the chosen action does not meet already", got)
    return {"policy": policy, "foil": 0, "valid_actions": tuple(range(1 + len(limits)))}


def amounts_at(actor: Actor, decision: Decision) -> np.ndarray:
    """Return the amounts (dimensions,) that an actor chooses at a decision."""
    if decision.valid_actions:
        got = f"the valid actions {list(decision.valid_actions)}"
        raise InvalidInput.expected("a decision with continuous actions, without a list of valid actions", got)
    return query_amounts(actor, decision.state[None], decision.command[None])[0]


def foils_of(subject: Subject, decision: Decision, actions: Actions | None = None) -> list[int]:
    """Return every valid action that was not chosen; for continuous actions, the numbers of all possible directions.

    The directions are more and less of each dimension, numbered as in `direction_names`.
    """
    actor = subject.actor if isinstance(subject, Agent) else as_actor(subject, actions)
    if actor is None:
        return decision.others
    possible = _amounts_of(subject, actor, decision)
    return [] if possible is None else list(directions_of(possible, amounts_at(actor, decision)))


def all_foils(subject: Subject, decision: Decision, actions: Actions | None = None) -> list[int]:
    """Return the foils of a decision, or raise an error if there is none."""
    foils = foils_of(subject, decision, actions)
    if not foils:
        raise InvalidInput.expected("a decision with at least two valid actions", list(decision.valid_actions))
    return foils


def _remaining(front: Any, decision: Decision, space: CommandSpace) -> np.ndarray:
    """Return what remains of each point of a front after the collected return; return preferences unchanged."""
    returns = as_points(() if front is None else front, "a front of points", space.dim)
    return returns if space.simplex else returns - decision.collected


def default_kappa(policy: Policy, decision: Decision) -> float:
    """Return the default margin by which a foil must win; for a value-based policy, a share of the range of values."""
    if not tells_values(policy):
        return KAPPA
    scores = _scores(policy, decision)
    spread = float(np.ptp(scores[list(decision.valid_actions)] if decision.valid_actions else scores))
    return float(f"{VALUE_SHARE * spread:.2g}")  # short, because sentences quote it


def reachable_region(space: CommandSpace, command: np.ndarray, collected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the box of commands of the space that can still be fulfilled, enlarged to contain the given command.

    The remaining return, and the whole return including the collected one, must lie within the natural limits of each
    objective. All preferences are possible, because they are not returns.
    """
    if space.simplex:
        return space.low, space.high
    least, most = space.limits
    least, most = np.maximum(least, least - collected), np.minimum(most, most - collected)
    low, high = np.clip(space.low, least, most), np.clip(space.high, least, most)
    return np.minimum(low, command), np.maximum(high, command)


def restrict(question: Question, keep: Sequence[str | int], ranges: Mapping[str, tuple[float, float]]) -> Question:
    """Return the question with some objectives kept, and others restricted to ranges."""
    space, low, high = question.space, question.low.copy(), question.high.copy()
    kept, held = (tuple(map(space.index, names)) for names in (keep, ranges))
    for i in kept:
        low[i] = high[i] = question.command[i]
    for i, (lowest, highest) in zip(held, ranges.values(), strict=True):
        if not lowest <= question.command[i] <= highest:
            expected = f"a range of {space.names[i]} that contains the command's value {question.command[i]:g}"
            raise InvalidInput.expected(expected, f"{lowest:g} to {highest:g}")
        low[i], high[i] = max(low[i], lowest), min(high[i], highest)
    return replace(question, low=low, high=high, kept=kept, held=held)


def find_action(action: str | int, names: Sequence[str] | None, valid_actions: Sequence[int] = ()) -> int:
    """Return the number of an action that is given by name or number.

    Raise an error if it is not valid; without `valid_actions`, all actions are.
    """
    number = _by_name(action, names) if isinstance(action, str) else as_whole(action, "an action by name or number")
    if number < 0 or (names is not None and number >= len(names)):
        limit = f" to {len(names) - 1}" if names is not None else ""
        raise InvalidInput.expected(f"an action number from 0{limit}", number)
    if names is not None and len(valid_actions) and number not in valid_actions:
        words = [names[a] if 0 <= a < len(names) else str(a) for a in valid_actions]
        raise InvalidInput.expected(f"a foil among the valid actions {', '.join(words)}", names[number])
    return number


def _by_name(action: str, names: Sequence[str] | None) -> int:
    if names is None:
        raise InvalidInput.expected("the number of an action, since the actions have no names", repr(action))
    lowered = [name.lower() for name in names]
    if action.lower() in lowered:
        return lowered.index(action.lower())
    if not action.isdecimal():
        raise InvalidInput.expected(f"an action among {', '.join(names)}", did_you_mean(action, names))
    return int(action)


def make_decision(
    subject: Subject,
    decision: Any,
    state: Any,
    command: Any,
    collected: Any = None,
    valid_actions: Sequence[int] | None = None,
) -> Decision:
    """Return the given decision, or the decision in a state under a command.

    The decision of an agent has the valid actions of the state, and rollouts can start there. That of a policy has no
    snapshot, and its action is -1.
    """
    if decision is not None:
        if not isinstance(decision, Decision):
            raise InvalidInput.expected("a decision of a rollout, such as episode[0]", brief(decision))
        if any(value is not None for value in (state, command, collected, valid_actions)):
            raise InvalidInput.expected("either a decision, or a state and a command", "both")
        as_vector(decision.state, "the state")
        return decision
    features = features_of(subject)
    if features is not None and state is not None:
        state = np.ravel(state)
        command = features.complete(state, command)
    if state is None or command is None:
        got = "neither" if state is None and command is None else f"no {'state' if state is None else 'command'}"
        raise InvalidInput.expected("a decision, or a state and a command", got)
    if isinstance(subject, Agent) and valid_actions is None:
        return subject.decision_at(state, command, collected)
    vector = as_vector(command, "the command")
    before = np.zeros(vector.size) if collected is None else as_vector(collected, "the collected return", vector.size)
    if valid_actions is not None and not len(valid_actions):
        raise InvalidInput.expected("at least one valid action", "none")
    valid = () if valid_actions is None else tuple(as_whole(a, "valid actions as whole numbers") for a in valid_actions)
    flat = as_vector(state, "the state (flatten an observation of several parts)").astype(np.float32)
    return Decision(flat, vector, valid, -1, before)


@dataclass(frozen=True, eq=False)
class FeatureAgent:
    """A policy with free features of the state in place of an agent: it has no environment and no front."""

    policy: Any
    name: str = ""

    def __post_init__(self) -> None:
        if features_of(self.policy) is None:
            expected = "an agent (pf.Agent), or a policy with free features of the state"
            got = type(self.policy).__name__
            raise InvalidInput.expected(expected, f"{self.name}, a {got}" if self.name else got)

    @property
    def features(self) -> Features:
        return self.policy.features

    @property
    def space(self) -> CommandSpace:
        """The ranges of all free numbers."""
        return self.features.space

    @property
    def front(self) -> np.ndarray:
        return np.zeros((0, self.space.dim))

    @property
    def actor(self) -> Actor | None:
        return self.policy if isinstance(self.policy, Actor) else None

    @cached_property
    def actions(self) -> tuple[str, ...]:
        if self.actor is not None:
            return tuple(self.actor.actions.names)
        space, state = self.space, np.zeros((1, self.features.size), dtype=np.float32)
        scores = query(self.policy, state, space.project(np.zeros((1, space.dim)), space.low, space.high))
        return action_names(self.features.actions, scores.shape[1])

    @property
    def phrases(self) -> tuple[str, ...]:
        return self.features.phrases or tuple(f"chosen {action}" for action in self.actions)

    def decision_at(self, state: Any, command: Any = None) -> Decision:
        """Return the decision in a state, under the command of the agent if it has one."""
        decision = make_decision(self.policy, None, state, command)
        if self.actor is not None:
            return decision
        valid = tuple(range(len(self.actions)))
        return replace(decision, valid_actions=valid, action=greedy_action(_scores(self.policy, decision), valid))


def _scores(policy: Policy, decision: Decision) -> np.ndarray:
    """Return the policy's scores (num_actions,) at a decision."""
    return query(policy, decision.state[None], decision.command[None])[0]
