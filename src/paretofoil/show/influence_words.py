"""Influence in words: what is said to be proven is, and shares are rounded outwards."""

import math

from paretofoil.core.influence import Alone, Influence, Share, Turn
from paretofoil.core.influence_profile import InfluenceProfile
from paretofoil.show.quantity import join, number_of, short_change

WIDE = 0.1
"""Proven intervals that are wider are told beside what samples say ..."""
IDLE = 0.9
"""... and those that are still wider say nothing."""


def influence_sentence(found: Influence) -> str:
    """Whether the wish decides here, how often each action is chosen, and which objectives can change it alone."""
    action = found.actions[found.chosen]
    if len(found.shares) == 1:
        return f"Whatever you ask for, the agent chooses {action} here: it has no other valid action."
    if found.verdict == "inert":
        return f"Whatever you ask for, the agent chooses {action} here; this is proven."
    if found.verdict == "open":
        tried = f"none of {found.samples:,} sampled commands changes it, but that none does is not proven"
        return f"The agent chooses {action} here: {tried}."
    return f"Here your wish decides: {_shares(found)}. {_alone(found)}"


def profile_summary(profile: InfluenceProfile) -> str:
    """At how many moments the wish decides, and where it does not."""
    by_verdict = {
        verdict: [str(m.time) for m in profile.moments if m.verdict == verdict]
        for verdict in ("decides", "inert", "open")
    }
    count, decided = len(profile.moments), by_verdict["decides"]
    lines = [f"The wish decides at {len(decided)} of {number_of(count, 'moment')}."]
    if decided:
        most = max(profile.moments, key=lambda moment: (changed_share(moment), -moment.time))
        lines.append(f"Most at t = {most.time}: {most}")
    if by_verdict["inert"]:
        lines.append(f"No command changes the action (proven) at t = {', '.join(by_verdict['inert'])}.")
    if by_verdict["open"]:
        lines.append(f"No command was found that changes the action at t = {', '.join(by_verdict['open'])}.")
    return "\n".join(lines)


def changed_share(found: Influence) -> float:
    """The best single number for how much of the region changes the action, to compare moments by."""
    low, high = found.changed
    sampled = 1.0 - found.share_of(found.chosen).sampled / found.samples
    return min(max(sampled, low), high)


def told_share(share: Share, samples: int) -> str:
    """ "62 to 63 %" if that is proven, "about 62 % (61 to 63 %, sampled)" if not."""
    if share.upper - share.lower <= WIDE:
        return span(share.lower, share.upper)
    told = f"about {100 * share.sampled / samples:.0f} % ({span(share.likely_low, share.likely_high)}, sampled"
    return f"{told})" if share.upper - share.lower > IDLE else f"{told}; {span(share.lower, share.upper)}, proven)"


def span(low: float, high: float) -> str:
    """Two shares in percent, rounded outwards."""
    least, most = math.floor(100 * low + 1e-9), math.ceil(100 * high - 1e-9)
    if least == most:
        return f"{least} %"
    if least == 0:
        return f"at most {most} %"
    return f"at least {least} %" if most == 100 else f"{least} to {most} %"


def tenths(low: float, high: float) -> tuple[str, str]:
    """Two shares in percent with one digit behind the point, rounded outwards."""
    least, most = math.floor(1000 * low + 1e-6) / 10, math.ceil(1000 * high - 1e-6) / 10
    return f"{least:g}", f"{most:g}"


def _shares(found: Influence) -> str:
    """All actions that are chosen anywhere, the most frequent first, and those that are proven never to be."""
    ordered = sorted(found.shares, key=lambda share: (-share.sampled, -share.upper, share.action))
    first, *others = [_told(found, share) for share in ordered if share.upper > 0]
    never = [found.actions[share.action] for share in ordered if share.upper == 0]
    told = [f"{first[0]} is chosen for {first[1]} of all commands", *(f"{who} for {often}" for who, often in others)]
    return ", ".join([*told, f"{join(never)} never"] if never else told)


def _told(found: Influence, share: Share) -> tuple[str, str]:
    """An action, and how often it is chosen."""
    name, often = found.actions[share.action], told_share(share, found.samples)
    return (f"{name}, as now," if share.action == found.chosen else name), often


def _alone(found: Influence) -> str:
    """What each objective does alone, or, if none does anything, what several do together."""
    turning = [line for line in found.alone if line.down is not None or line.up is not None]
    if turning:
        return " ".join(_turns(found, line) for line in turning)
    if not found.alone:
        return _together(found)
    proven = all(line.upper == 0 for line in found.alone)
    told = "No objective alone changes it, which is proven" if proven else "No objective was found to change it alone"
    together = _together(found)
    return f"{told}; {together[0].lower()}{together[1:]}" if together else f"{told}."


def _together(found: Influence) -> str:
    """ "Together, 5.2 treasure instead of 8 and 1 step of time instead of 2 would give down." """
    if found.nearest is None:
        return ""
    wishes = zip(found.objectives, found.command.tolist(), found.nearest.command.tolist(), strict=True)
    changes = [short_change(objective, old, new) for objective, old, new in wishes if old != new]
    return f"Together, {join(changes)} would give {found.actions[found.nearest.action]}."


def _turns(found: Influence, line: Alone) -> str:
    objective = found.objectives[line.objective]
    ends = [_turn(found, line, turn) for turn in (line.down, line.up) if turn is not None]
    return f"{objective.name.capitalize()} alone changes it: {join(ends)}."


def _turn(found: Influence, line: Alone, turn: Turn) -> str:
    wish = short_change(found.objectives[line.objective], float(found.command[line.objective]), turn.value)
    return f"{wish} would give {found.actions[turn.action]}"
