"""Figure of the learned front and the returns of rollouts (paper, Figure "Pareto front recovered ... on Minecart")."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.show.landscape import axis_label
from paretofoil.show.numbers import short
from paretofoil.show.palette import BLUE, GREEN, INK, ORANGE, PURPLE, RED, check_figure, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 6
"""A front of many objectives and at most this many points is drawn as lines, any other as panels."""
FRONT: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "color": BLUE}
ACHIEVED: dict[str, Any] = {"marker": "x", "color": RED, "label": "achieved by rollouts"}
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
COLOURS = (BLUE, RED, INK, ORANGE, GREEN, PURPLE)


def figure_front(agent: Agent, path: str | Path | None = None, *, name: str = "learned front") -> "Figure":
    """Draw the front as a panel for each pair of objectives, or as a line for each point.

    `name` is the label of the front in the legend.
    """
    check_figure(path)
    if agent.achieved is None or not len(agent.front):
        expected = "an agent with a front and the returns of its rollouts (achieved=...)"
        raise InvalidInput.expected(expected, f"{agent.name!r} without them")
    size = agent.achieved.shape[1]
    objectives: Any = agent.space.objectives[:size]
    signs = np.where([objective.cost for objective in objectives], -1.0, 1.0)
    learned, achieved = signs * agent.front[:, :size] + 0.0, signs * agent.achieved + 0.0  # no -0
    if as_lines(agent):
        figure = _lines(objectives, learned, achieved, name.split()[0])
    else:
        error = agent.error if agent.error is not None and agent.error.any() else None
        figure = _pairs(objectives, learned, achieved, error, name)
    reached = f"{int(agent.reached().sum())} of {len(learned)} points of the learned front are reached"
    figure.suptitle(f"{agent.name}: {reached}", fontsize=11)
    return save_figure(figure, path)


def as_lines(agent: Agent) -> bool:
    """Return whether the points of the front are drawn as lines across the objectives."""
    size = len(agent.environment.objectives)
    return size == 1 or (size > 2 and len(agent.front) <= FEW)


def _label(objective: Objective) -> str:
    return axis_label(objective) + (", less is better" if objective.cost else "")


def _pairs(
    objectives: tuple[Objective, ...], learned: np.ndarray, achieved: np.ndarray, error: np.ndarray | None, name: str
) -> "Figure":
    """Draw one panel for each pair of objectives, and for three objectives also a 3D view."""
    count = len(objectives) - 1
    side = {1: 5.4, 2: 4.6}.get(count, 2.1)
    figure = new_figure(side * count, side * count * 0.88)
    panels = figure.subplots(count, count, squeeze=False, sharex="col", sharey="row")
    for row in range(count):
        for column in range(count):
            if column > row:
                panels[row, column].set_axis_off()
            else:
                _scatter(panels[row, column], learned, achieved, error, column, row + 1, name)
        panels[row, 0].set_ylabel(_label(objectives[row + 1]))
        panels[-1, row].set_xlabel(_label(objectives[row]))
    if count == 2:
        _space(figure.add_subplot(2, 2, 2, projection="3d"), objectives, learned, achieved)
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _scatter(
    axes: Any, learned: np.ndarray, achieved: np.ndarray, error: np.ndarray | None, p: int, q: int, name: str
) -> None:
    small = len(learned) > 40
    for a, b in zip(learned, achieved, strict=True):
        axes.plot([a[p], b[p]], [a[q], b[q]], color=INK, linewidth=0.6, alpha=0.5, zorder=1)
    axes.plot(learned[:, p], learned[:, q], linestyle="none", markersize=5 if small else 9, label=name, **FRONT)
    if error is not None:
        axes.errorbar(achieved[:, p], achieved[:, q], error[:, q], error[:, p], fmt="none", color=RED, zorder=2)
    axes.plot(achieved[:, p], achieved[:, q], linestyle="none", markersize=3 if small else 6, **ACHIEVED)
    axes.grid(alpha=0.25)


def _space(axes: Any, objectives: tuple[Objective, ...], learned: np.ndarray, achieved: np.ndarray) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.plot(*learned.T, linestyle="none", markersize=8, **FRONT)
    axes.plot(*achieved.T, linestyle="none", markersize=6, **ACHIEVED)
    floor = min(learned[:, 2].min(), achieved[:, 2].min())
    for point in learned:
        axes.plot([point[0]] * 2, [point[1]] * 2, [floor, point[2]], color=BLUE, linewidth=0.6, alpha=0.4)
    axes.set(xlabel=_label(objectives[0]), ylabel=_label(objectives[1]), zlabel=_label(objectives[2]))
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MaxNLocator(4))  # more would overlap
    axes.view_init(elev=24, azim=-128)


def _lines(objectives: tuple[Objective, ...], learned: np.ndarray, achieved: np.ndarray, word: str) -> "Figure":
    """Draw each point as a line across parallel axes, one for each objective; higher is better."""
    both = np.concatenate([learned, achieved])
    low, width = both.min(axis=0), np.ptp(both, axis=0)
    costs = np.array([objective.cost for objective in objectives])

    def heights(points: np.ndarray) -> np.ndarray:
        share = np.where(width > 0, (points - low) / np.where(width > 0, width, 1), 0.5)
        return np.where(costs, 1 - share, share).T  # (objectives, points)

    figure = new_figure(max(5.2, 2.1 * len(objectives)), 4.4)
    axes, places = figure.subplots(), range(len(objectives))
    for i, line in enumerate(heights(learned).T):
        name = ", ".join(short(float(number)) for number in learned[i])
        style = STYLES[i % len(STYLES)]
        axes.plot(places, line, color=COLOURS[i % len(COLOURS)], linestyle=style, linewidth=2, label=f"{word}: {name}")
    axes.plot(places, heights(achieved), linestyle="none", markersize=8, marker="x", color=INK, markeredgewidth=1.6)
    axes.plot([], [], linestyle="none", marker="x", color=INK, label="achieved by rollouts")
    for i in places:
        axes.axvline(i, color=INK, linewidth=0.8, zorder=0)
        for number in np.unique(learned[:, i]):
            height = heights(np.where(np.arange(len(objectives)) == i, number, low)[None])[i, 0]
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8}
            axes.annotate(short(float(number)), (i, height), (9, -3), textcoords="offset points", fontsize=9, bbox=box)
    axes.set_xticks(places, [axis_label(objective) for objective in objectives])
    axes.set(yticks=[], xlim=(-0.2, len(objectives) - 0.6), ylim=(-0.08, 1.12), ylabel="better →")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False, fontsize=8)
    return figure
