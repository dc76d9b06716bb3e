"""Influence as sentences, as a figure and in notebooks."""

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paretofoil.core.influence import AmountInfluence, Influence, InfluenceProfile, Share, SingleObjective
from paretofoil.show.notebook import card, figure_card, heading, line
from paretofoil.show.numbers import (
    action_name,
    beside,
    clean,
    join,
    name_of,
    number_of,
    only_features,
    proven,
    quantities,
    region,
    rounded_down,
    rounded_up,
    short,
    short_change,
    tidy,
    unchanged_steps,
)
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, check_figure, save_figure, step_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 0.1
"""A proven range of shares that is wider than this is shown beside the estimate from samples."""
USELESS = 0.9
"""A proven range of shares that is wider than this is not shown."""
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
HATCHES = ("", "///", "...", "xxx")
"""The hatches of actions. When all colours are used, they repeat with the next hatch."""
PALE = 0.35
"""The opacity of shares that are sampled and not proven."""
RIM = {"inert": GREEN, "decides": BLUE, "open": GREY}
"""The colour at the left edge in a notebook, by verdict."""


def influence_sentence(influence: Influence) -> str:
    """Return sentences: whether the command matters, the share of each action, and what changes the action."""
    action, commands = _action(influence, influence.chosen), _commands(influence)
    if len(influence.shares) == 1:
        every = "with any features" if _is_state(influence) else "under every command"
        return f"The agent chooses {action} in this state {every}: no other action is valid."
    if influence.verdict == "inert":
        all_of_them = f"All {commands} make" if influence.preferences else f"Every {commands} makes"
        here = "" if _is_state(influence) else " in this state"
        return f"{all_of_them} the agent choose {action}{here} ({proven(influence.assumed)}).{_region(influence)}"
    if influence.verdict == "open":
        none = f"None of {influence.samples:,} sampled {_plural(commands)} changes this, but it is not proven"
        return f"The agent chooses {action} in this state. {none} that none does.{_region(influence)}"
    subject = "preferences matter" if influence.preferences else "command matters"
    if any(o.feature for o in influence.objectives):
        names = [name_of(o) for o in influence.objectives]
        subject = f"{join(names).removeprefix('the ')} {'matter' if len(names) > 1 else 'matters'}"
    return f"The {subject} in this state: {_shares(influence)}.{_region(influence)} {_alone(influence)}".rstrip()


def amount_sentence(influence: AmountInfluence) -> str:
    """Return text such as "Depending on the command, the agent chooses 20 to 78 m³ of release in this state ..."."""
    parts = []
    for each in influence.ranges:
        unit = f" {each.unit}" if each.unit else ""
        width = short(each.least), short(each.most)
        amounts = f"{width[0]} to {width[1]}" if width[0] != width[1] else width[0]
        numbers = "features" if _is_state(influence) else "command"
        here = "with these features" if _is_state(influence) else "under this command"
        now = f", {short(each.chosen)} {here}" if width[0] != width[1] else ""
        limits = f"{rounded_down(each.lowest)}{unit} or more than {rounded_up(each.highest)}{unit}"
        which = "value of them" if _is_state(influence) else "command"
        sampled = "states" if _is_state(influence) else "commands"
        none = f"no {which} leads to less than {limits} ({proven(influence.assumed)})" if influence.proven else ""
        text = f"Depending on the {numbers}, the agent chooses {amounts}{unit} of {each.name} in this state{now}"
        parts.append(f"{text}; {none}." if none else f"{text}, of {influence.samples:,} sampled {sampled}.")
    return " ".join(parts)


def profile_summary(profile: InfluenceProfile) -> str:
    """Return lines that say at how many steps the command matters, and at which steps it does not."""
    steps = {
        verdict: [influence.step for influence in profile.steps if influence.verdict == verdict]
        for verdict in ("decides", "inert", "open")
    }
    preferences = any(influence.preferences for influence in profile.steps)
    subject = "preferences matter" if preferences else "command matters"
    lines = [f"The {subject} at {len(steps['decides'])} of {number_of(len(profile.steps), 'step')}."]
    if steps["decides"]:
        most = max(profile.steps, key=lambda influence: (changed_share(influence), -influence.step))
        lines.append(f"Most at t = {most.step}: {most}")
    how = proven(max((influence.assumed for influence in profile.steps if influence.inert), default=0.0))
    return "\n".join([*lines, *unchanged_steps(steps["inert"], how, steps["open"], preferences)])


def changed_share(influence: Influence) -> float:
    """Return the best estimate of the share of commands that change the action."""
    low, high = influence.changed
    sampled = 1.0 - influence.share_of(influence.chosen).sampled / influence.samples
    return min(max(sampled, low), high)


def share_text(share: Share, samples: int) -> str:
    """Return text such as "62 to 63 %" if the share is proven, "about 62 % (61 to 63 %, sampled)" if not."""
    if share.upper - share.lower <= WIDE:
        return percent_span(share.lower, share.upper)
    sampled = f"{percent_span(share.likely_low, share.likely_high)}, sampled"
    bounds = f"; {percent_span(share.lower, share.upper)}, proven" if share.upper - share.lower <= USELESS else ""
    return f"about {100 * share.sampled / samples:.0f} % ({sampled}{bounds})"


def percent_span(low: float, high: float) -> str:
    """Return two shares in percent, rounded outwards."""
    least, most = math.floor(100 * low + 1e-9), math.ceil(100 * high - 1e-9)
    if least == most:
        return f"{least} %"
    if least == 0:
        return f"at most {most} %"
    return f"at least {least} %" if most == 100 else f"{least} to {most} %"


def tenths(low: float, high: float) -> tuple[str, str]:
    """Return two shares in percent with one decimal, rounded outwards."""
    least, most = math.floor(1000 * low + 1e-6) / 10, math.ceil(1000 * high - 1e-6) / 10
    return f"{least:g}", f"{most:g}"


def _commands(influence: Influence) -> str:
    """Return the name of the set that the shares refer to: "command in the search region"."""
    if not influence.preferences:
        return "state in the search region" if _is_state(influence) else "command in the search region"
    whole = not influence.low.any() and bool((influence.high == 1).all())
    return "preferences" if whole else "preferences in the search region"


def _action(influence: Influence, action: int) -> str:
    return action_name(influence.actions[action])


def _plural(commands: str) -> str:
    return commands.replace("command ", "commands ").replace("state ", "states ")


def _is_state(influence: Influence | AmountInfluence) -> bool:
    """Return whether only features of the state may change, and no command."""
    return only_features(influence.objectives)


def _region(influence: Influence) -> str:
    """Return text such as " The search region is 1 to 124 treasure in 1 to 40 steps from here on." """
    if influence.preferences:
        return ""
    sides = influence.objectives, influence.low, influence.high, influence.command
    searched = region(*sides, _from_here(influence), influence.constraints)
    return f" The search region is {searched}." if searched else ""


def _from_here(influence: Influence) -> str:
    later = influence.step or influence.collected is not None
    return " from here on" if later and not influence.preferences else ""


def _shares(influence: Influence) -> str:
    """Return text about the share of each action, the most frequent first, and about the actions with none."""
    ordered = sorted(influence.shares, key=lambda share: (-share.sampled, -share.upper, share.action))
    names = {s.action: _action(influence, s.action) + " (as now)" * (s.action == influence.chosen) for s in ordered}
    some = [(names[s.action], share_text(s, influence.samples)) for s in ordered if s.upper > 0]
    none = [names[share.action] for share in ordered if share.upper == 0]
    (name, share), *others = some
    first = f"{share} of the {_plural(_commands(influence))} make the agent choose {name}"
    text = join([first, *(f"{share} {name}" for name, share in others), *(f"none {name}" for name in none)])
    is_proven = all(share.upper - share.lower <= WIDE for share in ordered)
    return f"{text} ({proven(influence.assumed)})" if is_proven else text


def _alone(influence: Influence) -> str:
    """Return sentences about objectives that change the action alone; if there are none, about several together."""
    sufficient = [line for line in influence.alone if line.down is not None or line.up is not None]
    if sufficient:
        return " ".join(_one_objective(influence, line) for line in sufficient)
    if not influence.alone:
        return _together(influence)
    one = "feature" if _is_state(influence) else "objective"
    none = f"No {one} was found that changes the action alone"
    if all(line.upper == 0 for line in influence.alone):
        none = f"No {one} alone changes the action ({proven(influence.assumed)})"
    return f"{none}. {_together(influence)}".rstrip()


def _together(influence: Influence) -> str:
    """Return text such as "Together, 5.2 treasure instead of 8 and 1 step instead of 2 make the agent choose down." """
    nearest = influence.nearest
    if nearest is None:
        return ""
    moved = [i for i in range(len(influence.command)) if nearest.command[i] != influence.command[i]]
    changes = join([_instead(influence, i, float(nearest.command[i])) for i in moved])
    make = "make" if len(moved) > 1 else "makes"
    together = f"together, {changes}" if len(moved) > 1 else changes
    action = _action(influence, nearest.action)
    return f"{together[0].upper()}{together[1:]}{_from_here(influence)} {make} the agent choose {action}."


def _one_objective(influence: Influence, line: SingleObjective) -> str:
    """Return text such as "Changing treasure alone is enough: 5.2 treasure instead of 8 makes ..."."""
    i, objective = line.objective, influence.objectives[line.objective]
    switches = [switch for switch in (line.down, line.up) if switch is not None]
    first, *others = (_instead(influence, i, switch.value) for switch in switches)
    parts = [f"{first}{_from_here(influence)} makes the agent choose {_action(influence, switches[0].action)}"]
    for text, switch in zip(others, switches[1:], strict=True):
        parts.append(f"{text.partition(' instead of ')[0]} makes it choose {_action(influence, switch.action)}")
    name = f"{name_of(objective)} alone"
    if influence.preferences:
        name = f"the weight of {objective.name} alone (the other weights in proportion)"
    return f"Changing {name} is enough: {', '.join(parts)}."


def _instead(influence: Influence, i: int, new: float) -> str:
    objective, old = influence.objectives[i], float(tidy(influence.command, influence.low, influence.high)[i])
    if influence.preferences:
        return f"a weight of {clean(new)} for {objective.name} instead of {beside(old, new)}"
    return short_change(objective, old, new)


def figure_influence(profile: InfluenceProfile, path: str | Path | None = None) -> "Figure":
    """Draw a bar for each step: the share of the chosen action at the bottom, those of the other actions above."""
    check_figure(path)
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    used = sorted({share.action for influence in profile.steps for share in influence.shares if share.upper > 0})
    looks = [(action, *look(action)) for action in used]
    handles: list[Any] = [Patch(facecolor=c, hatch=h, edgecolor="white", label=profile.actions[a]) for a, c, h in looks]
    handles.append(Line2D([], [], color=INK, linewidth=1.6, label="below: chosen action; above: other actions"))
    if any(influence.undecided > 0 for influence in profile.steps):
        handles.append(Patch(color=GREY, alpha=PALE, label="pale: sampled, not proven"))
    if any(influence.inert for influence in profile.steps):
        label = "proven: no command in the search region changes the action"
        handles.append(Line2D([], [], linestyle="none", marker="s", markersize=4, color=INK, label=label))
    title = f"{profile.agent}, asked for {quantities(profile.objectives, profile.command)}"
    figure, panels = step_figure(len(profile.steps), title, handles, cell=0.36, margin=1.6, height=2.6)
    figure.supylabel("share of the search region", fontsize=10)
    for axes, band in panels:
        for place, number in enumerate(band):
            _draw_bar(axes, place, profile.steps[number])
        axes.set_xticks(range(len(band)), [str(profile.steps[number].step) for number in band])
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.tick_params(length=0, labelsize=8)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.set(xlim=(-0.6, len(panels[0][1]) - 0.4), ylim=(0, 1.1))
    return save_figure(figure, path)


def _draw_bar(axes: "Axes", place: int, influence: Influence) -> None:
    foot = 0.0
    for share, height in stacked(influence):
        sure = min(share.lower, height)
        colour, hatch = look(share.action)
        style: dict[str, Any] = {"width": 0.82, "color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axes.bar(place, sure, bottom=foot, **style)
        axes.bar(place, height - sure, bottom=foot + sure, **{**style, "alpha": PALE})
        foot += height
        if share.action == influence.chosen and height < 1:
            axes.plot([place - 0.41, place + 0.41], [foot, foot], color=INK, linewidth=1.6, solid_capstyle="butt")
    if influence.inert:
        axes.text(place, 1.035, "■", ha="center", va="center", fontsize=6, color=INK)


def stacked(influence: Influence) -> list[tuple[Share, float]]:
    """Return each share with the height of its bar, the chosen action first. Heights sum to 1.

    Each is the sampled share, clipped to the proven bounds, before it is divided by their sum.
    """
    best = [min(max(share.sampled / influence.samples, share.lower), share.upper) for share in influence.shares]
    whole = sum(best) or 1.0
    pairs = [(share, height / whole) for share, height in zip(influence.shares, best, strict=True)]
    return sorted(pairs, key=lambda pair: (pair[0].action != influence.chosen, pair[0].action))


def look(action: int) -> tuple[str, str]:
    """Return the colour and the hatch of an action."""
    return COLOURS[action % len(COLOURS)], HATCHES[action // len(COLOURS) % len(HATCHES)]


def influence_html(influence: Influence) -> str:
    """Return the sentence, and the share of each valid action."""
    rows = "".join(
        f"<tr><td>{escape(influence.actions[share.action])}</td>"
        f"<td>{escape(share_text(share, influence.samples))}</td></tr>"
        for share in influence.shares
    )
    where = f"{influence.agent}, t = {influence.step}" if influence.agent else f"t = {influence.step}"
    title = f"{where}: does the command matter?"
    return card(f"{heading(title)}{line(str(influence))}<table>{rows}</table>", RIM[influence.verdict])


def profile_html(profile: InfluenceProfile) -> str:
    """Return the figure of the profile, and its summary in words."""
    title = f"{profile.agent}: {number_of(len(profile.steps), 'step')}"
    return figure_card(title, figure_influence, profile, str(profile))
