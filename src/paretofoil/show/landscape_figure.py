"""Landscapes as pictures: the margin in colours, where the foil wins, the change, and what else was found."""

from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, Outcome
from paretofoil.core.proven_range import ProvenRange
from paretofoil.show.attainable_words import delivers
from paretofoil.show.axis import as_shown, axis_label, slice_note
from paretofoil.show.landscape import Landscape
from paretofoil.show.palette import ATTAINABLE, BLUE, INK, MARGIN_COLOURS, ORIGINAL, Mark, mark_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COLOUR = 10.0
"""Margins beyond this (odds of 20,000 to 1) share one colour, so that the boundary stays visible."""
DOTS = "#8a5410"
ARROWS = 11
"""Small arrows along each axis."""
NOTE_WIDTH = 74
"""Characters in a line of the note above a landscape."""


def draw_landscape(
    axes: "Axes",
    land: Landscape,
    answers: Sequence[Answer] = (),
    *,
    title: str = "",
    proven_range: ProvenRange | None = None,
    gradient: bool = False,
) -> Any:
    """Draw everything but the colour bar, for which the image is returned.

    The bold arrow is the change: from the original command to what the first answer quotes. `gradient` adds, thin
    and in blue, in which direction the margin grows. What does not lie in the slice is hollow.
    """
    x, y, margins = _as_seen(land)
    image = _draw_margins(axes, x, y, margins, land.kappa)
    if gradient:
        _draw_gradient(axes, land, x, y, margins)
    notes = [slice_note(land.objectives, land.through, land.command, land.off)]
    if proven_range is not None:
        notes.append(_draw_proven_range(axes, land, proven_range))
    found = marked(answers)
    draw_mark(axes, _point(land, land.command), ORIGINAL, land.holds(land.command), _bounds(x, y))
    for command, mark in found:
        draw_mark(axes, _point(land, command), mark, land.holds(command), _bounds(x, y))
    notes.append(missing_note(answers) if found else "")
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    axes.set(xlabel=axis_label(land.objectives[land.p]), ylabel=axis_label(land.objectives[land.q]))
    if found:
        draw_change(axes, _point(land, land.command), _point(land, found[0][0]))
    finish(axes, title, notes)
    return image


def margin_label(foil: str) -> str:
    """What the colours mean."""
    return f"margin of {foil} (above 0: {foil} is chosen)"


def wins_label(kappa: float) -> str:
    """What the dots mean, and the line around them."""
    return f"the foil wins (by {kappa:g} or more)"


def _as_seen(land: Landscape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The grid in the user's sign, both axes increasing."""
    x, y = as_shown(land.objectives[land.p], land.x), as_shown(land.objectives[land.q], land.y)
    across, down = (slice(None, None, -1 if axis[0] > axis[-1] else 1) for axis in (x, y))
    return x[across], y[down], land.margins[down, across]


def _point(land: Landscape, command: np.ndarray) -> np.ndarray:
    """(2,): where a command lies in the picture."""
    return np.array([as_shown(land.objectives[i], command[i]) for i in (land.p, land.q)])


def _bounds(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([[x[0], y[0]], [x[-1], y[-1]]])


def _draw_margins(axes: "Axes", x: np.ndarray, y: np.ndarray, margins: np.ndarray, kappa: float) -> Any:
    """Colours, and where the foil wins also dots: readers without colours see them too."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    limit = float(np.clip(np.quantile(np.abs(margins), 0.9), 0.5, MAX_COLOUR))
    colours = LinearSegmentedColormap.from_list("margin", MARGIN_COLOURS)
    image = axes.pcolormesh(
        x, y, margins, cmap=colours, vmin=-limit, vmax=limit, shading="nearest", rasterized=True, zorder=0
    )
    if margins.max() >= kappa:
        dots = axes.contourf(x, y, margins, levels=[kappa, np.inf], colors="none", hatches=[".."], zorder=1)
        dots.set(edgecolor=DOTS, linewidth=0)
        axes.add_patch(Rectangle((0, 0), 0, 0, facecolor="white", edgecolor=INK, hatch="...", label=wins_label(kappa)))
    if margins.min() < kappa < margins.max():
        axes.contour(x, y, margins, levels=[kappa], colors=[INK], linewidths=1.6, zorder=2)
    return image


def marked(answers: Sequence[Answer]) -> list[tuple[np.ndarray, Mark]]:
    """The commands that were found, as they are quoted, each with a mark that claims no more than was proven.

    Behind them what can be had, where that is another command.
    """
    found = [(answer.command, _mark(answer)) for answer in answers if answer.command is not None]
    had = [a.attainable.command for a in answers if a.attainable is not None and not delivers(a)]
    different = {command.tobytes(): command for command in had if command is not None}
    return found + [(command, ATTAINABLE) for command in different.values()]


def _mark(found: Answer) -> Mark:
    mark = mark_of(found.search)
    if found.outcome is not Outcome.PROVEN_OPTIMAL:
        return mark
    rounded = bool(np.any(found.command != found.closest))
    return replace(mark, label="closest up to rounding, proven" if rounded else "closest, proven")


def draw_mark(axes: "Axes", point: np.ndarray, mark: Mark, inside: bool, bounds: np.ndarray) -> None:
    """A filled mark for a command in the slice, a hollow one for another; at the edge if it lies beyond."""
    shown = np.clip(point, *bounds)
    beyond = " (beyond the edge)" if not np.allclose(shown, point) else ""
    axes.plot(
        *shown,
        linestyle="none",
        marker=mark.marker,
        markersize=mark.size,
        markerfacecolor=mark.colour if inside else "white",
        markeredgecolor="white" if inside else mark.colour,
        markeredgewidth=1.0 if inside else 1.8,
        label=f"{mark.label}{beyond}{'' if inside else ' (not in this slice)'}",
        clip_on=False,
        zorder=7 - mark.size / 20,  # small ones above large ones, all to be seen
    )


def draw_change(axes: "Axes", start: np.ndarray, end: np.ndarray) -> None:
    """The bold arrow of the change; the limits of the axes must be set before."""
    from matplotlib.patheffects import withStroke

    corners = axes.transData.transform([start, end]) * 72 / axes.figure.dpi
    gap = min(4.0, float(np.hypot(*(corners[1] - corners[0]))) / 5)  # points: short arrows go from mark to mark
    style = {"arrowstyle": "-|>,head_length=0.6,head_width=0.3", "color": INK, "linewidth": 2.2}
    arrow = axes.annotate("", tuple(end), tuple(start), arrowprops={**style, "shrinkA": gap, "shrinkB": gap}, zorder=5)
    halo = [withStroke(linewidth=4.4, foreground="white")]
    if arrow.arrow_patch is not None:
        arrow.arrow_patch.set(path_effects=halo, zorder=5)
    axes.plot([], [], linestyle="none", marker=r"$\rightarrow$", markersize=16, color=INK, label="the change")


def _draw_gradient(axes: "Axes", land: Landscape, x: np.ndarray, y: np.ndarray, margins: np.ndarray) -> None:
    """Where the margin grows, in scaled coordinates: small arrows everywhere, a longer one at the original command."""
    from matplotlib.patheffects import withStroke

    scale = land.scale[[land.p, land.q]]
    up, right = np.gradient(margins, y / scale[1], x / scale[0])
    pick = np.linspace(0, len(x) - 1, ARROWS + 2).astype(int)[1:-1]
    u, v = right[np.ix_(pick, pick)], up[np.ix_(pick, pick)]
    size = np.maximum(np.hypot(u, v), 1e-12)
    halo = [withStroke(linewidth=1.2, foreground="white")]
    common: dict[str, Any] = {"color": BLUE, "path_effects": halo}
    axes.quiver(x[pick], y[pick], u / size, v / size, scale=26, width=0.0036, zorder=3, **common)
    signs = np.array([-1.0 if land.objectives[i].cost else 1.0 for i in (land.p, land.q)])
    steep = float(np.hypot(*land.slope))
    if steep > 0:
        steepest = signs * land.slope / steep  # it may lead out of the picture, and is seen there
        axes.quiver(*_point(land, land.command), *steepest, scale=7, width=0.006, zorder=6, clip_on=False, **common)
    axes.plot(
        [], [], linestyle="none", marker=r"$\rightarrow$", markersize=10, color=BLUE, label="where the margin grows"
    )


def _draw_proven_range(axes: "Axes", land: Landscape, proven: ProvenRange) -> str:
    """The range where the slice meets it; else a note."""
    from matplotlib.patches import Rectangle

    slack = 1e-9 * land.scale
    meets = (proven.low - slack <= land.through) & (land.through <= proven.high + slack)
    if not meets[land.off].all():
        return "the proven range is not in this slice"
    corners = np.sort([_point(land, proven.low), _point(land, proven.high)], axis=0)
    style: dict[str, Any] = {"fill": False, "edgecolor": INK, "linestyle": "--", "linewidth": 1.4}
    axes.add_patch(Rectangle(corners[0], *(corners[1] - corners[0]), label="proven range", zorder=4, **style))
    return ""


def missing_note(answers: Sequence[Answer]) -> str:
    """ "White-CW: none found": an answer without a command has no place in the picture."""
    return ", ".join(f"{mark_of(a.search).label}: none found" for a in answers if a.command is None)


def finish(axes: "Axes", title: str, notes: Sequence[str]) -> None:
    """The title with what must be known of the picture below it, and the legend."""
    note = fill("; ".join(filter(None, notes)), NOTE_WIDTH)
    axes.set_title("\n".join(filter(None, (title, note))), fontsize=9)
    tight = {"columnspacing": 1.2, "handletextpad": 0.5}
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False, fontsize=8, **tight)
