"""Figure of one decision: a picture of the environment, and the margin of the foil for every command."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, Live
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question
from paretofoil.show.landscape import draw_landscape, draw_margin_line, landscape, margin_label, margin_line
from paretofoil.show.numbers import action_name
from paretofoil.show.palette import check_figure, save_figure
from paretofoil.show.preference_figure import draw_preferences
from paretofoil.show.sentences import question_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 1.6
"""A scene with a larger ratio of width to height stands above the landscape, not beside it."""
OUTCOMES = 81
"""Commands along each axis that are rolled out for a map of an outcome."""

log = logging.getLogger(__name__)


def figure_decision(
    answers: Answer | Sequence[Answer],
    path: str | Path | None = None,
    *,
    axes: tuple[str | int, str | int] | None = None,
) -> "Figure":
    """Draw an answer, or several to one question, on the landscape of the foil, with a picture of the state beside it.

    The axes are two objectives by name or number, by default those that the answers change most. With more objectives,
    the landscape is a slice through the first quoted command. If only one objective may change, the figure is the
    margin along it. Preferences are drawn as a line, a triangle or bars.
    """
    check_figure(path)
    shown = [answers] if isinstance(answers, Answer) else list(answers)
    if not shown or shown[0].live is None:
        got = "an answer read from JSON" if shown else "an empty list"
        raise InvalidInput.expected("an answer that was computed in this process (the figure needs its policy)", got)
    first, live = shown[0], shown[0].live
    figure, panel, beside = _layout(_scene(live))
    foil, title = action_name(first.question.foil_name), question_title(first)
    pair = None if axes is None else [live.question.space.index(axis) for axis in axes]
    if live.met is not None:
        image = None
        _draw_outcome(panel, live, shown, pair)
    elif live.question.space.simplex and axes is None:
        image = draw_preferences(panel, live.question, shown, foil)
    else:
        image = _draw_commands(panel, live.question, shown, pair)
        if first.question.later:
            panel.set_xlabel(f"{panel.get_xlabel()}, from here on")
            if image is not None:
                panel.set_ylabel(f"{panel.get_ylabel()}, from here on")
    if image is not None:
        label = "margin, as a share of the action's range" if first.question.amounts else margin_label(foil)
        figure.colorbar(image, ax=panel, label=label, fraction=0.046, extend="both")
    if beside is None:
        panel.set_title("\n".join(filter(None, (title, panel.get_title()))), fontsize=9)
    else:
        beside.set_title(_balanced(title, TITLE_WIDTH), fontsize=10)
    figure.suptitle(_balanced(str(first), round(10 * figure.get_figwidth())), fontsize=11)
    return save_figure(figure, path)


TITLE_WIDTH = 56
"""Characters in a line above the picture of the environment."""


def _balanced(words: str, width: int) -> str:
    """Return a text with line breaks: lines of at most this width, of about equal length."""
    lines = len(wrap(words, width))
    return fill(words, next(w for w in range(-(-len(words) // lines), width + 1) if len(wrap(words, w)) == lines))


def _draw_commands(panel: "Axes", question: Question, shown: Sequence[Answer], pair: Sequence[int] | None) -> Any:
    """Draw the landscape and return its image. If only one objective may change, draw its line and return None."""
    first, movable = shown[0], np.flatnonzero(question.high > question.low).tolist()
    if pair is None and (question.space.dim == 1 or len(movable) == 1):
        line = margin_line(question, (movable or [0])[0], shown)
        draw_margin_line(panel, line, shown, action_name(first.question.foil_name))
        return None
    land = landscape(question, pair, shown=shown, through=_through(shown))
    return draw_landscape(panel, land, shown, proven_range=first.proven_range)


def _through(shown: Sequence[Answer]) -> np.ndarray | None:
    """Return the first quoted command, through which the slice goes."""
    return next((answer.command for answer in shown if answer.command is not None), None)


def _draw_outcome(panel: "Axes", live: Live, shown: Sequence[Answer], pair: Sequence[int] | None) -> None:
    """Draw a map of the commands whose rollouts meet the outcome."""
    rollouts = shown[0].rollouts
    is_random = rollouts is not None and rollouts.original is not None and rollouts.original.repeats > 1
    resolution = OUTCOMES // 3 if is_random else OUTCOMES  # several rollouts of each command
    land = landscape(live.question, pair, shown=shown, through=_through(shown), resolution=resolution, heights=live.met)
    colours = land.margins / 2 - 0.25  # negative for shares below a half; small, so that colours are pale
    draw_landscape(panel, replace(land, margins=colours), shown, wins="the outcome is met")


def _scene(live: Live) -> np.ndarray | None:
    """Return the picture of the environment; None if it cannot be drawn."""
    if live.scene is None:
        return None
    try:
        return live.scene()
    except Exception as error:  # a user's environment may raise anything
        log.warning("the picture of the environment is omitted because drawing it failed: %r", error)
        return None


def _layout(scene: np.ndarray | None) -> tuple["Figure", "Axes", "Axes | None"]:
    """Return the figure, the panel for the landscape, and the panel with the picture of the environment, if any."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    common: dict[str, Any] = {"dpi": 150, "layout": ConstrainedLayoutEngine(h_pad=0.1)}  # keeps titles apart
    if scene is None:
        figure = Figure(figsize=(6.8, 5.8), **common)
        return figure, figure.subplots(), None
    height, width = scene.shape[:2]
    if width > WIDE * height:
        figure = Figure(figsize=(8.2, 5.6 + 8 * height / width), **common)
        beside, panel = figure.subplots(2, 1, height_ratios=[8 * height / width, 5])
    else:
        figure = Figure(figsize=(11.5, 5.6), **common)
        beside, panel = figure.subplots(1, 2, width_ratios=[1, 1.2])
    beside.imshow(scene)
    beside.set_axis_off()
    return figure, panel, beside
