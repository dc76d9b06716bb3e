"""Influence along an episode as a picture: how much of the command region chooses each action, moment by moment."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from paretofoil.core.influence import Influence, Share
from paretofoil.core.influence_profile import InfluenceProfile
from paretofoil.show.figure_file import check_figure_path, save_figure
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from paretofoil.show.quantity import values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
