"""From a decision and a foil to a question."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from paretofoil.core.command import CommandSpace, Norm, as_vector
from paretofoil.core.constants import KAPPA
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.policy import Policy, as_scores, tells_values
from paretofoil.core.question import Question
from paretofoil.core.whole_number import as_whole

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent


Box = Literal["reachable", "paper"]
"""Which commands are searched: those that can still be fulfilled, or all of the box that the paper's authors set."""


def space_of(subject: Any, space: CommandSpace | None) -> CommandSpace:
    """The command space that is given, or else the subject's own: agents have one, and policies of `from_torch`."""
    known = space or getattr(subject, "space", None)
    if not isinstance(known, CommandSpace):
        got = "none" if known is None else type(known).__name__
        raise InvalidInput.expected("the command space of a policy (space=CommandSpace(low, high, names))", got)
    return known


def paper_box(agent: "Agent | None", box: Box) -> CommandSpace | None:
    """The paper's box, if that is the one that is named; None for what is reachable, which each decision decides."""
    if box not in get_args(Box):
        raise InvalidInput.expected(f"a box among {', '.join(get_args(Box))}", repr(box))
    if box == "reachable":
        return None
    if agent is None:
        raise InvalidInput.expected("an agent, whose environment says what the paper's box is", "a policy without one")
    return agent.paper_space


def pose(
    policy: Policy,
    decision: Decision,
    foil: int,
    space: CommandSpace,
    front: Any = None,
    *,
    kappa: float | None = None,
    norm: Norm = "l2",
    box: CommandSpace | None = None,
) -> Question:
    """The question about a decision and one foil."""
    [question] = pose_each(policy, decision, [foil], space, front, kappa=kappa, norm=norm, box=box)
    return question


def pose_each(
    policy: Policy,
    decision: Decision,
    foils: Sequence[int],
    space: CommandSpace,
    front: Any = None,
    *,
    kappa: float | None = None,
    norm: Norm = "l2",
    box: CommandSpace | None = None,
) -> list[Question]:
    """The questions about a decision, one for each foil.

    A front of full returns becomes remaining commands R_j - R_col; a front of preferences stays what it is. Without a
    kappa, each foil must win by the usual one, which is asked for once.
    Searched is what can still be fulfilled of the space, or, instead, the whole of a box.
    """
    as_vector(decision.command, "the command", space.dim)
    remaining, collected = np.zeros((0, space.dim)), np.zeros(space.dim) if space.simplex else decision.collected
    if front is not None:
        returns = np.asarray(front, dtype=np.float64)
        if returns.ndim != 2 or returns.shape[1] != space.dim:
            raise InvalidInput.expected(f"a front of points with {space.dim} numbers", f"shape {returns.shape}")
        remaining = returns - collected
    valid = decision.valid_actions or _all_actions(policy, decision)
    margin = usual_kappa(policy, decision) if kappa is None else kappa
    asked = [(policy, decision.state, decision.command, foil, valid) for foil in foils]
    if box is not None:
        return [Question(*each, box, remaining, margin, norm=norm, trained=space) for each in asked]
    low, high = possible_region(space, decision.command, decision.collected)
    return [Question(*each, space, remaining, margin, low=low, high=high, norm=norm) for each in asked]


def usual_kappa(policy: Policy, decision: Decision) -> float:
    """By how much a foil must win if nobody says it: of values, a share of what lies between those of the actions."""
    if not tells_values(policy):
        return KAPPA
    scores = _scores(policy, decision)
    spread = float(np.ptp(scores[list(decision.valid_actions)] if decision.valid_actions else scores))
    return float(f"{VALUE_SHARE * spread:.2g}")  # a number that sentences tell as it is


VALUE_SHARE = 0.01
"""Values have scales of their own, in which the usual kappa means nothing."""


def possible_region(space: CommandSpace, command: np.ndarray, collected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest commands of the space that can still be fulfilled, and the command itself.

    What is left must lie within the natural limits of each objective, and so must the whole return, which is what
    was collected and what is left. A command that asks for the impossible stays in: it is the one in question.
    Preferences are no returns: all of them can be had.
    """
    if space.simplex:
        return space.low, space.high
    least, most = space.limits
    least, most = np.maximum(least, least - collected), np.minimum(most, most - collected)
    low, high = np.clip(space.low, least, most), np.clip(space.high, least, most)
    return np.minimum(low, command), np.maximum(high, command)


def restrict(question: Question, keep: Sequence[str | int], ranges: Mapping[str, tuple[float, float]]) -> Question:
    """The same question, with objectives locked and others held to ranges."""
    low, high = question.low.copy(), question.high.copy()
    for name in keep:
        i = question.space.index(name)
        low[i] = high[i] = question.command[i]
    for name, ends in ranges.items():
        i = question.space.index(name)
        lowest, highest = _ends(ends, question.space.names[i])
        if not lowest <= question.command[i] <= highest:
            raise InvalidInput.expected(
                f"a range of {question.space.names[i]} that holds the command's {question.command[i]:g}",
                f"{lowest:g} to {highest:g}",
            )
        low[i], high[i] = max(low[i], lowest), min(high[i], highest)
    kept = tuple(question.space.index(name) for name in keep)
    held = tuple(question.space.index(name) for name in ranges)
    return replace(question, low=low, high=high, kept=kept, held=held)


def _ends(ends: Any, name: str) -> tuple[float, float]:
    try:
        lowest, highest = map(float, ends)
    except (TypeError, ValueError):
        raise InvalidInput.expected(f"a range of {name} as (lowest, highest)", repr(ends)) from None
    if lowest > highest:
        raise InvalidInput.expected(f"a range of {name} with the lowest first", f"{lowest:g} to {highest:g}")
    return lowest, highest


def find_action(action: str | int, names: Sequence[str] | None, valid_actions: Sequence[int] = ()) -> int:
    """The number of an action that is given by its name or number; with valid actions, a foil must be among them."""
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


def as_decision(state: Any, command: Any, collected: Any, valid_actions: Sequence[int] | None) -> Decision:
    """A decision of one's own; which action is chosen there is for the policy to say (-1 until then)."""
    if state is None or command is None:
        raise InvalidInput.expected("a decision, or a state and a command", "neither")
    wanted = as_vector(command, "the command")
    before = np.zeros(wanted.size) if collected is None else as_vector(collected, "what was collected", wanted.size)
    if valid_actions is not None and not len(valid_actions):
        raise InvalidInput.expected("at least one valid action", "none")
    valid = () if valid_actions is None else tuple(as_whole(a, "valid actions by their numbers") for a in valid_actions)
    return Decision(_flat(state), wanted, valid, -1, before)


def _flat(state: Any) -> np.ndarray:
    try:
        return np.asarray(state, dtype=np.float32)
    except (TypeError, ValueError):
        wanted = "a state that is a vector of numbers (what an observation holds, flat and side by side)"
        raise InvalidInput.expected(wanted, type(state).__name__) from None


def _all_actions(policy: Policy, decision: Decision) -> tuple[int, ...]:
    return tuple(range(len(_scores(policy, decision))))


def _scores(policy: Policy, decision: Decision) -> np.ndarray:
    """(num_actions,), of arrays that the policy may write to."""
    asked = np.array([decision.state]), np.array([decision.command])
    return as_scores(policy.log_probs(*asked), decision.command[None])[0]
