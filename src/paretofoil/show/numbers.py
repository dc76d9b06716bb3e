"""Wishes and results in words: one objective, or all of a command."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np

from paretofoil.core.command import Objective


def value(objective: Objective, number: float) -> str:
    """One wish: "8 treasure", "2 steps of time", "no ore 0", "a 7 % risk of death", "already 3 fuel over budget"."""
    amount = _amount(objective, number)
    if amount == 0 and never_negative(objective):
        return _none(objective)
    if amount < 0 and never_negative(objective):
        return f"already {_told(objective, -amount)} {_excess(objective)}"
    return _told(objective, amount)


def values(objectives: Sequence[Objective], numbers: np.ndarray) -> str:
    return listing(objectives, [value(o, float(n)) for o, n in zip(objectives, numbers, strict=True)])


def listing(objectives: Sequence[Objective], told: Sequence[str]) -> str:
    """All objectives in a row: "0.8 A and nothing else" instead of "0.8 A, no B, no C and no D"."""
    some = [words for words in told if not words.startswith("no ")]
    if len(told) - len(some) < 2 or any(o.cost or o.probability for o in objectives):
        return join(told)
    return join([*some, "nothing else"] if some else ["nothing"])


def result(objective: Objective, number: float, error: float = 0.0) -> str:
    """What was achieved: "8 treasure", or the mean of several runs and its standard error, "8.1 ± 0.3 treasure"."""
    amount = _amount(objective, number)
    if amount == 0 and never_negative(objective):
        return f"no {objective.name}"  # none was met in any run, which does not say that there is no risk
    if not error:
        return _told(objective, amount)
    factor = 100.0 if objective.probability else 1.0
    decimals = max(0, 1 - math.floor(math.log10(factor * error)))
    mean, spread = (f"{factor * n:.{decimals}f}" for n in (amount, error))
    return _phrase(objective, f"{mean} ± {spread}")


def change(objective: Objective, old: float, new: float) -> str:
    """ "1.7 less treasure (6.3 instead of 8)", "2 fewer steps of time (6 instead of 8)", "1 A instead of none"."""
    before, after = _amount(objective, old), _amount(objective, new)
    bounded = never_negative(objective)
    if objective.probability or (bounded and 0 in (before, after)):
        return short_change(objective, old, new)
    shown_after, shown_before = exact(after), beside(before, after)
    size = f"{abs(Decimal(shown_after) - Decimal(shown_before)).normalize():f}"
    shown = f"({_signed(objective, shown_after)} instead of {_signed(objective, shown_before)})"
    more = "more" if after > before else "fewer" if objective.unit else "less"
    what = f"{unit(objective, size)} of {objective.name}" if objective.unit else _name(objective)
    return f"{size} {more} {what} {shown}"


def short_change(objective: Objective, old: float, new: float) -> str:
    """ "6.3 treasure instead of 8", "a 7 % risk of death instead of 9.7 %": fewer numbers, for long lists.

    The new number is told in all its digits: it was checked in these.
    """
    before, after = _amount(objective, old), _amount(objective, new)
    bounded = never_negative(objective)
    if objective.probability:
        was = f"{beside(100 * before, 100 * after, _tenths)} %"
    else:
        was = _signed(objective, beside(before, after))
    return f"{wish(objective, new)} instead of {'none' if bounded and before == 0 else was}"


def wish(objective: Objective, number: float) -> str:
    """One wish in all its digits: it was checked in these."""
    amount = _amount(objective, number)
    if never_negative(objective) and amount == 0:
        return _none(objective)
    if never_negative(objective) and amount < 0:
        return f"{_phrase(objective, exact(-amount))} {_excess(objective)}"
    return _phrase(objective, clean(100 * amount) if objective.probability else exact(amount))


def span(objective: Objective, low: float, high: float, quoted: float | None = None, digits: int = 2) -> str | None:
    """A range of wishes, rounded so that it stays inside: "1 to 7.7 treasure"; None if it has no width in words.

    A quoted number that lies in the range lies in what is told of it, too.
    """
    factor = (-1.0 if objective.cost else 1.0) * (100.0 if objective.probability else 1.0)
    low, high = sorted((factor * low + 0.0, factor * high + 0.0))
    lowest, highest = inward(low, high, None if quoted is None else factor * quoted, digits)
    if not float(lowest) < float(highest):
        return None
    excess = ""
    if never_negative(objective) and low < 0:
        if high <= 0:
            lowest, highest, excess = highest.removeprefix("-"), lowest[1:], f" {_excess(objective)}"
        else:
            lowest = _signed(objective, lowest)
    ends = f"at most {highest}" if lowest == "0" and never_negative(objective) else f"{lowest} to {highest}"
    told = f"{ends} % {_chance(objective)}" if objective.probability else _phrase(objective, ends)
    return f"{told}{excess}"


def inward(low: float, high: float, quoted: float | None = None, digits: int = 2) -> tuple[str, str]:
    """The two ends of a range in few digits, rounded so that they stay inside it and hold the quoted number.

    The digits are those of its width.
    """
    if high <= low:
        return short(low), short(high)
    decimals = max(0, digits - 1 - math.floor(math.log10(high - low)))
    unit = 10.0**-decimals
    lowest, highest = math.ceil(low / unit - 1e-9) * unit, math.floor(high / unit + 1e-9) * unit
    ends = [f"{round(end, decimals) + 0.0:.10g}" for end in (lowest, highest)]
    if quoted is not None and float(ends[0]) > quoted:
        ends[0] = clean(quoted)
    if quoted is not None and float(ends[1]) < quoted:
        ends[1] = clean(quoted)
    return ends[0], ends[1]


def short(number: float, digits: int = 4) -> str:
    """Four significant digits, and all those before the point, without trailing zeros."""
    if abs(number) < 1e-9:
        return "0"
    shown = f"{number:.{digits}g}"
    return f"{number:.0f}" if abs(float(shown)) >= 10**digits else shown


def beside(old: float, new: float, told: Callable[[float], str] = short) -> str:
    """The old number as it is usually told, or in as many digits as show what lies between it and the new one."""
    shown = (told(old), *(short(old, digits) for digits in range(4, 18)))
    return next((text for text in shown if abs(float(text) - old) <= 0.05 * abs(new - old)), repr(old))


def exact(number: float) -> str:
    """All digits of a number, as short as they can be written."""
    return f"{number:.10g}" if float(f"{number:.10g}") == number else repr(number)


def clean(number: float) -> str:
    """A number that was multiplied by 100, without what that left in its last digits."""
    return exact(float(f"{number:.12g}"))


def percent(probability: float) -> str:
    """One digit behind the point; never rounded to certainty."""
    if probability >= 0.9995:
        return "over 99.9 %" if probability < 1 else "100 %"
    return "under 0.1 %" if 0 < probability < 0.0005 else f"{_tenths(100 * probability)} %"


def number_of(count: int, one: str, many: str | None = None) -> str:
    """ "1 query", "2,000 queries"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def join(words: Sequence[str]) -> str:
    if not words:
        return "nothing else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def never_negative(objective: Objective) -> bool:
    """Whether there can be none of it but not less, so that "no treasure" and "over budget" make sense.

    The rewards of a cost are negative, unless its limits say otherwise.
    """
    most = 0.0 if objective.natural_high is None else objective.natural_high
    return most <= 0 if objective.cost else objective.limits[0] >= 0


def counted(objective: Objective, shown: str) -> str:
    """ "2 steps", "1 step", or the mere number."""
    return f"{shown} {unit(objective, shown)}" if objective.unit else shown


def unit(objective: Objective, shown: str) -> str:
    return objective.unit.removesuffix("s") if shown == "1" else objective.unit


def _amount(objective: Objective, number: float) -> float:
    """The number as the user thinks of it: a cost by its size; no -0, and nothing that rounding left behind."""
    return 0.0 if abs(number) < 1e-9 else -number if objective.cost else number


def _told(objective: Objective, amount: float) -> str:
    """An amount in few digits."""
    return _phrase(objective, _tenths(100 * amount) if objective.probability else short(amount))


def _phrase(objective: Objective, shown: str) -> str:
    """ "8 treasure", "2 steps of time", "0.4 of ore 0", "an 8 % risk of death"."""
    if objective.probability:
        article = "an" if shown.startswith("8") or shown.partition(".")[0] in ("11", "18") else "a"
        return f"{article} {shown} % {_chance(objective)}"
    return f"{counted(objective, shown)} of {objective.name}" if objective.unit else f"{shown} {_name(objective)}"


def _name(objective: Objective) -> str:
    """ "treasure"; "of ore 0": a number in a name is kept apart from the amount."""
    return f"of {objective.name}" if objective.name[-1:].isdigit() else objective.name


def _none(objective: Objective) -> str:
    if objective.probability:
        return f"no {_chance(objective)}"
    return f"no {objective.unit} of {objective.name}" if objective.unit else f"no {objective.name}"


def _signed(objective: Objective, shown: str) -> str:
    """A number, or by how much too much was had already."""
    if shown.startswith("-") and never_negative(objective):
        return f"{shown[1:]} {_excess(objective)}"
    return shown


def _excess(objective: Objective) -> str:
    return "over budget" if objective.cost else "in excess"


def _tenths(number: float) -> str:
    """One digit behind the point, or more where that would make 0 or 100 of another number."""
    shown = f"{number:.1f}".removesuffix(".0")
    return clean(number) if float(shown) in (0, 100) else shown


def _chance(objective: Objective) -> str:
    return f"{'risk' if objective.cost else 'chance'} of {objective.name}"
