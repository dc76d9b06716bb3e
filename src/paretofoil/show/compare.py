"""Comparisons of two agents as sentences and figures."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from paretofoil.explanation.atlas import Atlas
from paretofoil.explanation.compare import Comparison
from paretofoil.show.atlas import draw_cells, nothing_proven, set_ranges, share_span, span_text
from paretofoil.show.numbers import number_of, proven, quantities
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, check_figure, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAME, DIFFERENT = "#bfe3d6", ORANGE
"""The colours of commands under which the episodes of two agents end alike, and differently."""
ON_FRONT = "achieves what it is asked for on the front"
"""The name of the share of the front's points that an agent achieves when asked for them."""


def comparison_sentence(comparison: Comparison) -> str:
    """Return text such as "a and b end differently under 89.1 to 91.2 % of the commands (proven). ..." """
    first, second = comparison.agents
    share = span_text(*comparison.differ)
    how = f"({proven(comparison.assumed)})"
    if comparison.samples:
        samples = number_of(comparison.samples, "sampled command")
        how = f"(95 % interval of {samples}; {nothing_proven(comparison.atlases[0])})"
    text = f"{first} and {second} end differently under {share} of the commands {how}"
    if comparison.sampled is not None:
        low, high, count = comparison.sampled
        interval = f"95 % interval of {number_of(count, 'sampled command')}; not proven"
        text += f", and under {span_text(low, high)} ({interval})"
    text += "."
    points, (one, other) = number_of(len(comparison.front), "point"), comparison.reached
    front = f"Asked for each of the {points} of the front, {first} achieves {one} of them and {second} {other}."
    return f"{text} {front} {example_sentence(comparison)}"


def example_sentence(comparison: Comparison) -> str:
    """Return text such as "For example, asked for 24 treasure in 13 steps, a achieves ... and b ..." """
    example, objectives = comparison.example, comparison.objectives
    if example is None:
        return "No command was found under which they differ."
    results = []
    for name, achieved, finished in zip(comparison.agents, example.achieved, example.finished, strict=True):
        limit = "" if finished or not any(example.finished) else " at the step limit"
        results.append(f"{name} achieves {quantities(objectives[: len(achieved)], achieved)}{limit}")
    return f"For example, asked for {quantities(objectives, example.command)}, {', but '.join(results)}."


def shares_of(atlas: Atlas) -> dict[str, float]:
    """Return the shares of commands by which agents are compared, by name."""
    return {
        "ends on the front": atlas.on_front,
        "achieves at least what was asked for": atlas.delivers,
        "lasts until the step limit": atlas.unfinished,
    }


def share_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return a row for each share: its name, and its bounds for both agents."""
    (first, second), count = comparison.atlases, len(comparison.front)
    names = shares_of(first).items()
    rows = [(name, share_span(first, share), share_span(second, shares_of(second)[name])) for name, share in names]
    one, other = comparison.reached
    return [(ON_FRONT, f"{one} of {count} points", f"{other} of {count} points"), *rows]


def figure_comparison(comparison: Comparison, path: str | Path | None = None) -> "Figure":
    """Draw a map of the commands under which two agents end differently, and the shares of both beside it."""
    check_figure(path)
    is_map = len(comparison.cells) > 0
    if not is_map:
        figure = new_figure(6.4, 3.6)
        draw_shares(figure.subplots(), comparison)
    else:
        figure = new_figure(11.2, 4.8)
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        draw_difference(left, comparison)
        draw_shares(right, comparison)
    figure.suptitle(fill(comparison_sentence(comparison), 130 if is_map else 76), fontsize=9, color=GREY)
    return save_figure(figure, path)


def draw_difference(axes: "Axes", comparison: Comparison) -> None:
    """Draw a map of the commands: those under which the agents end differently, those that end alike, and the rest."""
    from matplotlib.patches import Patch

    colours = np.where(comparison.cell_differs, DIFFERENT, SAME)
    atlas = comparison.atlases[0]
    axes.set_facecolor(INK)  # commands outside every cell are undecided
    draw_cells(axes, atlas, comparison.cells, colours)
    set_ranges(axes, atlas)
    labels = (DIFFERENT, "they end differently"), (SAME, "they end alike"), (INK, "undecided")
    handles = [Patch(color=colour, label=label) for colour, label in labels]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8)


def draw_shares(axes: "Axes", comparison: Comparison) -> None:
    """Draw the shares of both agents as bars with their bounds."""
    height = 0.38
    for number, (atlas, colour) in enumerate(zip(comparison.atlases, (BLUE, GREEN), strict=True)):
        reached = comparison.reached[number] / len(comparison.front)
        bounds = np.array([(reached, reached), *(atlas.interval(share) for share in shares_of(atlas).values())])
        middle = bounds.mean(axis=1)
        places = np.arange(len(bounds)) + (number - 0.5) * height
        errors = 100 * np.abs(bounds.T - middle)
        axes.barh(places, 100 * middle, height, xerr=errors, color=colour, ecolor=INK, capsize=2, label=atlas.agent)
    names = [fill(name, 18) for name in (ON_FRONT, *shares_of(comparison.atlases[0]))]
    axes.set_yticks(np.arange(len(names)), names, fontsize=9)
    axes.set(xlim=(0, 100), xlabel="share of the commands (%)")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)
