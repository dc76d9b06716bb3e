"""Answers in words."""

import math
from collections.abc import Sequence

import numpy as np

from paretofoil.core.answer import Answer, Outcome
from paretofoil.core.command import Objective
from paretofoil.core.consequence import Consequence
from paretofoil.core.proven_range import ProvenRange

CAVEAT = "Such a command is something to ask for; it need not be achievable."


def one_line(found: Answer) -> str:
    """The answer in one sentence."""
    foil, chosen = found.actions[found.foil], found.actions[found.chosen]
    if found.outcome is Outcome.PROVEN_INFEASIBLE:
        return f"No command within the agent's range makes it choose {foil} instead of {chosen} here; this is proven."
    if found.rounded is None:
        return f"No command was found under which the agent would choose {foil} instead of {chosen} here."
    return f"Had you asked for {_changes(found)}, the agent would have chosen {foil} instead of {chosen}."


def paragraph(found: Answer) -> str:
    """The answer at length."""
    chosen, foil = found.actions[found.chosen], found.actions[found.foil]
    before = found.probabilities
    parts = [
        f"Asked for {values(found.objectives, found.original)}, the agent chooses {chosen} here "
        f"({percent(before[found.chosen])}; {foil} has {percent(before[found.foil])}).",
        one_line(found),
    ]
    if found.counterfactual_probabilities is None:
        return " ".join([*parts, *_advice(found)])
    after = found.counterfactual_probabilities
    shares = f"{foil} has {percent(after[found.foil])} and {chosen} {percent(after[found.chosen])}"
    parts.append(f"Under that command {shares}.")
    kept = [o.name for o, old, new in zip(found.objectives, found.original, found.rounded, strict=True) if old == new]  # type: ignore[arg-type]
    if kept:
        parts.append(f"The wish for {_join(kept)} stays as it is.")
    if found.proven_range is not None:
        parts.append(_proven_range(found.objectives, found.proven_range))
    if found.outcome is Outcome.PROVEN_OPTIMAL and found.certificate is not None:
        parts.append(
            f"No smaller change does it: this one has scaled size {found.distance:.4f}, and every one below "
            f"{found.lower_bound:.4f} is proven to fail."
        )
    if found.consequence is not None and found.original_consequence is not None:
        parts.append(_consequences(found.objectives, found.consequence, found.original_consequence))
    return " ".join([*parts, CAVEAT])


def value(objective: Objective, number: float) -> str:
    """One wish: "8 treasure", "2 steps of time", "0.96 fuel"."""
    shown = short(-number if objective.cost else number)
    return f"{shown}{unit_of(objective, shown)} of {objective.name}" if objective.unit else f"{shown} {objective.name}"


def unit_of(objective: Objective, shown: str) -> str:
    """ " steps", " step" after a 1, or nothing."""
    if not objective.unit:
        return ""
    return f" {objective.unit.removesuffix('s')}" if shown == "1" else f" {objective.unit}"


def values(objectives: Sequence[Objective], numbers: np.ndarray) -> str:
    return _join([value(o, float(n)) for o, n in zip(objectives, numbers, strict=True)])


def short(number: float) -> str:
    """Up to four significant digits, without trailing zeros."""
    text = f"{number:.4g}"
    return "0" if text in ("-0", "0") else text


def inward(low: float, high: float) -> tuple[str, str]:
    """The two ends of a range in few digits, rounded so that they stay inside it."""
    if high <= low:
        return short(low), short(high)
    decimals = max(0, 2 - math.floor(math.log10(high - low)))
    unit = 10.0**-decimals
    lowest, highest = math.ceil(low / unit - 1e-9) * unit, math.floor(high / unit + 1e-9) * unit
    return f"{round(lowest, decimals):.10g}", f"{round(highest, decimals):.10g}"


def percent(probability: float) -> str:
    if probability >= 0.9995:
        return "over 99.9 %" if probability < 1 else "100 %"
    return "under 0.1 %" if 0 < probability < 0.0005 else f"{100 * probability:.3g} %"


def _changes(found: Answer) -> str:
    """ "1.7 less treasure (6.3 instead of 8) and 0.3 steps less time (1.7 steps instead of 2)"."""
    return _join(
        [
            _change(o, float(old), float(new))
            for o, old, new in zip(found.objectives, found.original, found.rounded, strict=True)  # type: ignore[arg-type]
            if old != new
        ]
    )


def _change(objective: Objective, old: float, new: float) -> str:
    if objective.cost:
        old, new = -old, -new
    size, exact = short(abs(new - old)), f"{new:.10g}"  # all digits of the rounded command: it was checked in these
    direction = "more" if new > old else "less"
    instead = f"{exact}{unit_of(objective, exact)} instead of {short(old)}"
    return f"{size}{unit_of(objective, size)} {direction} {objective.name} ({instead})"


def _proven_range(objectives: Sequence[Objective], proven: ProvenRange) -> str:
    """The proven box, with a bound per objective."""
    wishes = []
    for objective, low, high in zip(objectives, proven.low, proven.high, strict=True):
        if objective.cost:
            low, high = -high, -low
        lowest, highest = inward(float(low), float(high))
        if float(lowest) < float(highest):
            wishes.append(f"{lowest} to {highest}{unit_of(objective, highest)} of {objective.name}")
    if not wishes:
        return ""
    rest = " with the rest as in that command" if len(wishes) < len(objectives) else ""
    return f"So does any wish for {_join(wishes)}{rest}: this is proven for the whole range."


def _consequences(objectives: Sequence[Objective], new: Consequence, old: Consequence) -> str:
    stopped = new.finished < old.finished  # some environments always end by their step limit: that is no news
    if np.allclose(new.achieved, old.achieved):
        return f"Issued here, it leads to the same result in the end: {_consequence(objectives, new, stopped)}."
    return (
        f"Issued here, it leads to {_consequence(objectives, new, stopped)} in the end; "
        f"the original command leads to {_consequence(objectives, old)}."
    )


def _consequence(objectives: Sequence[Objective], result: Consequence, stopped: bool = False) -> str:
    rewards = objectives[: len(result.achieved)]  # a horizon is no return
    text = values(rewards, result.achieved)
    if result.repeats > 1:
        errors = ", ".join(f"{short(float(e))}" for e in result.error)
        text += f" on average over {result.repeats} runs (standard errors {errors})"
    if stopped:
        share = f"{percent(1 - result.finished)} of the runs are " if result.finished else ""
        text += f" ({share}stopped by the step limit)"
    return text


def _advice(found: Answer) -> list[str]:
    """What to do next when there is no counterfactual."""
    if found.outcome is Outcome.PROVEN_INFEASIBLE:
        return [
            "The agent has not learned to do that in this state, whatever it is asked for.",
            "Ask about another foil or another moment, or widen the command space.",
        ]
    spent = f"{found.total_queries:,} queries were spent"
    if found.lower_bound > 0:
        return [
            f"{spent}; any answer changes the command by more than {found.lower_bound:.4f} (scaled).",
            "Try a larger limit.",
        ]
    return [
        f"{spent}, which proves nothing.",
        'Try a larger budget, or search="exact", which finds one or proves that there is none.',
    ]


def _join(words: Sequence[str]) -> str:
    if not words:
        return "nothing else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
