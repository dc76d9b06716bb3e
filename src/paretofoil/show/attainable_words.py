"""How a paragraph ends: that the smallest change need not be achievable, and what to ask for instead."""

import numpy as np

from paretofoil.core.answer import Answer
from paretofoil.core.attainable import DELIVERED, Attainable
from paretofoil.core.consequence import Consequence
from paretofoil.show.action_words import action_word
from paretofoil.show.quantity import listing, result, wish

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
    whole = " in all" if found.time else ""
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
