"""Parse paragraphs: read the numbers that a text states, using only the text and the names in it.

A sentence that no pattern matches is an error, so that every sentence is tested.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from paretofoil.core.command import Objective

SHARE = r"(?:under |over )?[\d.]+ %"
ACTION = r'"?(?P<{}>[^"]+?)"?'
HERE = "(?P<here> from here on)?"
WHERE = "(?: with (?:(?P<kept>.+?) unchanged)?(?: and )?(?P<held>.+?)?)?"
ASSUMED = "(?:, assuming rounding errors below (?P<assumed>[\\d.e-]+), as measured)?"
PROVEN = rf"\(proven(?:, for a margin of (?P<margin>[\d.e-]+))?{ASSUMED}\)"
SMALLER = r"more than (?P<smaller>[\d.]+) % smaller(?: \(in the (?P<norm>\w+) norm\))?"
ALONE = "(?: of (?P<alone>.+?) alone)?"
CHOOSE = f"makes the agent choose {ACTION.format('foil')} in this state"
NOTES = r"(?P<notes> \(.*?\))?"
DELIVERY = r"then delivers (?P<exactly>exactly )?(?P<nearly>nearly )?"
RUNS = (
    r"(?P<mean> on average)?(?: in each of (?P<each>[\d,]+) runs)?(?: to within 1 % of each objective's range)?"
    r"(?:: (?P<led>.+?))?(?: \(mean of (?P<runs>[\d,]+) runs ± standard error\))?\."
)
PATTERNS = {
    "situation": rf"(?P<command>(?:Asked for|Already) .+), the agent chooses {ACTION.format('chosen')} in this state "
    rf"\(probability (?P<share>{SHARE}), {ACTION.format('foil')} (?P<foil_share>{SHARE})\)\.",
    "outside": r"This command is outside the range of (?P<names>.+) that the agent was trained on\.",
    "change": rf"Had you asked for (?P<changes>.+?){HERE}, the agent would have (?P<did>.+)\.",
    "never": rf"No command in the search region {CHOOSE}{WHERE} {PROVEN}\.",
    "none": rf"No command was found that {CHOOSE}{WHERE}\.",
    "shares": rf"The probability of {ACTION.format('foil')} is then (?P<foil_share>{SHARE}), that of "
    rf"{ACTION.format('chosen')} (?P<share>{SHARE})\.",
    "others unchanged": r"The other objectives are unchanged\.",
    "unchanged": r"(?P<name>.+) (?:is|are) unchanged\.",
    "same consequence": rf"If issued here, the (?P<whole>whole )?episode ends with (?P<led>.+?){NOTES}, "
    r"as under the original command\.",
    "consequence": rf"If issued here, the (?P<whole>whole )?episode ends with (?P<led>.+?){NOTES}; "
    r"under the original command it ends with (?P<before>.+?)(?P<asked>, as asked)?\.",
    "start": r"For the whole episode, this is (?P<changes>.+); issued at the start, it (?P<leads>also|does not) "
    r"reach(?:es)? this state at step (?P<step>\d+)\.",
    "chance start": r"For the whole episode, this is (?P<changes>.+); issued at the start, it may or may not reach "
    r"this state: the environment is random\.",
    "same start": r"Issued at the start, the same command (?P<leads>also|does not) reach(?:es)? this state at step "
    r"(?P<step>\d+)\.",
    "same chance start": r"Issued at the start, the same command may or may not reach this state: the environment is "
    r"random\.",
    "range": rf"Every command with (?P<spans>.+?){HERE}(?P<rest>, and the rest as in that command,)? also makes the "
    rf"agent choose {ACTION.format('foil')} \(proven{ASSUMED}\)\.",
    "proof": rf"(?:(?P<rounded>The numbers are rounded; n)|N)o change{ALONE} that is {SMALLER} works{WHERE} {PROVEN}\.",
    "gap": rf"A smaller change{ALONE} may exist{WHERE}: only changes that are {SMALLER} are ruled out {PROVEN}\.",
    "doubt": r"A smaller change may exist; nothing is proven\.",
    "stop": r"The search stopped .+\.|The policy .+\.|The search .* but .+\.",
    "more time": r"With a larger limit, the search would find it or prove that there is none\.",
    "its region": rf"The search region is (?P<spans>.+?){HERE}(?P<rest>, with the rest unchanged)?\.",
    "odds": rf"With this margin, {ACTION.format('foil')} must be at least (?P<times>[\d.]+) times as probable as any "
    r"other action\.",
    "bounded": r"The search used (?P<queries>[\d,]+) queries: any such command is more than (?P<bound>[\d.e-]+) away "
    r"\(scaled distance, proven\)\.",
    "spent": r"The search used (?P<queries>[\d,]+) queries(?:; nothing is proven)?\.",
    "fewer": r"You requested (?P<wanted>\d+) answers; (?:no other was|only (?P<count>\d+) were) found that clearly "
    r"differs?\.",
    "advice": r"Try another foil, another step or a larger search region\.|Try a larger .+",
    "attainable": rf"To make the agent choose {ACTION.format('foil')} and get what you ask for, ask for "
    rf"(?P<command>.+?)(?P<whole> in the whole episode)?: it {DELIVERY}that{RUNS}",
    "attained": rf"This command is attainable: the agent {DELIVERY}what it asks for{RUNS}",
    "not attainable": rf"No attainable command that makes the agent choose {ACTION.format('foil')} was found "
    r"\((?:none was|(?P<one>1) was|(?P<tried>[\d,]+) were) rolled out\)\.",
    "caveat": r"The agent may not be able to achieve what this command asks for\.",
}


def read(paragraph: str) -> dict[str, dict[str, str]]:
    """Return what each sentence says, by its kind."""
    said: dict[str, dict[str, str]] = {}
    for sentence in re.split(r"(?<=\.) (?=[A-Z\d])", paragraph):
        kinds = [(kind, match) for kind, p in PATTERNS.items() if (match := re.fullmatch(p, sentence))]
        assert kinds, f"nobody checks: {sentence}"
        kind, match = kinds[0]
        assert kind not in said, f"said twice: {sentence}"
        said[kind] = {name: text for name, text in match.groupdict().items() if text}
    return said


def items(listed: str) -> list[str]:
    """Split "1 A, 2 B and 3 C in 7 steps" into its pieces."""
    return re.split(r", | and | (?:in|after) (?=\d|at most)", listed)


def about(item: str, objectives: Sequence[Objective]) -> int:
    """Return the number of the objective that a piece names; "7 steps" are time."""
    named = [i for i, o in enumerate(objectives) if re.search(rf"(?<![\w]){re.escape(o.name)}(?![\w])", item)]
    if not named:
        named = [i for i, o in enumerate(objectives) if o.name == "time" and o.unit.removesuffix("s") in item]
    [i] = named
    return i


AMOUNT = r"(-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)"


def number(text: str, objective: Objective) -> float:
    """Return the first number of a piece in the environment's sign: "no risk", "7 %", "3 steps over budget"."""
    found = re.search(rf"^(?:an? (?:horizon of )?)?{AMOUNT}", text)
    assert found or text == "none" or text.startswith("no "), text
    amount = float(found.group(1).replace(",", "")) if found else 0.0
    if re.search(r"over budget|over target", text):
        amount = -amount
    amount = amount / 100 if objective.probability else amount
    return -amount if objective.cost else amount


@dataclass(frozen=True)
class Change:
    """One change that is written: from which number to which, and by how much if that is written."""

    old: float
    new: float
    old_text: str
    size: float | None = None


def changes(listed: str, objectives: Sequence[Objective]) -> dict[int, Change]:
    """Return what is written of each objective that changes."""
    told: dict[int, Change] = {}
    for item in items(listed):
        name, _, inside = item.partition(" (")
        i = about(name.partition(" instead of ")[0], objectives)
        new, old = (inside.removesuffix(")") or item).split(" instead of ")
        size = None
        if inside:
            size = number(name.split()[0], objectives[i])
            size = abs(size) if re.search(r" more ", name) else -abs(size)
            size = -size if objectives[i].cost else size
        told[i] = Change(number(old, objectives[i]), number(new, objectives[i]), old, size)
    return told


@dataclass
class Quantities:
    """What is written of each objective; the others have none, if that is written."""

    numbers: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Each number, and by how much it may be off for the digits in which it is written."""
    nothing_else: bool = False


def quantities(listed: str, objectives: Sequence[Objective]) -> Quantities:
    """Read "8 treasure in 12.2 ± 0.3 steps", "nothing else"."""
    told = Quantities()
    for item in items(listed):
        if item in ("nothing", "nothing else"):
            told.nothing_else = True
            continue
        i = about(item, objectives)
        told.numbers[i] = (number(item, objectives[i]), tolerance(item, objectives[i]))
    return told


def tolerance(item: str, objective: Objective) -> float:
    """Return half a unit of the third significant digit or, if that is larger, of a mean's last digit."""
    if "±" in item:
        return digit(item, objective)
    if objective.probability:
        return 0.0005
    size = abs(number(item, objective))
    return 0.5 * 10.0 ** min(0, math.floor(math.log10(size)) - 2) if size else 0.0


def digit(text: str, objective: Objective) -> float:
    """Return half a unit of the last digit of the first number."""
    found = re.search(rf"^(?:an? (?:horizon of )?)?{AMOUNT}", text)
    decimals = len(found.group(1).partition("e")[0].partition(".")[2]) if found else 9
    half = 0.5 * 10.0**-decimals
    return half / 100 if objective.probability else half


def spans(listed: str, objectives: Sequence[Objective]) -> dict[int, tuple[float, float]]:
    """Return the ends of ranges, in the environment's sign."""
    told: dict[int, tuple[float, float]] = {}
    for item in items(listed):
        i = about(item, objectives)
        if mixed := re.match(rf"from (?:an? )?{AMOUNT} .*(?:over budget|over target) to (?:an? )?{AMOUNT}", item):
            low, high = -amount(mixed.group(1)), amount(mixed.group(2))
        else:
            ends = re.match(rf"(?:at most|{AMOUNT} to) {AMOUNT}", item)
            assert ends, item
            low, high = amount(ends.group(1) or "0"), amount(ends.group(2))
            if item.endswith(("over budget", "over target")):
                low, high = -high, -low
        factor = (-1.0 if objectives[i].cost else 1.0) / (100.0 if objectives[i].probability else 1.0)
        told[i] = (min(factor * low, factor * high), max(factor * low, factor * high))
    return told


def amount(text: str) -> float:
    return float(text.replace(",", ""))


def fits(share: str, probability: float) -> bool:
    """Return whether a probability that is written is true."""
    told = float(share.removesuffix(" %").split()[-1]) / 100
    if share.startswith("under"):
        return 0 < probability < told
    if share.startswith("over"):
        return told < probability < 1
    return abs(told - probability) <= 0.0005 + 1e-9
