"""Landscapes: the foil margin over two objectives of the command (paper, "Landscape and Grid Construction")."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer
from paretofoil.core.command import Objective
from paretofoil.core.document import array, plain, read_document, whole, write_document
from paretofoil.core.proven_range import ProvenRange
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.show.palette import INK, MARKS, Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESOLUTION = 121
ARROWS = 11
"""Arrows along each axis."""
ZOOM = 4.0
"""How many times the largest change a window around close answers reaches."""
MAX_COLOUR = 10.0
"""Margins beyond this (odds of 20,000 to 1) share one colour, so that the boundary stays visible."""


@dataclass(frozen=True, eq=False, repr=False)
class Landscape:
    """The margin on a grid; everything that is not on the two axes is as in the original command."""

    objectives: tuple[Objective, ...]
    """Of the command, by its numbers."""
    command: np.ndarray
    """R_t, the command that was asked about."""
    scale: np.ndarray
    """The diagonal of D."""
    kappa: float
    p: int
    q: int
    """The objectives on the horizontal and the vertical axis."""
    x: np.ndarray  # (RESOLUTION,) true values of objective p
    y: np.ndarray  # (RESOLUTION,) true values of objective q
    margins: np.ndarray  # (len(y), len(x))
    slope: np.ndarray  # (2,): the gradient of the margin at the original command, in scaled coordinates

    def __repr__(self) -> str:
        names = f"{self.objectives[self.p].name} and {self.objectives[self.q].name}"
        return f"<Landscape over {names}: {len(self.x)} x {len(self.y)} margins>"

    def to_json(self, indent: int | None = None) -> str:
        values = {name: plain(getattr(self, name)) for name in _PLAIN}
        objectives = [asdict(objective) for objective in self.objectives]
        return write_document({"schema": SCHEMA, "objectives": objectives, **values}, indent)

    @classmethod
    def from_json(cls, text: str) -> "Landscape":
        values = read_document(text, "a landscape")
        with whole(values, SCHEMA, "landscape"):
            arrays = {name: array(values[name]) for name in _ARRAYS}
            objectives = tuple(Objective(**item) for item in values["objectives"])
            numbers = {"kappa": float(values["kappa"]), "p": int(values["p"]), "q": int(values["q"])}
            return cls(objectives=objectives, **arrays, **numbers)  # type: ignore[arg-type]


SCHEMA = "paretofoil/landscape/1"
_ARRAYS = ("command", "scale", "x", "y", "margins", "slope")
_PLAIN = (*_ARRAYS, "kappa", "p", "q")


def landscape(
    question: Question,
    p: int | None = None,
    q: int | None = None,
    *,
    shown: Sequence[Answer] = (),
    resolution: int = RESOLUTION,
) -> Landscape:
    """Query the margin on a grid over objectives p and q.

    The grid covers the searched region, or the part of it around the answers that are to be shown if they are
    so close to the original command that they could not be told apart otherwise.
    """
    movable = np.flatnonzero(question.high > question.low).tolist()
    defaults = [*movable, *(i for i in range(question.space.size) if i not in movable)]
    p = defaults[0] if p is None else p
    q = next(i for i in defaults if i != p) if q is None else q
    low, high = _window(question, [p, q], shown)
    x, y = np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)
    batch = QuestionBatch([question])
    commands = np.repeat(question.command[None], resolution**2, axis=0)
    commands[:, p], commands[:, q] = np.tile(x, resolution), np.repeat(y, resolution)
    margins = batch.margins_at(np.zeros(len(commands), dtype=int), commands, "landscape")
    surface, space = margins.reshape(resolution, resolution), question.space
    named: Any = tuple(space.objectives)
    slope = _slope(batch, p, q)
    return Landscape(named, question.command, space.scale, question.kappa, p, q, x, y, surface, slope)


def _window(question: Question, axes: list[int], shown: Sequence[Answer]) -> tuple[np.ndarray, np.ndarray]:
    """What to show of the two axes: (2,) lowest and (2,) highest values."""
    low, high, center = question.low[axes], question.high[axes], question.command[axes]
    scale = question.space.scale[axes]
    reaches = [np.abs(a.command[axes] - center) / scale for a in shown if a.command is not None]
    half = ZOOM * max(float(np.max(reaches)), 0.01) if reaches else 1.0
    if half >= 0.5:
        return low, high
    return np.maximum(low, center - half * scale), np.minimum(high, center + half * scale)


def _slope(batch: QuestionBatch, p: int, q: int, h: float = 1e-3) -> np.ndarray:
    steps = np.zeros((4, batch.dim))
    steps[0, p], steps[1, p], steps[2, q], steps[3, q] = h, -h, h, -h
    up_p, down_p, up_q, down_q = batch.margins(np.zeros(4, dtype=int), steps, "landscape")
    return np.array([up_p - down_p, up_q - down_q]) / (2 * h)


def two_objectives(question: Question, answers: Sequence[Answer]) -> tuple[int, int]:
    """The two objectives that the answers change most."""
    changes = [np.abs(a.change) / question.space.scale for a in answers if a.change is not None]
    total = np.sum(changes, axis=0) if changes else np.zeros(question.space.size)
    movable = question.high > question.low
    first, second = sorted(np.argsort(-(total + 1e-6 * movable), kind="stable")[:2].tolist())
    return first, second


def draw_landscape(
    axes: "Axes",
    land: Landscape,
    answers: Sequence[Answer] = (),
    *,
    title: str = "",
    proven_range: ProvenRange | None = None,
    legend: bool = True,
) -> Any:
    """Colours, the contour of validity, markers and arrows; returns the image, for a colour bar."""
    limit = float(np.clip(np.quantile(np.abs(land.margins), 0.9), 0.5, MAX_COLOUR))
    image = axes.pcolormesh(
        land.x, land.y, land.margins, cmap="PuOr_r", vmin=-limit, vmax=limit, shading="nearest", rasterized=True
    )
    kappa = land.kappa
    if land.margins.min() < kappa < land.margins.max():
        axes.contour(land.x, land.y, land.margins, levels=[kappa], colors=[INK], linewidths=1.6)
    _draw_arrows(axes, land)
    if proven_range is not None:
        _draw_proven_range(axes, land, proven_range)
    marks = {mark.name: mark for mark in MARKS}
    _draw_mark(axes, land, land.command, marks["original"])
    for found in answers:
        point = land.command if found.command is None else found.command
        _draw_mark(axes, land, point, marks.get(found.search, marks["other"]), missing=found.command is None)
    objectives = land.objectives
    for i, label in ((land.p, axes.set_xlabel), (land.q, axes.set_ylabel)):
        objective: Any = objectives[i]
        label(f"{objective.name} ({objective.unit}, as a return)" if objective.unit else objective.name)
    if title:
        axes.set_title(title, fontsize=10)
    if legend:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False, fontsize=8)
    axes.set_xlim(land.x[0], land.x[-1])
    axes.set_ylim(land.y[0], land.y[-1])
    return image


def _draw_mark(axes: "Axes", land: Landscape, command: np.ndarray, mark: Mark, missing: bool = False) -> None:
    from matplotlib.patheffects import withStroke

    point = command[[land.p, land.q]]
    outside = (point < [land.x[0], land.y[0]]).any() or (point > [land.x[-1], land.y[-1]]).any()
    label = f"{mark.label}: {'none found' if missing else 'outside'}" if missing or outside else mark.label
    point = np.clip(point, [land.x[0], land.y[0]], [land.x[-1], land.y[-1]])
    common: dict[str, Any] = {"linestyle": "none", "marker": mark.marker, "label": label, "clip_on": False}
    common |= {"markersize": mark.size, "zorder": 6 - mark.size / 20}  # small ones above large ones, all to be seen
    if mark.marker in "x+":  # mere lines: the rim of white is a stroke around them
        rim = [withStroke(linewidth=4.2, foreground="white")]
        axes.plot(*point, **common, markeredgewidth=2.2, markeredgecolor=mark.colour, path_effects=rim)
    else:
        axes.plot(
            *point, **common, markeredgewidth=0.09 * mark.size, markeredgecolor="white", markerfacecolor=mark.colour
        )


def _draw_arrows(axes: "Axes", land: Landscape) -> None:
    """Where the margin grows: a faint field, and one bold arrow at the original command."""
    scale = land.scale[[land.p, land.q]]
    up, right = np.gradient(land.margins, land.y / scale[1], land.x / scale[0])
    pick = np.linspace(0, len(land.x) - 1, ARROWS + 2).astype(int)[1:-1]
    u, v = right[np.ix_(pick, pick)], up[np.ix_(pick, pick)]
    size = np.maximum(np.hypot(u, v), 1e-12)
    axes.quiver(land.x[pick], land.y[pick], u / size, v / size, color=INK, alpha=0.28, scale=34, width=0.0028, zorder=2)
    steep = float(np.hypot(*land.slope))
    if steep > 0:
        axes.quiver(*(land.command[[land.p, land.q]]), *(land.slope / steep), color=INK, scale=9, width=0.009, zorder=4)


def _draw_proven_range(axes: "Axes", land: Landscape, proven: ProvenRange) -> None:
    from matplotlib.patches import Rectangle

    corner = (proven.low[land.p], proven.low[land.q])
    width, height = proven.high[land.p] - proven.low[land.p], proven.high[land.q] - proven.low[land.q]
    axes.add_patch(
        Rectangle(corner, width, height, fill=False, edgecolor=INK, linestyle="--", linewidth=1.3, label="proven range")
    )
