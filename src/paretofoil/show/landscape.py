"""The margin of the foil over two objectives, or along one (paper, "Landscape and Grid Construction")."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.amounts import Limit
from paretofoil.core.answer import Answer, ProvenRange, Status
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.show.numbers import as_shown, join, only_features, short, with_unit
from paretofoil.show.palette import ATTAINABLE, INK, MARGIN_COLOURS, ORIGINAL, Mark, mark_of
from paretofoil.show.sentences import delivers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RESOLUTION = 121
"""Points of the grid along each axis."""
ZOOM = 2.5
"""If answers are close to the original command, the window extends this many times as far as the largest change."""
SMALLEST_REACH = 0.002
"""The window shows at least ZOOM times this scaled change."""
IN_SLICE = 1e-3
"""A command counts as in the slice if its scaled distance from the slice is below this, an eighth of a pixel."""
POINTS = 601
"""Points of a margin line."""
MAX_COLOUR = 10.0
"""Margins beyond this (odds of 20,000 to 1) have one colour, so that the boundary remains visible."""
LEAST_SHARE = 0.02
"""For continuous actions, the colours extend at least to this margin, a share of the action's range."""
DOTS = "#8a5410"
"""The colour of the dots where the foil wins."""
NOTE_WIDTH = 74
"""Characters in a line of the note above a landscape."""


@dataclass(frozen=True, eq=False)
class Landscape:
    """The margin on a grid over two objectives: a slice of the command space."""

    objectives: tuple[Objective, ...]
    """The objectives of the command, in its order."""
    command: np.ndarray
    """The original command, R_t."""
    through: np.ndarray
    """A command in the slice. It gives the values of the objectives that are on neither axis."""
    scale: np.ndarray
    """The diagonal of D."""
    kappa: float
    p: int
    """The objective on the horizontal axis."""
    q: int
    """The objective on the vertical axis."""
    x: np.ndarray  # (RESOLUTION,) returns of objective p
    y: np.ndarray  # (RESOLUTION,) returns of objective q
    margins: np.ndarray  # (len(y), len(x))

    @property
    def off(self) -> list[int]:
        """The objectives that are on neither axis."""
        return [i for i in range(self.command.size) if i not in (self.p, self.q)]

    def place(self, command: np.ndarray) -> np.ndarray:
        """Return where a command lies in the figure: (2,)."""
        return np.array([as_shown(self.objectives[i], command[i]) for i in (self.p, self.q)])

    def holds(self, command: np.ndarray) -> bool:
        """Return whether a command lies in the slice."""
        return bool((np.abs(command - self.through) / self.scale <= IN_SLICE)[self.off].all())


def landscape(
    question: Question,
    axes: Sequence[int] | None = None,
    *,
    shown: Sequence[Answer] = (),
    through: np.ndarray | None = None,
    resolution: int = RESOLUTION,
    heights: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Landscape:
    """Query the margin on a grid over two objectives, in the slice through a command.

    The grid covers the search region. If the shown answers are too close to the original command to be distinguished
    from it, the grid covers only the part around them.

    Args:
        question: The question of the margin.
        axes: The numbers of two objectives; by default those that the shown answers change most.
        shown: The answers that will be drawn.
        through: A command in the slice; by default the original one.
        resolution: Points along each axis.
        heights: Another function of commands (N, d) to evaluate instead of the margin.
    """
    if question.space.simplex:
        raise InvalidInput.expected("commands that are returns, for a landscape", "preferences, which sum to 1")
    p, q = two_objectives(question, shown) if axes is None else axes
    if p == q:
        raise InvalidInput.expected("two different objectives for the axes", f"{question.space.names[p]!r} for both")
    through = question.command if through is None else through
    (left, right), (bottom, top) = window(question, (p, q), shown)
    x, y = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
    commands = np.repeat(through[None], resolution**2, axis=0)
    commands[:, p], commands[:, q] = np.tile(x, resolution), np.repeat(y, resolution)
    surface = (partial(margins_of, question) if heights is None else heights)(commands)
    surface, space = surface.reshape(resolution, resolution), question.space
    objectives: Any = tuple(space.objectives)
    return Landscape(objectives, question.command, through, space.scale, question.kappa, p, q, x, y, surface)


def margins_of(question: Question, commands: np.ndarray) -> np.ndarray:
    """Query the margin of the foil under commands (N, d): (N,)."""
    commands = np.where(question.space.whole, np.round(commands), commands)
    return QuestionBatch([question]).margins_at(np.zeros(len(commands), dtype=int), commands, "landscape")


def window(question: Question, axes: Sequence[int], shown: Sequence[Answer]) -> list[tuple[float, float]]:
    """Return the range of values of each axis of a figure: (lowest, highest)."""
    changes, command, scale = _changes(question, shown)[:, axes], question.command, question.space.scale
    is_fixed = question.low == question.high  # show the whole range of a fixed objective, although it was not searched
    low = np.where(is_fixed, np.minimum(command, question.space.low), question.low)
    high = np.where(is_fixed, np.maximum(command, question.space.high), question.high)
    low, high = np.where(low == high, command - scale / 2, low), np.where(low == high, command + scale / 2, high)
    half = ZOOM * max(float(changes.max()), SMALLEST_REACH) if changes.size else 1.0
    if half < 0.5:
        low, high = np.maximum(low, command - half * scale), np.minimum(high, command + half * scale)
    return [(float(low[axis]), float(high[axis])) for axis in axes]


def _changes(question: Question, shown: Sequence[Answer]) -> np.ndarray:
    """Return the absolute scaled change of each answer that has a command: (answers, d)."""
    commands = [answer.command for answer in shown if answer.command is not None]
    return np.abs(np.reshape(commands, (-1, question.space.dim)) - question.command) / question.space.scale


def two_objectives(question: Question, answers: Sequence[Answer]) -> tuple[int, int]:
    """Return the two objectives that the answers change most; objectives that may not change come last."""
    total = _changes(question, answers).sum(axis=0) + 1e-6 * (question.high > question.low)
    if total.size < 2:
        raise InvalidInput.expected("a question with at least two objectives, for a landscape", "one objective")
    first, second = sorted(np.argsort(-total, kind="stable")[:2].tolist())
    return first, second


def axis_label(objective: Objective) -> str:
    """Return text such as "time (steps)", "treasure"."""
    return f"{objective.name} ({objective.unit})" if objective.unit else objective.name


def slice_note(objectives: Sequence[Objective], through: np.ndarray, original: np.ndarray, off: Sequence[int]) -> str:
    """Return a note about the objectives that a figure holds fixed: "slice at ore 1 = 1.22 (as in the answer)"."""

    def setting(command: np.ndarray, indices: Sequence[int]) -> str:
        texts = ((objectives[i], short(float(as_shown(objectives[i], command[i])))) for i in indices)
        return ", ".join(f"{o.name} = {with_unit(replace(o, probability=False), text)}" for o, text in texts)

    moved = [i for i in off if through[i] != original[i]]
    what = "state" if only_features(objectives) else "command"
    source = f"as in the answer; original {what}: {setting(original, moved)}" if moved else f"as in the original {what}"
    return f"slice at {setting(through, off)} ({source})" if off else ""


def draw_landscape(
    axes: "Axes",
    land: Landscape,
    answers: Sequence[Answer] = (),
    *,
    title: str = "",
    proven_range: ProvenRange | None = None,
    wins: str | None = None,
) -> Any:
    """Draw a landscape without its colour bar, and return the image for it.

    The bold arrow is the change: from the original command to the quoted command of the first answer. Commands outside
    the slice are hollow. `wins` says what the dots mean, by default that the foil wins.
    """
    x, y = as_shown(land.objectives[land.p], land.x), as_shown(land.objectives[land.q], land.y)
    across, down = (slice(None, None, -1 if axis[0] > axis[-1] else 1) for axis in (x, y))
    x, y, margins = x[across], y[down], land.margins[down, across]  # costs are positive, and both axes increase
    amounts = answers[0].question.amounts if answers else ()
    least = LEAST_SHARE if amounts else 0.5  # margins of amounts are shares of the action's range
    limit = float(np.clip(np.quantile(np.abs(margins), 0.9), least, MAX_COLOUR))
    image = draw_margins(axes, (x, y), margins, land.kappa, limit, wins)
    if len(amounts) == 1:
        _draw_amounts(axes, (x, y), margins, amounts[0])
    notes = [slice_note(land.objectives, land.through, land.command, land.off)]
    if proven_range is not None:
        notes.append(_draw_proven_range(axes, land, proven_range))
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    for objective, axis in ((land.objectives[land.p], axes.xaxis), (land.objectives[land.q], axes.yaxis)):
        if objective.whole:
            axis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    axes.set(xlabel=axis_label(land.objectives[land.p]), ylabel=axis_label(land.objectives[land.q]))
    draw_commands(axes, land, answers, np.array([[x[0], y[0]], [x[-1], y[-1]]]))
    rules = join(answers[0].question.constraints) if answers else ""
    finish(axes, title, [*notes, f"allowed: {rules}" if rules else "", missing_note(answers)])
    return image


def _draw_amounts(axes: "Axes", grid: Sequence[np.ndarray], margins: np.ndarray, limit: Limit) -> None:
    """Draw labelled contours of the amount that the agent chooses."""
    amounts = np.clip(limit.amount + margins / limit.slope, limit.low, limit.high)
    if np.ptp(amounts) <= 1e-6 * (limit.high - limit.low):
        return
    style: dict[str, Any] = {"colors": [INK], "linewidths": 0.6, "alpha": 0.6, "zorder": 2}
    lines = axes.contour(*grid, amounts, **style)
    axes.clabel(lines, fmt=lambda amount: f"{amount:.4g} {limit.unit}".rstrip(), fontsize=7)


def margin_label(foil: str) -> str:
    """Return the label of the colours. A foil with a long name is named in the title only."""
    if len(foil) > 20:
        return "margin of the foil (above 0: it wins)"
    return f"margin of {foil} (above 0: {foil} is chosen)"


def wins_label(kappa: float) -> str:
    """Return the label of the dots, and of the line around them."""
    return f"the foil wins (by {kappa:g} or more)" if kappa else "the foil wins"


def draw_margins(
    axes: "Axes", grid: Sequence[Any], margins: np.ndarray, kappa: float, limit: float, wins: str | None = None
) -> Any:
    """Draw margins as colours up to a limit, and dots where the foil wins; return the image.

    The dots are for readers who cannot tell the colours apart. The grid is the x and y of a rectangle, or a
    triangulation.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    colours = LinearSegmentedColormap.from_list("margin", MARGIN_COLOURS)
    style: dict[str, Any] = {"cmap": colours, "vmin": -limit, "vmax": limit, "rasterized": True, "zorder": 0}
    image: Any
    fill: Any
    line: Any
    if len(grid) == 2:
        image, fill, line = axes.pcolormesh(*grid, margins, shading="nearest", **style), axes.contourf, axes.contour
    else:
        image = axes.tripcolor(grid[0], margins, shading="gouraud", **style)
        fill, line = axes.tricontourf, axes.tricontour
    if margins.max() >= kappa:
        levels = [kappa, float(margins.max()) + limit]  # a triangulation takes no infinite level
        dots = fill(*grid, margins, levels=levels, colors="none", hatches=[".."], zorder=1)
        dots.set(edgecolor=DOTS, linewidth=0)
        legend: dict[str, Any] = {"facecolor": "white", "edgecolor": INK, "hatch": "..."}
        axes.add_patch(Rectangle((0, 0), 0, 0, label=wins or wins_label(kappa), **legend))
    if margins.min() < kappa < margins.max():
        line(*grid, margins, levels=[kappa], colors=[INK], linewidths=1.6, zorder=2)
    return image


def marked(answers: Sequence[Answer]) -> list[tuple[np.ndarray, Mark]]:
    """Return the quoted commands, each with a mark whose label says what is proven, and the attainable commands."""
    quoted = [(answer.command, _mark(answer)) for answer in answers if answer.command is not None]
    rollouts = [answer.rollouts for answer in answers if answer.rollouts is not None and not delivers(answer)]
    attainable = [rollout.attainable.command for rollout in rollouts if rollout.attainable is not None]
    different = {command.tobytes(): command for command in attainable if command is not None}
    return quoted + [(command, ATTAINABLE) for command in different.values()]


def draw_commands(axes: "Axes", view: Any, answers: Sequence[Answer], bounds: np.ndarray) -> None:
    """Draw the original command, the commands of answers, and the first change. The limits of the axes must be set.

    The view is a `Landscape`, `MarginLine` or `Triangle`.
    """
    commands = marked(answers)
    for command, mark in [(view.command, ORIGINAL), *commands]:
        if answers and only_features(answers[0].question.objectives):
            mark = replace(mark, label=mark.label.replace("command", "state"))
        _draw_mark(axes, view.place(command), mark, view.holds(command), bounds)
    if commands:
        _draw_change(axes, view.place(view.command), view.place(commands[0][0]))


def _mark(answer: Answer) -> Mark:
    mark = mark_of(answer.search.name)
    if answer.status is not Status.PROVEN_CLOSEST:
        return mark
    rounded = bool(answer.closest is not None and np.any(answer.command != answer.closest.command))
    return replace(mark, label="closest command, rounded (proven)" if rounded else "closest command (proven)")


def _draw_mark(axes: "Axes", point: np.ndarray, mark: Mark, inside: bool, bounds: np.ndarray) -> None:
    """Draw a command as a mark: hollow if it is not in the slice, and at the edge if it lies beyond the axes."""
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
        zorder=7 - mark.size / 20,  # small marks are drawn above large ones, so that all are visible
    )


def _draw_change(axes: "Axes", start: np.ndarray, end: np.ndarray) -> None:
    """Draw the bold arrow of the change."""
    from matplotlib.patheffects import withStroke

    corners = axes.transData.transform([start, end]) * 72 / axes.figure.dpi
    gap = min(4.0, float(np.hypot(*(corners[1] - corners[0]))) / 5)  # in points, smaller for short arrows
    style = {"arrowstyle": "-|>,head_length=0.6,head_width=0.3", "color": INK, "linewidth": 2.2}
    arrow = axes.annotate("", tuple(end), tuple(start), arrowprops={**style, "shrinkA": gap, "shrinkB": gap}, zorder=5)
    halo = [withStroke(linewidth=4.4, foreground="white")]
    if arrow.arrow_patch is not None:
        arrow.arrow_patch.set(path_effects=halo, zorder=5)
    axes.plot([], [], linestyle="none", marker=r"$\rightarrow$", markersize=16, color=INK, label="change")


def _draw_proven_range(axes: "Axes", land: Landscape, proven: ProvenRange) -> str:
    """Draw the proven range if it meets the slice, or return a note that it does not."""
    from matplotlib.patches import Rectangle

    slack = 1e-9 * land.scale
    meets = (proven.low - slack <= land.through) & (land.through <= proven.high + slack)
    if not meets[land.off].all():
        return "the proven range is not in this slice"
    corners = np.sort([land.place(proven.low), land.place(proven.high)], axis=0)
    style: dict[str, Any] = {"fill": False, "edgecolor": INK, "linestyle": "--", "linewidth": 1.4}
    axes.add_patch(Rectangle(corners[0], *(corners[1] - corners[0]), label="proven range", zorder=4, **style))
    return ""


def missing_note(answers: Sequence[Answer]) -> str:
    """Return a note about searches that found no command while others did: "White-CW: none found"."""
    missing = [answer for answer in answers if not answer.found] if any(a.found for a in answers) else []
    return ", ".join(f"{mark_of(answer.search.name).label}: none found" for answer in missing)


def finish(axes: "Axes", title: str, notes: Sequence[str]) -> None:
    """Set the title with the notes below it, and the legend."""
    note = fill("; ".join(filter(None, notes)), NOTE_WIDTH)
    axes.set_title("\n".join(filter(None, (title, note))), fontsize=9)
    tight = {"columnspacing": 1.2, "handletextpad": 0.5}
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, fontsize=8, **tight)


@dataclass(frozen=True, eq=False)
class MarginLine:
    """The margin along one objective; the others are as in the original command."""

    objectives: tuple[Objective, ...]
    command: np.ndarray
    """The original command, R_t."""
    kappa: float
    axis: int
    """The objective that changes along the line."""
    x: np.ndarray  # (POINTS,) returns of the objective, increasing
    margins: np.ndarray  # (POINTS,)
    partner: int | None = None
    """The weight that changes by the opposite amount, if commands are preferences."""

    @property
    def off(self) -> list[int]:
        """The objectives that do not change along the line."""
        return [i for i in range(self.command.size) if i not in (self.axis, self.partner)]

    def place(self, command: np.ndarray) -> np.ndarray:
        """Return where a command lies in the figure: (2,)."""
        value = command[self.axis]
        return np.array([as_shown(self.objectives[self.axis], value), np.interp(value, self.x, self.margins)])

    def holds(self, command: np.ndarray) -> bool:
        """Return whether a command lies on the line."""
        return not (command - self.command)[self.off].any()


def margin_line(question: Question, axis: int, shown: Sequence[Answer] = (), partner: int | None = None) -> MarginLine:
    """Query the margin along one objective. With preferences, a partner changes by the opposite amount."""
    command, objectives = question.command, question.space.command_objectives
    [(low, high)] = window(question, [axis], shown)
    commands = np.repeat(command[None], POINTS, axis=0)
    if partner is not None:
        both = command[axis] + command[partner]
        low, high = max(low, both - question.high[partner]), min(high, both - question.low[partner])
        commands[:, partner] = both - np.linspace(low, high, POINTS)
        objectives = tuple(replace(o, name=f"weight of {o.name}") for o in objectives)
    commands[:, axis] = x = np.linspace(low, high, POINTS)
    return MarginLine(objectives, command, question.kappa, axis, x, margins_of(question, commands), partner)


def draw_margin_line(axes: "Axes", line: MarginLine, answers: Sequence[Answer], foil: str) -> None:
    """Draw the margin along a line, where the foil wins, and the change as an arrow."""
    objective = line.objectives[line.axis]
    x = as_shown(objective, line.x)
    axes.plot(x, line.margins, color=MARGIN_COLOURS[0], linewidth=2.2, zorder=3, label="margin")
    axes.axhline(line.kappa, color=INK, linewidth=1.0, linestyle="--", label=f"margin {line.kappa:g}")
    axes.margins(x=0, y=0.1)
    bottom, top = axes.get_ylim()
    wins = line.margins >= line.kappa
    shade: dict[str, Any] = {"facecolor": MARGIN_COLOURS[3], "edgecolor": DOTS, "alpha": 0.5, "linewidth": 0}
    axes.fill_between(x, bottom, top, where=wins, hatch="..", label=wins_label(line.kappa), zorder=0, **shade)
    label = axis_label(objective)
    if line.partner is not None:
        label = f"{label} (taken from the {line.objectives[line.partner].name})"
    axes.set(xlim=(x.min(), x.max()), ylim=(bottom, top), xlabel=label, ylabel=margin_label(foil))
    draw_commands(axes, line, answers, np.array([[x.min(), bottom], [x.max(), top]]))
    finish(axes, "", [slice_note(line.objectives, line.command, line.command, line.off), missing_note(answers)])
