"""Sentences about an action that is never chosen."""

from paretofoil.explanation.never import Never
from paretofoil.show.numbers import free_numbers, proven, region, short


def never_sentence(claim: Never) -> str:
    """Return text such as "In 3 of the 12 states where left is valid, some command makes it choose left; ..."."""
    action, count, valid = claim.action, len(claim.states), "possible" if claim.limits else "valid"
    if not count:
        action = action[0].upper() + action[1:] if claim.limits else action
        return f"{action} is {valid} in none of the states that were examined ({claim.visited:,})."
    name, names = ("box of states", "boxes of states") if claim.width else ("state", "states")
    width = f", each {short(100 * claim.width)} % of the range wide," if claim.width else ""
    states = f"the only {name}{width}" if count == 1 else f"the {count:,} {names}{width}"
    commands, several = free_numbers(claim.objectives, preferences=claim.preferences)
    does, makes = ("do", "make") if several else ("does", "makes")
    if not claim.preferences or claim.low.any() or (claim.high < 1).any():
        inside = f"{commands} in the search region"
        sides = claim.objectives, claim.low, claim.high
        searched = "" if claim.preferences else f" The search region is {region(*sides, rules=claim.constraints)}."
    else:
        inside, searched = commands, ""
    choose = f"{makes} the agent choose {action}"
    if claim.proven.all():
        where = f"{states} where it" if count == 1 else f"any of {states} where it"
        return f"No {inside} {choose} in {where} is {valid} ({proven(claim.assumed)}).{searched}"
    verdicts = (
        (claim.refuted, f"some {commands} {choose}"),
        (claim.proven, f"no {inside} {does if claim.refuted.any() else choose} ({proven(claim.assumed)})"),
        (claim.open, f"it is undecided whether any {commands} {choose}"),
    )
    (first, verdict), *others = ((int(flags.sum()), text) for flags, text in verdicts if flags.any())
    if count > 1:
        states = f"all {states.removeprefix('the ')}" if first == count else f"{first:,} of {states}"
    parts = [f"In {states} where {action} is {valid}, {verdict}", *(f"in {n:,} {text}" for n, text in others)]
    return f"{'; '.join(parts)}.{searched}"
