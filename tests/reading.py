"""Parse paragraphs: read the numbers that a text states, using only the text and the names in it.

A sentence that no pattern matches is an error, so that every sentence is tested.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache

from paretofoil.core.command import Objective
from paretofoil.core.options import Stop

SHARE = r"(?:under |over )?[\d.]+ %"
VALUE = r"-?[\d.,]+(?:e[+-]?\d+)?"
ACTION = r'"?(?P<{}>[^"]+?)"?'
HERE = "(?P<here> from here on)?"
ASSUMED = "(?:, assuming rounding errors below (?P<assumed>[\\d.e-]+), as measured)?"
PROVEN = rf"\(proven(?:, for a margin of (?P<margin>[\d.e-]+))?{ASSUMED}\)"
SMALLER = r"more than (?P<smaller>[\d.]+) % smaller(?: \(in the (?P<norm>\w+) norm\))?"
ALONE = "(?: of (?P<alone>.+?) alone)?"
WHERE = "(?: with (?:(?P<kept>.+?) unchanged)?(?: and )?(?P<held>.+?)?)?"
CHOOSE = f"makes? the agent choose {ACTION.format('foil')} in this state"
INSIDE = "(?P<inside> in the search region)?"
NOTES = (
    r"(?: \((?:mean of (?P<runs>[\d,]+) runs ± standard error|in each of (?P<each>[\d,]+) runs)?(?:; )?"
    rf"(?P<stopped>(?:in (?P<stopped_share>{SHARE}) of them )?stopped by the step limit)?\))?"
)
DELIVERY = r"then delivers (?P<exactly>exactly )?(?P<nearly>nearly )?"
RUNS = (
    r"(?P<mean> on average)?(?: in each of (?P<each>[\d,]+) runs)?(?: to within 1 % of each objective's range)?"
    r"(?:: (?P<led>.+?))?(?: \(mean of (?P<runs>[\d,]+) runs ± standard error\))?\."
)
REACHES = r"(?P<leads>also leads? to|do(?:es)? not lead to) this state(?: at this step)?\."
CHANCE = r"may or may not lead to this state: the environment is random\."
PATTERNS = {
    "situation": rf"(?P<command>(?:Asked for|Already|With weights of) .+), the agent chooses {ACTION.format('chosen')} "
    rf"in this state \((?P<measure>probability|value) (?P<share>{SHARE}|{VALUE}), {ACTION.format('foil')} "
    rf"(?P<foil_share>{SHARE}|{VALUE})\)\.",
    "outside": r"This command is outside the range of (?P<names>.+) that the agent was trained on\.",
    "change": rf"Had you (?P<verb>asked for|cared) (?P<changes>.+?){HERE}, the agent would have (?P<did>.+)\.",
    "never": rf"No (?P<which>command|preferences){INSIDE} {CHOOSE}{WHERE} {PROVEN}\.",
    "none": rf"No (?P<which>command was|preferences were) found that {CHOOSE}{WHERE}\.",
    "shares": rf"The (?P<measure>probability|value) of {ACTION.format('foil')} is then "
    rf"(?P<foil_share>{SHARE}|{VALUE}), that of {ACTION.format('chosen')} (?P<share>{SHARE}|{VALUE})\.",
    "others unchanged": r"The other (?P<what>objectives|weights) are unchanged\.",
    "unchanged": r"(?P<name>.+) (?:is|are) unchanged\.",
    "same consequence": rf"If issued here, the (?P<whole>whole )?episode ends with (?P<led>.+?){NOTES}, "
    r"as under the original command\.",
    "consequence": rf"If issued here, the (?P<whole>whole )?episode ends with (?P<led>.+?){NOTES}; "
    r"under the original command it ends with (?P<before>.+?)(?P<asked>, as asked)?\.",
    "start": rf"For the whole episode, this is (?P<changes>.+); issued at the start, it {REACHES}",
    "chance start": rf"For the whole episode, this is (?P<changes>.+); issued at the start, it {CHANCE}",
    "same start": rf"(?:Issued at the start, the same command|Held from the start, these preferences) {REACHES}",
    "same chance start": rf"(?:Issued at the start, the same command|Held from the start, these preferences) {CHANCE}",
    "range": rf"Every command with (?P<spans>.+?){HERE}(?P<rest>, and the rest as in that command,)? also makes the "
    rf"agent choose {ACTION.format('foil')} \(proven{ASSUMED}\)\.",
    "weights range": r"All weights of (?P<weights>.+) that sum to 1(?:, with (?P<others>.+),)? also make the agent "
    rf"choose {ACTION.format('foil')} \(proven{ASSUMED}\)\.",
    "proof": rf"(?:(?P<rounded>The numbers are rounded; n)|N)o change{ALONE} that is {SMALLER} works{WHERE} {PROVEN}\.",
    "gap": rf"A smaller change{ALONE} may exist{WHERE}: only changes that are {SMALLER} are ruled out {PROVEN}\.",
    "measured": r"Rounding errors are measured, not derived, because (?P<why>.+)\.",
    "doubt": r"A smaller change may exist: none is ruled out\.",
    "stop": "|".join(re.escape(stop.sentence) for stop in Stop),
    "more time": r"With a larger limit, the search would find it or prove that there is none\.",
    "its region": rf"The search region is (?P<spans>.+?){HERE}(?P<rest>, with the rest unchanged)?\.",
    "odds": rf"With this margin, {ACTION.format('foil')} must be at least (?P<times>[\d.]+) times as probable as any "
    r"other action\.",
    "bounded": r"The search used (?P<queries>[\d,]+) quer(?:y|ies): any such (?:command is|preferences are) at a "
    rf"scaled distance of more than (?P<bound>[\d.e-]+) {PROVEN}\.",
    "tolerance": r"Its scaled distance(?: \(in the (?P<norm>\w+) norm\))?, (?P<distance>[\d.e-]+), is within the "
    rf"tolerance of the proof {PROVEN}\.",
    "spent": r"The search used (?P<queries>[\d,]+) quer(?:y|ies)(?P<nothing>; nothing is proven)?\.",
    "fewer": r"You requested (?P<wanted>\d+) answers; (?:no other was|only (?P<count>\d+) were) found that clearly "
    r"differs?\.",
    "advice": r"Try another foil, another step or (?:a larger search region|other weights)\.|Try a larger limit\.|"
    r"All weights that sum to 1 were searched: try another foil or another step\.|"
    r'Try a larger budget or, if the policy is white-box, search="exact"\.',
    "attainable": rf"To make the agent choose {ACTION.format('foil')} and get what you ask for, ask for "
    rf"(?P<command>.+?)(?P<whole> in the whole episode)?: it {DELIVERY}that(?P<horizon> return)?{RUNS}",
    "closest attainable": rf"(?:The numbers are rounded; n|N)o change that is {SMALLER} does this{WHERE} "
    rf"\(proven{ASSUMED}\)\.",
    "attained": rf"This command is attainable: the agent {DELIVERY}(?:what|(?P<horizon>the return that)) it asks "
    rf"for{RUNS}",
    "not attainable": rf"No attainable command that makes the agent choose {ACTION.format('foil')} was found "
    r"\((?:none was|(?P<one>1) was|(?P<tried>[\d,]+) were) rolled out\)\.",
    "none attainable": rf"No command in the search region makes the agent choose {ACTION.format('foil')} and then "
    rf"delivers what it asks for \(proven{ASSUMED}\)\.",
    "caveat": r"The agent may not be able to achieve what this command asks for\.",
}
"""The sentences of an answer."""
SPAN = r"(?:at (?:most|least) )?\d+(?: to \d+)? %"
PART = rf"(?:about (?P<about>\d+) % \((?P<likely>{SPAN}), sampled(?:; (?P<bounds>{SPAN}), proven)?\)|(?P<sure>{SPAN}))"
OF = rf"of the (?:commands|preferences){INSIDE} make the agent choose"
INFLUENCE = {
    "shares": rf"The (?:command matters|preferences matter) in this state: (?P<shares>.+?)(?: {PROVEN})?\.",
    "inert": rf"(?:Every command|All preferences){INSIDE} makes? the agent choose {ACTION.format('action')} in this "
    rf"state {PROVEN}\.",
    "single": rf"The agent chooses {ACTION.format('action')} in this state under every command: no other action is "
    r"valid\.",
    "open": rf"The agent chooses {ACTION.format('action')} in this state\.",
    "sampled": rf"None of (?P<samples>[\d,]+) sampled (?:commands|preferences){INSIDE} changes this, but it is not "
    r"proven that none does\.",
    "its region": PATTERNS["its region"],
    "none alone": rf"No objective alone changes the action {PROVEN}\.|No objective was found that changes the action "
    r"alone\.",
    "alone": r"Changing (?P<name>.+?) alone(?P<rest> \(the other weights in proportion\))? is enough: "
    r"(?P<switches>.+)\.",
    "together": rf"(?:Together, )?(?P<changes>.+?){HERE} makes? the agent choose {ACTION.format('action')}\.",
}
"""The sentences about influence."""
STATES = (
    r"(?:the )?(?P<count>[\d,]+|only) (?:states?|box(?:es)? of states)"
    r"(?:, each (?P<width>[\d.]+) % of the range wide,)?"
)
NEVER = {
    "invalid": r"(?P<action>.+) is valid in none of the states that were examined \((?P<visited>[\d,]+)\)\.",
    "never": rf"No (?:command|preferences){INSIDE} makes? the agent choose (?P<action>.+) in (?:any of )?{STATES} "
    rf"where it is valid {PROVEN}\.",
    "some": rf"In (?:(?P<first>[\d,]+|all) (?:of )?)?{STATES} where (?P<action>.+?) is valid, (?P<verdicts>.+)\.",
    "its region": PATTERNS["its region"],
}
"""The sentences about an action in many states."""


@dataclass(frozen=True)
class Sentence:
    """A sentence: its kind, its words, and what it says."""

    kind: str
    words: str
    says: dict[str, str]


@cache
def sentence_of(words: str, table: str) -> Sentence | None:
    """Return the first kind of a table that a sentence matches."""
    for kind, pattern in globals()[table].items():
        if match := re.fullmatch(pattern, words):
            return Sentence(kind, words, {name: text for name, text in match.groupdict().items() if text})
    return None


def read(text: str, table: str = "PATTERNS") -> list[Sentence]:
    """Return what each sentence of a text says."""
    sentences = []
    for words in re.split(r"(?<=\.) (?=[A-Z\d-])", text):
        sentence = sentence_of(words, table)
        assert sentence, f"no pattern reads: {words}"
        sentences.append(sentence)
    return sentences


def items(listed: str) -> list[str]:
    """Split "1 A, 2 B and 3 C in 7 steps" into its pieces."""
    return re.split(r", | and | (?:in|after) (?=-?\d|at most)", listed)


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
    off: float
    """By how much the old number may be off for the digits in which it is written."""
    size: float | None = None


def changes(listed: str, objectives: Sequence[Objective]) -> dict[int, Change]:
    """Return what is written of each objective that changes."""
    written: dict[int, Change] = {}
    for item in items(listed):
        name, _, inside = item.partition(" (")
        i = about(name.partition(" instead of ")[0], objectives)
        new, old = (inside.removesuffix(")") or item).split(" instead of ")
        size = None
        if inside:
            size = amount(name.split()[0])
            assert size > 0, item
            more = bool(re.search(r" more ", name)) != objectives[i].cost
            size = size if more else -size
        assert i not in written, listed
        written[i] = Change(number(old, objectives[i]), number(new, objectives[i]), tolerance(old, objectives[i]), size)
    return written


def weight_changes(listed: str, objectives: Sequence[Objective]) -> tuple[dict[int, Change], dict[int, str]]:
    """Return the weights that change, and for each "more", "less", "a little more" or "a little less"."""
    written, words = {}, {}
    names = [o.name for o in objectives]
    parts = re.split(r"(?:, and | and |^)((?:a little )?(?:more|less)) about ", listed)
    assert parts[0] == "", listed
    for word, inside in zip(parts[1::2], parts[2::2], strict=True):
        for item in re.split(r"(?<=\)), |(?<=\)) and ", inside):
            name, new, old = re.fullmatch(rf"(.+) \({AMOUNT} instead of {AMOUNT}\)", item).groups()  # type: ignore[union-attr]
            i = names.index(name)
            assert i not in written, listed
            written[i], words[i] = Change(amount(old), amount(new), tolerance(old)), word
    return written, words


def weights(listed: str, objectives: Sequence[Objective]) -> dict[int, tuple[float, float]]:
    """Read "0.3 for fuel and 0.7 for ore": each weight, and by how much it may be off."""
    names, written = [o.name for o in objectives], {}
    for item in items(listed):
        text, _, name = item.partition(" for ")
        written[names.index(name)] = (amount(text), tolerance(text))
    return written


def weight_spans(listed: str, objectives: Sequence[Objective]) -> dict[int, tuple[float, float]]:
    """Read "0.4 to 1 for fuel and 0 to 0.6 for ore"."""
    names, written = [o.name for o in objectives], {}
    for item in items(listed):
        low, high, name = re.fullmatch(rf"(?:a weight of )?{AMOUNT} to {AMOUNT} for (.+)", item).groups()  # type: ignore[union-attr]
        written[names.index(name)] = (amount(low), amount(high))
    return written


@dataclass
class Quantities:
    """What is written of each objective; the others have none, if that is written."""

    numbers: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Each number, and by how much it may be off for the digits in which it is written."""
    nothing_else: bool = False


def quantities(listed: str, objectives: Sequence[Objective]) -> Quantities:
    """Read "8 treasure in 12.2 ± 0.3 steps", "nothing else"."""
    written = Quantities()
    for item in items(listed):
        if item in ("nothing", "nothing else"):
            written.nothing_else = True
            continue
        i = about(item, objectives)
        assert i not in written.numbers, listed
        written.numbers[i] = (number(item, objectives[i]), tolerance(item, objectives[i]))
    return written


def tolerance(item: str, objective: Objective | None = None) -> float:
    """Return by how much the first number of a piece may be off.

    That is half a unit of its last digit, but at most of its third significant one: trailing zeros are not written.
    The digits of a mean depend on its error, and percentages have one decimal.
    """
    match = re.search(rf"^(?:an? (?:horizon of )?)?{AMOUNT}", item)
    if match is None or not amount(match[1]):
        return 0.0
    place = int(Decimal(match[1].replace(",", "")).as_tuple().exponent)
    percent = objective is not None and objective.probability
    if "±" not in item:
        place = min(place, -1) if percent else min(place, 0, math.floor(math.log10(abs(amount(match[1])))) - 2)
    return 0.5 * 10.0**place / (100 if percent else 1)


def spans(listed: str, objectives: Sequence[Objective]) -> dict[int, tuple[float, float]]:
    """Return the ends of ranges, in the environment's sign."""
    written: dict[int, tuple[float, float]] = {}
    for item in items(listed):
        i = about(item, objectives)
        item = item.removeprefix("a horizon of ")
        if mixed := re.match(rf"from (?:an? )?{AMOUNT} .*(?:over budget|over target) to (?:an? )?{AMOUNT}", item):
            low, high = -amount(mixed.group(1)), amount(mixed.group(2))
        else:
            ends = re.match(rf"(?:at most|{AMOUNT} to) {AMOUNT}", item)
            assert ends, item
            low, high = amount(ends.group(1) or "0"), amount(ends.group(2))
            if item.endswith(("over budget", "over target")):
                low, high = -high, -low
        factor = (-1.0 if objectives[i].cost else 1.0) / (100.0 if objectives[i].probability else 1.0)
        assert low < high, item
        assert i not in written, listed
        written[i] = (min(factor * low, factor * high), max(factor * low, factor * high))
    return written


def amount(text: str) -> float:
    return float(text.replace(",", ""))


def fits(share: str, probability: float) -> bool:
    """Return whether a probability that is written is true."""
    text = share.removesuffix(" %").split()[-1]
    percent = float(text)
    if share.startswith("under"):
        return percent == 0.1 and 0 < probability < 0.001
    if share.startswith("over"):
        return percent == 99.9 and 0.999 < probability < 1
    return len(text.partition(".")[2]) <= 1 and abs(percent / 100 - probability) <= 0.0005 + 1e-9


def fits_span(text: str, low: float, high: float) -> bool:
    """Return whether "62 to 63 %", "at most 3 %", "at least 97 %" or "62 %" are two shares, rounded outwards."""
    numbers = [int(part) for part in re.findall(r"-?\d+", text)]
    least, most = (0, *numbers) if "most" in text else (*numbers, 100) if "least" in text else (numbers[0], numbers[-1])
    return least - 1e-6 <= 100 * low < least + 1 and most - 1 < 100 * high <= most + 1e-6
