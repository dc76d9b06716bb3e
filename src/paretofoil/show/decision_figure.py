"""One decision as a picture: the environment in that state, and the landscape of the foil."""

import logging
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, Live
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question
from paretofoil.show.landscape import (
    draw_landscape,
    draw_margin_line,
    landscape,
    margin_label,
    margin_line,
    two_objectives,
)
from paretofoil.show.palette import check_figure_path, save_figure
from paretofoil.show.preference_figure import draw_preferences

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 1.6
"""A scene that is so many times as wide as high stands above the landscape, not beside it."""

log = logging.getLogger(__name__)


def figure_decision(
    answers: Answer | Sequence[Answer],
    path: str | Path | None = None,
    *,
    axes: tuple[str | int, str | int] | None = None,
) -> "Figure":
    """Draw an answer, or several to the same question, on the landscape of the foil; the scene is beside it.

    The axes are two objectives by name or number; by default those that the first answer changes most. With more
    objectives the landscape is a slice, through the command of the first answer that was found. Where the command
    can change in one objective only, the margin is a line over that one. Preferences are drawn as a line of two weights
    that may change, a triangle of three, or bars of more.
    """
    if path is not None:
        check_figure_path(path)
    shown = [answers] if isinstance(answers, Answer) else list(answers)
    if not shown or shown[0].asked is None:
        raise InvalidInput.expected("an answer of this process (it knows its question)", "one read from JSON")
    first, asked = shown[0], shown[0].asked
    figure, panel, beside = _layout(_scene(asked))
    foil = first.actions[first.foil]
    title = f"why {first.actions[first.chosen]}, and not {foil}?"
    title = f"{first.agent}, t = {first.step}: {title}" if first.agent else title
    if asked.question.space.simplex and axes is None:
        image = draw_preferences(panel, asked.question, shown, foil)
    else:
        image = _draw_commands(panel, asked.question, shown, axes)
    if image is not None:
        figure.colorbar(image, ax=panel, label=margin_label(foil), fraction=0.046, extend="both")
    if beside is None:
        panel.set_title("\n".join(filter(None, (title, panel.get_title()))), fontsize=9)
    else:
        beside.set_title(title, fontsize=10)
    figure.suptitle(_balanced(str(first), round(10 * figure.get_figwidth())), fontsize=11)
    return save_figure(figure, path)


def _balanced(words: str, width: int) -> str:
    """In as few lines as that width asks for, none of them with a lone word."""
    lines = len(wrap(words, width))
    return fill(words, next(w for w in range(-(-len(words) // lines), width + 1) if len(wrap(words, w)) == lines))


def _draw_commands(
    panel: "Axes", question: Question, shown: Sequence[Answer], axes: tuple[str | int, str | int] | None
) -> Any:
    """The landscape, for whose colours the image is returned; or the line of the only objective that may change."""
    pair, first = _pair(question, shown, axes), shown[0]
    if len(pair) == 1:
        draw_margin_line(panel, margin_line(question, pair[0], shown), shown, first.actions[first.foil])
        return None
    through = next((found.command for found in shown if found.command is not None), None)
    land = landscape(question, *pair, shown=shown, through=through)
    return draw_landscape(panel, land, shown, proven_range=first.proven_range)


def _pair(question: Question, shown: Sequence[Answer], axes: tuple[str | int, str | int] | None) -> list[int]:
    """The objectives to draw: two, or the only one that may change."""
    if axes is not None:
        return [question.space.index(axis) for axis in axes]
    movable = np.flatnonzero(question.high > question.low).tolist()
    if question.space.dim == 1 or len(movable) == 1:
        return movable or [0]
    return list(two_objectives(question, shown))


def _scene(asked: Live) -> np.ndarray | None:
    """The environment at that moment, or None where it cannot be drawn: its landscape still can."""
    if asked.scene is None:
        return None
    try:
        return asked.scene()
    except Exception as error:  # a drawing of the user's own environment may raise anything
        log.warning("the scene is left out, it could not be drawn: %r", error)
        return None


def _layout(scene: np.ndarray | None) -> tuple["Figure", "Axes", "Axes | None"]:
    """The figure, the panel of the landscape, and that of the scene, which is drawn."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    common: dict[str, Any] = {"dpi": 150, "layout": ConstrainedLayoutEngine(h_pad=0.1)}  # titles keep apart
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
