"""Answers in words. Every number in them is about the one command that is quoted."""

import math
from collections.abc import Sequence

import numpy as np

from paretofoil.core.answer import Answer, Outcome, Start
from paretofoil.core.command import Objective
from paretofoil.core.consequence import Consequence
from paretofoil.core.proven_range import ProvenRange
from paretofoil.show.quantity import change, join, percent, short, span, value, values

CAVEAT = "Such a command is something to ask for; it need not be achievable."


def one_line(found: Answer) -> str:
    """The answer in one sentence."""
    foil = found.phrases[found.foil]
    if found.command is not None:
        now = " now" if found.time else ""
        return f"Had you{now} asked for {_changes(found)}, the agent would have {_instead(found)}."
    if found.outcome is Outcome.PROVEN_INFEASIBLE:
        where = _restrictions(found)
        under = f"{where}, under" if where else "Under"
        return (
            f"{under} no command within its range would the agent have {foil} here{_by_margin(found)}; this is proven."
        )
    where = f" {_restrictions(found).replace('With', 'with', 1)}" if _restrictions(found) else ""
    return f"No command was found{where} under which the agent would have {_instead(found)} here."


def paragraph(found: Answer) -> str:
    """The answer at length."""
    chosen, foil = found.actions[found.chosen], found.actions[found.foil]
    before, wishes = found.probabilities, values(found.objectives, found.original)
    asked = f"With {wishes} left" if found.time else f"Asked for {wishes}"
    shares = f"{percent(before[found.chosen])}; {foil} has {percent(before[found.foil])}"
    parts = [f"{asked}, the agent chooses {chosen} here ({shares}).", *_outside(found), one_line(found)]
    if found.command is None:
        return " ".join([*parts, *_advice(found)])
    after: np.ndarray = found.counterfactual_probabilities  # type: ignore[assignment]
    parts.append(
        f"Under that command {foil} has {percent(after[found.foil])} and {chosen} {percent(after[found.chosen])}."
    )
    same = [o.name for o, old, new in zip(found.objectives, found.original, found.command, strict=True) if old == new]
    if same:
        parts.append(f"The wish for {join(same)} stays as it is.")
    if found.proven_range is not None:
        parts.append(_proven_range(found.objectives, found.proven_range))
    if found.outcome is Outcome.PROVEN_OPTIMAL:
        parts.append(_proof(found))
    if found.consequence is not None and found.original_consequence is not None:
        parts.append(_consequences(found.objectives, found.consequence, found.original_consequence))
    if found.start is not None:
        parts.append(_start(found.objectives, found.start))
    if found.wanted > 1 + len(found.alternatives):
        parts.append(_fewer(found))
    return " ".join(filter(None, [*parts, CAVEAT]))


def _instead(found: Answer) -> str:
    """ "gone down instead of right", "mined rather than turned left"."""
    foil, chosen = found.phrases[found.foil], found.phrases[found.chosen]
    verb, _, rest = chosen.partition(" ")
    if rest and foil.startswith(f"{verb} "):
        return f"{foil} instead of {rest}"
    return f"{foil} rather than {chosen}"


def _changes(found: Answer) -> str:
    """ "1.7 less treasure (6.3 instead of 8) and 0.3 fewer steps of time (1.7 instead of 2)"."""
    triples = zip(found.objectives, found.original, found.command, strict=True)  # type: ignore[arg-type]
    return join([change(o, float(old), float(new)) for o, old, new in triples if old != new])


def _by_margin(found: Answer) -> str:
    """By how much the foil was to win: a proof is about no less."""
    return f" by a margin of {short(found.kappa)}" if found.kappa > 0 else ""


def _restrictions(found: Answer) -> str:
    """ "With time kept at 2 steps and treasure held to 5 to 10": what the user ruled out, or nothing."""
    kept = [f"{value(found.objectives[i], float(found.original[i]))} kept" for i in found.kept]
    held = [span(found.objectives[i], float(found.low[i]), float(found.high[i])) for i in found.held]
    return f"With {join([*kept, *filter(None, held)])}" if kept or held else ""


def _outside(found: Answer) -> list[str]:
    if not found.outside:
        return []
    names = join([found.objectives[i].name for i in found.outside])
    return [f"Such a wish for {names} lies outside what the agent was trained on."]


def _proof(found: Answer) -> str:
    """How much smaller another change could be at most."""
    alone = f" of {join([found.objectives[i].name for i in found.alone])} alone" if found.alone else ""
    where = f", {_restrictions(found).replace('With', 'with', 1)}" if _restrictions(found) else ""
    does = f"lets {found.actions[found.foil]} win{_by_margin(found)}{where}"
    size, bound = float(found.distance or 0.0), found.lower_bound
    sizes = f"its scaled size is {short(size)}, and every one below {rounded_down(bound)} is proven to fail"
    if bound <= 0:
        return f"No change{alone} that {does} can be noticeably smaller: {sizes}."
    more = percent_up(size / bound - 1)
    return f"It is at most {more} larger than the smallest change{alone} that {does}: {sizes}."


def rounded_down(number: float) -> str:
    """Four digits, rounded down: what is proven below it is proven."""
    if number <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(number)) - 3)
    return short(math.floor(number / unit * (1 - 1e-12)) * unit)


def percent_up(share: float) -> str:
    """A share in percent, rounded up to two digits: "at most" stays true."""
    hundredths = max(np.ceil(1e4 * share - 1e-9), 1.0)
    return f"{short(float(hundredths) / 100)} %"


def _proven_range(objectives: Sequence[Objective], proven: ProvenRange) -> str:
    """The proven box, with a bound per objective."""
    wishes = [span(o, float(a), float(b)) for o, a, b in zip(objectives, proven.low, proven.high, strict=True)]
    told = [wish for wish in wishes if wish is not None]
    if not told:
        return ""
    rest = " with the rest as in that command" if len(told) < len(objectives) else ""
    return f"Any wish for {join(told)}{rest} does the same: this is proven for the whole range."


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


def _start(objectives: Sequence[Objective], start: Start) -> str:
    told = f"At the start that would have been {values(objectives, start.command)}"
    instead = f"instead of {values(objectives, start.issued)}"
    if start.leads_here is None:
        return f"{told} {instead}."
    leads = "leads through this very state" if start.leads_here else "does not lead through this state"
    return f"{told} {instead}; issued then, it {leads}."


def _fewer(found: Answer) -> str:
    count = 1 + len(found.alternatives)
    known = "no other one was" if count == 1 else f"no more than these {count} were"
    return f"You asked for {found.wanted} answers; {known} found that differ in what they change, or which way."


def _advice(found: Answer) -> list[str]:
    """What to do next when there is no counterfactual."""
    spent = f"{found.total_queries:,} queries were spent"
    if found.outcome is Outcome.PROVEN_INFEASIBLE:
        spans = [span(o, float(a), float(b)) for o, a, b in zip(found.objectives, found.low, found.high, strict=True)]
        within = f"That range is {join([s for s in spans if s])}." if any(spans) else ""
        return list(filter(None, [within, "Ask about another foil or another moment, or widen what may be asked for."]))
    reason = [found.stop.sentence] if found.stop.early else []
    if found.lower_bound > 0:
        bound = f"any answer changes the command by more than {rounded_down(found.lower_bound)} (scaled)"
        return [f"{spent}; {bound}.", *reason, "Try a larger limit."]
    hint = 'Try a larger budget, or search="exact", which finds one or proves that there is none.'
    return [f"{spent}, which proves nothing.", *reason, hint]
