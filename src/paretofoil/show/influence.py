"""Influence in words: what is said to be proven is, and shares are rounded outwards."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from paretofoil.core.influence import Alone, Influence, InfluenceProfile, Share, Turn
from paretofoil.show.notebook import card, embedded, heading, line
from paretofoil.show.numbers import join, number_of, short_change, values
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, check_figure_path, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


BAND = 30
"""Moments side by side; a longer episode goes on in a further band below."""
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
HATCHES = ("", "///", "...", "xxx")
"""Of actions beyond the colours: a colour comes again with the next hatch."""
LETTERS = 11
"""Of a title on an inch."""
OPEN = 0.35
"""How strong the colour of what is sampled and not proven is."""


def figure_influence(profile: InfluenceProfile, path: str | Path | None = None) -> "Figure":
    """Draw a bar for each moment: at its foot the action that is chosen, above it what other commands would choose."""
    from matplotlib.figure import Figure

    if path is not None:
        check_figure_path(path)
    moments = profile.moments
    bands = [moments[start : start + BAND] for start in range(0, max(len(moments), 1), BAND)]
    across = max(len(band) for band in bands)
    figure = Figure(figsize=(max(6.4, 0.36 * across + 1.6), 2.6 * len(bands) + 1.3), dpi=150, layout="constrained")
    panels = figure.subplots(len(bands), 1, squeeze=False)[:, 0]
    for panel, band in zip(panels, bands, strict=True):
        _draw_band(panel, band, across)
    panels[-1].set_xlabel("time step")
    figure.supylabel("share of all commands", fontsize=10)
    title = f"{profile.agent}, asked for {values(profile.objectives, profile.command)}"
    figure.suptitle(fill(title, int(LETTERS * figure.get_figwidth())), fontsize=11)
    handles = _legend(profile)
    columns = min(len(handles), 6 if across > 14 else 4)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    return save_figure(figure, path)


def _draw_band(axes: "Axes", band: Sequence[Influence], across: int) -> None:
    for place, moment in enumerate(band):
        _draw_moment(axes, place, moment)
    axes.set_xticks(range(len(band)), [str(moment.time) for moment in band])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(length=0, labelsize=8)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set(xlim=(-0.6, across - 0.4), ylim=(0, 1.1))


def _draw_moment(axes: "Axes", place: int, moment: Influence) -> None:
    foot = 0.0
    for share, height in stacked(moment):
        proven = min(share.lower, height)
        colour, hatch = look(share.action)
        style: dict[str, Any] = {"width": 0.82, "color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axes.bar(place, proven, bottom=foot, **style)
        axes.bar(place, height - proven, bottom=foot + proven, **{**style, "alpha": OPEN})
        foot += height
        if share.action == moment.chosen and height < 1:
            axes.plot([place - 0.41, place + 0.41], [foot, foot], color=INK, linewidth=1.6, solid_capstyle="butt")
    if moment.inert:
        axes.text(place, 1.035, "■", ha="center", va="center", fontsize=6, color=INK)


def stacked(moment: Influence) -> list[tuple[Share, float]]:
    """The shares with their heights, which sum to 1: what samples say, within what is proven; the chosen first."""
    best = [min(max(share.sampled / moment.samples, share.lower), share.upper) for share in moment.shares]
    whole = sum(best) or 1.0
    pairs = [(share, height / whole) for share, height in zip(moment.shares, best, strict=True)]
    return sorted(pairs, key=lambda pair: (pair[0].action != moment.chosen, pair[0].action))


def look(action: int) -> tuple[str, str]:
    """The colour and the hatch of an action."""
    return COLOURS[action % len(COLOURS)], HATCHES[action // len(COLOURS) % len(HATCHES)]


def _legend(profile: InfluenceProfile) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    used = sorted({share.action for moment in profile.moments for share in moment.shares if share.upper > 0})
    looks = [(action, *look(action)) for action in used]
    handles: list[Any] = [Patch(facecolor=c, hatch=h, edgecolor="white", label=profile.actions[a]) for a, c, h in looks]
    handles.append(Line2D([], [], color=INK, linewidth=1.6, label="below: as chosen; above: changed"))
    if any(moment.undecided > 0 for moment in profile.moments):
        handles.append(Patch(color=GREY, alpha=OPEN, label="pale: sampled, not proven"))
    if any(moment.inert for moment in profile.moments):
        handles.append(
            Line2D([], [], linestyle="none", marker="s", markersize=4, color=INK, label="proven: no command matters")
        )
    return handles


RIM = {"inert": GREEN, "decides": BLUE, "open": GREY}


def influence_html(found: Influence) -> str:
    """The sentence, and the share of each valid action."""
    rows = "".join(
        f"<tr><td>{escape(found.actions[share.action])}</td><td>{escape(told_share(share, found.samples))}</td></tr>"
        for share in found.shares
    )
    where = f"{found.agent}, t = {found.time}" if found.agent else f"t = {found.time}"
    title = f"{where}: does the wish matter?"
    return card(f"{heading(title)}{line(str(found))}<table>{rows}</table>", RIM[found.verdict])


def profile_html(profile: InfluenceProfile) -> str:
    """The picture of the profile, and what it says in words."""
    title = f"{profile.agent}: {len(profile.moments)} moments"
    words = f'<div style="white-space:pre-wrap">{escape(str(profile))}</div>'
    return card(heading(title) + embedded(figure_influence(profile), repr(profile)) + words, BLUE)
