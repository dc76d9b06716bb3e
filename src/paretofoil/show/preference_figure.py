"""Answers about preferences as pictures: a line of two weights, a triangle of three, bars of more."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, ProvenRange
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.show.landscape import (
    DOTS,
    IN_SLICE,
    SMALLEST_REACH,
    ZOOM,
    draw_change,
    draw_margin_line,
    draw_mark,
    finish,
    marked,
    missing_note,
    weight_line,
    wins_label,
)
from paretofoil.show.numbers import short
from paretofoil.show.palette import INK, MARGIN_COLOURS, ORIGINAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BAR = 0.8
"""The share of the room of an objective that its bars take."""


def draw_preferences(axes: "Axes", question: Question, answers: Sequence[Answer], foil: str) -> Any:
    """Draw what suits the number of weights that may change; an image is returned where a colour bar is needed."""
    free, proven = np.flatnonzero(question.high > question.low).tolist(), answers[0].proven_range
    if len(free) == 3:
        return draw_triangle(axes, triangle(question, free, answers), answers, proven)
    if len(free) == 2:
        draw_margin_line(axes, weight_line(question, free[0], free[1], answers), answers, foil)
    else:
        _draw_bars(axes, question, answers, proven)
    return None


def _draw_bars(axes: "Axes", question: Question, answers: Sequence[Answer], proven: ProvenRange | None) -> None:
    """The weights before and after, side by side for each objective; the proven range of the first answer as a line."""
    rows = [(question.command, ORIGINAL), *marked(answers)]
    places, height = np.arange(question.space.dim), BAR / len(rows)
    for k, (weights, mark) in enumerate(rows):
        middle = places + (k - (len(rows) - 1) / 2) * height
        hatch: dict[str, Any] = {"hatch": ".."} if k else {}  # to be told apart without colours
        axes.barh(middle, weights, height, color=mark.colour, alpha=0.75, edgecolor="white", label=mark.label, **hatch)
        if k == 1 and proven is not None:
            sides = np.stack([weights - proven.low, proven.high - weights])
            style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "linewidth": 1.2}
            axes.errorbar(weights, middle, xerr=np.maximum(sides, 0.0), label="proven range", **style)
    axes.set(yticks=places, yticklabels=question.space.names, xlabel="weight", xlim=(0.0, None))
    axes.invert_yaxis()
    finish(axes, "", [missing_note(answers) if len(rows) > 1 else ""])


STEPS = 110
"""Small triangles along each side."""
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
TICKS = 4
"""Parts into which the ticks cut each side."""
EDGE = 0.06
"""How far from a side its ticks are told."""
_CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}


@dataclass(frozen=True, eq=False)
class Triangle:
    """The margin on a grid of three weights; all others are as in the original command."""

    names: tuple[str, ...]
    """Of the three objectives, by their corners."""
    free: np.ndarray  # (3,): their numbers
    command: np.ndarray  # (d,): the preferences that were asked about
    low: np.ndarray  # (3,): the least of each weight that is shown
    size: float
    """What is left to give to the three: 1 for the whole triangle, less for a part of it."""
    kappa: float
    shares: np.ndarray  # (N, 3): of what is left, at each point of the grid
    margins: np.ndarray  # (N,)

    def place(self, commands: np.ndarray) -> np.ndarray:
        """Where commands (..., d) lie in the picture: (..., 2)."""
        return (commands[..., self.free] - self.low) / self.size @ CORNERS

    def holds(self, command: np.ndarray) -> bool:
        """Whether all weights but the three are those of the picture."""
        return bool((np.abs(np.delete(command - self.command, self.free)) <= IN_SLICE).all())


def triangle(question: Question, free: Sequence[int], shown: Sequence[Answer], steps: int = STEPS) -> Triangle:
    """Query the margin over three weights: all of them, or those around answers that are close to the original."""
    numbers, command = np.array(free), question.command
    total = float(command[numbers].sum())
    low = _least_shown(command[numbers], [found.command[numbers] for found in shown if found.command is not None])
    size = total - float(low.sum())
    counts = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)])
    shares = counts / steps
    commands = np.repeat(command[None], len(shares), axis=0)
    commands[:, numbers] = low + size * shares
    margins = QuestionBatch([question]).margins_at(np.zeros(len(commands), dtype=int), commands, "landscape")
    names = tuple(question.space.names[i] for i in free)
    return Triangle(names, numbers, command, low, size, question.kappa, shares, margins)


def _least_shown(weights: np.ndarray, answers: Sequence[np.ndarray]) -> np.ndarray:
    """(3,): nothing, or what keeps close answers apart."""
    if not answers:
        return np.zeros(3)
    changes = np.abs(np.array(answers) - weights).max()
    low = weights - ZOOM * max(float(changes), SMALLEST_REACH)
    return np.maximum(low, 0.0) if changes < 0.1 else np.zeros(3)


def draw_triangle(
    axes: "Axes", tri: Triangle, answers: Sequence[Answer], proven_range: ProvenRange | None = None
) -> Any:
    """Draw everything but the colour bar, for which the image is returned."""
    image = _draw_margins(axes, tri)
    _draw_frame(axes, tri)
    if proven_range is not None:
        _draw_range(axes, tri, proven_range)
    bounds = np.array([CORNERS.min(axis=0), CORNERS.max(axis=0)])
    draw_mark(axes, tri.place(tri.command), ORIGINAL, True, bounds)
    found = marked(answers)
    for command, mark in found:
        draw_mark(axes, tri.place(command), mark, tri.holds(command), bounds)
    axes.set(xlim=(-0.14, 1.14), ylim=(-0.14, CORNERS[2, 1] + 0.1), aspect="equal")
    axes.set_axis_off()
    if found:
        draw_change(axes, tri.place(tri.command), tri.place(found[0][0]))
    part = "a part of the triangle; " if tri.low.any() else ""
    sides = f"{part}each side tells the weight of the corner that it leads to, anticlockwise"
    rest = "the other weights as they are" if len(tri.command) > 3 else ""
    finish(axes, "", [sides, rest, missing_note(answers) if found else ""])
    return image


def _draw_margins(axes: "Axes", tri: Triangle) -> Any:
    """Colours, and where the foil wins also dots: readers without colours see them too."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle
    from matplotlib.tri import Triangulation

    places, margins, kappa = tri.shares @ CORNERS, tri.margins, tri.kappa
    grid = Triangulation(places[:, 0], places[:, 1])
    limit = float(max(np.quantile(np.abs(margins), 0.9), kappa, 1e-9))
    colours = LinearSegmentedColormap.from_list("margin", MARGIN_COLOURS)
    style: dict[str, Any] = {"cmap": colours, "vmin": -limit, "vmax": limit, "shading": "gouraud", "rasterized": True}
    image = axes.tripcolor(grid, margins, zorder=0, **style)
    if margins.max() >= kappa:
        highest = float(margins.max()) + limit  # tricontourf takes no infinite level
        dots = axes.tricontourf(grid, margins, levels=[kappa, highest], colors="none", hatches=[".."], zorder=1)
        dots.set(edgecolor=DOTS, linewidth=0)
        axes.add_patch(Rectangle((0, 0), 0, 0, facecolor="white", edgecolor=INK, hatch="...", label=wins_label(kappa)))
    if margins.min() < kappa < margins.max():
        axes.tricontour(grid, margins, levels=[kappa], colors=[INK], linewidths=1.6, zorder=2)
    return image


def _draw_frame(axes: "Axes", tri: Triangle) -> None:
    """The sides, what is at each corner, and the weight of that corner along the side that leads to it."""
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=1.2, zorder=3)
    middle = CORNERS.mean(axis=0)
    for number, corner in enumerate(CORNERS):
        x, y = corner + 0.11 * (corner - middle)
        most = short(round(float(tri.low[number]) + tri.size, 9))
        axes.text(x, y, f"{tri.names[number]}\n{most}", fontsize=9, fontweight="bold", **_CENTERED)
        for k in range(1, TICKS):
            _draw_tick(axes, tri, number, k / TICKS)


def _draw_tick(axes: "Axes", tri: Triangle, number: int, share: float) -> None:
    """A line along which one weight is the same, told where it meets the side that leads to its corner."""
    corner, start, past = CORNERS[number], CORNERS[number - 1], CORNERS[number - 2]
    ends = np.array([side + share * (corner - side) for side in (start, past)])
    axes.plot(*ends.T, color=INK, linewidth=0.4, alpha=0.35, zorder=3)
    outwards = start + corner - 2 * past
    x, y = ends[0] + EDGE * outwards / np.linalg.norm(outwards)
    told = short(float(tri.low[number]) + share * tri.size, 3 if tri.low.any() else 2)
    axes.text(x, y, told, fontsize=7, color=INK, **_CENTERED)


def _draw_range(axes: "Axes", tri: Triangle, proven: ProvenRange) -> None:
    """The weights within the range that sum to 1: a polygon of up to six corners."""
    from matplotlib.patches import Polygon

    total = float(tri.command[tri.free].sum())
    corners = _corners(proven.low[tri.free], proven.high[tri.free], total)
    places = (corners - tri.low) / tri.size @ CORNERS
    middle = places - places.mean(axis=0)
    ordered = places[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    style: dict[str, Any] = {"fill": False, "edgecolor": INK, "linestyle": "--", "linewidth": 1.4}
    shape = axes.add_patch(Polygon(ordered, label="proven range", zorder=4, **style))
    shape.set_clip_path(Polygon(CORNERS, closed=True, transform=axes.transData))


def _corners(low: np.ndarray, high: np.ndarray, total: float) -> np.ndarray:
    """(n, 3): where two weights are at an end of their ranges, and the third is what is left."""
    made = []
    for third in range(3):
        others = [i for i in range(3) if i != third]
        for ends in itertools.product(*((low[i], high[i]) for i in others)):
            weights = np.zeros(3)
            weights[others] = ends
            weights[third] = total - sum(ends)
            if low[third] - 1e-9 <= weights[third] <= high[third] + 1e-9:
                made.append(weights)
    return np.array(made)
