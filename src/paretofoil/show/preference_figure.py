"""Figures of preferences: a line for two weights, a triangle for three, bars for more."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, ProvenRange
from paretofoil.core.question import Question
from paretofoil.show.landscape import (
    IN_SLICE,
    SMALLEST_REACH,
    ZOOM,
    draw_commands,
    draw_margin_line,
    draw_margins,
    finish,
    margin_line,
    margins_of,
    marked,
    missing_note,
)
from paretofoil.show.numbers import short
from paretofoil.show.palette import INK, ORIGINAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BAR = 0.8
"""Share of the height of a row that its bars fill."""
STEPS = 110
"""Number of small triangles along each side."""
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""The corners of the triangle in the figure."""
CLOSE = 0.1
"""If all answers change each weight by less than this, only the part of the triangle around them is shown."""
TICKS = 4
"""Number of parts into which ticks divide each side."""
EDGE = 0.06
"""The distance of tick labels from their side."""
NAME_EDGE = 0.14
"""The distance of the name of a weight from its side."""
_CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}


def draw_preferences(axes: "Axes", question: Question, answers: Sequence[Answer], foil: str) -> Any:
    """Draw a line if two weights may change, a triangle if three, else bars; return the image for a colour bar."""
    free, proven = np.flatnonzero(question.high > question.low).tolist(), answers[0].proven_range
    if len(free) == 3:
        return draw_triangle(axes, triangle(question, free, answers), answers, proven)
    if len(free) == 2:
        draw_margin_line(axes, margin_line(question, free[0], answers, free[1]), answers, foil)
    else:
        _draw_bars(axes, question, answers, proven)
    return None


def _draw_bars(axes: "Axes", question: Question, answers: Sequence[Answer], proven: ProvenRange | None) -> None:
    """Draw the original and the new weights of each objective as bars, and the proven range of the first answer."""
    rows = [(question.command, ORIGINAL), *marked(answers)]
    places, height = np.arange(question.space.dim), BAR / len(rows)
    for k, (weights, mark) in enumerate(rows):
        middle = places + (k - (len(rows) - 1) / 2) * height
        hatch: dict[str, Any] = {"hatch": ".."} if k else {}  # for readers who cannot tell the colours apart
        axes.barh(middle, weights, height, color=mark.colour, alpha=0.75, edgecolor="white", label=mark.label, **hatch)
        if k == 1 and proven is not None:
            sides = np.stack([weights - proven.low, proven.high - weights])
            style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "linewidth": 1.2}
            axes.errorbar(weights, middle, xerr=np.maximum(sides, 0.0), label="proven range", **style)
    axes.set(yticks=places, yticklabels=question.space.names, xlabel="weight", xlim=(0.0, None))
    axes.invert_yaxis()
    finish(axes, "", [missing_note(answers)])


@dataclass(frozen=True, eq=False)
class Triangle:
    """The margin on a grid of three weights; the others are as in the original command."""

    names: tuple[str, ...]
    """The objective of each corner."""
    free: np.ndarray  # (3,): the indices of the three objectives
    command: np.ndarray  # (d,): the original preferences
    low: np.ndarray  # (3,): the lowest weight in the figure
    size: float
    """The width of each weight's range in the figure: 1 for the whole triangle, less for a part of it."""
    kappa: float
    shares: np.ndarray  # (N, 3): barycentric coordinates of the grid
    margins: np.ndarray  # (N,)

    def place(self, commands: np.ndarray) -> np.ndarray:
        """Return where commands (..., d) lie in the figure: (..., 2)."""
        return (commands[..., self.free] - self.low) / self.size @ CORNERS

    def holds(self, command: np.ndarray) -> bool:
        """Return whether the weights outside the figure are equal to those of the original command."""
        return bool((np.abs(np.delete(command - self.command, self.free)) <= IN_SLICE).all())


def triangle(question: Question, free: Sequence[int], shown: Sequence[Answer], steps: int = STEPS) -> Triangle:
    """Query the margin over three weights: the whole triangle, or the part around answers close to the original."""
    numbers, command = np.array(free), question.command
    weights, low = command[numbers], np.zeros(3)
    changes = [np.abs(a.command[numbers] - weights).max() for a in shown if a.command is not None]
    if changes and max(changes) < CLOSE:
        low = np.maximum(weights - ZOOM * max(*changes, SMALLEST_REACH), 0.0)
    size = float(weights.sum() - low.sum())
    counts = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)])
    shares = counts / steps
    commands = np.repeat(command[None], len(shares), axis=0)
    commands[:, numbers] = low + size * shares
    names = tuple(question.space.names[i] for i in free)
    return Triangle(names, numbers, command, low, size, question.kappa, shares, margins_of(question, commands))


def draw_triangle(
    axes: "Axes", tri: Triangle, answers: Sequence[Answer], proven_range: ProvenRange | None = None
) -> Any:
    """Draw a triangle without its colour bar, and return the image for it."""
    from matplotlib.tri import Triangulation

    limit = float(max(np.quantile(np.abs(tri.margins), 0.9), tri.kappa, 1e-9))
    image = draw_margins(axes, [Triangulation(*(tri.shares @ CORNERS).T)], tri.margins, tri.kappa, limit)
    _draw_frame(axes, tri)
    if proven_range is not None:
        _draw_range(axes, tri, proven_range)
    axes.set(xlim=(-0.14, 1.14), ylim=(-0.18, CORNERS[2, 1] + 0.1), aspect="equal")
    axes.set_axis_off()
    draw_commands(axes, tri, answers, np.array([CORNERS.min(axis=0), CORNERS.max(axis=0)]))
    part = "part of the triangle" if tri.low.any() else ""
    rest = "other weights as in the original command" if len(tri.command) > 3 else ""
    finish(axes, "", [part, rest, missing_note(answers)])
    return image


def _draw_frame(axes: "Axes", tri: Triangle) -> None:
    """Draw the sides, and for each corner its name and the scale of its weight."""
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=1.2, zorder=3)
    middle = CORNERS.mean(axis=0)
    for number, corner in enumerate(CORNERS):
        x, y = corner + 0.11 * (corner - middle)
        most = short(round(float(tri.low[number]) + tri.size, 9))
        axes.text(x, y, f"{tri.names[number]}\n{most}", fontsize=9, fontweight="bold", **_CENTERED)
        _draw_side(axes, tri, number)


def _draw_side(axes: "Axes", tri: Triangle, number: int) -> None:
    """Draw lines of equal weight of a corner, their labels at a side, and an arrow towards the corner."""
    corner, start, past = CORNERS[number], CORNERS[number - 1], CORNERS[number - 2]
    outwards = (start + corner - 2 * past) / np.linalg.norm(start + corner - 2 * past)
    for share in np.arange(1, TICKS) / TICKS:
        ends = np.array([side + share * (corner - side) for side in (start, past)])
        axes.plot(*ends.T, color=INK, linewidth=0.4, alpha=0.35, zorder=3)
        text = short(float(tri.low[number] + share * tri.size), 3 if tri.low.any() else 2)
        x, y = ends[0] + EDGE * outwards
        axes.text(x, y, text, fontsize=7, color=INK, **_CENTERED)
    across, up = corner - start
    text = f"{tri.names[number]} →" if across > 0 else f"← {tri.names[number]}"
    angle = np.degrees(np.arctan(up / across))
    x, y = (start + corner) / 2 + NAME_EDGE * outwards
    axes.text(x, y, text, rotation=angle, fontsize=9, **_CENTERED)


def _draw_range(axes: "Axes", tri: Triangle, proven: ProvenRange) -> None:
    """Draw the preferences of the proven range as a polygon with up to six corners."""
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
    """Return the points at which two weights are at an end of their ranges: (n, 3)."""
    points = []
    for third in range(3):
        others = [i for i in range(3) if i != third]
        for ends in itertools.product(*((low[i], high[i]) for i in others)):
            weights = np.zeros(3)
            weights[others] = ends
            weights[third] = total - sum(ends)
            if low[third] - 1e-9 <= weights[third] <= high[third] + 1e-9:
                points.append(weights)
    return np.array(points)
