"""Parse paragraphs: read the numbers that a text states, using only the text and the names in it.

A sentence that no pattern matches is an error, so that every sentence is tested.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from paretofoil.core.command import Objective

SHARE = r"(?:under |over )?[\d.]+ %"
ACTION = r'"?(?P<{}>[^"]+?)"?'
RESTRICTED = r"(?:the wish(?:es)? about (?P<kept>.+?) kept)?(?: and )?(?:only (?P<held>.+?) allowed)?"
SMALLEST = rf"(?: of (?P<alone>.+?) alone)?(?:, with {RESTRICTED},)? that lets {ACTION.format('wins')} win"
BY = r"(?: by a margin of (?P<margin>[\d.]+))?"
SIZE = r"its scaled size(?: \((?P<norm>\w+)\))? is (?P<size>[\d.e-]+)"
DELIVERY = r"(?:rolled out, it|in (?P<each>each|the mean) of (?P<runs>[\d,]+) runs it) delivers"
WITHIN = "(?: to within 1 % of each objective's range)?"
PATTERNS = {
    "situation": rf"(?P<asked>(?:With|Asked for) .+), the agent chooses {ACTION.format('chosen')} here "
    rf"\((?P<share>{SHARE}); {ACTION.format('foil')} has (?P<foil_share>{SHARE})\)\.",
    "outside": r"Such a wish about (?P<names>.+) lies outside what the agent was trained on\.",
    "change": r"Had you(?P<now> now)? asked for (?P<changes>.+), the agent would have (?P<did>.+)\.",
    "never": rf"(?:With {RESTRICTED}, u|U)nder no command within its range would the agent have (?P<did>.+) here"
    r"(?: \(by a margin of (?P<margin>[\d.]+)\))?; this is proven\.",
    "none": rf"No command was found(?:, with {RESTRICTED},)? under which the agent would have (?P<did>.+) here\.",
    "shares": rf"Under that command {ACTION.format('foil')} has (?P<foil_share>{SHARE}) and "
    rf"{ACTION.format('chosen')} (?P<share>{SHARE})\.",
    "stays": r"The wish about (?P<name>.+) stays as it is\.",
    "others stay": r"The other wishes stay as they are\.",
    "same consequence": r"Issued here, it leads to the same in the end(?P<notes>.*): (?P<led>.+)\.",
    "consequence": r"Issued here, it leads to (?P<led>.+) in the end(?P<notes>.*?); "
    r"the original command leads to (?P<before>.+)\.",
    "start": r"At the start that would have been (?P<changes>.+), which (?P<leads>leads|does not lead) to this "
    r"(?:very state|state at this moment)\.",
    "chance start": r"At the start that would have been (?P<changes>.+); it is up to chance whether that leads here\.",
    "same start": r"Issued at the start, the same command (?P<leads>leads|does not lead) to this "
    r"(?:very state|state at this moment)\.",
    "same chance start": r"Issued at the start, the same command may lead here or not, by chance\.",
    "range": r"Any wish for (?P<spans>.+?)(?P<rest>, with the rest as in that command,)? does it as well; "
    r"this is proven\.",
    "proof": rf"This change is at most (?P<more>[\d.]+) % larger than the smallest one{SMALLEST}{BY}: {SIZE}, "
    r"and none below (?P<bound>[\d.e-]+) does it; this is proven\.",
    "gap": rf"There may be a smaller change{SMALLEST}{BY}: {SIZE}, and only those below (?P<bound>[\d.e-]+) are "
    r"proven to fail\.",
    "doubt": r"There may be a smaller change; that it is the smallest is not proven\.",
    "stop": r"The search stopped because .+\.",
    "more time": r"A larger limit would find it, or prove that there is none\.",
    "its range": r"That range is (?P<spans>.+?)(?P<rest>, with the rest as it was)?\.",
    "odds": rf"Only commands count under which {ACTION.format('foil')} is at least (?P<times>[\d.]+) times "
    r"as likely as any other action\.",
    "spent": r"(?P<queries>[\d,]+) queries were spent(?:, which proves nothing)?\.",
    "bounded": r"(?P<queries>[\d,]+) queries were spent; any answer changes the command by more than "
    r"(?P<bound>[\d.e-]+) \(scaled\)\.",
    "fewer": r"You asked for (?P<wanted>\d+) answers; (?:no other was|only (?P<count>\d+) were) found that clearly "
    r"differs?\.",
    "advice": r"Ask about another foil or another moment, or widen what may be asked for\.|Try a larger .+",
    "attainable": rf"To really get {ACTION.format('foil')}: ask for (?P<asked>.+?)(?P<whole> in all)?; {DELIVERY} "
    rf"(?P<exactly>exactly )?(?P<nearly>nearly )?that{WITHIN}(?:: (?P<led>.+?))?(?: \(± standard error\))?\.",
    "attained": rf"To really get {ACTION.format('foil')}: ask for just that; {DELIVERY} (?P<exactly>exactly )?"
    rf"(?P<nearly>nearly )?what it asks for{WITHIN}(?:: (?P<led>.+?))?(?: \(± standard error\))?\.",
    "not attainable": rf"To really get {ACTION.format('foil')}: no command is known that then delivers what it asks "
    r"for; (?:(?:none|one) was|(?P<tried>\d+) were) rolled out\.",
    "caveat": r"Such a command is something to ask for; it need not be achievable\.",
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
    """Split "1 A, 2 B and 3 C" into its parts."""
    return re.split(r", | and ", listed)


def about(item: str, objectives: Sequence[Objective]) -> int:
    """Return the index of the objective that a part names."""
    [i] = [i for i, o in enumerate(objectives) if re.search(rf"(?<![\w]){re.escape(o.name)}(?![\w])", item)]
    return i


def number(text: str, objective: Objective) -> float:
    """Return the first number of a part, such as "no risk" or "7 %", with the sign of the environment."""
    found = re.search(r"^(?:already )?(?:an? )?(-?\d[\d.]*(?:e-?\d+)?)", text)
    assert found or text == "none" or text.startswith("no "), text
    amount = float(found.group(1)) if found else 0.0
    if re.search(r"over budget|in excess", text):
        amount = -amount
    amount = amount / 100 if objective.probability else amount
    return -amount if objective.cost else amount


@dataclass(frozen=True)
class Change:
    """One change: from which number to which, and by how much if that is stated."""

    old: float
    new: float
    old_text: str
    size: float | None = None


def changes(listed: str, objectives: Sequence[Objective]) -> dict[int, Change]:
    """Return what is stated about each objective that changes."""
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
class Wishes:
    """What is stated about each objective."""

    numbers: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Each number, with the tolerance of its last digit."""
    nothing_else: bool = False


def wishes(listed: str, objectives: Sequence[Objective]) -> Wishes:
    """Read amounts such as "8 treasure" or "12.21 ± 0.27 steps of time"."""
    told = Wishes()
    for item in items(listed):
        if item in ("nothing", "nothing else"):
            told.nothing_else = True
            continue
        i = about(item, objectives)
        told.numbers[i] = (number(item, objectives[i]), digit(item, objectives[i]))
    return told


def digit(text: str, objective: Objective) -> float:
    """Return half a unit of the last digit of the first number."""
    found = re.search(r"^(?:already )?(?:an? )?(-?\d[\d.]*)", text)
    decimals = len(found.group(1).partition(".")[2]) if found else 9
    half = 0.5 * 10.0**-decimals
    return half / 100 if objective.probability else half


def spans(listed: str, objectives: Sequence[Objective]) -> dict[int, tuple[float, float]]:
    """Return the stated ends of ranges, with the sign of the environment."""
    told: dict[int, tuple[float, float]] = {}
    for item in items(listed):
        i = about(item, objectives)
        ends = re.match(r"(?:at most|(-?[\d.e-]+)(?P<over> over budget| in excess)? to) (-?[\d.e-]+)", item)
        assert ends, item
        low, high = float(ends.group(1) or 0.0), float(ends.group(3))
        if ends.group("over"):
            low = -low
        elif item.endswith(("over budget", "in excess")):
            low, high = -high, -low
        factor = (-1.0 if objectives[i].cost else 1.0) / (100.0 if objectives[i].probability else 1.0)
        told[i] = (min(factor * low, factor * high), max(factor * low, factor * high))
    return told


def fits(share: str, probability: float) -> bool:
    """Return whether a stated probability is true."""
    told = float(share.removesuffix(" %").split()[-1]) / 100
    if share.startswith("under"):
        return 0 < probability < told
    if share.startswith("over"):
        return told < probability < 1
    return abs(told - probability) <= 0.0005 + 1e-9
