"""The front an agent learned, beside what it achieves (paper, Figure "Pareto front recovered ... on Minecart")."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.errors import InvalidInput
from paretofoil.show.palette import BLUE, INK, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_front(agent: Agent, path: str | Path | None = None) -> "Figure":
    """Every pair of objectives in a panel of its own; three objectives also get a view in space."""
    from matplotlib.figure import Figure

    if agent.achieved is None or not len(agent.front):
        raise InvalidInput.expected("an agent with a front and measured returns", "one without")
    learned = agent.front[:, : agent.achieved.shape[1]]
    size = learned.shape[1]
    pairs = [(0, 1)] if size == 2 else [(0, 1), (0, 2), (1, 2)] if size == 3 else []
    reached = int(agent.reached().sum())
    title = f"{agent.name}: {len(learned)} learned points, {reached} reached"
    if not pairs:
        figure = _parallel(agent, learned)
    else:
        panels = len(pairs) + (size == 3)
        columns = 2 if panels == 4 else 1
        figure = Figure(figsize=(5.2 * columns, 4.4 * columns), dpi=150, layout="constrained")
        for i, (p, q) in enumerate(pairs):
            _scatter(figure.add_subplot(columns, columns, i + 1 + (size == 3)), agent, learned, p, q)
        if size == 3:
            _space(figure.add_subplot(columns, columns, 1, projection="3d"), agent, learned)
        figure.axes[0].legend(loc="best", frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=11)
    if path is not None:
        figure.savefig(path)
    return figure


def _label(agent: Agent, i: int) -> str:
    objective: Any = agent.space.objectives[i]
    return f"{objective.name} ({objective.unit}, as a return)" if objective.unit else objective.name


def _scatter(axes: Any, agent: Agent, learned: np.ndarray, p: int, q: int) -> None:
    achieved: Any = agent.achieved
    for a, b in zip(learned, achieved, strict=True):
        axes.plot([a[p], b[p]], [a[q], b[q]], color=INK, linewidth=0.6, alpha=0.5, zorder=1)
    axes.plot(
        learned[:, p], learned[:, q], "o", markersize=9, markerfacecolor="none", color=BLUE, label="learned front"
    )
    if agent.error is not None and agent.error.any():
        axes.errorbar(
            achieved[:, p], achieved[:, q], agent.error[:, q], agent.error[:, p], fmt="none", color=ORANGE, zorder=2
        )
    axes.plot(achieved[:, p], achieved[:, q], "x", markersize=6, color=ORANGE, label="achieved by rollouts")
    axes.set_xlabel(_label(agent, p))
    axes.set_ylabel(_label(agent, q))
    axes.grid(alpha=0.25)


def _space(axes: Any, agent: Agent, learned: np.ndarray) -> None:
    achieved: Any = agent.achieved
    axes.plot(*learned.T, "o", markersize=8, markerfacecolor="none", color=BLUE, label="learned front")
    axes.plot(*achieved.T, "x", markersize=6, color=ORANGE, label="achieved by rollouts")
    floor = min(learned[:, 2].min(), achieved[:, 2].min())
    for point in learned:
        axes.plot([point[0]] * 2, [point[1]] * 2, [floor, point[2]], color=BLUE, linewidth=0.6, alpha=0.4)
    axes.set_xlabel(_label(agent, 0))
    axes.set_ylabel(_label(agent, 1))
    axes.set_zlabel(_label(agent, 2))
    axes.view_init(elev=24, azim=-128)


def _parallel(agent: Agent, learned: np.ndarray) -> "Figure":
    """Four objectives and more: one line per point over the objectives, each scaled to its range."""
    from matplotlib.figure import Figure

    achieved: Any = agent.achieved
    size = learned.shape[1]
    low, scale = agent.space.low[:size], agent.space.scale[:size]
    figure = Figure(figsize=(7.5, 4.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.plot(range(size), ((learned - low) / scale).T, color=BLUE, linewidth=0.9, alpha=0.45)
    axes.plot(range(size), ((achieved - low) / scale).T, "x", color=ORANGE, markersize=5)
    axes.plot([], [], color=BLUE, label="learned front")
    axes.plot([], [], "x", color=ORANGE, label="achieved by rollouts")
    axes.set_xticks(range(size), [_label(agent, i) for i in range(size)])
    axes.set_ylabel("share of the objective's range")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False, fontsize=8)
    axes.grid(axis="x", alpha=0.4)
    return figure
