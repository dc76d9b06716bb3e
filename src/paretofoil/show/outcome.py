"""Answers to outcome questions, in words."""

from paretofoil.core.answer import Status
from paretofoil.explanation.outcome import OutcomeAnswer
from paretofoil.explanation.outcome_search import GAP
from paretofoil.show.numbers import exact_quantity, listing, proven, quantities, region, rounded_down


def outcome_sentence(answer: OutcomeAnswer) -> str:
    """ "Asked for 8 treasure in 8 steps, the agent brings 8 treasure in 8 steps. For treasure >= 50, ask for ..." """
    objectives = answer.objectives[: len(answer.achieved_before)]
    before = f"Asked for {quantities(answer.objectives, answer.original)}"
    before = f"{before}, the agent brings {quantities(objectives, answer.achieved_before)}."
    searched = f"The search region is {region(answer.objectives, answer.low, answer.high)}."
    if answer.command is None or answer.achieved is None:
        if answer.status is Status.PROVEN_INFEASIBLE:
            none = f"No command in the search region leads to {answer.goal} ({proven(answer.assumed)})."
            return f"{before} {none} {searched}"
        limit = ""
        if answer.lower_bound:
            bound = rounded_down(answer.lower_bound)
            limit = f"; a scaled change below {bound} does not ({proven(answer.assumed)})"
        return f"{before} No command was found that leads to {answer.goal}{limit}. {searched}"
    pairs = zip(answer.objectives, answer.command, strict=True)
    asked = listing([(objective, exact_quantity(objective, float(number))) for objective, number in pairs])
    brings = quantities(objectives, answer.achieved)
    text = f"{before} For {answer.goal}, ask for {asked}: it then brings {brings}."
    if answer.status is Status.PROVEN_CLOSEST:
        smaller = f"No change that is more than {100 * GAP:.0f} % smaller than the closest one found does it"
        return f"{text} {smaller} ({proven(answer.assumed)})."
    return f"{text} A smaller change may do it as well: none was found, but that is not proven."
