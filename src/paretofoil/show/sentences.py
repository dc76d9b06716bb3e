"""Answers in words. Every number in them is about the one command that is quoted."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

from paretofoil.core.answer import DELIVERED, Answer, Attainable, Consequence, ProvenRange, Start, Status
from paretofoil.core.command import Objective
from paretofoil.core.limit import Stop
from paretofoil.show.numbers import (
    beside,
    change,
    exact,
    inward,
    join,
    listing,
    number_of,
    percent,
    result,
    short,
    short_change,
    span,
    value,
    wish,
)

MANY = 3
"""From so many changed objectives on, only their old and new numbers are told."""
DECIMALS = 9
"""In so many a sum of what was asked for and what was collected is told: more is noise."""
LARGE_KAPPA = 20.0
"""Beyond this a margin is not told as a ratio of probabilities, which nobody could read."""


def one_line(found: Answer) -> str:
    """The answer in one sentence."""
    where = _restrictions(found)
    if found.command is not None:
        now = " now" if found.step else ""
        numbers = found.objectives, found.original, found.command
        wish = _weight_changes(*numbers) if found.preferences else f"asked for {_changes(*numbers)}"
        return f"Had you{now} {wish}, the agent would have {instead(found)}."
    if found.status is Status.PROVEN_INFEASIBLE:
        under = f"With {where}, under" if where else "Under"
        margin = f" ({_margin(found)})" if found.kappa > 0 else ""
        did = found.phrases[found.foil]
        which = "preferences" if found.preferences else "command within its range"
        return f"{under} no {which} would the agent have {did} here{margin}; this is proven."
    where = f", with {where}," if where else ""
    none = "No preferences were" if found.preferences else "No command was"
    return f"{none} found{where} under which the agent would have {instead(found)} here."


def paragraph(found: Answer) -> str:
    """The answer at length: what it is, what it leads to, and how sure it is."""
    parts = [_situation(found), _outside(found), one_line(found)]
    if found.command is None:
        return _text([*parts, *_advice(found)])
    under = "these preferences" if found.preferences else "that command"
    of_foil, of_chosen = (_share(found, action, after=True) for action in (found.foil, found.chosen))
    foil, chosen = action_word(found, found.foil), action_word(found, found.chosen)
    parts += [f"Under {under} {foil} {_has(found)} {of_foil} and {chosen} {of_chosen}.", _unchanged(found)]
    if found.consequence is not None and found.original_consequence is not None:
        parts.append(_consequences(found, found.consequence, found.original_consequence))
    if found.start is not None:
        parts.append(_start(found, found.start))
    if found.proven_range is not None:
        parts.append(_proven_range(found, found.proven_range, found.command))
    parts.append(_proof(found) if found.status is Status.PROVEN_CLOSEST else _doubt(found))
    return _text([*parts, _fewer(found), ending(found)])


def _text(sentences: Sequence[str]) -> str:
    return " ".join(filter(None, sentences))


def _situation(found: Answer) -> str:
    """ "With 8 treasure and 2 steps of time left, the agent chooses right here (70 %; down has 20 %)."."""
    chosen, foil = action_word(found, found.chosen), action_word(found, found.foil)
    worth = "" if found.values is None else "worth "
    others = f"{foil} {_has(found)} {_share(found, found.foil)}"
    asked = _weights_situation(found) if found.preferences else _asked(found)
    return f"{asked}, the agent chooses {chosen} here ({worth}{_share(found, found.chosen)}; {others})."


def _asked(found: Answer) -> str:
    told = [value(o, float(n)) for o, n in zip(found.objectives, found.original, strict=True)]
    wishes = [wish for wish in told if not wish.startswith("already")]
    excess = [wish for wish in told if wish.startswith("already")]
    listed = listing(found.objectives, wishes)
    asked = f"With {listed} left" if found.step else f"Asked for {listed}"
    if excess:
        beside = " and" if found.step else ", with"
        asked = f"{asked}{beside} {join(excess)}" if wishes else f"With {join(excess)}"
    return asked


def _outside(found: Answer) -> str:
    if not found.outside:
        return ""
    names = join([found.objectives[i].name for i in found.outside])
    return f"Such a wish about {names} lies outside what the agent was trained on."


def _changes(objectives: Sequence[Objective], before: np.ndarray, after: np.ndarray) -> str:
    """ "1.7 less treasure (6.3 instead of 8) and 2 fewer steps of time (6 instead of 8)"."""
    triples = [(o, float(old), float(new)) for o, old, new in zip(objectives, before, after, strict=True) if old != new]
    told = change if len(triples) < MANY else short_change
    return join([told(*triple) for triple in triples])


def _unchanged(found: Answer) -> str:
    triples = zip(found.objectives, found.original, found.command, strict=True)  # type: ignore[arg-type]
    same = [o.name for o, old, new in triples if old == new]
    what, about = ("weights", "weight of") if found.preferences else ("wishes", "wish about")
    if len(same) > 1:
        return f"The other {what} stay as they are."
    return f"The {about} {same[0]} stays as it is." if same else ""


def _restrictions(found: Answer) -> str:
    """ "the wish about time kept and only 5 to 10 treasure allowed": what the user ruled out, or nothing."""
    if found.preferences:
        return _weight_restrictions(found)
    spans = {i: span(found.objectives[i], float(found.low[i]), float(found.high[i]), digits=3) for i in found.held}
    kept = [found.objectives[i].name for i in (*found.kept, *(i for i, told in spans.items() if told is None))]
    parts = [f"the wish{'es' if len(kept) > 1 else ''} about {join(kept)} kept"] if kept else []
    held = [told for i, told in spans.items() if told is not None and i not in found.kept]
    return join([*parts, f"only {join(held)} allowed"] if held else parts) if kept or held else ""


def _margin(found: Answer) -> str:
    """By how much the foil was to win: a proof is about no less."""
    return f"by a margin of {short(found.kappa)}"


def _smallest(found: Answer) -> str:
    """What a proof of a change is about: "of time alone that lets down win by a margin of 0.05"."""
    alone = f" of {join([found.objectives[i].name for i in found.alone])} alone" if found.alone else ""
    where = f", with {_restrictions(found)}," if _restrictions(found) else ""
    margin = f" {_margin(found)}" if found.kappa > 0 else ""
    return f"{alone}{where} that lets {action_word(found, found.foil)} win{margin}"


def _size(found: Answer) -> str:
    norm = "" if found.norm == "l2" else f" ({found.norm})"
    return f"its scaled size{norm} is {short(found.distance or 0.0)}"


def _proof(found: Answer) -> str:
    """How much smaller another change could be at most."""
    size, bound = found.distance or 0.0, found.lower_bound
    if bound <= 0:
        return f"No change{_smallest(found)} is smaller by more than that: {_size(found)}; this is proven."
    more = rounded_up(100 * (size / bound - 1), 2)
    return (
        f"This change is at most {more} % larger than the smallest one{_smallest(found)}: {_size(found)}, "
        f"and none below {rounded_down(bound)} does it; this is proven."
    )


def _doubt(found: Answer) -> str:
    """What is not known of an answer without a proof."""
    reason = f" {found.stop.sentence}" if found.stop.early else ""
    if found.stop in (Stop.OUT_OF_TIME, Stop.OUT_OF_BOXES) and found.certificate is not None:
        reason += " A larger limit would find it, or prove that there is none."
    if found.lower_bound > 0:
        known = f"{_size(found)}, and only those below {rounded_down(found.lower_bound)} are proven to fail"
        return f"There may be a smaller change{_smallest(found)}: {known}.{reason}"
    return f"There may be a smaller change; that it is the smallest is not proven.{reason}"


def rounded_down(number: float, digits: int = 4) -> str:
    """Rounded down: what is proven below it is proven."""
    return short(float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(number))))


def rounded_up(number: float, digits: int = 4) -> str:
    """Rounded up, and to no less than 0.01: "at most" stays true."""
    number = max(number, 0.01)
    return short(float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(number))))


def _proven_range(found: Answer, proven: ProvenRange, command: np.ndarray) -> str:
    """The proven box, with a bound per objective."""
    if found.preferences:
        return weights_range(found, proven, command)
    sides = zip(found.objectives, proven.low, proven.high, command, found.original, strict=True)
    # An objective that keeps its number may have a long one, which is not told again.
    spans = [span(o, float(a), float(b), float(c) if c != old else None) for o, a, b, c, old in sides]
    told = list(filter(None, spans))
    if not told:
        return ""
    rest = ", with the rest as in that command," if len(told) < len(spans) else ""
    return f"Any wish for {join(told)}{rest} does it as well; this is proven."


def _consequences(found: Answer, new: Consequence, old: Consequence) -> str:
    """What the command leads to, beside what the original one does."""
    led, notes = results(found, new), _runs(new, old) + _stopped(new, old)
    if np.allclose(new.achieved, old.achieved) and np.allclose(new.error, old.error):
        return f"Issued here, it leads to the same in the end{notes}: {led}."
    reached = "what it asks for" if _fulfilled(found, old) else results(found, old)
    return f"Issued here, it leads to {led} in the end{notes}; the original command leads to {reached}."


def _runs(new: Consequence, old: Consequence) -> str:
    if new.repeats == 1:
        return ""
    if new.error.any() or old.error.any():
        return f", on average over {new.repeats} runs (± standard error)"
    return f", in each of {new.repeats} runs"


def _stopped(new: Consequence, old: Consequence) -> str:
    if new.finished >= old.finished:  # some environments always end by their step limit: that is no news
        return ""
    share = f"{percent(1 - new.finished)} of them are " if new.finished else ""
    return f" ({share}stopped by the step limit)"


def _fulfilled(found: Answer, old: Consequence) -> bool:
    """Whether the original command leads to what it asked for, as far as that is known."""
    if found.start is None and found.step:
        return False  # what had been collected before is not known
    asked = found.original if found.start is None else found.start.issued
    return bool(np.allclose(asked[: len(old.achieved)], old.achieved))


def _start(found: Answer, start: Start) -> str:
    """The command that this would have been at the start, and whether it leads here."""
    if found.preferences:
        return _weights_start(start)
    if np.array_equal(start.issued, found.original):  # nothing was collected yet
        told, which = "Issued at the start, the same command", ""
    else:
        issued, command = np.round(start.issued, DECIMALS), np.round(start.command, DECIMALS)
        told, which = f"At the start that would have been {_changes(found.objectives, issued, command)}", ", which"
    if start.leads_here is None:
        chance = "may lead here or not, by chance"
        return f"{told} {chance}." if not which else f"{told}; it is up to chance whether that leads here."
    leads = "leads to this very state" if start.leads_here else "does not lead to this state at this moment"
    return f"{told}{which} {leads}."


def _fewer(found: Answer) -> str:
    count = 1 + len(found.alternatives)
    if found.wanted <= count:
        return ""
    if count == 1:
        return f"You asked for {found.wanted} answers; no other was found that clearly differs."
    return f"You asked for {found.wanted} answers; only {count} were found that clearly differ."


def _advice(found: Answer) -> list[str]:
    """What to do next when there is no counterfactual."""
    spent = f"{number_of(found.total_queries, 'query was', 'queries were')} spent"
    if found.status is Status.PROVEN_INFEASIBLE:
        wider = "Ask about another foil or another moment, or widen what may be asked for."
        return [_range(found), _odds(found), _next_weights(found) if found.preferences else wider]
    reason = found.stop.sentence if found.stop.early else ""
    if found.certificate is not None:
        what = "weights" if found.preferences else "command"
        bound = f"any answer changes the {what} by more than {rounded_down(found.lower_bound)} (scaled)"
        return [f"{spent}; {bound}." if found.lower_bound > 0 else f"{spent}.", reason, "Try a larger limit."]
    hint = 'Try a larger budget, or, if the policy is white-box, search="exact".'
    return [f"{spent}, which proves nothing.", reason, hint]


def _range(found: Answer) -> str:
    """What could have been asked for; all preferences can."""
    if found.preferences:
        return ""
    sides = zip(found.objectives, found.low, found.high, strict=True)
    spans = [span(o, float(low), float(high), digits=3) for o, low, high in sides]
    told = list(filter(None, spans))
    rest = ", with the rest as it was" if len(told) < len(spans) else ""
    return f"That range is {join(told)}{rest}." if told else ""


def _odds(found: Answer) -> str:
    """The margin as a ratio of probabilities."""
    if found.values is not None or not 0 < found.kappa <= LARGE_KAPPA:
        return ""
    times = rounded_up(math.exp(found.kappa))
    foil = action_word(found, found.foil)
    which = "preferences" if found.preferences else "commands"
    return f"Only {which} count under which {foil} is at least {times} times as likely as any other action."


AMBIGUOUS = ("all", "any", "none", "nothing")
"""Names of actions that stand in quotes, since they would be read as something else."""


def action_word(found: Answer, action: int) -> str:
    name = found.actions[action]
    return f'"{name}"' if name.lower() in AMBIGUOUS else name


def instead(found: Answer) -> str:
    """ "gone down instead of right", "mined rather than turned left"."""
    foil, chosen = found.phrases[found.foil], found.phrases[found.chosen]
    verb, _, rest = chosen.partition(" ")
    if rest and foil.startswith(f"{verb} "):
        return f"{foil} instead of {rest}"
    return f"{foil} rather than {chosen}"


CAVEAT = "Such a command is something to ask for; it need not be achievable."
EXACT = 1e-9
"""A miss up to this share of a range is none."""


def ending(found: Answer) -> str:
    """The caveat, and what can be had; an answer that delivers needs no caveat, and preferences ask for nothing."""
    caveat = "" if found.preferences or delivers(found) else CAVEAT
    return f"{caveat} {advice(found)}".strip()


def advice(found: Answer) -> str:
    """ "To really get down: ask for 5 treasure and 7 steps of time in all; rolled out, it delivers exactly that."."""
    had = found.attainable
    if had is None:
        return ""
    what = f"ask for just that; {_delivery(found, had, 'what it asks for')}" if delivers(found) else _other(found, had)
    return f"To really get {action_word(found, found.foil)}: {what}."


def delivers(found: Answer) -> bool:
    """Whether the smallest change can itself be had."""
    had = found.attainable
    return had is not None and had.known and np.array_equal(had.command, found.command)  # type: ignore[arg-type]


def _other(found: Answer, had: Attainable) -> str:
    """Another command than the answer's, or that none is known."""
    if had.asked is None:
        count = {0: "none was", 1: "one was"}.get(had.tried, f"{had.tried} were")
        return f"no command is known that then delivers what it asks for; {count} rolled out"
    wishes = [wish(o, float(number)) for o, number in zip(found.objectives, had.asked, strict=True)]
    whole = " in all" if found.step else ""
    return f"ask for {listing(found.objectives, wishes)}{whole}; {_delivery(found, had, 'that')}"


def _delivery(found: Answer, had: Attainable, what: str) -> str:
    """ "rolled out, it delivers exactly that": what was asked beside what came."""
    follows: Consequence = had.consequence  # type: ignore[assignment]
    exactly = had.missed <= EXACT  # type: ignore[operator]
    if follows.repeats == 1:
        nearly = f"{what} to within {100 * DELIVERED:g} % of each objective's range: {results(found, follows)}"
        return f"rolled out, it delivers {f'exactly {what}' if exactly else nearly}"
    if exactly and not follows.error.any():
        return f"in each of {follows.repeats:,} runs it delivers exactly {what}"
    off = np.abs(follows.achieved - had.asked[: len(follows.achieved)])  # type: ignore[index]
    told = f"nearly {what}" if (off > follows.error + EXACT).any() else what
    return f"in the mean of {follows.repeats:,} runs it delivers {told}: {results(found, follows)} (± standard error)"


def results(found: Answer, follows: Consequence) -> str:
    """What came in the end, with the standard errors of means."""
    rewards = found.objectives[: len(follows.achieved)]  # a horizon is no return
    triples = zip(rewards, follows.achieved, follows.error, strict=True)
    return listing(rewards, [result(o, float(mean), float(error)) for o, mean, error in triples])


LITTLE = 0.1
"""Weights that change by no more than this change a little."""


def _weights_situation(found: Answer) -> str:
    """ "Caring 0.25 about fuel and 0.75 about ore"."""
    pairs = zip(found.objectives, found.original, strict=True)
    return f"Caring {join([f'{short(float(weight))} about {o.name}' for o, weight in pairs])}"


def _weights_start(start: Start) -> str:
    """Preferences are held, not used up: the same ones are meant at the start."""
    if start.leads_here is None:
        return "Held from the start, these preferences may lead here or not, by chance."
    leads = "lead to this very state" if start.leads_here else "do not lead to this state at this moment"
    return f"Held from the start, these preferences {leads}."


def _weight_changes(objectives: Sequence[Objective], before: np.ndarray, after: np.ndarray) -> str:
    """ "cared a little more about fuel (0.31 instead of 0.25) and less about ore (0.5 instead of 0.75)"."""
    told = []
    for word, sign in (("more", 1.0), ("less", -1.0)):
        moved = np.flatnonzero(sign * (after - before) > 0).tolist()
        if moved:
            weights = [_weight_change(objectives[i], float(before[i]), float(after[i])) for i in moved]
            little = "a little " if np.abs(after - before)[moved].max() <= LITTLE + 1e-9 else ""
            told.append(f"{little}{word} about {join(weights)}")
    return f"cared {', and '.join(told) if any(' and ' in part for part in told) else join(told)}"


def _weight_change(objective: Objective, old: float, new: float) -> str:
    return f"{objective.name} ({exact(new)} instead of {beside(old, new)})"


def _weight_restrictions(found: Answer) -> str:
    """ "the weight of time kept and a weight of 0.1 to 0.3 for fuel": what the user ruled out, or nothing."""
    kept = [found.objectives[i].name for i in found.kept]
    parts = [f"the weight{'s' if len(kept) > 1 else ''} of {join(kept)} kept"] if kept else []
    for i in found.held:
        low, high = inward(float(found.low[i]), float(found.high[i]), digits=3)
        if i not in found.kept:
            parts.append(f"a weight of {low} to {high} for {found.objectives[i].name}")
    return join(parts) if parts else ""


def weights_range(found: Answer, proven: ProvenRange, command: np.ndarray) -> str:
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


def _next_weights(found: Answer) -> str:
    """What to do when no preferences of the region lead to the foil."""
    if (found.low > 0).any() or (found.high < 1).any():
        return "Ask about another foil or another moment, or allow other weights."
    return "All weights that sum to 1 were looked at: ask about another foil or another moment."


def _has(found: Answer) -> str:
    return "has" if found.values is None else "is worth"


def _share(found: Answer, action: int, *, after: bool = False) -> str:
    """What an action has under the original command, or the new one: "70 %", or "7.1" if the agent tells values."""
    values = found.counterfactual_values if after else found.values
    told = found.counterfactual_probabilities if after else found.probabilities
    return percent(told[action]) if values is None else _worth(found, values, action)


def _worth(found: Answer, values: np.ndarray, action: int) -> str:
    """A value in as many digits as tell it from those of the foil and the chosen action."""
    other = found.chosen if action == found.foil else found.foil
    return beside(float(values[action]), float(values[other]))
