"""What was proven of an action in many states, in words."""

from paretofoil.explanation.never import Never
from paretofoil.show.quantity import short


def never_sentence(found: Never) -> str:
    """Every number in it is counted; what is said to be proven is."""
    count, proven, refuted, left = len(found.states), *(int(x.sum()) for x in (found.proven, found.refuted, found.open))
    of = "box of states" if found.width else "state"
    where = f"{count} {of if count == 1 else of.replace('box', 'boxes') if found.width else of + 's'}"
    if found.width:
        where += f", each {short(100 * found.width)} % of the range wide,"
    where = f"{where} where it could"
    if not count:
        return f"{found.action} is valid in none of the {found.visited} states, so that it is never chosen there."
    if proven == count:
        return f"In none of the {where} does any command make the agent choose {found.action}: this is proven."
    parts = [f"In {refuted} of the {where} some command makes the agent choose {found.action}"] if refuted else []
    if proven:
        parts.append(
            f"{'in' if parts else 'In'} {proven} of {'them' if parts else 'the ' + where} none does, which is proven"
        )
    if left:
        parts.append(f"{'in' if parts else 'In'} {left} of {'them' if parts else 'the ' + where} it is open")
    return "; ".join(parts) + "."
