"""Numbers for people: quantities with their units, changes, ranges and percentages.

Numbers have at most three significant digits, unless that would be wrong. The numbers of a quoted command have all
their digits, because the policy was queried with exactly these numbers.
"""

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from paretofoil.core.command import Objective

AMBIGUOUS = ("all", "any", "none", "nothing")
"""Names of actions that are written in quotes, because a sentence with them would be ambiguous."""
DIGITS = 3
"""Significant digits of numbers."""
NOISE = 1e-12
"""A number below this share of its objective's largest number is shown as 0: it is the rounding error of a sum."""


def quantity(objective: Objective, number: float, low: float = -math.inf, high: float = math.inf) -> str:
    """Return text such as "8 treasure", "2 steps", "no ore 0", "a 7 % risk of death", "already 3 fuel over budget".

    If the number lies between low and high, so does the rounded number in the text.
    """
    text = _rounded(objective, number, low, high)
    already = "already " if text.startswith("-") and never_negative(objective) else ""
    return f"{already}{_signed_phrase(objective, text)}"


def quantities(objectives: Sequence[Objective], numbers: np.ndarray, *others: np.ndarray) -> str:
    """Return a command or outcome as text: "8 treasure in 2 steps". `tidy` removes rounding errors."""
    tidied = tidy(numbers, *(other[: len(numbers)] for other in others))
    return listing([(o, quantity(o, float(n))) for o, n in zip(objectives, tidied, strict=True)])


def exact_quantity(objective: Objective, number: float) -> str:
    """Return one number of a quoted command, with all its digits."""
    shown = amount(objective, number)
    return _signed_phrase(objective, clean(shown) if objective.probability else exact(shown))


def mean_quantity(objective: Objective, mean: float, error: float = 0.0) -> str:
    """Return the outcome of rollouts: "8 treasure", or a mean and its standard error, "8.1 ± 0.3 treasure"."""
    middle, spread = amount(objective, mean), abs(amount(objective, error))
    if middle == 0 and never_negative(objective):
        return f"no {objective.name}"  # not "no risk of": it may occur although it did not in any rollout
    if spread <= 1e-9 * abs(middle):
        return _phrase(objective, _brief(objective, middle))
    decimals = max(0, -math.floor(math.log10(spread)))
    return _phrase(objective, f"{middle:.{decimals}f} ± {spread:.{decimals}f}")


def listing(pairs: Sequence[tuple[Objective, str]], before_time: str = "in") -> str:
    """Join the quantities of several objectives: "8 treasure in 2 steps", "0.8 A and nothing else"."""
    times = [text for o, text in pairs if _is_time(o) and re.match(r"\d|at most", text)]
    if any(_is_horizon(o) for o, _ in pairs):
        times = []  # "in 2 steps" would be read as part of the horizon
    others = [text for _, text in pairs if text not in times]
    some = [text for text in others if not text.startswith("no ")]
    if len(others) - len(some) > 1 and not any(o.cost or o.probability for o, _ in pairs):
        others = [*some, "nothing else"] if some else ["nothing"]
    return f" {before_time} ".join(filter(None, (join(others), *times)))


def change(objective: Objective, old: float, new: float) -> str:
    """Return text such as "1.7 less treasure (6.3 instead of 8)", "1 A instead of none"."""
    before, after = amount(objective, old), amount(objective, new)
    if objective.probability or _is_horizon(objective) or (never_negative(objective) and 0 in (before, after)):
        return short_change(objective, old, new)
    new_text, old_text = exact(after), beside(before, after)
    size = f"{abs(Decimal(new_text) - Decimal(old_text)).normalize():f}"
    both = f"({_signed(objective, new_text)} instead of {_signed(objective, old_text)})"
    more = "more" if after > before else "fewer" if _is_plural(objective.unit) else "less"
    if _is_plural(objective.unit):
        what = f"{more} {unit(objective, size)}" + ("" if _is_time(objective) else f" of {objective.name}")
    else:
        what = f"{objective.unit} {more} {_name(objective)}".lstrip()
    return f"{grouped(size)} {what} {both}"


def short_change(objective: Objective, old: float, new: float) -> str:
    """Return text such as "6.3 treasure instead of 8", "a 7 % risk of death instead of 9.7 %"."""
    before, after = amount(objective, old), amount(objective, new)
    if before == 0 and never_negative(objective):
        text = "none"
    elif objective.probability:
        text = f"{beside(before, after, _tenths)} %"
    else:
        old_text = beside(before, after)
        is_excess = never_negative(objective) and after < 0 <= before  # "6 fuel over budget instead of 9 fuel"
        text = _phrase(objective, old_text) if is_excess else _signed(objective, old_text)
    return f"{exact_quantity(objective, new)} instead of {text}"


def span(objective: Objective, low: float, high: float, quoted: float | None = None, digits: int = 2) -> str | None:
    """Return a range rounded inwards, "1 to 7.7 treasure"; None if no width is left.

    If the quoted number lies in the range, it also lies in the rounded range.
    """
    least, most = sorted((amount(objective, low), amount(objective, high)))
    lowest, highest = inward(least, most, None if quoted is None else amount(objective, quoted), digits)
    if not float(lowest) < float(highest):
        return None
    excess = ""
    if never_negative(objective) and float(lowest) < 0:
        if float(highest) > 0:
            return f"from {_signed_phrase(objective, lowest)} to {_phrase(objective, highest)}"
        lowest, highest, excess = highest.removeprefix("-"), lowest.removeprefix("-"), f" {_excess(objective)}"
    both = f"at most {highest}" if lowest == "0" and never_negative(objective) else f"{lowest} to {highest}"
    return f"{grouped(both)} % {_chance(objective)}" if objective.probability else f"{_phrase(objective, both)}{excess}"


def region(
    objectives: Sequence[Objective],
    low: np.ndarray,
    high: np.ndarray,
    command: np.ndarray | None = None,
    here: str = "",
    rules: Sequence[str] = (),
) -> str:
    """Return a search region as text, "7 to 9 treasure in 1 to 3 steps"; empty if it has no width.

    The region contains the command as `quantity` rounds it. `here` and the constraints follow the ranges.
    """
    spans, (low, high) = [], (tidy(low, high), tidy(high, low))
    for i, objective in enumerate(objectives):
        ends = float(low[i]), float(high[i])
        number = None if command is None else float(_rounded(objective, float(command[i]), *ends)) / _factor(objective)
        spans.append((objective, span(objective, *ends, number, DIGITS)))
    wide = [(objective, text) for objective, text in spans if text is not None]
    rest = ", with the rest unchanged" if len(wide) < len(spans) else ""
    constraints = f", where {join(rules)}" if rules else ""
    return f"{listing(wide)}{here}{rest}{constraints}" if wide else ""


def inward(low: float, high: float, quoted: float | None = None, digits: int = 2) -> tuple[str, str]:
    """Return the two ends of a range in few digits, rounded inwards, but with the quoted number still inside.

    The number of digits depends on the width of the range. An end that is already short keeps its digits.
    """
    if high <= low:
        return short(low), short(high)
    place = Decimal(1).scaleb(min(0, math.floor(math.log10(high - low)) - digits + 1))
    ends = []
    for end, rounding in ((low, ROUND_CEILING), (high, ROUND_FLOOR)):
        number = Decimal(clean(end))  # `clean` removes far less than the rounding errors that proofs allow for
        is_short = len(number.normalize().as_tuple().digits) <= digits
        ends.append(f"{(number if is_short else number.quantize(place, rounding)).normalize() + 0:f}")
    if quoted is not None and not float(ends[0]) <= quoted <= float(ends[1]):
        ends[0 if quoted < float(ends[0]) else 1] = clean(quoted)
    return ends[0], ends[1]


def rounded_down(number: float, digits: int = DIGITS) -> str:
    """Return a number rounded down, so that a lower bound remains true as text."""
    return short(float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(number))))


def rounded_up(number: float, digits: int = DIGITS) -> str:
    """Return a number rounded up, so that an upper bound remains true as text."""
    return short(float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(number))))


def short(number: float, digits: int = DIGITS) -> str:
    """Return a number in a few significant digits, with all digits before the point and without trailing zeros."""
    if number == 0:
        return "0"
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if abs(float(text)) >= 10**digits else text


def proven(assumed: float = 0.0, margin: float = 0.0, of: str = "") -> str:
    """Return "proven", with the margin of the proof and the rounding error that it assumes, if any.

    `of` follows the margin if that is a share: " of the range".
    """
    words = ["proven", f"for a margin of {exact(margin)}{of}" if margin > 0 else ""]
    words += [f"assuming rounding errors below {rounded_down(assumed, 1)}, as measured"] if assumed > 0 else []
    return ", ".join(word for word in words if word)


def beside(old: float, new: float, write: Callable[[float], str] = short) -> str:
    """Return the old number with as many digits as are needed to tell it from the new one."""
    return next((text for text in _precise(old, write) if abs(float(text) - old) <= 0.05 * abs(new - old)), repr(old))


def _precise(number: float, write: Callable[[float], str]) -> list[str]:
    """Return texts of a number, each with more digits than the one before."""
    return [write(number), *(short(number, digits) for digits in range(DIGITS + 1, 18))]


def exact(number: float) -> str:
    """Return a number with all its digits, in the shortest form."""
    return f"{number:.10g}" if float(f"{number:.10g}") == number else repr(number)


def clean(number: float) -> str:
    """Return a number without the rounding errors in its last digits."""
    return exact(float(f"{number:.12g}"))


def grouped(text: str) -> str:
    """Return a text with the thousands of every number separated: "1,000"."""
    return re.sub(r"(?<![\d.])\d{4,}", lambda match: f"{int(match[0]):,}", text)


def percent(probability: float) -> str:
    """Return a probability with one decimal, never rounded to 0 or 100 %."""
    if probability >= 0.9995:
        return "over 99.9 %" if probability < 1 else "100 %"
    return "under 0.1 %" if 0 < probability < 0.0005 else f"{_tenths(100 * probability)} %"


def number_of(count: int, one: str, many: str | None = None) -> str:
    """Return text such as "1 query", "2,000 queries"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def join(words: Sequence[str]) -> str:
    """Return text such as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def unchanged_steps(
    proven_steps: Sequence[int],
    how: str,
    other_steps: Sequence[int],
    preferences: bool,
    objectives: Sequence[Objective] = (),
) -> list[str]:
    """Return lines that list the steps at which no command changes the action: first the proven ones, then others."""
    lines: list[str] = []
    numbers, several = free_numbers(objectives, preferences=preferences)
    if proven_steps:
        which = "preferences change" if preferences else f"{numbers} in the search region change{'s' * (not several)}"
        lines.append(f"No {which} the action ({how}) at t = {', '.join(map(str, proven_steps))}.")
    if other_steps:
        which = f"{numbers} {'were found that change' if several else 'was found that changes'}"
        lines.append(f"No {which} the action at t = {', '.join(map(str, other_steps))} (not proven).")
    return lines


def change_of_features(objectives: Sequence[Objective], before: np.ndarray, after: np.ndarray) -> str:
    """Return text such as "the pole angle been 0.012 rad (instead of 0.03)"."""
    parts: list[str] = []
    for o, old, new in zip(objectives, before.tolist(), after.tolist(), strict=True):
        if old != new:
            value = f"{with_unit(o, exact(new))} (instead of {grouped(beside(old, new))})"
            parts.append(f"{name_of(o)}{'' if parts else ' been'} {value}")
    return join(parts)


def only_features(objectives: Sequence[Objective]) -> bool:
    """Return whether all numbers that may change are features of the state."""
    return bool(objectives) and all(o.feature for o in objectives)


def free_numbers(objectives: Sequence[Objective], *, preferences: bool) -> tuple[str, bool]:
    """Return what may change, as the subject of a sentence, and whether it is plural.

    The subject is "command", "preferences", or text such as "value of the pole angle".
    """
    features = [o for o in objectives if o.feature]
    if not features:
        return "preferences" if preferences else "command", preferences
    values = f"value{'s' * (len(features) > 1)} of {join([name_of(o) for o in features])}"
    if only_features(objectives):
        return values, preferences or len(features) > 1
    return f"command with any {values}", preferences


def name_of(objective: Objective) -> str:
    """Return text such as "treasure", "the risk of death", "the pole angle"."""
    if objective.feature:
        return objective.name if re.search(r"\d", objective.name) else f"the {objective.name}"
    return f"the {_chance(objective)}" if objective.probability else objective.name


def action_name(name: str) -> str:
    """Return the name of an action, in quotes where it would be read as something else."""
    return f'"{name}"' if name.lower() in AMBIGUOUS else name


def tidy(numbers: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return numbers with rounding errors of sums set to 0; `others` are further numbers of the same objectives."""
    size = np.abs(np.stack([numbers, *others])).max(axis=0)
    return np.where(np.abs(numbers) <= NOISE * size, 0.0, numbers)


def amount(objective: Objective, number: float) -> float:
    """Return a number as users see it: a cost is positive, a probability is in percent, and there is no -0."""
    return _factor(objective) * float(number) + 0.0


def as_shown(objective: Objective, numbers: Any) -> Any:
    """Return a number or an array of one objective with the sign that users see: a cost of -2 becomes 2, and back."""
    return 0.0 - numbers if objective.cost else numbers  # not -numbers, which would become -0


def never_negative(objective: Objective) -> bool:
    """Return whether the smallest amount of an objective is 0, so that "no treasure" and "over budget" make sense.

    The returns of a cost are at most 0, unless its limits say otherwise.
    """
    most = 0.0 if objective.natural_high is None else objective.natural_high
    return most <= 0 if objective.cost else objective.limits[0] >= 0


def with_unit(objective: Objective, text: str) -> str:
    """Return text such as "2 steps", "1 step", "7 %", or the number alone."""
    if objective.probability:
        return f"{text} %"
    return f"{grouped(text)} {unit(objective, text)}" if objective.unit else grouped(text)


def unit(objective: Objective, text: str) -> str:
    """Return text such as "steps", but "1 step"; units such as m/s have no plural."""
    return objective.unit[:-1] if text == "1" and _is_plural(objective.unit) else objective.unit


def _is_plural(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z][a-z]{2,}s", word) is not None and not word.endswith("ss")


def _is_time(objective: Objective) -> bool:
    """Return whether the unit alone says what is counted: "2 steps" are time."""
    return objective.name == "time" and bool(objective.unit)


def _is_horizon(objective: Objective) -> bool:
    return objective.name == "horizon" and bool(objective.unit)


def _factor(objective: Objective) -> float:
    return (-1.0 if objective.cost else 1.0) * (100.0 if objective.probability else 1.0)


def _brief(objective: Objective, shown: float) -> str:
    return _tenths(shown) if objective.probability else short(shown)


def _rounded(objective: Objective, number: float, low: float, high: float) -> str:
    """Return the amount in the fewest digits that keep it between low and high, up to rounding errors."""
    shown, (least, most) = amount(objective, number), sorted((amount(objective, low), amount(objective, high)))
    texts, error = _precise(shown, lambda number: _brief(objective, number)), NOISE * abs(shown)
    return next((text for text in texts if least - error <= float(text) <= most + error), texts[0])


def _signed_phrase(objective: Objective, text: str) -> str:
    """Return text such as "8 treasure", "no treasure", "3 fuel over budget"."""
    if not never_negative(objective) or text[0] not in "-0" or float(text) > 0:
        return _phrase(objective, text)
    if text[0] == "-":
        return f"{_phrase(objective, text[1:])} {_excess(objective)}"
    return f"no {objective.unit if _is_time(objective) else name_of(objective).removeprefix('the ')}"


def _phrase(objective: Objective, text: str) -> str:
    """Return text such as "8 treasure", "3 kWh of energy", "a horizon of 4 steps", "an 8 % risk of death"."""
    shown = with_unit(objective, text)
    if objective.feature:
        article = "" if re.search(r"\d", objective.name) else "an " if objective.name[0] in "aeiou" else "a "
        return f"{article}{objective.name} of {shown}"
    if objective.probability:
        article = "an" if text.startswith("8") or re.split(r"[. ]", text)[0] in ("11", "18") else "a"
        return f"{article} {shown} {_chance(objective)}"
    if _is_horizon(objective):
        return f"a horizon of {shown}"
    if _is_time(objective):
        return shown
    return f"{shown} of {objective.name}" if objective.unit else f"{shown} {_name(objective)}"


def _name(objective: Objective) -> str:
    """Return text such as "treasure", or "of ore 0": "3 ore 0" would be hard to read."""
    return f"of {objective.name}" if objective.name[-1:].isdigit() else objective.name


def _signed(objective: Objective, text: str) -> str:
    """Return a number as text. A negative one says how much more than asked for was already collected."""
    if text.startswith("-") and never_negative(objective):
        return f"{grouped(text[1:])} {_excess(objective)}"
    return grouped(text)


def _excess(objective: Objective) -> str:
    return "over budget" if objective.cost else "over target"


def _tenths(number: float) -> str:
    """Return a number with one decimal, or with more where one decimal would give 0 or 100."""
    text = f"{number:.1f}".removesuffix(".0")
    return clean(number) if float(text) in (0, 100) else text


def _chance(objective: Objective) -> str:
    return f"{'risk' if objective.cost else 'chance'} of {objective.name}"
