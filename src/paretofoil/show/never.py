"""What was proven of an action in many states, in words."""

from paretofoil.explanation.never import Never
from paretofoil.show.numbers import short


def never_sentence(found: Never) -> str:
    """Every number in it is counted; what is said to be proven is."""
    count, proven, refuted, left = len(found.states), *(int(x.sum()) for x in (found.proven, found.refuted, found.open))
    one, many = ("box of states", "boxes of states") if found.width else ("state", "states")
    wide = f", each {short(100 * found.width)} % of the range wide," if found.width else ""
    where = f"the {count} {one if count == 1 else many}{wide} where it could"
    if not count:
        return f"{found.action} is valid in none of the {found.visited} states, so that it is never chosen there."
    if proven == count:
        return f"In none of {where} does any command make the agent choose {found.action}: this is proven."
    verdicts = (
        (refuted, f"some command makes the agent choose {found.action}"),
        (proven, "none does, which is proven"),
        (left, "it is open"),
    )
    told = [(number, verdict) for number, verdict in verdicts if number]
    first, *others = (f"{number} of {'them' if i else where} {verdict}" for i, (number, verdict) in enumerate(told))
    return "; in ".join([f"In {first}", *others]) + "."
