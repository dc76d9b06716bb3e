"""Preferences in words: how much the user cares about what."""

from collections.abc import Sequence

import numpy as np

from paretofoil.core.answer import Answer
from paretofoil.core.command import Objective
from paretofoil.core.proven_range import ProvenRange
from paretofoil.core.start import Start
from paretofoil.show.quantity import beside, exact, inward, join, percent, short

LITTLE = 0.1
"""Weights that change by no more than this change a little."""


def situation(found: Answer) -> str:
    """ "Caring 0.25 about fuel and 0.75 about ore"."""
    pairs = zip(found.objectives, found.original, strict=True)
    return f"Caring {join([f'{short(float(weight))} about {o.name}' for o, weight in pairs])}"


def from_the_start(start: Start) -> str:
    """Preferences are held, not used up: the same ones are meant at the start."""
    if start.leads_here is None:
        return "Held from the start, these preferences may lead here or not, by chance."
    leads = "lead to this very state" if start.leads_here else "do not lead to this state at this moment"
    return f"Held from the start, these preferences {leads}."


def changes(objectives: Sequence[Objective], before: np.ndarray, after: np.ndarray) -> str:
    """ "cared a little more about fuel (0.31 instead of 0.25) and less about ore (0.5 instead of 0.75)"."""
    told = []
    for word, sign in (("more", 1.0), ("less", -1.0)):
        moved = np.flatnonzero(sign * (after - before) > 0).tolist()
        if moved:
            weights = [_change(objectives[i], float(before[i]), float(after[i])) for i in moved]
            little = "a little " if np.abs(after - before)[moved].max() <= LITTLE + 1e-9 else ""
            told.append(f"{little}{word} about {join(weights)}")
    return f"cared {', and '.join(told) if any(' and ' in part for part in told) else join(told)}"


def _change(objective: Objective, old: float, new: float) -> str:
    return f"{objective.name} ({exact(new)} instead of {beside(old, new)})"


def restrictions(found: Answer) -> str:
    """ "the weight of time kept and a weight of 0.1 to 0.3 for fuel": what the user ruled out, or nothing."""
    kept = [found.objectives[i].name for i in found.kept]
    parts = [f"the weight{'s' if len(kept) > 1 else ''} of {join(kept)} kept"] if kept else []
    for i in found.held:
        low, high = inward(float(found.low[i]), float(found.high[i]), digits=3)
        if i not in found.kept:
            parts.append(f"a weight of {low} to {high} for {found.objectives[i].name}")
    return join(parts) if parts else ""


def proven_range(found: Answer, proven: ProvenRange, command: np.ndarray) -> str:
    """ "Any weights of 0.4 to 1 for fuel and 0 to 0.6 for ore that sum to 1 do it as well; this is proven."."""
    sides = [(float(a), float(b), float(c)) for a, b, c in zip(proven.low, proven.high, command, strict=True)]
    wide, rest = [], []
    for objective, side, old in zip(found.objectives, sides, found.original, strict=True):
        low, high = inward(*side)
        if float(low) < float(high):
            wide.append(f"{low} to {high} for {objective.name}")
        else:
            rest.append(_at(objective, float(old), side[2]))
    if len(wide) < 2:
        return ""  # no weight changes alone
    others = f", with {join(rest)}," if rest else ""
    return f"Any weights of {join(wide)} that sum to 1{others} do it as well; this is proven."


def _at(objective: Objective, old: float, new: float) -> str:
    """A weight that has no range: "fuel as it is", "fuel at 0.1", "no weight for fuel"."""
    if new == old:
        return f"{objective.name} as it is"  # its number may be long
    return f"{objective.name} at {exact(new)}" if new else f"no weight for {objective.name}"


def next_step(found: Answer) -> str:
    """What to do when no preferences of the region lead to the foil."""
    if (found.low > 0).any() or (found.high < 1).any():
        return "Ask about another foil or another moment, or allow other weights."
    return "All weights that sum to 1 were looked at: ask about another foil or another moment."


def has(found: Answer) -> str:
    return "has" if found.values is None else "is worth"


def share(found: Answer, action: int, *, after: bool = False) -> str:
    """What an action has under the original command, or the new one: "70 %", or "7.1" if the agent tells values."""
    values = found.counterfactual_values if after else found.values
    told = found.counterfactual_probabilities if after else found.probabilities
    return percent(told[action]) if values is None else _worth(found, values, action)  # type: ignore[index]


def _worth(found: Answer, values: np.ndarray, action: int) -> str:
    """A value in as many digits as tell it from those of the foil and the chosen action."""
    other = found.chosen if action == found.foil else found.foil
    return beside(float(values[action]), float(values[other]))
