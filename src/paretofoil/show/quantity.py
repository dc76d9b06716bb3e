"""Wishes and results in words: one objective, or all of a command."""

import math
from collections.abc import Sequence

import numpy as np

from paretofoil.core.command import Objective


def value(objective: Objective, number: float) -> str:
    """One wish or result: "8 treasure", "2 steps of time", "no ore 0", "a 7 % risk of death"."""
    amount = -number if objective.cost else number
    if objective.probability and 0 <= amount <= 1:
        return f"a {percent(amount)} {_chance(objective)}"
    if short(amount) == "0":
        return f"no {objective.name}"
    if amount < 0:
        over = "over the budget of" if objective.cost else "more than asked for of"
        return f"already {counted(objective, short(-amount))} {over} {objective.name}"
    return _amount(objective, short(amount))


def values(objectives: Sequence[Objective], numbers: np.ndarray) -> str:
    return join([value(o, float(n)) for o, n in zip(objectives, numbers, strict=True)])


def change(objective: Objective, old: float, new: float) -> str:
    """ "0.2 less treasure (7.8 instead of 8)", "0.44 fewer steps of time (1.56 instead of 2)".

    The new number is told in all its digits: it was checked in these.
    """
    if objective.cost:
        old, new = -old, -new
    if objective.probability and 0 <= new <= 1:
        return f"a {exact_percent(new)} {_chance(objective)} instead of {percent(old) if 0 <= old <= 1 else short(old)}"
    if new == 0:
        return f"no {objective.name} instead of {short(old)}"
    size, told = short(abs(new - old)), f"({exact(new)} instead of {short(old)})"
    if objective.unit:
        return f"{size} {'more' if new > old else 'fewer'} {objective.unit} of {objective.name} {told}"
    return f"{size} {'more' if new > old else 'less'} {objective.name} {told}"


def span(objective: Objective, low: float, high: float) -> str | None:
    """A range of wishes, rounded so that it stays inside: "1 to 7.79 treasure"; None if it has no width in words."""
    if objective.cost:
        low, high = -high, -low
    factor, sign = (100.0, " %") if objective.probability else (1.0, "")
    lowest, highest = inward(factor * low, factor * high)
    if not float(lowest) < float(highest):
        return None
    least = 0.0 if objective.natural_low == 0.0 or (objective.cost and objective.natural_high == 0.0) else None
    ends = f"at most {highest}{sign}" if float(lowest) == least else f"{lowest} to {highest}{sign}"
    return f"{ends} {_chance(objective)}" if objective.probability else _amount(objective, ends)


def inward(low: float, high: float) -> tuple[str, str]:
    """The two ends of a range in few digits, rounded so that they stay inside it."""
    if high <= low:
        return short(low), short(high)
    decimals = max(0, 2 - math.floor(math.log10(high - low)))
    unit = 10.0**-decimals
    lowest, highest = math.ceil(low / unit - 1e-9) * unit, math.floor(high / unit + 1e-9) * unit
    return f"{round(lowest, decimals) + 0.0:.10g}", f"{round(highest, decimals) + 0.0:.10g}"


def short(number: float) -> str:
    """Up to four significant digits, without trailing zeros."""
    text = f"{number:.4g}"
    return "0" if text in ("-0", "0") or abs(number) < 1e-9 else text


def exact(number: float) -> str:
    """All digits of a number, as short as they can be written."""
    return f"{number:.10g}" if float(f"{number:.10g}") == number else repr(number)


def percent(probability: float) -> str:
    if probability >= 0.9995:
        return "over 99.9 %" if probability < 1 else "100 %"
    return "under 0.1 %" if 0 < probability < 0.0005 else f"{100 * probability:.3g} %"


def exact_percent(probability: float) -> str:
    return f"{exact(round(100 * probability, 10))} %"


def join(words: Sequence[str]) -> str:
    if not words:
        return "nothing else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _amount(objective: Objective, shown: str) -> str:
    """ "8 treasure", "2 steps of time"."""
    return f"{counted(objective, shown)} of {objective.name}" if objective.unit else f"{shown} {objective.name}"


def counted(objective: Objective, shown: str) -> str:
    """ "2 steps", "1 step", or the mere number."""
    unit = objective.unit.removesuffix("s") if shown == "1" else objective.unit
    return f"{shown} {unit}" if unit else shown


def _chance(objective: Objective) -> str:
    return f"{'risk' if objective.cost else 'chance'} of {objective.name}"
